//! Members, grants, tokens, issuers and use through `/v1`: what changes, who may, and that all of it is written down.

use serde_json::{Value, json};
use sync_core::ids::{IssuerId, PrincipalId, RepositoryId, TokenId};
use sync_core::principal::{Principal, Scope};
use sync_store::{NewRepository, Plan, StoreError};
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

/// One credential at `/v1`.
struct Api<'a> {
    service: &'a TestService,
    token: String,
}

impl<'a> Api<'a> {
    async fn of(service: &'a TestService, principal: &Principal) -> Self {
        Self { service, token: service.token(principal, &[Scope::Admin], None).await.1 }
    }

    fn with(&self, token: &Value) -> Self {
        Self { service: self.service, token: token.as_str().unwrap().to_owned() }
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Reply {
        let request = self
            .service
            .client
            .request(method.parse().unwrap(), format!("{}/v1{path}", self.service.url))
            .bearer_auth(&self.token);
        let request = if body.is_null() { request } else { request.json(&body) };
        Reply::of(request).await
    }

    async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, Value::Null).await
    }

    /// What comes back where all goes well.
    async fn good(&self, method: &str, path: &str, body: Value, status: u16) -> Value {
        let reply = self.send(method, path, body).await;
        assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
        reply.json()
    }

    /// The code of what comes back where it does not.
    async fn code(&self, method: &str, path: &str, body: Value, status: u16) -> String {
        let reply = self.send(method, path, body).await;
        assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
        reply.json()["code"].as_str().unwrap().to_owned()
    }

    /// Makes a member with a token of these scopes.
    async fn member(&self, name: &str, role: &str, scopes: &[&str]) -> (String, Value) {
        let made = self.good("POST", "/members", json!({ "name": name, "role": role }), 201).await;
        let id = made["id"].as_str().unwrap().to_owned();
        let wanted = json!({ "principal": id, "name": "t", "scopes": scopes });
        let token = self.good("POST", "/tokens", wanted, 201).await;
        (id, token)
    }
}

#[test]
fn members_are_made_changed_and_shut_out_and_an_owner_always_remains() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let me = both.alpha.principal.id.to_string();
        let made = owner.good("POST", "/members", json!({ "name": "ci", "role": "ingest" }), 201).await;
        let ci = made["id"].as_str().unwrap();
        assert_eq!(
            made,
            json!({ "id": ci, "name": "ci", "kind": "service", "role": "ingest", "reads_all": true, "identity": null,
                    "created_at": "2026-11-30T12:00:00.000Z", "disabled_at": null })
        );
        assert_eq!(owner.code("POST", "/members", json!({ "name": "ci", "role": "member" }), 409).await, "name_taken");
        assert_eq!(owner.good("GET", &format!("/members/{ci}"), Value::Null, 200).await, made);
        let all = owner.good("GET", "/members", Value::Null, 200).await;
        assert_eq!((all["items"].as_array().unwrap().len(), &all["total"]), (2, &json!(2)));
        let first = owner.good("GET", "/members?limit=1", Value::Null, 200).await;
        let cursor = first["next_cursor"].as_str().unwrap();
        let second = owner.good("GET", &format!("/members?limit=1&cursor={cursor}"), Value::Null, 200).await;
        assert_eq!(json!([first["items"][0], second["items"][0]]), all["items"]);
        assert_eq!(second["next_cursor"], Value::Null);
        let ingest = owner.good("GET", "/members?role=ingest", Value::Null, 200).await;
        assert_eq!((&ingest["items"], &ingest["total"]), (&json!([made]), &json!(1)));
        // A cursor goes on where it was given, and nowhere else.
        let crossed = format!("/members?limit=1&role=ingest&cursor={cursor}");
        assert_eq!(owner.code("GET", &crossed, Value::Null, 400).await, "cursor_expired");

        let change = json!({ "name": "ci of billing", "role": "member", "reads_all": false, "disabled": true });
        let changed = owner.good("PATCH", &format!("/members/{ci}"), change, 200).await;
        assert_eq!((&changed["name"], &changed["role"]), (&json!("ci of billing"), &json!("member")));
        assert_eq!(
            (&changed["reads_all"], &changed["disabled_at"]),
            (&json!(false), &json!("2026-11-30T12:00:00.000Z"))
        );
        let again = owner.good("PATCH", &format!("/members/{ci}"), json!({ "disabled": false }), 200).await;
        assert_eq!((&again["disabled_at"], &again["name"]), (&Value::Null, &json!("ci of billing")));

        // The last owner stays one, and is let in.
        let (mine, theirs) = (format!("/members/{me}"), format!("/members/{ci}"));
        for change in [json!({ "role": "admin" }), json!({ "disabled": true })] {
            assert_eq!(owner.code("PATCH", &mine, change, 409).await, "last_owner");
        }
        owner.good("PATCH", &theirs, json!({ "role": "owner", "disabled": true }), 200).await;
        assert_eq!(owner.code("PATCH", &mine, json!({ "role": "admin" }), 409).await, "last_owner");
        owner.good("PATCH", &theirs, json!({ "disabled": false }), 200).await;
        owner.good("PATCH", &mine, json!({ "role": "admin" }), 200).await;
        // Now an administrator, who makes no owner, is none by a detour, and does not unmake one.
        for (method, path, body) in [
            ("PATCH", mine.as_str(), json!({ "role": "owner" })),
            ("PATCH", &theirs, json!({ "role": "member" })),
            ("PATCH", &theirs, json!({ "disabled": true })),
            ("POST", "/members", json!({ "name": "x", "role": "owner" })),
            ("POST", "/tokens", json!({ "principal": ci, "name": "x", "scopes": ["admin"] })),
        ] {
            assert_eq!(owner.code(method, path, body, 403).await, "forbidden", "{method} {path}");
        }
        for (body, argument) in [
            (json!({ "name": "", "role": "member" }), "name"),
            (json!({ "name": " a", "role": "member" }), "name"),
            (json!({ "name": "a\u{7}", "role": "member" }), "name"),
            (json!({ "name": "ä".repeat(101), "role": "member" }), "name"),
        ] {
            let reply = owner.send("POST", "/members", body.clone()).await;
            assert_eq!((reply.status, &reply.json()["code"]), (422, &json!("invalid_argument")), "{body}");
            assert!(reply.json()["detail"].as_str().unwrap().contains(argument));
        }
        let longest = json!({ "name": "ä".repeat(100), "role": "auditor" });
        owner.good("POST", "/members", longest, 201).await;
        assert_eq!(owner.code("POST", "/members", json!({ "name": "a", "role": "root" }), 422).await, "invalid_body");
        service.stop().await;
    });
}

#[test]
fn two_owners_who_unmake_each_other_leave_one() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let first = Api::of(&service, &both.alpha.principal).await;
        for round in 0..5 {
            let (id, token) = first.member(&format!("second-{round}"), "owner", &["admin"]).await;
            let second = first.with(&token["secret"]);
            let (mine, theirs) = (format!("/members/{}", both.alpha.principal.id), format!("/members/{id}"));
            let (one, other) = tokio::join!(
                first.send("PATCH", &theirs, json!({ "role": "member" })),
                second.send("PATCH", &mine, json!({ "role": "admin" })),
            );
            let mut statuses = [one.status, other.status];
            statuses.sort_unstable();
            // Whoever was second was told: by the rule, or since it was no owner any more.
            assert!(matches!(statuses, [200, 403 | 409]), "{one:?} {other:?}");
            let owners: i64 = sqlx::query_scalar(
                "SELECT count(*) FROM sync.principals WHERE role = 'owner' AND organization_id = $1",
            )
            .bind(both.alpha.principal.organization.uuid())
            .fetch_one(&mut database.superuser().await)
            .await
            .unwrap();
            assert_eq!(owners, 1);
            sqlx::query("UPDATE sync.principals SET role = CASE WHEN id = $1 THEN 'owner' ELSE 'member' END WHERE organization_id = $2")
                .bind(both.alpha.principal.id.uuid())
                .bind(both.alpha.principal.organization.uuid())
                .execute(&mut database.superuser().await)
                .await
                .unwrap();
        }
        service.stop().await;
    });
}

#[test]
fn tokens_are_shown_once_rotate_with_an_overlap_and_are_revoked_at_once() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let (reader, first) = owner.member("reader", "member", &["graph:read"]).await;
        let (id, secret) = (first["token"]["id"].as_str().unwrap(), first["secret"].as_str().unwrap());
        let parsed = sync_server::identity::token::parse(secret).unwrap();
        assert_eq!((parsed.organization, parsed.id.to_string()), (both.alpha.principal.organization, id.to_owned()));
        let listed = owner.get(&format!("/tokens?principal={reader}")).await;
        assert_eq!((&listed.json()["items"], &listed.json()["total"]), (&json!([first["token"]]), &json!(1)));
        assert!(!listed.text.contains(&secret[60..]), "a secret is shown once");
        assert_eq!(service.rpc(secret, "ping", json!({})).await.status, 200);

        // What its role does not allow would be for nothing.
        let wanted = |name: &str, scopes: Value| json!({ "principal": reader, "name": name, "scopes": scopes });
        assert_eq!(owner.code("POST", "/tokens", wanted("x", json!(["audit:read"])), 409).await, "role_forbids");
        assert_eq!(owner.code("POST", "/tokens", wanted("x", json!([])), 422).await, "invalid_argument");
        assert_eq!(owner.code("POST", "/tokens", wanted("x", json!(["root"])), 422).await, "invalid_body");
        let mut days = wanted("x", json!(["graph:read"]));
        days["expires_in_days"] = json!(0);
        assert_eq!(owner.code("POST", "/tokens", days.clone(), 422).await, "invalid_argument");
        days["expires_in_days"] = json!(10);
        let ten_days = owner.good("POST", "/tokens", days, 201).await;
        assert_eq!(ten_days["token"]["expires_at"], "2026-12-10T12:00:00.000Z");

        // A successor: both are accepted until the overlap ends. A third is not made.
        service.clock.set(NOW + Duration::days(4));
        let path = format!("/tokens/{}/rotate", ten_days["token"]["id"].as_str().unwrap());
        let next = owner.good("POST", &path, json!({ "overlap_hours": 48 }), 201).await;
        assert_eq!(next["token"]["replaces"], ten_days["token"]["id"]);
        // It lives as long as the old one did from its beginning.
        assert_eq!(next["token"]["expires_at"], "2026-12-14T12:00:00.000Z");
        assert_eq!(owner.code("POST", &path, json!({}), 409).await, "two_live_tokens");
        assert_eq!(owner.code("POST", "/tokens", wanted("x", json!(["graph:read"])), 409).await, "two_live_tokens");
        let accepted =
            async |token: &Value| service.rpc(token["secret"].as_str().unwrap(), "ping", json!({})).await.status;
        assert_eq!((accepted(&ten_days).await, accepted(&next).await), (200, 200));
        service.clock.advance(Duration::hours(48));
        assert_eq!((accepted(&ten_days).await, accepted(&next).await), (401, 200));
        assert_eq!(owner.code("POST", &path, json!({}), 409).await, "token_not_live");
        let next_path = format!("/tokens/{}", next["token"]["id"].as_str().unwrap());
        owner.good("DELETE", &next_path, Value::Null, 204).await;
        assert_eq!(accepted(&next).await, 401);
        owner.good("DELETE", &next_path, Value::Null, 204).await;

        let seen = owner.get(&format!("/tokens?principal={reader}")).await.json();
        let tokens = seen["items"].as_array().unwrap();
        assert_eq!(tokens.len(), 3);
        let of = |made: &Value| tokens.iter().find(|token| token["id"] == made["token"]["id"]).unwrap();
        let end = json!("2026-12-06T12:00:00.000Z");
        assert_eq!((&of(&ten_days)["expires_at"], &of(&ten_days)["revoked_at"]), (&end, &Value::Null));
        assert_eq!((&of(&next)["revoked_at"], &of(&next)["last_used_at"]), (&end, &end));
        // Every change is in the log, by name, and no secret is.
        let rows = audit_log(database, both.alpha.principal.organization).await;
        let of = |action: &str| {
            rows.iter().filter(|row| row.action == action).map(|row| row.code.clone()).collect::<Vec<_>>()
        };
        let code = |code: &str| Some(code.to_owned());
        assert_eq!(of("rest.rotate_token"), [None, code("two_live_tokens"), code("token_not_live")]);
        assert_eq!(of("rest.revoke_token"), [None, None]);
        assert!(!format!("{rows:?}").contains(&secret[60..]));
        service.stop().await;
    });
}

#[test]
fn grants_narrow_and_widen_what_a_member_reads() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let (reader, token) = owner.member("reader", "member", &["graph:read"]).await;
        let secret = token["secret"].as_str().unwrap();
        let reads = async || {
            let listed = service.call(secret, "sync_repositories", json!({})).await.json();
            listed["result"]["structuredContent"]["repositories"].as_array().unwrap().len()
        };
        assert_eq!(reads().await, 1);
        owner.good("PATCH", &format!("/members/{reader}"), json!({ "reads_all": false }), 200).await;
        assert_eq!(reads().await, 0);
        let path = format!("/grants/{reader}/{}", both.alpha.repository);
        let granted = owner.good("PUT", &path, Value::Null, 200).await;
        assert_eq!(granted["repository_name"], "acme/billing");
        service.clock.advance(Duration::HOUR);
        assert_eq!(owner.good("PUT", &path, Value::Null, 200).await, granted, "one that is there stays as it is");
        assert_eq!(reads().await, 1);
        for query in ["", &format!("?principal={reader}"), &format!("?repository={}", both.alpha.repository)] {
            let listed = owner.get(&format!("/grants{query}")).await.json();
            assert_eq!((&listed["items"], &listed["total"]), (&json!([granted]), &json!(1)), "{query}");
        }
        let none = owner.get(&format!("/grants?principal={}", both.alpha.principal.id)).await.json();
        assert_eq!((&none["items"], &none["total"]), (&json!([]), &json!(0)));
        owner.good("DELETE", &path, Value::Null, 204).await;
        assert_eq!(owner.code("DELETE", &path, Value::Null, 404).await, "not_found");
        assert_eq!(reads().await, 0);
        // Another organization's repository and member are as absent as ones that never were.
        let absent = owner.send("PUT", &format!("/grants/{reader}/{}", RepositoryId::at(NOW)), Value::Null).await;
        for (principal, repository) in
            [(reader.clone(), both.beta.repository), (both.beta.principal.id.to_string(), both.alpha.repository)]
        {
            let reply = owner.send("PUT", &format!("/grants/{principal}/{repository}"), Value::Null).await;
            assert_eq!(reply.status, 404);
            let without_id = |reply: &Reply| {
                let mut problem = reply.json();
                problem["request_id"] = Value::Null;
                problem
            };
            assert_eq!(without_id(&reply), without_id(&absent));
        }
        let rows = audit_log(database, both.alpha.principal.organization).await;
        assert_eq!(rows.iter().filter(|row| row.action == "rest.put_grant").count(), 5);
        service.stop().await;
    });
}

#[test]
fn issuers_are_trusted_by_a_claim_that_names_the_organization() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let (alpha, beta) =
            (Api::of(&service, &both.alpha.principal).await, Api::of(&service, &both.beta.principal).await);
        let good = json!({ "issuer": "https://id.example.com", "organization_claim": "org" });
        let made = alpha.good("POST", "/issuers", good.clone(), 201).await;
        assert_eq!(
            made,
            json!({ "id": made["id"], "issuer": "https://id.example.com", "organization_claim": "org", "audience": null,
                    "algorithms": ["RS256", "ES256", "EdDSA"], "jwks_url": null, "default_role": "member",
                    "reads_all": true, "created_at": "2026-11-30T12:00:00.000Z" })
        );
        assert_eq!(alpha.code("POST", "/issuers", good.clone(), 409).await, "issuer_known");
        beta.good("POST", "/issuers", good.clone(), 201).await;
        let with = |member: &str, value: Value| {
            let mut wanted = good.clone();
            wanted["issuer"] = json!("https://other.example.com");
            wanted[member] = value;
            wanted
        };
        for (wanted, argument) in [
            (with("issuer", json!("http://id.example.com")), "issuer"),
            (with("issuer", json!("https://127.0.0.1/")), "issuer"),
            (with("issuer", json!("https://user@id.example.com/")), "issuer"),
            (with("jwks_url", json!("https://169.254.169.254/keys")), "jwks_url"),
            (with("organization_claim", json!("preferred_username")), "organization_claim"),
            (with("organization_claim", json!("")), "organization_claim"),
            (with("algorithms", json!(["HS256"])), "algorithms"),
            (with("algorithms", json!([])), "algorithms"),
            (with("algorithms", json!(["RS256", "RS256"])), "algorithms"),
            (with("default_role", json!("owner")), "default_role"),
        ] {
            let reply = alpha.send("POST", "/issuers", wanted.clone()).await;
            assert_eq!((reply.status, &reply.json()["code"]), (422, &json!("invalid_argument")), "{wanted}: {reply:?}");
            assert!(reply.json()["detail"].as_str().unwrap().contains(argument), "{reply:?}");
        }
        // Whose all tokens of an issuer are is the operator's to say.
        let whole = json!({ "issuer": "https://other.example.com" });
        assert_eq!(alpha.code("POST", "/issuers", whole, 422).await, "invalid_body");
        for n in 1..20 {
            let another = json!({ "issuer": format!("https://{n}.example.com"), "organization_claim": "org" });
            alpha.good("POST", "/issuers", another, 201).await;
        }
        let reply = alpha.send("POST", "/issuers", with("default_role", json!("auditor"))).await;
        assert_eq!((reply.status, &reply.json()["code"]), (409, &json!("over_limit")), "{reply:?}");
        assert!(reply.json()["detail"].as_str().unwrap().contains("default"), "it names the plan: {reply:?}");
        let listed = alpha.get("/issuers?limit=200").await.json();
        let items = listed["items"].as_array().unwrap();
        assert_eq!((items.len(), items.contains(&made), &listed["total"]), (20, true, &json!(20)));
        let theirs = format!("/issuers/{}", beta.get("/issuers").await.json()["items"][0]["id"].as_str().unwrap());
        assert_eq!(alpha.code("DELETE", &theirs, Value::Null, 404).await, "not_found");
        let mine = format!("/issuers/{}", made["id"].as_str().unwrap());
        alpha.good("DELETE", &mine, Value::Null, 204).await;
        assert_eq!(alpha.code("DELETE", &mine, Value::Null, 404).await, "not_found");
        service.stop().await;
    });
}

#[test]
fn use_is_counted_by_month_beside_what_the_plan_allows_and_limits_name_themselves() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let reader = service.reader(&both.alpha.principal).await;
        for _ in 0..3 {
            service.call(&reader, "sync_repositories", json!({})).await;
        }
        service.app.usage.flush(&service.app.store).await;
        service.clock.set(NOW + Duration::days(31));
        service.call(&reader, "sync_repositories", json!({})).await;
        service.app.usage.flush(&service.app.store).await;
        let used = owner.good("GET", "/usage", Value::Null, 200).await;
        assert_eq!(
            used,
            json!({
                "plan": { "name": "default", "sources": null, "call_sites": null, "spans_per_second": null,
                          "requests_per_minute": null, "tools": null },
                "now": { "sources": 1, "call_sites": 1, "members": 1 },
                "months": [{ "month": "2026-12", "used": { "requests": 1, "tool_calls": 1 } },
                           { "month": "2026-11", "used": { "requests": 3, "tool_calls": 3 } }],
            })
        );
        assert_eq!(owner.get("/usage?months=1").await.json()["months"].as_array().unwrap().len(), 1);
        assert_eq!(owner.code("GET", "/usage?months=37", Value::Null, 422).await, "invalid_argument");

        let plan = Plan {
            name: "small".to_owned(),
            sources: Some(1),
            call_sites: Some(1),
            tools: Some(vec!["sync_repositories".to_owned()]),
            ..Plan::default()
        };
        let mut tx = database.store.begin_write(&both.alpha.principal).await.unwrap();
        tx.set_plan(&plan, NOW).await.unwrap();
        let another = NewRepository {
            id: RepositoryId::at(NOW),
            name: "acme/web",
            provider: None,
            clone_url: None,
            default_branch: "main",
        };
        let over = tx.register_repository(&another, NOW).await.unwrap_err();
        assert!(
            matches!(&over, StoreError::OverLimit { limit: "sources", allowed: 1, plan } if plan == "small"),
            "{over}"
        );
        let calls = vec![sync_tests::facts::call("one", 1), sync_tests::facts::call("two", 2)];
        let snapshot =
            sync_tests::facts::snapshot(&"c".repeat(40), vec![], vec![sync_tests::facts::file("src/a.ts", calls)]);
        let over = tx.swap_index(both.alpha.repository, "main", &snapshot, NOW).await.unwrap_err();
        assert!(matches!(&over, StoreError::OverLimit { limit: "call_sites", allowed: 1, .. }), "{over}");
        tx.commit().await.unwrap();

        service.clock.advance(Duration::seconds(10));
        let reply = service.call(&reader, "sync_whats_at_risk", json!({})).await;
        let error = reply.tool_error();
        assert_eq!(
            (&error["code"], &error["details"]["limit"], &error["details"]["plan"]),
            (&json!("over_limit"), &json!("tools"), &json!("small"))
        );
        assert!(service.call(&reader, "sync_repositories", json!({})).await.tool_error().is_null());
        assert_eq!(owner.good("GET", "/usage", Value::Null, 200).await["plan"]["name"], "small");
        let rows = audit_log(database, both.alpha.principal.organization).await;
        let refused: Vec<_> = rows.iter().filter(|row| row.code.as_deref() == Some("over_limit")).collect();
        assert_eq!((refused.len(), refused[0].action.as_str()), (1, "mcp.tools/call:sync_whats_at_risk"));
        service.stop().await;
    });
}

#[test]
fn only_administrators_administer_and_what_is_elsewhere_is_not_found() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = Api::of(&service, &both.alpha.principal).await;
        let (_, beta_token) = service.token(&both.beta.principal, &[Scope::Admin], None).await;
        let beta_token_id = sync_server::identity::token::parse(&beta_token).unwrap().id;
        let (beta, never) = (both.beta.principal.id, PrincipalId::at(NOW));
        let new_token =
            |principal: PrincipalId| json!({ "principal": principal, "name": "x", "scopes": ["graph:read"] });
        // (method, path of a thing elsewhere, the same of one that never was, body)
        let elsewhere = [
            ("GET", format!("/members/{beta}"), format!("/members/{never}"), Value::Null, Value::Null),
            (
                "PATCH",
                format!("/members/{beta}"),
                format!("/members/{never}"),
                json!({ "disabled": true }),
                json!({ "disabled": true }),
            ),
            ("POST", "/tokens".to_owned(), "/tokens".to_owned(), new_token(beta), new_token(never)),
            (
                "POST",
                format!("/tokens/{beta_token_id}/rotate"),
                format!("/tokens/{}/rotate", TokenId::at(NOW)),
                json!({}),
                json!({}),
            ),
            (
                "DELETE",
                format!("/tokens/{beta_token_id}"),
                format!("/tokens/{}", TokenId::at(NOW)),
                Value::Null,
                Value::Null,
            ),
            (
                "DELETE",
                format!("/issuers/{}", IssuerId::at(NOW)),
                "/issuers/nonsense".to_owned(),
                Value::Null,
                Value::Null,
            ),
        ];
        for (method, there, nowhere, body, other_body) in elsewhere {
            let (one, other) = (owner.send(method, &there, body).await, owner.send(method, &nowhere, other_body).await);
            assert_eq!((one.status, other.status), (404, 404), "{method} {there}: {one:?}");
            let bytes = |reply: &Reply| reply.text.replace(reply.header("x-request-id"), "");
            assert_eq!(bytes(&one), bytes(&other), "{method} {there}");
            assert!(!one.text.contains(both.beta.canary));
        }
        assert_eq!(service.rpc(&beta_token, "ping", json!({})).await.status, 200, "nobody elsewhere revokes it");

        // Neither a member whose token says admin, nor an owner whose token does not.
        let (_, member) = owner.member("member", "member", &["graph:read"]).await;
        let member = owner.with(&member["secret"]);
        let (_, plain) = service.token(&both.alpha.principal, &[Scope::GraphRead, Scope::SourcesWrite], None).await;
        let plain = Api { service: &service, token: plain };
        for (method, path, body) in [
            ("GET", "/members".to_owned(), Value::Null),
            ("POST", "/members".to_owned(), json!({ "name": "x", "role": "member" })),
            ("GET", format!("/members/{never}"), Value::Null),
            ("PATCH", format!("/members/{never}"), json!({})),
            ("GET", "/grants".to_owned(), Value::Null),
            ("PUT", format!("/grants/{never}/{}", both.alpha.repository), Value::Null),
            ("DELETE", format!("/grants/{never}/{}", both.alpha.repository), Value::Null),
            ("GET", "/tokens".to_owned(), Value::Null),
            ("POST", "/tokens".to_owned(), new_token(never)),
            ("DELETE", format!("/tokens/{}", TokenId::at(NOW)), Value::Null),
            ("GET", "/issuers".to_owned(), Value::Null),
        ] {
            for api in [&member, &plain] {
                assert_eq!(api.code(method, &path, body.clone(), 403).await, "forbidden", "{method} {path}");
            }
        }
        service.stop().await;
    });
}
