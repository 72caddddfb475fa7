//! Requests too many of known principals, on their way into the audit log: the first of a minute is written down as
//! itself, the others of that minute are counted and their number follows within seconds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sync_core::clock::Clock;
use sync_core::ids::{OrganizationId, PrincipalId, RequestId};
use sync_core::principal::Principal;
use sync_store::{Outcome, Protocol};
use time::{Duration, OffsetDateTime};

use crate::audit::{Auditor, Tallied};

type Key = (OrganizationId, PrincipalId, String, &'static str);

/// Counts of requests that were refused unasked.
pub struct Throttled {
    clock: Arc<dyn Clock>,
    counts: Mutex<HashMap<Key, Count>>,
}

struct Count {
    principal: Arc<Principal>,
    protocol: Protocol,
    since: OffsetDateTime,
    refused: u64,
}

impl Throttled {
    /// Nothing counted yet. There is a count for each credential that was accepted, and no more.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, counts: Mutex::default() }
    }

    /// Counts a refused request. True where it is the first of its minute, which is to be written down as itself.
    pub fn refused(&self, principal: &Arc<Principal>, protocol: Protocol) -> bool {
        let now = self.clock.now();
        let key = (principal.organization, principal.id, principal.credential_id.clone(), protocol.as_str());
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(&key) {
            // A minute that is over goes on being counted until its number is written down.
            Some(count) if now - count.since < Duration::MINUTE || count.refused > 0 => {
                count.refused += 1;
                false
            }
            _ => {
                counts.insert(key, Count { principal: principal.clone(), protocol, since: now, refused: 0 });
                true
            }
        }
    }

    /// Writes the numbers down. Those that cannot be written stay for the next time.
    pub async fn flush(&self, auditor: &Auditor) {
        let now = self.clock.now();
        let taken: Vec<(Key, Arc<Principal>, Protocol, u64)> = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            counts.retain(|_, count| count.refused > 0 || now - count.since < Duration::MINUTE);
            let open = counts.iter_mut().filter(|(_, count)| count.refused > 0);
            open.map(|(key, count)| {
                (key.clone(), count.principal.clone(), count.protocol, std::mem::take(&mut count.refused))
            })
            .collect()
        };
        for (key, principal, protocol, refused) in taken {
            let request_id = RequestId::at(self.clock.now());
            let tallied = Tallied {
                protocol,
                action: action(protocol),
                outcome: Outcome::Refused,
                code: Some("rate_limited"),
                count: refused,
                about: None,
            };
            if auditor.tallied(&principal, &tallied, request_id).await.is_err()
                && let Some(count) = self.counts.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&key)
            {
                count.refused += refused;
            }
        }
    }
}

/// What the audit log calls a request that was refused before it was read.
pub fn action(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Mcp => "mcp.rate_limited",
        Protocol::Otlp => "otlp.rate_limited",
        Protocol::Webhook => "webhook.rate_limited",
        Protocol::Rest | Protocol::Cli => "rest.rate_limited",
    }
}
