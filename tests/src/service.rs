//! The whole service in-process, on port 0, with a clock that tests move.

use std::collections::BTreeSet;
use std::sync::Arc;

use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use sync_core::clock::{Clock as _, MockClock};
use sync_core::ids::{OrganizationId, TokenId};
use sync_core::principal::{Principal, Scope};
use sync_ingest::catalog::Catalog;
use sync_server::answers::{Answers, InProcess};
use sync_server::app::App;
use sync_server::config::Config;
use sync_server::http::serve;
use sync_server::identity::{random_secret, token};
use sync_server::shutdown::Shutdown;
use sync_store::{NewToken, Store};
use time::OffsetDateTime;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::{NOW, TestDatabase};

/// A running service.
pub struct TestService {
    /// Its origin: `http://127.0.0.1:<port>`.
    pub url: String,
    /// What it takes for the time.
    pub clock: Arc<MockClock>,
    /// Its inside.
    pub app: Arc<App>,
    /// Speaks HTTP to it, follows nothing.
    pub client: reqwest::Client,
    /// Ends it.
    pub shutdown: Shutdown,
    serving: JoinHandle<std::io::Result<()>>,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The body.
    pub text: String,
}

/// One row of the audit log, as far as tests look at it.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct AuditRow {
    /// What was done.
    pub action: String,
    /// How it ended.
    pub outcome: Option<String>,
    /// Why.
    pub code: Option<String>,
    /// Whose credential.
    pub credential_id: Option<String>,
    /// Keyed digest of the arguments.
    pub arguments_digest: Option<Vec<u8>>,
    /// The request.
    pub request_id: uuid::Uuid,
    /// The protocol.
    pub protocol: String,
}

impl TestService {
    /// On the database's own store, with no configuration but what it needs.
    pub async fn start(database: &TestDatabase) -> Self {
        Self::start_with(database.store.clone(), &[], |answers| answers).await
    }

    /// With further configuration, and with answers put between the service and the store.
    pub async fn start_with(
        store: Store,
        settings: &[(&str, &str)],
        wrap: impl FnOnce(Arc<dyn Answers>) -> Arc<dyn Answers>,
    ) -> Self {
        // The clock of a test stands still, and with it every limit: none is met but where a test sets one.
        let given = [
            ("SYNC_LISTEN", "127.0.0.1:0"),
            ("SYNC_SECRET_KEY", "a key of the tests, long enough for one"),
            ("SYNC_PRINCIPAL_REQUESTS_PER_MINUTE", "1000000000"),
            ("SYNC_ORGANIZATION_REQUESTS_PER_MINUTE", "1000000000"),
            ("SYNC_STRANGER_REQUESTS_PER_MINUTE", "1000000000"),
        ];
        let environment = given.iter().chain(settings).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut config = must(Config::load(None, environment));
        let listener = must(TcpListener::bind(config.listen).await);
        config.bound_to(must(listener.local_addr()));
        let url = format!("http://{}", config.listen);
        let clock = Arc::new(MockClock::at(NOW));
        let catalog = must(Catalog::embedded());
        let vendors: BTreeSet<String> = catalog.vendors().map(|vendor| vendor.id.clone()).collect();
        let app = must(App::new(config, store, clock.clone(), |auditor, cursors| {
            wrap(Arc::new(InProcess::new(auditor, cursors, vendors)))
        }));
        let shutdown = Shutdown::default();
        let serving = tokio::spawn(serve(app.clone(), listener, shutdown.clone()));
        let client = must(reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build());
        Self { url, clock, app, client, shutdown, serving }
    }

    /// Ends it as SIGTERM would; every request in flight has been answered and written down when this returns.
    pub async fn stop(self) {
        drop(self.client);
        self.shutdown.begin();
        must(must(self.serving.await));
    }

    /// A token of a principal, made as the command line makes them.
    pub async fn token(
        &self,
        principal: &Principal,
        scopes: &[Scope],
        expires_at: Option<OffsetDateTime>,
    ) -> (TokenId, String) {
        let now = self.clock.now();
        let id = TokenId::at(now);
        let made = token::make(principal.organization, id, must(random_secret().map_err(|error| format!("{error:?}"))));
        let scopes: BTreeSet<Scope> = scopes.iter().copied().collect();
        let mut tx = must(self.app.store.begin(principal).await);
        let new = NewToken {
            id,
            principal: principal.id,
            name: &id.to_string(),
            secret_hash: made.secret_hash,
            scopes: &scopes,
            expires_at,
        };
        must(tx.create_token(&new, now).await);
        must(tx.commit().await);
        (id, made.text)
    }

    /// A token that may ask.
    pub async fn reader(&self, principal: &Principal) -> String {
        self.token(principal, &[Scope::GraphRead], None).await.1
    }

    /// A POST that a client of the handshake revisions would send.
    pub fn post(&self, path: &str, credential: &str) -> reqwest::RequestBuilder {
        self.client
            .post(format!("{}{path}", self.url))
            .bearer_auth(credential)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
    }

    /// Sends a method with its parameters to `/mcp`.
    pub async fn rpc(&self, credential: &str, method: &str, params: Value) -> Reply {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        Reply::of(self.post("/mcp", credential).body(body.to_string())).await
    }

    /// Calls a tool.
    pub async fn call(&self, credential: &str, tool: &str, arguments: Value) -> Reply {
        self.rpc(credential, "tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// The same as a client of 2026-07-28 sends it.
    pub async fn modern(&self, credential: &str, method: &str, params: Value) -> Reply {
        let (body, name) = modern_message(method, params);
        let mut request =
            self.post("/mcp", credential).header("mcp-protocol-version", MODERN).header("mcp-method", method);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        Reply::of(request.body(body.to_string())).await
    }
}

/// The stateless revision.
pub const MODERN: &str = "2026-07-28";

/// A message of the stateless revision, and what its `Mcp-Name` header has to say.
pub fn modern_message(method: &str, mut params: Value) -> (Value, Option<String>) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str().map(str::to_owned),
        "resources/read" | "resources/subscribe" => params["uri"].as_str().map(str::to_owned),
        _ => None,
    };
    (json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }), name)
}

impl Reply {
    /// Sends a request and reads all of what comes back.
    pub async fn of(request: reqwest::RequestBuilder) -> Self {
        let response = must(request.send().await);
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, text: must(response.text().await) }
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// A header's text; empty where it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The code of a JSON-RPC error; 0 where there is none.
    pub fn rpc_code(&self) -> i64 {
        self.json().pointer("/error/code").and_then(Value::as_i64).unwrap_or(0)
    }

    /// What a tool said instead of an answer, read out of its text, as an agent reads it; null where it answered.
    pub fn tool_error(&self) -> Value {
        let result = &self.json()["result"];
        if result["isError"] != true {
            return Value::Null;
        }
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        serde_json::from_str::<Value>(text).unwrap_or_default()["error"].clone()
    }
}

/// The organization's audit log, in the order in which it was written.
pub async fn audit_log(database: &TestDatabase, organization: OrganizationId) -> Vec<AuditRow> {
    let mut connection = database.superuser().await;
    let rows = sqlx::query_as(
        "SELECT action, outcome, code, credential_id, arguments_digest, request_id, protocol
         FROM sync.audit_events WHERE organization_id = $1 ORDER BY xid, time, event_id",
    )
    .bind(organization.uuid())
    .fetch_all(&mut connection)
    .await;
    must(rows)
}

fn must<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("the harness failed: {error:#}"))
}
