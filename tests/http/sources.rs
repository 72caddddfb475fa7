//! The provider group of `/v1`: sources are registered, followed, changed and erased, and each refusal says why.

use serde_json::{Value, json};
use sync_core::principal::{Principal, PrincipalKind, Readable, Role, Scope};
use sync_store::{NewMember, Plan, SecretPurpose};
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};

/// The service with one who may write sources.
struct Desk<'a> {
    service: &'a TestService,
    token: String,
}

impl Desk<'_> {
    async fn send(&self, method: &str, path: &str, body: Value) -> Reply {
        self.send_with(method, path, body, None).await
    }

    async fn send_with(&self, method: &str, path: &str, body: Value, key: Option<&str>) -> Reply {
        let address = format!("{}{path}", self.service.url);
        let mut request = self.service.client.request(method.parse().unwrap(), address).bearer_auth(&self.token);
        if !body.is_null() {
            request = request.json(&body);
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        Reply::of(request).await
    }

    async fn get(&self, path: &str) -> Value {
        let reply = self.send("GET", path, Value::Null).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    /// Registers a public repository; gives its path.
    async fn registered(&self, address: &str) -> String {
        let reply =
            self.send("POST", "/v1/sources", json!({ "clone_url": address, "consent": { "egress": true } })).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        format!("/v1/sources/{}", reply.json()["id"].as_str().unwrap())
    }
}

async fn desk<'a>(service: &'a TestService, principal: &Principal) -> Desk<'a> {
    let token = service.token(principal, &[Scope::SourcesWrite, Scope::GraphRead], None).await.1;
    Desk { service, token }
}

fn code(reply: &Reply) -> (u16, String) {
    (reply.status, reply.json()["code"].as_str().unwrap_or_default().to_owned())
}

fn told(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

const ADDRESS: &str = "https://github.com/Acme/Billing.git";

#[test]
fn a_source_is_registered_with_consent_and_its_first_job_waits() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let desk = desk(&service, &both.alpha.principal).await;
        let asked = |egress| json!({ "clone_url": ADDRESS, "name": "acme/pay", "consent": { "egress": egress } });
        let refused = desk.send("POST", "/v1/sources", asked(false)).await;
        assert_eq!(code(&refused), told(403, "PROVIDER_NOT_CONSENTED"));
        assert_eq!(desk.get("/v1/sources").await["total"], 1, "nothing was registered");

        let reply = desk.send_with("POST", "/v1/sources", asked(true), Some("once")).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        let source = reply.json();
        assert_eq!(
            (&source["name"], &source["provider"], &source["clone_url"], &source["default_branch"], &source["state"]),
            (&json!("acme/pay"), &json!("github"), &json!(ADDRESS), &json!("HEAD"), &json!("registered"))
        );
        assert_eq!(source["egress_consent"]["by"], both.alpha.principal.name);
        let job = &source["jobs"][0];
        assert_eq!(
            (&job["kind"], &job["cause"], &job["state"]),
            (&json!("reindex"), &json!("registration"), &json!("queued"))
        );
        assert_eq!(desk.get(&format!("/v1/jobs/{}", job["id"].as_str().unwrap())).await, *job);

        let again = desk.send_with("POST", "/v1/sources", asked(true), Some("once")).await;
        assert_eq!((again.status, again.header("idempotency-replayed")), (201, "true"));
        assert_eq!(code(&desk.send("POST", "/v1/sources", asked(true)).await), told(409, "name_taken"));
        let listed = desk.get("/v1/sources?name=acme/pay").await;
        assert_eq!((&listed["total"], &listed["items"][0]["id"]), (&json!(1), &source["id"]));
        assert_eq!(desk.get("/v1/sources?limit=1").await["items"][0]["name"], "acme/billing");

        for address in [
            "http://github.com/a/b",
            "https://10.0.0.1/a",
            "https://user:p4ss@github.com/a",
            "file:///etc",
            "https://github.com",
        ] {
            let reply =
                desk.send("POST", "/v1/sources", json!({ "clone_url": address, "consent": { "egress": true } })).await;
            assert_eq!(code(&reply), told(422, "invalid_argument"), "{address}");
            assert!(reply.text.contains("clone_url") && !reply.text.contains("p4ss"), "{reply:?}");
        }
        let rows = audit_log(database, both.alpha.principal.organization).await;
        let last: Vec<_> = rows.iter().map(|row| (row.action.as_str(), row.code.as_deref())).collect();
        assert_eq!(last[0], ("rest.register_source", Some("PROVIDER_NOT_CONSENTED")));
        assert_eq!(last[2], ("rest.register_source", None));

        let mut tx = database.store.begin_change(&both.alpha.principal).await.unwrap();
        tx.set_plan(&Plan { name: "small".to_owned(), sources: Some(2), ..Plan::default() }, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let over = desk
            .send(
                "POST",
                "/v1/sources",
                json!({ "clone_url": "https://github.com/a/c", "consent": { "egress": true } }),
            )
            .await;
        assert_eq!(code(&over), told(409, "over_limit"));
        assert!(over.text.contains("plan small"), "{over:?}");
        service.stop().await;
    });
}

#[test]
fn who_reads_only_what_is_granted_reads_what_they_register_and_nobody_else_does() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let member = async |name: &str, role: Role| {
            let id = sync_core::ids::PrincipalId::at(NOW);
            let new = NewMember { id, name, kind: PrincipalKind::User, role, identity: None, reads_all: false };
            let mut tx = database.store.begin(&both.alpha.principal).await.unwrap();
            tx.create_member(&new, NOW).await.unwrap();
            tx.commit().await.unwrap();
            let readable = Readable::Only(std::collections::BTreeSet::new());
            Principal { id, name: name.to_owned(), role, readable, ..both.alpha.principal.clone() }
        };
        let (ada, bea, pipeline) =
            (member("ada", Role::Member).await, member("bea", Role::Member).await, member("ci", Role::Ingest).await);
        let (hers, theirs) = (desk(&service, &ada).await, desk(&service, &bea).await);
        let path = hers.registered("https://github.com/acme/ada").await;
        assert_eq!(hers.get("/v1/sources").await["total"], 1);
        assert_eq!(hers.get(&path).await["name"], "acme/ada");
        let job = hers.get(&path).await["jobs"][0]["id"].as_str().unwrap().to_owned();
        for (method, path, body) in [
            ("GET", path.clone(), Value::Null),
            ("POST", format!("{path}/refresh"), json!({})),
            ("DELETE", path.clone(), Value::Null),
        ] {
            assert_eq!(code(&theirs.send(method, &path, body).await), told(404, "SOURCE_NOT_REGISTERED"));
        }
        assert_eq!(theirs.send("GET", &format!("/v1/jobs/{job}"), Value::Null).await.status, 404);
        assert_eq!(theirs.get("/v1/sources").await["total"], 0);

        // What lies in a pipeline sends, and settles nothing.
        let token = service.token(&pipeline, &[Scope::SourcesWrite], None).await.1;
        let pipeline = Desk { service: &service, token };
        let asked = json!({ "clone_url": "https://github.com/a/b", "consent": { "egress": true } });
        let refused = pipeline.send("POST", "/v1/sources", asked).await;
        assert_eq!(code(&refused), told(403, "forbidden"));
        assert!(refused.text.contains("ingest"), "{refused:?}");
        assert_eq!(pipeline.get("/v1/sources").await["total"], 0);
        service.stop().await;
    });
}

#[test]
fn a_credential_is_shown_to_nobody_and_stays_with_the_address_it_was_given_for() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let desk = desk(&service, &both.alpha.principal).await;
        let path = desk.registered("https://git.example/acme/secret").await;
        let credential = format!("{path}/credential");
        let reply = desk.send("PUT", &credential, json!({ "secret": "canary-credential-61d0" })).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(
            !reply.text.contains("canary-credential") && reply.json()["credential_set_at"].is_string(),
            "{reply:?}"
        );
        let id = path.rsplit('/').next().unwrap();
        let mut tx = database.store.begin(&both.alpha.principal).await.unwrap();
        let sealed = tx.secret(SecretPurpose::RepositoryCredential, id).await.unwrap().unwrap();
        drop(tx);
        let organization = both.alpha.principal.organization;
        let opened = service.app.secrets.open(organization, SecretPurpose::RepositoryCredential, id, &sealed).unwrap();
        assert_eq!(secrecy::ExposeSecret::expose_secret(&opened), b"x-access-token:canary-credential-61d0");

        let moved = json!({ "clone_url": "https://other.example/acme/secret" });
        assert_eq!(code(&desk.send("PATCH", &path, moved).await), told(409, "another_host"));
        assert!(desk.get(&path).await["credential_set_at"].is_string());
        let renamed = desk.send("PATCH", &path, json!({ "clone_url": "https://git.example/acme/new" })).await.json();
        assert_eq!(
            (&renamed["clone_url"], &renamed["credential_set_at"]),
            (&json!("https://git.example/acme/new"), &Value::Null)
        );
        assert_eq!(desk.send("DELETE", &credential, Value::Null).await.status, 204);
        service.stop().await;
    });
}

#[test]
fn a_refresh_is_one_job_a_ref_and_says_why_there_is_none() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let desk = desk(&service, &both.alpha.principal).await;
        let path = desk.registered("https://github.com/acme/followed").await;
        let refresh = format!("{path}/refresh");
        let first = desk.send("POST", &refresh, Value::Null).await;
        assert_eq!(first.status, 202, "{first:?}");
        assert_eq!(
            (&first.json()["cause"], &first.json()["requests"]),
            (&json!("person"), &json!(2)),
            "it takes the first one on"
        );
        let head = desk.send("POST", &refresh, json!({ "ref": "refs/pull/7/head" })).await.json();
        assert_ne!(head["id"], first.json()["id"]);
        let kept = desk.get(&path).await["refs"].clone();
        assert_eq!((&kept[0]["name"], &kept[0]["origin"]), (&json!("refs/pull/7/head"), &json!("requested")));
        assert_eq!(kept[0]["expires_at"], "2026-12-14T12:00:00.000Z");
        assert_eq!(code(&desk.send("POST", &refresh, json!({ "ref": "-x" })).await), told(422, "invalid_argument"));

        let cancelled =
            desk.send("POST", &format!("/v1/jobs/{}/cancel", head["id"].as_str().unwrap()), Value::Null).await;
        assert_eq!(cancelled.json()["state"], "cancelled", "{cancelled:?}");

        for n in 0..49 {
            assert_eq!(desk.send("POST", &refresh, json!({ "ref": format!("topic/{n}") })).await.status, 202);
        }
        assert_eq!(code(&desk.send("POST", &refresh, json!({ "ref": "topic/49" })).await), told(409, "too_many_refs"));
        assert_eq!(
            desk.send("POST", &refresh, json!({ "ref": "topic/1" })).await.status,
            202,
            "a known one is kept longer"
        );
        desk.send("PATCH", &path, json!({ "tracked_refs": ["release/*"] })).await;
        assert_eq!(
            desk.send("POST", &refresh, json!({ "ref": "release/2" })).await.status,
            202,
            "one that is followed"
        );

        assert_eq!(desk.send("PATCH", &path, json!({ "gate": "off" })).await.status, 200);
        assert_eq!(code(&desk.send("POST", &refresh, json!({})).await), told(409, "source_is_gated"));
        desk.send("PATCH", &path, json!({ "gate": "auto" })).await;
        let consent = format!("{path}/consent");
        assert_eq!(desk.send("PUT", &consent, json!({ "egress": false })).await.json()["egress_consent"], Value::Null);
        assert_eq!(code(&desk.send("POST", &refresh, json!({})).await), told(403, "PROVIDER_NOT_CONSENTED"));
        service.stop().await;
    });
}

#[test]
fn an_erased_source_has_no_secrets_from_that_moment_on_and_a_job_for_the_rest() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let desk = desk(&service, &both.alpha.principal).await;
        let path = desk.registered("https://github.com/acme/gone").await;
        desk.send("PUT", &format!("{path}/credential"), json!({ "user": "u", "secret": "s" })).await;
        let webhook = desk.send_with("POST", &format!("{path}/webhook"), json!({}), Some("hook")).await;
        assert_eq!(webhook.status, 201, "{webhook:?}");
        let made = webhook.json();
        assert!(made["url"].as_str().unwrap().starts_with(&format!("{}/webhooks/github/", service.url)), "{made}");
        let again = desk.send_with("POST", &format!("{path}/webhook"), json!({}), Some("hook")).await;
        assert_eq!((code(&again), &again.json()["details"]["id"]), (told(409, "already_created"), &made["id"]));
        let shown = desk.send("GET", &path, Value::Null).await;
        assert!(!shown.text.contains(made["secret"].as_str().unwrap()));
        assert_eq!(shown.json()["webhook"]["url"], made["url"]);

        let erased = desk.send("DELETE", &path, Value::Null).await;
        assert_eq!((erased.status, &erased.json()["kind"]), (202, &json!("erase")), "{erased:?}");
        let job = erased.json()["id"].as_str().unwrap().to_owned();
        assert_eq!(desk.send("DELETE", &path, Value::Null).await.json()["id"], job.as_str(), "asked twice, done once");
        let now = desk.get(&path).await;
        assert_eq!(
            (&now["state"], &now["webhook"], &now["credential_set_at"]),
            (&json!("deleting"), &Value::Null, &Value::Null)
        );
        for (method, at, body) in [
            ("POST", format!("{path}/refresh"), json!({})),
            ("PATCH", path.clone(), json!({})),
            ("PUT", format!("{path}/consent"), json!({ "egress": true })),
            ("POST", format!("{path}/webhook"), json!({})),
        ] {
            assert_eq!(code(&desk.send(method, &at, body).await), told(409, "source_is_deleting"), "{at}");
        }
        assert_eq!(
            code(&desk.send("POST", &format!("/v1/jobs/{job}/cancel"), Value::Null).await),
            told(409, "erase_goes_on")
        );
        service.stop().await;
    });
}

#[test]
fn the_provider_advertises_what_is_backed_and_declines_the_rest() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let desk = desk(&service, &both.alpha.principal).await;
        let provider = desk.get("/v1/provider").await;
        assert_eq!(provider["capabilities"], json!(["register_source", "refresh", "status", "delete"]));
        assert_eq!(provider["local"], false);
        let known = both.alpha.repository;
        let declined = desk.send("POST", &format!("/v1/sources/{known}/documents"), json!({ "any": "thing" })).await;
        assert_eq!(code(&declined), told(501, "CAPABILITY_UNSUPPORTED"));
        let rows = audit_log(database, both.alpha.principal.organization).await;
        assert_eq!(rows.last().unwrap().outcome.as_deref(), Some("refused"));
        service.stop().await;
    });
}
