//! A service's answering half with a mock clock, over a database of its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use sync_core::change::VendorFeed;
use sync_core::clock::{Clock as _, MockClock};
use sync_core::ids::{OrganizationId, PrincipalId, RepositoryId, RequestId};
use sync_core::principal::{Principal, PrincipalKind, Readable, Role, Scope};
use sync_server::answers::error::AnswerError;
use sync_server::answers::{DEFAULT_BYTES, InProcess, MAX_BYTES, tools};
use sync_server::audit::{Asker, AuditLedger, Auditor, LedgerState, Protocol};
use sync_server::jobs::refresh_feed;
use sync_server::jobs::snapshot_file::swap_lines;
use sync_server::keys::Keys;
use sync_store::{FeedSource, NewRepository, RepositoryState, Store, VerifiedFeed};
use sync_tests::TestDatabase;
use sync_tests::facts::{self, SnapshotFacts};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

/// When every test begins.
pub(crate) const START: OffsetDateTime = sync_tests::NOW;

/// The place that feeds of tests come from.
const SOURCE: &str = "https://feed.example";

/// Everything a question needs.
pub(crate) struct World {
    pub(crate) database: TestDatabase,
    pub(crate) clock: Arc<MockClock>,
    pub(crate) answers: InProcess,
    pub(crate) organization: OrganizationId,
    feed_version: u64,
}

impl World {
    /// One organization, nothing in it.
    pub(crate) async fn empty() -> Self {
        let database = TestDatabase::create().await;
        let clock = Arc::new(MockClock::at(START));
        let answers = answering(&database.store, clock.clone());
        let organization = OrganizationId::from_uuid(Uuid::from_u128(0xa));
        let world = Self { database, clock, answers, organization, feed_version: 0 };
        world.create_organization(organization, "acme").await;
        world
    }

    /// The organization with `acme/billing` of [`super::sample::billing`], and Stripe's feed.
    pub(crate) async fn with_billing() -> Self {
        let mut world = Self::empty().await;
        world.adopt(&[super::sample::stripe_feed()]).await;
        let repository = world.register("acme/billing", 1).await;
        world.index(repository, "main", &super::sample::billing()).await;
        world
    }

    /// The same answers over another pool.
    pub(crate) fn answers_over(&self, store: &Store) -> InProcess {
        answering(store, self.clock.clone())
    }

    /// Asserts that nothing was left open, and drops the database.
    pub(crate) async fn end(self) {
        self.database.finish().await;
    }

    pub(crate) fn store(&self) -> &Store {
        &self.database.store
    }

    pub(crate) async fn create_organization(&self, id: OrganizationId, slug: &str) {
        let mut tx = self.store().system("test").await.unwrap();
        tx.create_organization(id, slug, self.clock.now()).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Registers a repository with a fixed id, so that the ids of its findings are known.
    pub(crate) async fn register(&self, name: &str, id: u128) -> RepositoryId {
        self.register_in(self.organization, name, id).await
    }

    pub(crate) async fn register_in(&self, organization: OrganizationId, name: &str, id: u128) -> RepositoryId {
        let id = RepositoryId::from_uuid(Uuid::from_u128(id));
        let repository = NewRepository { id, name, provider: None, clone_url: None, default_branch: "main" };
        let mut tx = self.store().begin_write(&Principal::service(organization, "test")).await.unwrap();
        tx.register_repository(&repository, self.clock.now()).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    pub(crate) async fn index(&self, repository: RepositoryId, ref_name: &str, snapshot: &SnapshotFacts) {
        self.index_in(self.organization, repository, ref_name, snapshot).await;
    }

    pub(crate) async fn index_in(
        &self,
        organization: OrganizationId,
        repository: RepositoryId,
        ref_name: &str,
        snapshot: &SnapshotFacts,
    ) {
        let principal = Principal::service(organization, "test");
        let mut tx = self.store().begin_write(&principal).await.unwrap();
        let lines = (&snapshot.header, facts::lines(snapshot));
        swap_lines(&mut tx, repository, ref_name, lines, self.clock.now()).await.unwrap();
        tx.set_repository_state(repository, RepositoryState::Indexed, None, self.clock.now()).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Adopts feeds as verified now, for a week.
    pub(crate) async fn adopt(&mut self, feeds: &[VendorFeed]) {
        self.feed_version += 1;
        let now = self.clock.now();
        let source = FeedSource {
            name: SOURCE.to_owned(),
            root_version: 1,
            version: self.feed_version,
            expires_at: now + Duration::days(7),
            checked_at: now,
        };
        let digests: Vec<String> = feeds
            .iter()
            .map(|feed| {
                let text = serde_json::to_string(feed).unwrap();
                sync_core::graph::short_hash(&[&text]).repeat(4)
            })
            .collect();
        let verified: Vec<VerifiedFeed<'_>> = feeds
            .iter()
            .zip(&digests)
            .map(|(feed, sha256)| VerifiedFeed { version: self.feed_version, sha256, feed })
            .collect();
        refresh_feed::adopt(self.store(), &source, &verified, now).await.unwrap();
    }

    /// Somebody of the organization who may read everything.
    pub(crate) fn asker(&self) -> Asker {
        self.asker_of(self.organization, Readable::All)
    }

    pub(crate) fn asker_of(&self, organization: OrganizationId, readable: Readable) -> Asker {
        let principal = Principal {
            organization,
            id: PrincipalId::from_uuid(Uuid::from_u128(0xb)),
            name: "ada".to_owned(),
            kind: PrincipalKind::User,
            role: Role::Member,
            scopes: BTreeSet::from([Scope::GraphRead]),
            readable,
            credential_id: "tok_test".to_owned(),
        };
        Asker {
            principal: Arc::new(principal),
            request_id: RequestId::at(self.clock.now()),
            protocol: Protocol::Mcp,
            door: "mcp.tools/call",
            client_ip: None,
            pinned_repository: None,
            began: std::time::Instant::now().into(),
            ledger: AuditLedger::default(),
        }
    }

    /// Calls a tool. Whatever comes back must be written down; an answer must fit its schema and its size.
    pub(crate) async fn call(&self, asker: &Asker, tool: &str, arguments: Value) -> Result<Value, AnswerError> {
        let tool = tools::find(tool).unwrap();
        let began = std::time::Instant::now().into();
        let asker = Asker { ledger: AuditLedger::default(), began, ..asker.clone() };
        let answer = tool.call(&self.answers, &asker, arguments.as_object().unwrap()).await;
        assert_eq!(asker.ledger.state(), LedgerState::Committed, "{} {arguments}", tool.name);
        if let Ok(answer) = &answer {
            let schema = Value::Object(tool.output_schema.clone());
            jsonschema::validate(&schema, answer).unwrap_or_else(|error| panic!("{} {arguments}: {error}", tool.name));
            let most = if arguments["limit"].as_u64() > Some(20) { MAX_BYTES } else { DEFAULT_BYTES };
            let bytes = serde_json::to_vec(answer).unwrap().len();
            assert!(bytes <= most, "{} {arguments} is {bytes} bytes:\n{answer:#}", tool.name);
        }
        answer
    }

    /// What is at risk, asked by [`World::asker`].
    pub(crate) async fn at_risk(&self, arguments: Value) -> Value {
        self.call(&self.asker(), "sync_whats_at_risk", arguments).await.unwrap()
    }

    /// A call site explained, asked by [`World::asker`].
    pub(crate) async fn explain(&self, file: &str, line: u32) -> Value {
        self.call(&self.asker(), "sync_explain_call_site", json!({"file": file, "line": line})).await.unwrap()
    }

    /// What changed, asked by [`World::asker`].
    pub(crate) async fn changed(&self, arguments: Value) -> Value {
        self.call(&self.asker(), "sync_whats_changed", arguments).await.unwrap()
    }
}

fn answering(store: &Store, clock: Arc<MockClock>) -> InProcess {
    let keys = Keys::derive(b"a secret of tests, long enough to be one");
    let auditor = Auditor::new(store.clone(), clock, keys.clone());
    let vendors: BTreeSet<String> = ["github", "slack", "stripe", "twilio"].map(str::to_owned).into();
    InProcess::new(auditor, keys.cursors(), vendors)
}

/// The named values of each row of a list, joined by a space.
pub(crate) fn rows(answer: &Value, list: &str, names: &[&str]) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let row = |row: &Value| names.iter().map(|name| text(&row[*name])).collect::<Vec<_>>().join(" ");
    answer[list].as_array().unwrap().iter().map(row).collect()
}
