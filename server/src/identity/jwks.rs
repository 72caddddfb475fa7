//! Keys of issuers, kept and fetched anew: at most one fetch of a source every 30 s whatever is asked, one at a time,
//! and an outage of the issuer is never taken for a bad token.
//!
//! | age of the keys | the token's key is among them | is not |
//! |---|---|---|
//! | to 300 s | used | one fetch, then refused |
//! | to 3600 s | used, and fetched anew meanwhile | one fetch, then refused |
//! | above, or none | fetched first; unavailable where that fails | the same |
//!
//! Where the last fetch failed, an unknown key is "unavailable": it may be a new one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use serde_json::Value;
use sync_core::clock::Clock;
use time::{Duration, OffsetDateTime};
use tokio::sync::Semaphore;
use url::Url;

use super::fetch::Fetcher;
use super::key_set::KeySet;

/// The least time between two fetches of a source.
pub const FETCH_INTERVAL: Duration = Duration::seconds(30);

/// From this age on keys are fetched anew while they are used.
const RENEW_AFTER: Duration = Duration::seconds(300);

/// From this age on keys are not used: what an issuer took back must end some time.
pub const MAX_AGE: Duration = Duration::seconds(3600);

/// The most sources whose keys are kept.
const MAX_SOURCES: usize = 1024;

/// The most fetches at a time, of all sources: slow issuers take few of this process's connections.
const MAX_FETCHES: usize = 64;

/// Whose keys, and where they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeySource {
    /// The issuer, byte for byte.
    pub issuer: String,
    /// Its key set; absent: as its OpenID configuration says.
    pub jwks_url: Option<String>,
}

/// Why no key was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoKey {
    /// The issuer publishes no such key.
    Unknown,
    /// The issuer's keys cannot be had at present.
    Unavailable,
}

/// The keys of every issuer that was asked for.
pub struct KeySets {
    clock: Arc<dyn Clock>,
    fetcher: Arc<Fetcher>,
    permits: Arc<Semaphore>,
    sources: Mutex<HashMap<KeySource, Arc<Entry>>>,
}

#[derive(Default)]
struct Entry(Mutex<State>);

#[derive(Default)]
struct State {
    set: Option<(Arc<KeySet>, OffsetDateTime)>,
    /// Where the OpenID configuration says that the keys are, and since when it is known.
    discovered: Option<(Url, OffsetDateTime)>,
    /// When the last fetch began.
    attempted_at: Option<OffsetDateTime>,
    /// Whether the last fetch failed.
    failed: bool,
    in_flight: Option<Shared<BoxFuture<'static, ()>>>,
    used_at: Option<OffsetDateTime>,
}

impl KeySets {
    /// Nothing fetched yet.
    pub fn new(clock: Arc<dyn Clock>, fetcher: Arc<Fetcher>) -> Self {
        Self { clock, fetcher, permits: Arc::new(Semaphore::new(MAX_FETCHES)), sources: Mutex::default() }
    }

    /// What `pick` makes of the source's keys; `None` of it means that the key is not among them.
    pub async fn find<T>(&self, source: &KeySource, pick: impl Fn(&KeySet) -> Option<T>) -> Result<T, NoKey> {
        let now = self.clock.now();
        let entry = self.entry(source, now);
        let mut asked_anew = false;
        loop {
            let wait = {
                let mut state = entry.lock();
                if let Some(set) = state.usable(now)
                    && let Some(found) = pick(&set)
                {
                    if state.age(now) >= Some(RENEW_AFTER) && state.may_fetch(now) {
                        drop(self.start(source, &entry, &mut state, now));
                    }
                    return Ok(found);
                }
                let no_key =
                    if state.failed || state.usable(now).is_none() { NoKey::Unavailable } else { NoKey::Unknown };
                if asked_anew {
                    return Err(no_key);
                }
                match state.fetch_in_flight() {
                    Some(fetch) => fetch,
                    None if state.may_fetch(now) => self.start(source, &entry, &mut state, now),
                    None => return Err(no_key),
                }
            };
            wait.await;
            asked_anew = true;
        }
    }

    fn entry(&self, source: &KeySource, now: OffsetDateTime) -> Arc<Entry> {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if sources.len() >= MAX_SOURCES && !sources.contains_key(source) {
            let oldest = sources.iter().min_by_key(|(_, entry)| entry.lock().used_at).map(|(source, _)| source.clone());
            if let Some(oldest) = oldest {
                sources.remove(&oldest);
            }
        }
        let entry = sources.entry(source.clone()).or_default().clone();
        entry.lock().used_at = Some(now);
        entry
    }

    /// Starts a fetch that goes on to its end whoever waits for it: a client that leaves does not start it over.
    fn start(
        &self,
        source: &KeySource,
        entry: &Arc<Entry>,
        state: &mut State,
        now: OffsetDateTime,
    ) -> Shared<BoxFuture<'static, ()>> {
        state.attempted_at = Some(now);
        let known = state.discovered.clone().filter(|(_, since)| now - *since < MAX_AGE).map(|(url, _)| url);
        let (source, entry) = (source.clone(), entry.clone());
        let (fetcher, permits) = (self.fetcher.clone(), self.permits.clone());
        let fetch = tokio::spawn(async move {
            // Never closed, so that there is always a permit in the end.
            let _permit = permits.acquire().await;
            let outcome = fetch(&fetcher, &source, known).await;
            let mut state = entry.lock();
            state.in_flight = None;
            state.failed = outcome.is_err();
            match outcome {
                Ok(Fetched { set, discovered }) => {
                    state.set = Some((Arc::new(set), now));
                    if let Some(url) = discovered {
                        state.discovered = Some((url, now));
                    }
                }
                Err(reason) => {
                    // It may have moved.
                    state.discovered = None;
                    tracing::warn!(issuer = %sync_core::text::shown(&source.issuer, 200), reason, "an issuer's keys could not be fetched");
                }
            }
        });
        let shared = fetch.map(drop).boxed().shared();
        state.in_flight = Some(shared.clone());
        shared
    }
}

impl Entry {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn age(&self, now: OffsetDateTime) -> Option<Duration> {
        self.set.as_ref().map(|(_, at)| now - *at)
    }

    fn usable(&self, now: OffsetDateTime) -> Option<Arc<KeySet>> {
        self.set.as_ref().filter(|(_, at)| now - *at < MAX_AGE).map(|(set, _)| set.clone())
    }

    /// One that ended without saying so has panicked, and is none.
    fn fetch_in_flight(&self) -> Option<Shared<BoxFuture<'static, ()>>> {
        self.in_flight.clone().filter(|fetch| fetch.peek().is_none())
    }

    fn may_fetch(&self, now: OffsetDateTime) -> bool {
        // In either direction: a clock that was put back must not stop fetches until it has caught up.
        self.fetch_in_flight().is_none() && self.attempted_at.is_none_or(|at| (now - at).abs() >= FETCH_INTERVAL)
    }
}

struct Fetched {
    set: KeySet,
    discovered: Option<Url>,
}

async fn fetch(fetcher: &Fetcher, source: &KeySource, known: Option<Url>) -> Result<Fetched, String> {
    let (url, discovered) = match (&source.jwks_url, known) {
        (Some(url), _) => (fetcher.admit(url).map_err(|reason| format!("its key set's address {reason}"))?, None),
        (None, Some(url)) => (url, None),
        (None, None) => {
            let url = discover(fetcher, &source.issuer).await?;
            (url.clone(), Some(url))
        }
    };
    let document = fetcher.get(&url).await.map_err(|reason| format!("its key set {reason}"))?;
    let set = KeySet::parse(&document).map_err(|reason| format!("its key set {reason}"))?;
    Ok(Fetched { set, discovered })
}

/// Where the issuer's OpenID configuration says that its keys are.
async fn discover(fetcher: &Fetcher, issuer: &str) -> Result<Url, String> {
    let address = format!("{}/.well-known/openid-configuration", issuer.strip_suffix('/').unwrap_or(issuer));
    let url = fetcher.admit(&address).map_err(|reason| format!("its address {reason}"))?;
    let document = fetcher.get(&url).await.map_err(|reason| format!("its OpenID configuration {reason}"))?;
    let document: Value =
        serde_json::from_slice(&document).map_err(|_| "its OpenID configuration is not JSON".to_owned())?;
    // Else one issuer could hand out another's configuration.
    if document.get("issuer").and_then(Value::as_str) != Some(issuer) {
        return Err("its OpenID configuration is of another issuer".to_owned());
    }
    let keys = document.get("jwks_uri").and_then(Value::as_str).ok_or("its OpenID configuration names no key set")?;
    fetcher.admit(keys).map_err(|reason| format!("the key set that its OpenID configuration names {reason}"))
}
