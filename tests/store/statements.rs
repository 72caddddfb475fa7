//! Every function of the store that runs in an organization, run in another one and in none, with what is the first
//! one's: nothing of it comes back and nothing of it changes. None of these statements names an organization, so the
//! fences are all there is; the last test takes them down and sees each function reach over.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use sqlx::{AssertSqlSafe, Executor as _, PgConnection};
use sync_core::change::{ChangeKind, Severity};
use sync_core::graph::Context;
use sync_core::ids::{
    ChangeId, EventId, FindingId, IssuerId, JobId, LeaseId, OrganizationId, PrincipalId, RequestId, TokenId, WebhookId,
};
use sync_core::join::{Finding, Window};
use sync_core::principal::{Principal, PrincipalKind, Role, Scope};
use sync_core::rung::{BindingSource, Rung};
use sync_core::seal::RowKind;
use sync_server::audit::seal_key::SealKeys;
use sync_store::{
    AuditEvent, AuditFilter, AuditOrder, CallSiteFilter, FindingFilter, Forge, GrantFilter, IssuerRow, JobCause,
    JobKind, JobProblem, JobReport, JoinedFeed, Maintenance, MemberChange, NewJob, NewMember, NewToken, Outcome, Plan,
    Protocol, RefOrigin, RememberedAnswer, RepositoryState, SealedSecret, SecretPurpose, SnapshotLine, SourceSettings,
    Store, Ticket,
};

use sync_tests::{Canary, NOW, TestDatabase, TwoOrganizations, facts, with_database};
use time::Duration;
use time::macros::date;

/// What an organization has, by which functions are asked about it.
struct Known {
    who: Canary,
    /// A member that reads what is granted, from an identity provider.
    member: PrincipalId,
    token: TokenId,
    issuer: IssuerId,
    finding: FindingId,
    key: [u8; 32],
    path: String,
    webhook: WebhookId,
    /// Of a job that runs.
    ticket: Option<Ticket>,
    event: EventId,
    /// A transaction that its sealed rows are of.
    xid: u64,
}

impl Known {
    fn identity(&self) -> String {
        format!("https://{}.example", self.who.canary)
    }

    fn text(&self, what: &str) -> String {
        format!("{what}-{}", self.who.canary)
    }

    fn ticket(&self) -> &Ticket {
        self.ticket.as_ref().unwrap()
    }

    fn job<'a>(&'a self, ref_name: &'a str) -> NewJob<'a> {
        NewJob {
            id: JobId::at(NOW),
            repository: self.who.repository,
            kind: JobKind::Reindex,
            ref_name: Some(ref_name),
            cause: JobCause::Person,
            payload: &Value::Null,
            run_at: NOW,
        }
    }
}

fn event(canary: &str) -> AuditEvent {
    AuditEvent {
        event_id: EventId::at(NOW),
        time: NOW,
        principal: None,
        principal_name: Some(canary.to_owned()),
        principal_kind: None,
        credential_id: None,
        protocol: Protocol::Mcp,
        action: "mcp.ping".to_owned(),
        repository: None,
        arguments_digest: None,
        outcome: Some(Outcome::Ok),
        code: None,
        rows: None,
        duration: None,
        request_id: RequestId::at(NOW),
        client_ip: None,
    }
}

fn issuer(known: &str) -> IssuerRow {
    IssuerRow {
        id: IssuerId::at(NOW),
        issuer: format!("https://{known}.example"),
        audience: None,
        algorithms: vec!["EdDSA".to_owned()],
        jwks_url: None,
        organization_claim: Some("org".to_owned()),
        default_role: Role::Member,
        reads_all: false,
        created_at: NOW,
    }
}

fn finding(path: &str, canary: &str) -> Finding {
    Finding {
        finding_id: FindingId::of(&[path, canary]),
        change_id: ChangeId::of(&["change"]),
        path: path.to_owned(),
        line: 6,
        symbol: format!("charge_{canary}"),
        chain: "stripe.charges.create".to_owned(),
        vendor: "stripe".to_owned(),
        operation: None,
        change_kind: ChangeKind::ParamRemoved,
        severity: Severity::Breaking,
        window: Window::OnUpgrade,
        reason: None,
        sunset: None,
        binding_source: BindingSource::Rung(Rung::Static),
        context: Context::Code,
    }
}

/// Gives an organization one of everything.
async fn furnish(database: &TestDatabase, who: Canary) -> Known {
    let path = format!("src/{}.ts", who.canary);
    let mut known = Known {
        member: PrincipalId::at(NOW),
        token: TokenId::at(NOW),
        issuer: IssuerId::at(NOW),
        finding: FindingId::of(&[&path, who.canary]),
        key: [who.canary.len().to_le_bytes()[0]; 32],
        path,
        webhook: WebhookId::at(NOW),
        ticket: None,
        event: EventId::at(NOW),
        xid: 0,
        who,
    };
    let (store, principal, canary) = (&database.store, known.who.principal.clone(), known.who.canary);
    let mut tx = store.begin_write(&principal).await.unwrap();
    let identity = known.identity();
    let member = NewMember {
        id: known.member,
        name: &known.text("member"),
        kind: PrincipalKind::User,
        role: Role::Member,
        identity: Some((&identity, "ada")),
        reads_all: false,
    };
    tx.create_member(&member, NOW).await.unwrap();
    tx.grant(known.member, known.who.repository, NOW).await.unwrap();
    let scopes = BTreeSet::from([Scope::GraphRead]);
    let token = NewToken {
        id: known.token,
        principal: known.member,
        name: &known.text("token"),
        secret_hash: [9; 32],
        scopes: &scopes,
        expires_at: None,
    };
    tx.create_token(&token, NOW).await.unwrap();
    tx.create_issuer(&IssuerRow { id: known.issuer, ..issuer(canary) }).await.unwrap();
    tx.set_plan(&Plan { name: known.text("plan"), ..Plan::default() }, NOW).await.unwrap();
    tx.set_display_name(Some(&known.text("display")), NOW).await.unwrap();
    tx.add_usage(date!(2026 - 11 - 01), &known.text("use"), 7).await.unwrap();
    tx.set_display_name(Some(&known.text("name")), NOW).await.unwrap();
    let answer =
        RememberedAnswer { request_digest: [1; 32], status: 201, body: None, created_id: Some(known.text("created")) };
    tx.remember_answer(&known.key, &answer, NOW, NOW).await.unwrap();
    let sealed = SealedSecret { key_id: "0123456789abcdef".to_owned(), nonce: [1; 12], ciphertext: vec![2; 20] };
    tx.put_secret(SecretPurpose::WebhookSecret, &known.text("secret"), &sealed, NOW).await.unwrap();
    let feeds = [JoinedFeed { vendor: known.text("vendor"), version: 3 }];
    tx.replace_findings(&known.who.swap.index, &[finding(&known.path, canary)], &feeds, NOW).await.unwrap();
    tx.record_event(&AuditEvent { event_id: known.event, ..event(canary) }).await.unwrap();
    tx.keep_ref(known.who.repository, &known.text("expires"), RefOrigin::Requested, Some(NOW)).await.unwrap();
    // The first one's is due before the second's.
    let due = NOW - Duration::minutes(i64::try_from(canary.len()).unwrap());
    tx.set_sweep_at(known.who.repository, due).await.unwrap();
    let ended = tx.enqueue(&known.job(&known.text("ended")), NOW).await.unwrap();
    tx.cancel_job(ended.id, NOW).await.unwrap();
    tx.enqueue(&known.job(&known.text("runs")), NOW).await.unwrap();
    tx.put_webhook(known.webhook, known.who.repository, Forge::Github, None, NOW).await.unwrap();
    tx.remember_delivery(known.webhook, &known.key, ended.id, NOW).await.unwrap();
    tx.keep_ref(known.who.repository, &known.text("branch"), RefOrigin::Tracked, None).await.unwrap();
    tx.commit().await.unwrap();
    let mut queue = store.system("test").await.unwrap();
    known.ticket = queue.claim(LeaseId::at(NOW), NOW + Duration::HOUR, NOW).await.unwrap();
    queue.commit().await.unwrap();
    let mut superuser = database.superuser().await;
    let xid: String =
        sqlx::query_scalar("SELECT max(xid::text::numeric)::text FROM sync.audit_events WHERE organization_id = $1")
            .bind(principal.organization.uuid())
            .fetch_one(&mut superuser)
            .await
            .unwrap();
    known.xid = xid.parse().unwrap();
    // The feed that it was joined with is public, and kept.
    for statement in [
        "INSERT INTO feed.sources SELECT 'test', 1, 1, $2, $2 WHERE $1::text IS NOT NULL ON CONFLICT DO NOTHING",
        "INSERT INTO feed.vendors VALUES ($1, 'test', 3, sha256('feed'), 1, 'MIT', $2, 0, 0)",
    ] {
        sqlx::query(statement).bind(known.text("vendor")).bind(NOW).execute(&mut superuser).await.unwrap();
    }
    known
}

/// Seals what both have, once no transaction holds the horizon back.
async fn seal(database: &TestDatabase, known: &[&Known]) {
    let maintenance = Maintenance::connect(&database.maintenance_url, TestDatabase::pool()).await.unwrap();
    let keys = SealKeys::derive(b"a key of the tests that seals, long enough", []).unwrap();
    for one in known {
        let organization = one.who.principal.organization;
        loop {
            let sealed = sync_server::audit::sealing::seal(&maintenance, &keys, organization, NOW).await.unwrap();
            if sealed.rows > 0 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

macro_rules! probes {
    ($($door:ident $name:ident($tx:ident, $of:ident) => $call:expr;)+) => {
        /// What is run, by door and function.
        const PROBES: &[(&str, &str)] = &[$((stringify!($door), stringify!($name))),+];

        /// Runs one of them in the organization of `principal`, asked about what is `of`'s. What it says, debugged.
        async fn run(store: &Store, probe: (&str, &str), principal: &Principal, of: &Known, keep: bool) -> String {
            match probe {
                // On the heap, or one future would hold them all.
                $((stringify!($door), stringify!($name)) => Box::pin(async {
                    let mut $tx = probes!(@begin $door, store, principal);
                    let $of = of;
                    let _ = $of;
                    let said = format!("{:?}", $call.await);
                    if keep && said.starts_with("Ok") {
                        $tx.commit().await.unwrap();
                    }
                    said
                }).await,)+
                other => panic!("no probe {other:?}"),
            }
        }
    };
    (@begin Tx, $store:ident, $principal:ident) => { $store.begin_write($principal).await.unwrap() };
    (@begin AuthTx, $store:ident, $principal:ident) => { $store.authenticate($principal.organization).await.unwrap() };
}

/// The lines of a snapshot of nothing.
fn only_the_end() -> tokio::sync::mpsc::Receiver<Vec<SnapshotLine>> {
    let (lines, taken) = tokio::sync::mpsc::channel(1);
    lines.try_send(vec![SnapshotLine::End]).unwrap();
    taken
}

fn problem() -> JobProblem {
    JobProblem { reason: "it failed".to_owned(), next_step: "try again".to_owned() }
}

fn narrow() -> CallSiteFilter {
    CallSiteFilter { path: None, vendor: None, include_tests: true }
}

fn every_finding() -> FindingFilter {
    FindingFilter { include_tests: true, ..FindingFilter::default() }
}

fn another_token<'a>(of: &Known, scopes: &'a BTreeSet<Scope>) -> NewToken<'a> {
    NewToken {
        id: TokenId::at(NOW),
        principal: of.member,
        name: "another",
        secret_hash: [3; 32],
        scopes,
        expires_at: None,
    }
}

probes! {
    Tx call_sites_at(tx, of) => tx.call_sites_at(&of.who.swap.index, &of.path, 6);
    Tx nearest_call_sites(tx, of) => tx.nearest_call_sites(&of.who.swap.index, &of.path, 6, 3);
    Tx call_sites_of(tx, of) => tx.call_sites_of(&of.who.swap.index, &of.path);
    Tx count_call_sites(tx, of) => tx.count_call_sites(&of.who.swap.index, &narrow());
    Tx operations_used(tx, of) => tx.operations_used(&of.who.swap.index, "stripe");
    Tx indexed_sites(tx, of) => tx.indexed_sites(&of.who.swap.index);
    Tx file(tx, of) => tx.file(&of.who.swap.index, &of.path);
    Tx call_site(tx, of) => tx.call_site(&of.who.swap.index, &of.path, 0);
    Tx path_state(tx, of) => tx.path_state(&of.who.swap.index, &of.path);
    Tx file_bytes(tx, of) => tx.file_bytes(&of.who.swap.index, &of.path);
    Tx file_rows(tx, of) => tx.file_rows(&of.who.swap.index, std::slice::from_ref(&of.path));
    Tx symbol_lines(tx, of) => tx.symbol_lines(&of.who.swap.index, &[format!("{}#charge_{}#0", of.path, of.who.canary)]);
    Tx findings(tx, of) => tx.findings(&of.who.swap.index, &every_finding(), None, 9);
    Tx summarize_findings(tx, of) => tx.summarize_findings(&of.who.swap.index, &every_finding());
    Tx finding(tx, of) => tx.finding(&of.who.swap.index, &of.finding);
    Tx findings_at(tx, of) => tx.findings_at(&of.who.swap.index, &of.path, 6);
    Tx finding_ids(tx, of) => tx.finding_ids(&of.who.swap.index);
    Tx feeds_joined(tx, of) => tx.feeds_joined(&of.who.swap.index, &[&of.text("vendor")]);
    Tx joined_feeds(tx, of) => tx.joined_feeds(&of.who.swap.index);
    Tx replace_findings(tx, of) => tx.replace_findings(&of.who.swap.index, &[], &[], NOW);
    Tx audit_events(tx, of) => tx.audit_events(&AuditFilter { principal_name: Some(of.who.canary.to_owned()), ..AuditFilter::default() }, AuditOrder::NewestFirst(None), 9);
    Tx audit_row(tx, of) => tx.audit_row(RowKind::Event, of.event);
    Tx grants(tx, of) => tx.grants(GrantFilter { principal: Some(of.member), repository: None }, None, 9);
    Tx grant_of(tx, of) => tx.grant_of(of.member, of.who.repository);
    Tx grant(tx, of) => tx.grant(of.who.principal.id, of.who.repository, NOW);
    Tx revoke_grant(tx, of) => tx.revoke_grant(of.member, of.who.repository);
    Tx secret(tx, of) => tx.secret(SecretPurpose::WebhookSecret, &of.text("secret"));
    Tx secrets_of_other_keys(tx, of) => tx.secrets_of_other_keys("another", 9);
    Tx delete_secret(tx, of) => tx.delete_secret(SecretPurpose::WebhookSecret, &of.text("secret"));
    Tx remembered_answer(tx, of) => tx.remembered_answer(&of.key, NOW - Duration::HOUR);
    Tx current_index(tx, of) => tx.current_index(of.who.repository, "main");
    Tx answering_index(tx, of) => tx.answering_index(of.who.repository, "main");
    Tx index_by_commit(tx, of) => tx.index_by_commit(of.who.repository, &"a".repeat(40));
    Tx current_indexes(tx, of) => tx.current_indexes(of.who.repository);
    Tx set_head_commit(tx, of) => tx.set_head_commit(of.who.repository, "main", "feed");
    Tx clients(tx, of) => tx.clients(&of.who.swap.index);
    Tx client(tx, of) => tx.client(&of.who.swap.index, "00000000000000c1");
    Tx confirm_index(tx, of) => tx.confirm_index(&of.who.swap.index, NOW + Duration::DAY);
    Tx calling_paths(tx, of) => tx.calling_paths(&of.who.swap.index, "src/", 9);
    Tx issuer(tx, of) => tx.issuer(of.issuer);
    Tx issuers(tx, of) => tx.issuers(None, 9);
    Tx delete_issuer(tx, of) => tx.delete_issuer(of.issuer);
    Tx member_by_name(tx, of) => tx.member_by_name(&of.who.principal.name);
    Tx members(tx, of) => tx.members(None, None, 9);
    Tx member(tx, of) => tx.member(of.member);
    Tx roles_by_issuer(tx, of) => tx.roles_by_issuer(&of.identity());
    Tx reads_more_than(tx, of) => tx.reads_more_than(of.who.principal.id, &[]);
    Tx lock_member(tx, of) => tx.lock_member(of.member);
    Tx change_member(tx, of) => tx.change_member(of.member, &MemberChange { role: Some(Role::Admin), ..MemberChange::default() }, NOW);
    Tx enqueue(tx, of) => tx.enqueue(&of.job("main"), NOW);
    Tx job(tx, of) => tx.job(of.ticket().id);
    Tx jobs_of(tx, of) => tx.jobs_of(of.who.repository, 9);
    Tx cancel_job(tx, of) => tx.cancel_job(of.ticket().id, NOW);
    Tx forget_jobs(tx, of) => tx.forget_jobs(NOW + Duration::DAY, 9);
    Tx begin_job(tx, of) => tx.begin_job(of.ticket(), NOW);
    Tx finish_job(tx, of) => tx.finish_job(of.ticket(), &JobReport::default(), NOW);
    Tx bury_job(tx, of) => tx.bury_job(of.ticket(), &problem(), &JobReport::default(), NOW);
    Tx retry_job(tx, of) => tx.retry_job(of.ticket(), &problem(), &JobReport::default(), NOW, NOW);
    Tx return_job(tx, of) => tx.return_job(of.ticket(), NOW);
    Tx display_name(tx, of) => tx.display_name();
    Tx plan(tx, of) => tx.plan();
    Tx holdings(tx, of) => tx.holdings();
    Tx usage(tx, of) => tx.usage(date!(2026 - 11 - 01), date!(2026 - 11 - 01));
    Tx repository_by_name(tx, of) => tx.repository_by_name("acme/billing");
    Tx repository(tx, of) => tx.repository(of.who.repository);
    Tx visible_repositories(tx, of) => tx.visible_repositories(None, 9);
    Tx count_visible_repositories(tx, of) => tx.count_visible_repositories();
    Tx repositories_with_path(tx, of) => tx.repositories_with_path(&of.path, 9);
    Tx set_repository_state(tx, of) => tx.set_repository_state(of.who.repository, RepositoryState::Failed, None, NOW);
    Tx set_source_settings(tx, of) => tx.set_source_settings(of.who.repository, &SourceSettings { tracked_refs: vec!["release/*".to_owned()], ..SourceSettings::default() });
    Tx set_source_address(tx, of) => tx.set_source_address(of.who.repository, Some("github"), None);
    Tx set_egress_consent(tx, of) => tx.set_egress_consent(of.who.repository, Some("ada"), NOW);
    Tx erase_source(tx, of) => tx.erase_source(of.who.repository, None);
    Tx drop_ref(tx, of) => tx.drop_ref(of.who.repository, "main");
    Tx expired_refs(tx, of) => tx.expired_refs(NOW + Duration::DAY, 9);
    Tx known_repositories(tx, of) => tx.known_repositories(&[of.who.repository]);
    Tx source_to_sweep(tx, of) => tx.source_to_sweep(NOW);
    Tx set_sweep_at(tx, of) => tx.set_sweep_at(of.who.repository, NOW);
    Tx forget_deliveries(tx, of) => tx.forget_deliveries(NOW + Duration::DAY, 9);
    Tx refs(tx, of) => tx.refs(of.who.repository);
    Tx expire_ref(tx, of) => tx.expire_ref(of.who.repository, &of.text("branch"), NOW - Duration::HOUR);
    Tx keep_ref(tx, of) => tx.keep_ref(of.who.repository, "main", RefOrigin::Requested, Some(NOW));
    Tx set_committed_at(tx, of) => tx.set_committed_at(of.who.repository, "main", Some(NOW));
    Tx secret_changed_at(tx, of) => tx.secret_changed_at(SecretPurpose::WebhookSecret, &of.text("secret"));
    Tx webhook_of(tx, of) => tx.webhook_of(of.who.repository);
    Tx put_webhook(tx, of) => tx.put_webhook(of.webhook, of.who.repository, Forge::Gitea, None, NOW);
    Tx forget_webhook(tx, of) => tx.forget_webhook(of.who.repository);
    Tx lock_webhook(tx, of) => tx.lock_webhook(of.webhook);
    Tx webhook_delivery(tx, of) => tx.webhook_delivery(of.webhook, &of.key);
    Tx remember_delivery(tx, of) => tx.remember_delivery(of.webhook, &[7; 32], of.ticket().id, NOW);
    Tx note_delivery(tx, of) => tx.note_delivery(of.webhook, "push", None, NOW);
    Tx note_refused_delivery(tx, of) => tx.note_refused_delivery(of.webhook, "wrong");
    Tx set_default_branch(tx, of) => tx.set_default_branch(of.who.repository, "trunk");
    Tx seals_after(tx, of) => tx.seals_after(0, 9);
    Tx last_seal(tx, of) => tx.last_seal();
    Tx seal_of(tx, of) => tx.seal_of(of.xid);
    Tx seal_records(tx, of) => tx.seal_records(1);
    Tx sealed_rows(tx, of) => tx.sealed_rows(of.xid, of.xid + 1);
    Tx unsealed(tx, of) => tx.unsealed(of.xid);
    Tx lock_repository(tx, of) => tx.lock_repository(of.who.repository);
    Tx lock_source(tx, of) => tx.lock_source(of.who.repository);
    Tx swap_index(tx, of) => tx.swap_index(of.who.repository, "main", &facts::snapshot(&"e".repeat(40), vec![], vec![]).header, only_the_end(), NOW);
    Tx tokens(tx, of) => tx.tokens(Some(of.member), None, 9);
    Tx token_info(tx, of) => tx.token_info(of.token);
    Tx create_token(tx, of) => tx.create_token(&another_token(of, &BTreeSet::new()), NOW);
    Tx rotate_token(tx, of) => tx.rotate_token(of.token, TokenId::at(NOW), [4; 32], Duration::HOUR, NOW);
    Tx revoke_tokens_named(tx, of) => tx.revoke_tokens_named(of.member, &of.text("token"), NOW);
    Tx revoke_token(tx, of) => tx.revoke_token(of.token, NOW);
    AuthTx issuer(tx, of) => tx.issuer(of.issuer);
    AuthTx member_by_identity(tx, of) => tx.member_by_identity(&of.identity(), "ada");
    AuthTx plan(tx, of) => tx.plan();
    AuthTx token(tx, of) => tx.token(of.token);
    AuthTx webhook(tx, of) => tx.webhook(of.webhook);
    AuthTx touch_token(tx, of) => tx.touch_token(of.token, NOW);
}

/// Functions that name nothing of anybody's: they add a row to the organization of their transaction, which the
/// default of its column says, or hold a lock.
const OF_THEIR_OWN: [(&str, &str); 16] = [
    ("AuthTx", "create_member"),
    ("AuthTx", "record_event"),
    ("Tx", "add_member"),
    ("Tx", "add_usage"),
    ("Tx", "create_issuer"),
    ("Tx", "create_member"),
    ("Tx", "create_own_organization"),
    ("Tx", "has_no_member"),
    ("Tx", "hold_idempotency_key"),
    ("Tx", "put_secret"),
    ("Tx", "record_event"),
    ("Tx", "record_outcome"),
    ("Tx", "register_repository"),
    ("Tx", "remember_answer"),
    ("Tx", "set_display_name"),
    ("Tx", "set_plan"),
];

/// Functions that read what is public, which row security has nothing to do with, or only that of the own organization
/// that routing knows.
const PUBLIC: [(&str, &str); 13] = [
    ("Tx", "audit_horizon"),
    ("Tx", "change"),
    ("Tx", "changes"),
    ("Tx", "changes_by_id"),
    ("Tx", "changes_of_operation"),
    ("Tx", "feed"),
    ("Tx", "feed_versions"),
    ("Tx", "feeds"),
    ("Tx", "operations_of_groups"),
    ("Tx", "own_organization"),
    ("Tx", "set_organization_state"),
    ("Tx", "vendor_feeds"),
    // Tests of the audit log drive it: nothing is pruned in an hour.
    ("Tx", "last_pruning"),
];

/// Every row of the organization, by table.
async fn rows_of(superuser: &mut PgConnection, organization: OrganizationId) -> BTreeMap<String, Vec<String>> {
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relnamespace IN ('sync'::regnamespace, 'routing'::regnamespace) AND c.relkind = 'r'
           AND a.attname = 'organization_id' ORDER BY 1",
    )
    .fetch_all(&mut *superuser)
    .await
    .unwrap();
    let mut rows = BTreeMap::new();
    for table in tables {
        let select = format!("SELECT to_json(t)::text FROM {table} t WHERE organization_id = $1 ORDER BY 1");
        let found = sqlx::query_scalar(AssertSqlSafe(select)).bind(organization.uuid());
        rows.insert(table, found.fetch_all(&mut *superuser).await.unwrap());
    }
    rows
}

async fn world(database: &TestDatabase) -> (Known, Known) {
    let two = TwoOrganizations::create(&database.store).await.unwrap();
    let known = (furnish(database, two.alpha).await, furnish(database, two.beta).await);
    seal(database, &[&known.0, &known.1]).await;
    // The first one's source was looked at longest ago, which makes it the second's turn where no fence hides it.
    // Both rows are written anew, so that theirs stay in this order too.
    for (of, ago) in [(&known.0, Duration::HOUR), (&known.1, Duration::MINUTE)] {
        sqlx::query("UPDATE sync.repositories SET sweep_at = $2 WHERE organization_id = $1")
            .bind(of.who.principal.organization.uuid())
            .bind(NOW - ago)
            .execute(&mut database.superuser().await)
            .await
            .unwrap();
    }
    known
}

#[test]
fn no_function_of_the_store_is_left_out() {
    let mut written = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/store/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let mut door = String::new();
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                if let Some(of) = line.strip_prefix("impl ") {
                    door = of.split([' ', '<']).next().unwrap().to_owned();
                }
                let name = line.strip_prefix("    pub async fn ").and_then(|rest| rest.split('(').next());
                if let (Some(name), "Tx" | "AuthTx") = (name, door.as_str()) {
                    written.insert((door.clone(), name.to_owned()));
                }
            }
        }
    }
    for door in ["Tx", "AuthTx"] {
        assert!(written.remove(&(door.to_owned(), "commit".to_owned())));
    }
    let listed = PROBES.iter().chain(&OF_THEIR_OWN).chain(&PUBLIC);
    let listed: Vec<_> = listed.map(|(door, name)| ((*door).to_owned(), (*name).to_owned())).collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>().len(), listed.len(), "one is listed twice");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), written);
}

#[test]
fn what_is_anothers_neither_comes_back_nor_changes() {
    with_database(async |database: &TestDatabase| {
        let (alpha, beta) = world(database).await;
        let mut superuser = database.superuser().await;
        let before = rows_of(&mut superuser, alpha.who.principal.organization).await;
        let nobody = Principal::service(OrganizationId::at(NOW), "test");
        for probe in PROBES {
            let own = run(&database.store, *probe, &alpha.who.principal, &alpha, false).await;
            let crossed = run(&database.store, *probe, &beta.who.principal, &alpha, true).await;
            let none = run(&database.store, *probe, &nobody, &alpha, false).await;
            for said in [&crossed, &none] {
                assert!(!said.contains(alpha.who.canary), "{probe:?}: {said}");
                assert!(!said.contains("Bug("), "{probe:?}: {said}");
            }
            assert!(!none.contains(beta.who.canary), "{probe:?}: {none}");
            assert!(own.starts_with("Ok"), "{probe:?} says nothing to its own: {own}");
        }
        assert_eq!(rows_of(&mut superuser, alpha.who.principal.organization).await, before);
    });
}

#[test]
fn without_the_fences_every_one_of_them_would_reach_over() {
    with_database(async |database: &TestDatabase| {
        let (alpha, beta) = world(database).await;
        let mut superuser = database.superuser().await;
        let mut fenced = BTreeMap::new();
        for probe in PROBES {
            fenced.insert(*probe, run(&database.store, *probe, &beta.who.principal, &alpha, false).await);
        }
        superuser
            .execute(
                "DO $$ DECLARE fenced regclass; BEGIN
                     FOR fenced IN SELECT oid FROM pg_class WHERE relrowsecurity LOOP
                         EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', fenced);
                     END LOOP; END $$",
            )
            .await
            .unwrap();
        let mut blind = Vec::new();
        for probe in PROBES {
            // What the one before held is let go when its transaction ends, which nobody waits for; some pass over what is held.
            database.open_transactions().await.unwrap();
            if run(&database.store, *probe, &beta.who.principal, &alpha, false).await != fenced[probe] {
                continue;
            }
            // Some say nothing of the rows that they change: then the rows tell.
            let before = rows_of(&mut superuser, alpha.who.principal.organization).await;
            run(&database.store, *probe, &beta.who.principal, &alpha, true).await;
            if rows_of(&mut superuser, alpha.who.principal.organization).await == before {
                blind.push(*probe);
            }
        }
        // What these write refers to a member, a repository or an endpoint of its own organization, with or without fences.
        let by_reference = [
            ("Tx", "grant"),
            ("Tx", "set_head_commit"),
            ("Tx", "keep_ref"),
            ("Tx", "put_webhook"),
            ("Tx", "remember_delivery"),
        ];
        assert_eq!(blind, by_reference, "a probe that does the same with and without the fences proves nothing");
    });
}
