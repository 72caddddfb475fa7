//! Uploads beside each other and beside everything else: none of them, and no organization, keeps the others out.

use axum::body::Bytes;
use futures::channel::mpsc;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use sync_core::ids::RepositoryId;
use sync_core::principal::{Principal, Scope};
use sync_store::{Gate, RepositoryState, SourceSettings};
use sync_tests::service::{Reply, TestService};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, facts, with_database};

const C1: &str = "1111111111111111111111111111111111111111";
const C2: &str = "2222222222222222222222222222222222222222";

fn snapshot(commit: &str) -> Vec<u8> {
    let calls = vec![facts::call("charge", 4)];
    facts::bytes(&facts::snapshot(
        commit,
        vec![facts::client("2025-05-28.basil")],
        vec![facts::file("src/a.ts", calls)],
    ))
}

fn code(reply: &Reply) -> (u16, String) {
    (reply.status, reply.json()["code"].as_str().unwrap_or_default().to_owned())
}

struct Ci<'a> {
    service: &'a TestService,
    token: String,
    source: RepositoryId,
}

impl<'a> Ci<'a> {
    async fn of(service: &'a TestService, principal: &Principal, source: RepositoryId) -> Self {
        let token = service.token(principal, &[Scope::SourcesWrite, Scope::GraphRead], None).await.1;
        Self { service, token, source }
    }

    fn upload(&self, query: &str, body: reqwest::Body) -> impl Future<Output = Reply> + Send + use<> {
        let address = format!("{}/v1/sources/{}/snapshots/{C1}{query}", self.service.url, self.source);
        let request = self.service.client.put(address).bearer_auth(&self.token);
        Reply::of(request.header("content-type", "application/x-ndjson").body(body))
    }

    async fn send(&self, query: &str) -> Reply {
        self.upload(query, snapshot(C1).into()).await
    }

    async fn change(&self, method: &str, body: Value) -> Reply {
        let address = format!("{}/v1/sources/{}", self.service.url, self.source);
        let request = self.service.client.request(method.parse().unwrap(), address).bearer_auth(&self.token);
        Reply::of(if body.is_null() { request } else { request.json(&body) }).await
    }

    /// A body of which the first part is there and the rest comes when it is sent.
    fn slow(&self, query: &str) -> (mpsc::Sender<Result<Bytes, std::io::Error>>, tokio::task::JoinHandle<Reply>) {
        let (mut parts, body) = mpsc::channel(4);
        let whole = snapshot(C1);
        parts.try_send(Ok(Bytes::from(whole[..100].to_vec()))).unwrap();
        let reply = tokio::spawn(self.upload(query, reqwest::Body::wrap_stream(body)));
        (parts, reply)
    }

    /// Waits until so many bodies of the organization are there.
    async fn holds(&self, principal: &Principal, places: usize) {
        while self.service.app.uploads.of(principal.organization) != places {
            tokio::task::yield_now().await;
        }
    }
}

fn rest() -> Bytes {
    Bytes::from(snapshot(C1)[100..].to_vec())
}

/// Holds a source as one does whose index is being stored, until the connection is closed.
async fn held(database: &TestDatabase, source: RepositoryId) -> PgConnection {
    let mut connection = database.superuser().await;
    sqlx::query("BEGIN").execute(&mut connection).await.unwrap();
    sqlx::query("SELECT 1 FROM sync.repositories WHERE id = $1 FOR NO KEY UPDATE")
        .bind(source.uuid())
        .execute(&mut connection)
        .await
        .unwrap();
    connection
}

/// Waits until so many connections of the service wait for a row.
async fn waiting(database: &TestDatabase, many: i64) {
    let mut connection = database.superuser().await;
    loop {
        let now: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )
        .fetch_one(&mut connection)
        .await
        .unwrap();
        if now == many {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn slow_bodies_of_one_organization_do_not_keep_another_out() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = Ci::of(&service, &both.alpha.principal, both.alpha.repository).await;
        let beta = Ci::of(&service, &both.beta.principal, both.beta.repository).await;
        let (mut first, first_reply) = alpha.slow("?ref=a");
        let (second, second_reply) = alpha.slow("?ref=b");
        alpha.holds(&both.alpha.principal, 2).await;
        let third = alpha.send("?ref=c").await;
        assert_eq!(code(&third), (503, "unavailable".to_owned()), "{third:?}");
        assert_eq!(third.header("retry-after"), "10");
        assert_eq!(beta.send("").await.status, 201);

        // What comes to its end, or breaks off, gives its place to the next.
        first.try_send(Ok(rest())).unwrap();
        drop(first);
        assert_eq!(first_reply.await.unwrap().status, 201);
        second_reply.abort();
        drop(second);
        alpha.holds(&both.alpha.principal, 0).await;
        assert_eq!(alpha.send("?ref=c").await.status, 201);
        service.stop().await;
    });
}

#[test]
fn uploads_that_are_stored_leave_connections_to_everybody_and_a_turn_to_other_organizations() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let alpha = Ci::of(&service, &both.alpha.principal, both.alpha.repository).await;
        let beta = Ci::of(&service, &both.beta.principal, both.beta.repository).await;
        let lock = held(database, alpha.source).await;
        let stored = [
            tokio::spawn(alpha.upload("?ref=a", snapshot(C1).into())),
            tokio::spawn(alpha.upload("?ref=b", snapshot(C1).into())),
        ];
        alpha.holds(&both.alpha.principal, 2).await;
        waiting(database, 1).await;

        // One of the two has the organization's turn; another organization has one of its own.
        assert_eq!(beta.send("").await.status, 201);
        let other = held(database, beta.source).await;
        let more = [
            tokio::spawn(beta.upload("?ref=a", snapshot(C1).into())),
            tokio::spawn(beta.upload("?ref=b", snapshot(C1).into())),
        ];
        beta.holds(&both.beta.principal, 2).await;
        waiting(database, 2).await;
        // Of four that are under way, two have a connection: of the four that the service has, two are left.
        for ci in [&alpha, &beta] {
            let source = ci.change("GET", Value::Null).await;
            assert_eq!(source.status, 200, "{source:?}");
        }
        for lock in [lock, other] {
            lock.close().await.unwrap();
        }
        for upload in stored.into_iter().chain(more) {
            assert_eq!(upload.await.unwrap().status, 201);
        }
        service.stop().await;
    });
}

#[test]
fn a_source_whose_index_is_being_stored_is_busy_and_nothing_else() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let ci = Ci::of(&service, &both.alpha.principal, both.alpha.repository).await;
        let lock = held(database, ci.source).await;
        for (method, body) in [("PATCH", json!({ "gate": "off" })), ("DELETE", Value::Null)] {
            let reply = ci.change(method, body).await;
            assert_eq!(code(&reply), (409, "source_is_busy".to_owned()), "{method}: {reply:?}");
            assert_eq!(reply.header("retry-after"), "5");
            assert!(reply.json()["next_step"].as_str().unwrap().contains("again"), "{reply:?}");
        }
        let read = ci.change("GET", Value::Null).await;
        assert_eq!((read.status, &read.json()["gate"]), (200, &json!("auto")));
        lock.close().await.unwrap();
        let changed = ci.change("PATCH", json!({ "gate": "off" })).await;
        assert_eq!((changed.status, &changed.json()["gate"]), (200, &json!("off")), "{changed:?}");
        assert_eq!(ci.change("DELETE", Value::Null).await.status, 202);
        service.stop().await;
    });
}

#[test]
fn a_source_that_is_erased_while_a_body_arrives_is_not_brought_back() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let ci = Ci::of(&service, &both.alpha.principal, both.alpha.repository).await;
        let (mut parts, reply) = ci.slow("");
        ci.holds(&both.alpha.principal, 1).await;
        assert_eq!(ci.change("DELETE", Value::Null).await.status, 202);
        parts.try_send(Ok(rest())).unwrap();
        drop(parts);
        let reply = reply.await.unwrap();
        assert_eq!(code(&reply), (409, "source_is_deleting".to_owned()), "{reply:?}");
        let mut tx = database.store.begin(&both.alpha.principal).await.unwrap();
        assert_eq!(tx.repository(ci.source).await.unwrap().unwrap().state, RepositoryState::Deleting);
        drop(tx);
        service.stop().await;
    });
}

#[test]
fn what_sync_fetches_itself_no_upload_replaces() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let owner = &both.alpha.principal;
        let service = TestService::start(database).await;
        let ci = Ci::of(&service, owner, both.alpha.repository).await;
        let settings = |gate| SourceSettings { tracked_refs: vec!["release/*".to_owned()], gate };
        let set = async |gate, indexed: Option<&str>| {
            let mut tx = database.store.begin_write(owner).await.unwrap();
            tx.set_source_address(ci.source, None, Some("https://git.example/acme/billing")).await.unwrap();
            tx.set_egress_consent(ci.source, Some("ada"), NOW).await.unwrap();
            tx.set_source_settings(ci.source, &settings(gate)).await.unwrap();
            if let Some(commit) = indexed {
                let fetched = facts::snapshot(commit, vec![], vec![facts::file("src/fetched.ts", vec![])]);
                facts::swap(&mut tx, ci.source, "main", &fetched, NOW).await.unwrap();
            }
            tx.commit().await.unwrap();
        };
        let indexed = async |name: &str| {
            let mut tx = database.store.begin(owner).await.unwrap();
            tx.current_index(ci.source, name)
                .await
                .unwrap()
                .map(|index| (index.commit.unwrap(), index.counts.call_sites))
        };
        set(Gate::Auto, Some(C2)).await;
        for query in ["", "?ref=main", "?ref=main&committed_at=2026-11-30T00:00:00Z", "?ref=release/1"] {
            let reply = ci.send(query).await;
            assert_eq!(code(&reply), (409, "source_is_fetched".to_owned()), "{query}: {reply:?}");
            assert!(reply.text.contains("refresh") && reply.text.contains("gate"), "{reply:?}");
        }
        assert_eq!(indexed("main").await, Some((C2.to_owned(), 0)));
        // Of the very commit that is indexed it is known already, whatever it says.
        set(Gate::Auto, Some(C1)).await;
        let same = ci.send("").await;
        assert_eq!((same.status, &same.json()["changed_files"]), (200, &json!(0)), "{same:?}");
        assert_eq!(indexed("main").await, Some((C1.to_owned(), 0)), "what was fetched stays");
        // Branches that it does not fetch, and sources that it does not, are what CI says.
        assert_eq!(ci.send("?ref=feature/x").await.status, 201);
        set(Gate::Off, None).await;
        assert_eq!(ci.send("").await.status, 201);
        assert_eq!(indexed("main").await, Some((C1.to_owned(), 1)));
        service.stop().await;
    });
}

#[test]
fn an_upload_to_a_source_that_is_fetched_says_nothing_of_its_default_branch() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let mut ci = Ci::of(&service, &both.alpha.principal, both.alpha.repository).await;
        let body = json!({ "clone_url": "https://git.example/acme/new", "consent": { "egress": true } });
        let request = service.client.post(format!("{}/v1/sources", service.url)).bearer_auth(&ci.token);
        let registered = Reply::of(request.json(&body)).await.json();
        assert_eq!(registered["default_branch"], "HEAD");
        ci.source = registered["id"].as_str().unwrap().parse().unwrap();
        assert_eq!(ci.send("?ref=feature/x").await.status, 201);
        let source = ci.change("GET", Value::Null).await.json();
        assert_eq!((&source["default_branch"], &source["state"]), (&json!("HEAD"), &json!("registered")), "{source}");
        service.stop().await;
    });
}
