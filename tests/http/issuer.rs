//! An identity provider on loopback that counts what it is asked and fails as told.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// How the key set is answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// With these keys.
    Keys(Vec<Value>),
    /// With this body.
    Body(String),
    /// With this status.
    Status(u16),
    /// With a redirect to that address.
    Redirect(String),
    /// A byte now and then, without an end.
    Drip,
}

/// The provider.
pub(super) struct FakeIssuer {
    pub(super) url: String,
    state: Shared,
    serving: tokio::task::JoinHandle<()>,
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Inner>>, Arc<watch::Sender<BTreeMap<String, usize>>>, Arc<watch::Sender<bool>>);

struct Inner {
    url: String,
    answer: Answer,
}

pub(super) const DISCOVERY: &str = "/.well-known/openid-configuration";
pub(super) const KEYS: &str = "/keys";
/// What no service may ever ask for.
pub(super) const TRAP: &str = "/trap";

impl FakeIssuer {
    pub(super) async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inner = Inner { url: url.clone(), answer };
        let state =
            Shared(Arc::new(Mutex::new(inner)), Arc::new(watch::Sender::default()), Arc::new(watch::Sender::default()));
        let router = Router::new().fallback(serve).with_state(state.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, state, serving }
    }

    pub(super) fn answers(&self, answer: Answer) {
        self.state.0.lock().unwrap().answer = answer;
    }

    /// How often a path was asked for.
    pub(super) fn asked(&self, path: &str) -> usize {
        self.state.1.borrow().get(path).copied().unwrap_or(0)
    }

    /// Waits until a path was asked for so often.
    pub(super) async fn wait_for(&self, path: &str, times: usize) {
        let mut asked = self.state.1.subscribe();
        let enough = asked.wait_for(|asked| asked.get(path).copied().unwrap_or(0) >= times);
        tokio::time::timeout(Duration::from_secs(30), enough).await.unwrap().unwrap();
    }

    /// Waits until whoever was being dripped at has gone.
    pub(super) async fn wait_until_left(&self) {
        let mut left = self.state.2.subscribe();
        tokio::time::timeout(Duration::from_secs(30), left.wait_for(|left| *left)).await.unwrap().unwrap();
    }
}

impl Drop for FakeIssuer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Says so when it is dropped: the client has gone.
struct Dripped(Arc<watch::Sender<bool>>);

impl Drop for Dripped {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

async fn serve(State(state): State<Shared>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let (url, answer) = {
        let inner = state.0.lock().unwrap();
        (inner.url.clone(), inner.answer.clone())
    };
    let response = match (path.as_str(), answer) {
        (DISCOVERY | KEYS, Answer::Status(status)) => StatusCode::from_u16(status).unwrap().into_response(),
        (DISCOVERY, _) => json!({ "issuer": url, "jwks_uri": format!("{url}{KEYS}") }).to_string().into_response(),
        (KEYS, Answer::Keys(keys)) => json!({ "keys": keys }).to_string().into_response(),
        (KEYS, Answer::Body(body)) => body.into_response(),
        (KEYS, Answer::Redirect(to)) => (StatusCode::FOUND, [(http::header::LOCATION, to)]).into_response(),
        (KEYS, Answer::Drip) => {
            let guard = Dripped(state.2.clone());
            let bytes = futures::stream::repeat(()).then(move |()| {
                let _held = &guard;
                async {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    Ok::<_, Infallible>(Bytes::from_static(b" "))
                }
            });
            Body::from_stream(bytes).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    };
    state.1.send_modify(|asked| *asked.entry(path).or_default() += 1);
    response
}
