//! Every operation of `/v1` and every method, tool, resource and prompt of MCP × {no token, expired, wrong scope, a role
//! that may not, another organization, no grant on this repository, right}: who is let in, what is said, that exactly one
//! row is written, and that what may not be seen is what is not there, to the byte and to the statement.
//!
//! The operations are those of the OpenAPI file and of the lists that MCP gives; each is a row of `core/src/policy.rs`.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sync_core::ids::{EventId, IssuerId, JobId, PrincipalId, RepositoryId, TokenId};
use sync_core::policy::{About, Operation};
use sync_core::principal::{Principal, PrincipalKind, Readable, Role, Scope};
use sync_server::answers::tools;
use sync_store::{IssuerRow, JobCause, JobKind, NewJob, NewMember, NewRepository, NewToken};
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{Canary, NOW, TestDatabase, TwoOrganizations};
use time::Duration;

use super::examples::{self, Example, Given, Things};
use crate::answers::heard::Heard;

struct Matrix {
    database: TestDatabase,
    service: TestService,
    both: TwoOrganizations,
}

/// Repositories of the same length of name: one's own, another organization's, and none.
const OWN: &str = "acme/matrix-own";
const FOREIGN: &str = "acme/matrix-far";
const NOBODYS: &str = "acme/matrix-nil";

#[tokio::test]
async fn every_operation_for_everyone_who_may_come() {
    let matrix = Matrix::start().await;
    let own = matrix.repository(&matrix.both.alpha, OWN).await;
    let foreign = matrix.repository(&matrix.both.beta, FOREIGN).await;
    for operation in Operation::ALL.iter().copied() {
        matrix.turned_away(operation).await;
        matrix.not_there(operation, own, foreign).await;
        matrix.right(operation, own).await;
    }
    matrix.end().await;
}

#[tokio::test]
async fn what_is_served_is_in_the_table() {
    let matrix = Matrix::start().await;
    let described: Value =
        Reply::of(matrix.service.client.get(format!("{}/openapi.json", matrix.service.url))).await.json();
    let mut served = BTreeSet::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = format!("rest.{}", operation["operationId"].as_str().unwrap());
            let row = Operation::named(&name).unwrap_or_else(|| panic!("{method} {path}: no row for {name}"));
            let scopes: Vec<&str> = row.scopes().iter().map(|scope| scope.as_str()).collect();
            assert_eq!(operation["x-sync-scopes"], json!(scopes), "{name}");
            served.insert(row);
        }
    }
    let token = matrix.token(&matrix.both.alpha.principal, &[Scope::Admin]).await.1;
    for (method, list, key) in [("tools/list", "tools", "tools/call"), ("prompts/list", "prompts", "prompts/get")] {
        let reply = matrix.service.rpc(&token, method, json!({})).await.json();
        for listed in reply["result"][list].as_array().unwrap() {
            let name = format!("mcp.{key}:{}", listed["name"].as_str().unwrap());
            served.insert(Operation::named(&name).unwrap_or_else(|| panic!("no row for {name}")));
        }
    }
    assert_eq!(tools::all().len(), served.iter().filter(|row| row.name().starts_with("mcp.tools/call:")).count());
    // What remains are methods: an owner is let in to each, which the other test sees.
    let left = Operation::ALL.iter().filter(|row| !served.contains(row)).map(|row| row.name());
    assert!(
        left.clone().all(|name| name.starts_with("mcp") && !name.contains("/call:")),
        "{:?}",
        left.collect::<Vec<_>>()
    );
    matrix.end().await;
}

impl Matrix {
    async fn start() -> Self {
        let database = TestDatabase::create().await;
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(&database).await;
        Self { database, service, both }
    }

    async fn end(self) {
        self.service.stop().await;
        self.database.finish().await;
    }

    /// Without a credential that may do this, nothing is done and it is said why; one row each, but of nobody none.
    async fn turned_away(&self, operation: Operation) {
        let alpha = &self.both.alpha.principal;
        let example = examples::of(operation, &nobodys());
        let (first, name) = (operation.scopes()[0], operation.name());
        let before = self.rows().await.len();
        let nobody = self.send(&example, None).await;
        assert_eq!((nobody.status, &nobody.json()["code"]), (401, &json!("no_credential")), "{name}: {nobody:?}");
        let challenge = nobody.header("www-authenticate");
        assert!(challenge.contains(first.as_str()) && challenge.contains("resource_metadata="), "{name}: {challenge}");
        assert_eq!(self.rows().await.len(), before, "{name}");

        let expired = self.service.token(alpha, &Scope::ALL, Some(NOW - Duration::MINUTE)).await.1;
        let told = self.send(&example, Some(&expired)).await;
        assert_eq!((told.status, &told.json()["code"]), (401, &json!("token_expired")), "{name}: {told:?}");
        self.one_more_row(operation, before + 1, ("refused", Some("token_expired")), &told).await;

        let useless = |scope: &Scope| !operation.scopes().contains(scope) && *scope != Scope::Admin;
        let others: Vec<Scope> = Scope::ALL.into_iter().filter(useless).collect();
        let narrow = self.token(alpha, &others).await.1;
        let told = self.send(&example, Some(&narrow)).await;
        assert_eq!((told.status, &told.json()["code"]), (403, &json!("forbidden")), "{name}: {told:?}");
        assert!(told.header("www-authenticate").contains("insufficient_scope"), "{name}: {told:?}");
        self.one_more_row(operation, before + 2, ("refused", Some("forbidden")), &told).await;

        // A role that has none of the scopes, with a token that says it has all.
        let powerless = |role: &Role| !operation.scopes().iter().any(|scope| role.allows(*scope));
        if let Some(role) = Role::ALL.into_iter().find(powerless) {
            let member = self.member(role, true).await;
            let token = self.token(&member, &Scope::ALL).await.1;
            let told = self.send(&example, Some(&token)).await;
            assert_eq!((told.status, &told.json()["code"]), (403, &json!("forbidden")), "{name}: {told:?}");
            assert!(told.json()["detail"].as_str().unwrap().contains(role.as_str()), "{name}: {told:?}");
            self.one_more_row(operation, before + 3, ("refused", Some("forbidden")), &told).await;
        }
    }

    /// What is another organization's, and what was not granted, is what is not there: the same answer but for the
    /// request's id and the name that was asked for, by the same statements in the same order.
    async fn not_there(&self, operation: Operation, own: RepositoryId, foreign: RepositoryId) {
        let name = operation.name();
        let admin = self.token(&self.both.alpha.principal, &Scope::ALL).await.1;
        let theirs = self.things(&self.both.beta, operation, foreign, FOREIGN).await;
        if !examples::of(operation, &theirs).names_things {
            let told = self.send(&examples::of(operation, &theirs), Some(&admin)).await;
            assert!(!told.text.contains(self.both.beta.canary) && !told.text.contains(FOREIGN), "{name}: {told:?}");
            return;
        }
        self.same(operation, &admin, &theirs, &nobodys()).await;
        // Each thing by itself, too: a request that names one thing of another's beside things of one's own.
        let mine = self.things(&self.both.alpha, operation, own, OWN).await;
        let strange = Things { repository: foreign, repository_name: FOREIGN, ..mine.clone() };
        let absent = Things { repository: RepositoryId::at(NOW), repository_name: NOBODYS, ..mine.clone() };
        if operation.about() == About::Repository {
            // A job names its source itself.
            if !operation.name().contains("_job") {
                self.same(operation, &admin, &strange, &absent).await;
            }
            let absent = Things { job: JobId::at(NOW), ..absent };
            let outsider = self.member(Role::Owner, false).await;
            let token = self.token(&outsider, &Scope::ALL).await.1;
            self.same(operation, &token, &mine, &absent).await;
        }
    }

    async fn same(&self, operation: Operation, token: &str, hidden: &Things, absent: &Things) {
        let name = operation.name();
        let _heard = Heard::start();
        let mut asked = Vec::new();
        // What the service does in its own time may be heard in between: on a busy machine more than once.
        for _ in 0..10 {
            asked.clear();
            for things in [hidden, absent] {
                let before = self.rows().await.len();
                // Both times the token is read anew.
                self.service.app.authenticator.changed(self.both.alpha.principal.organization);
                Heard::statements();
                let reply = self.send(&examples::of(operation, things), Some(token)).await;
                let statements = Heard::statements();
                assert!(statements.len() > 2, "{name}: the statements are heard: {statements:?}");
                assert_eq!(self.rows().await.len(), before + 1, "{name}: {reply:?}");
                assert!(!reply.text.contains(self.both.beta.canary), "{name}: {reply:?}");
                asked.push((bare(&reply, things), statements));
            }
            if asked[0].1 == asked[1].1 {
                break;
            }
        }
        assert_eq!(asked[0].0, asked[1].0, "{name}: what may not be seen is not what is not there");
        assert_eq!(asked[0].1, asked[1].1, "{name}: other statements for what may not be seen");
    }

    /// Whoever may, may; and one row says so.
    async fn right(&self, operation: Operation, own: RepositoryId) {
        let name = operation.name();
        let things = self.things(&self.both.alpha, operation, own, OWN).await;
        for scope in operation.scopes() {
            let token = self.token(&self.both.alpha.principal, &[*scope]).await.1;
            // A change is made with the first scope only: a second one would find it made.
            if *scope != operation.scopes()[0]
                && matches!(method(operation, &things), Some("POST" | "PUT" | "PATCH" | "DELETE"))
            {
                continue;
            }
            let before = self.rows().await.len();
            let example = examples::of(operation, &things);
            let reply = self.send(&example, Some(&token)).await;
            assert_eq!(reply.status, example.right.0, "{name} with {scope}: {reply:?}");
            if example.right.1 == Some("ok") {
                assert!(reply.json().get("error").is_none() && reply.tool_error().is_null(), "{name}: {reply:?}");
            }
            let rows = self.rows().await;
            assert_eq!(rows.len(), before + 1, "{name}: {rows:?}");
            let row = rows.last().unwrap();
            let found = if name == "mcp" { row.action == "mcp.unknown_method" } else { row.action.starts_with(name) };
            assert!(found && row.outcome.as_deref() == example.right.1, "{name}: {row:?}");
        }
    }

    /// That exactly one row more is in alpha's log, of this operation, and none in beta's of alpha's doing.
    async fn one_more_row(&self, operation: Operation, expected: usize, ended: (&str, Option<&str>), reply: &Reply) {
        let (rows, name) = (self.rows().await, operation.name());
        assert_eq!(rows.len(), expected, "{name}: {reply:?}");
        let row = rows.last().unwrap();
        assert_eq!((row.outcome.as_deref(), row.code.as_deref()), (Some(ended.0), ended.1), "{name}");
        let at_the_door =
            name.starts_with("mcp") && matches!(row.action.as_str(), "mcp.authenticate" | "mcp.authorize");
        assert!(row.action == name || at_the_door, "{name}: {row:?}");
        assert_eq!(format!("req_{}", row.request_id.simple()), reply.header("x-request-id"), "{name}");
        assert_eq!(audit_log(&self.database, self.both.beta.principal.organization).await, [], "{name}");
    }

    async fn rows(&self) -> Vec<sync_tests::service::AuditRow> {
        audit_log(&self.database, self.both.alpha.principal.organization).await
    }

    async fn send(&self, example: &Example, token: Option<&str>) -> Reply {
        let client = &self.service.client;
        let request = match &example.given {
            Given::Rest { method, path, body } => {
                let request = client.request(method.parse().unwrap(), format!("{}{path}", self.service.url));
                match body {
                    Some(Value::String(lines)) => {
                        request.header("content-type", "application/x-ndjson").body(lines.clone())
                    }
                    Some(body) => request.json(body),
                    None => request,
                }
            }
            Given::Mcp { method, params } if *method == "server/discover" => {
                let (body, _) = sync_tests::service::modern_message(method, params.clone());
                let request = client.post(format!("{}/mcp", self.service.url)).json(&body);
                let request = request.header("mcp-protocol-version", sync_tests::service::MODERN);
                request.header("mcp-method", *method).header("accept", "application/json, text/event-stream")
            }
            Given::Mcp { method, params } => {
                let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
                let request = client.post(format!("{}/mcp", self.service.url)).json(&body);
                request.header("accept", "application/json, text/event-stream")
            }
        };
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        Reply::of(request).await
    }

    async fn token(&self, principal: &Principal, scopes: &[Scope]) -> (TokenId, String) {
        self.service.token(principal, scopes, None).await
    }

    /// A member of alpha's, with or without all of its repositories.
    async fn member(&self, role: Role, reads_all: bool) -> Principal {
        let id = PrincipalId::at(NOW);
        let name = format!("{role}-{}", id.uuid().simple());
        let new = NewMember { id, name: &name, kind: PrincipalKind::User, role, identity: None, reads_all };
        let mut tx = self.database.store.begin(&self.both.alpha.principal).await.unwrap();
        tx.create_member(&new, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let readable = if reads_all { Readable::All } else { Readable::Only(BTreeSet::new()) };
        Principal { id, name, role, readable, ..self.both.alpha.principal.clone() }
    }

    async fn repository(&self, of: &Canary, name: &str) -> RepositoryId {
        let id = RepositoryId::at(NOW);
        let address = format!("https://git.example/{name}");
        let new = NewRepository { id, name, provider: None, clone_url: Some(&address), default_branch: "main" };
        let mut tx = self.database.store.begin_write(&of.principal).await.unwrap();
        tx.register_repository(&new, NOW).await.unwrap();
        tx.set_egress_consent(id, Some(of.canary), NOW).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    /// Fresh things of an organization: a member with a token and a grant; an issuer where the operation is about one, since
    /// an organization has few.
    async fn things(
        &self,
        of: &Canary,
        operation: Operation,
        repository: RepositoryId,
        repository_name: &'static str,
    ) -> Things {
        let (principal, token, issuer) = (PrincipalId::at(NOW), TokenId::at(NOW), IssuerId::at(NOW));
        let name = format!("{}-{}", of.canary, principal.uuid().simple());
        let member = NewMember {
            id: principal,
            name: &name,
            kind: PrincipalKind::Service,
            role: Role::Member,
            identity: None,
            reads_all: false,
        };
        let scopes = BTreeSet::from([Scope::GraphRead]);
        let new =
            NewToken { id: token, principal, name: &name, secret_hash: [9; 32], scopes: &scopes, expires_at: None };
        let mut tx = self.database.store.begin(&of.principal).await.unwrap();
        tx.create_member(&member, NOW).await.unwrap();
        tx.create_token(&new, NOW).await.unwrap();
        tx.grant(principal, repository, NOW).await.unwrap();
        if operation.name().contains("issuer") {
            let row = IssuerRow {
                id: issuer,
                issuer: format!("https://{}.example.com", issuer.uuid().simple()),
                audience: None,
                algorithms: vec!["ES256".to_owned()],
                jwks_url: None,
                organization_claim: Some(format!("claim-{}", of.canary)),
                default_role: Role::Member,
                reads_all: false,
                created_at: NOW,
            };
            tx.create_issuer(&row).await.unwrap();
        }
        tx.commit().await.unwrap();
        let asked = NewJob {
            id: JobId::at(NOW),
            repository,
            kind: JobKind::Reindex,
            ref_name: Some(&name),
            cause: JobCause::Person,
            payload: &Value::Null,
            run_at: NOW,
        };
        let mut tx = self.database.store.begin_change(&of.principal).await.unwrap();
        let job = if operation.name().contains("_job") { tx.enqueue(&asked, NOW).await.unwrap().id } else { asked.id };
        tx.commit().await.unwrap();
        Things { principal, token, issuer, repository, repository_name, event: EventId::at(NOW), job }
    }
}

/// A reply without what tells two requests apart.
fn bare(reply: &Reply, things: &Things) -> (u16, Vec<(String, String)>, String) {
    let own = |text: &str| {
        text.replace(reply.header("x-request-id"), "REQUEST").replace(things.repository_name, "REPOSITORY")
    };
    let told = ["x-request-id", "date", "ratelimit", "content-length"];
    let headers = reply.headers.iter().filter(|(name, _)| !told.contains(&name.as_str()));
    let headers = headers.map(|(name, value)| (name.to_string(), own(value.to_str().unwrap()))).collect();
    (reply.status, headers, own(&reply.text))
}

fn nobodys() -> Things {
    Things {
        principal: PrincipalId::at(NOW),
        token: TokenId::at(NOW),
        issuer: IssuerId::at(NOW),
        repository: RepositoryId::at(NOW),
        repository_name: NOBODYS,
        event: EventId::at(NOW),
        job: JobId::at(NOW),
    }
}

fn method(operation: Operation, things: &Things) -> Option<&'static str> {
    match examples::of(operation, things).given {
        Given::Rest { method, .. } => Some(method),
        Given::Mcp { .. } => None,
    }
}
