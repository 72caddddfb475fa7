//! Issuers that organizations trust by themselves: how a token finds its organization, and only it.

use serde_json::{Value, json};
use sync_core::ids::IssuerId;
use sync_core::principal::{Principal, Role};
use sync_store::{IssuerRow, StoreError};
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};

use super::issuer::{Answer, FakeIssuer};
use super::keys::Keys;

fn row(issuer: &FakeIssuer, claim: Option<&str>) -> IssuerRow {
    IssuerRow {
        id: IssuerId::at(NOW),
        issuer: issuer.url.clone(),
        audience: None,
        algorithms: vec!["EdDSA".to_owned()],
        jwks_url: None,
        organization_claim: claim.map(str::to_owned),
        default_role: Role::Member,
        reads_all: true,
        created_at: NOW,
    }
}

async fn trust(database: &TestDatabase, principal: &Principal, row: &IssuerRow) -> Result<(), StoreError> {
    let mut tx = database.store.begin(principal).await?;
    tx.create_issuer(row).await?;
    tx.commit().await
}

async fn service(database: &TestDatabase) -> TestService {
    let settings = [("SYNC_PRIVATE_ISSUER_HOSTS", r#"["127.0.0.1"]"#)];
    TestService::start_with(database.store.clone(), &settings, |answers| answers).await
}

struct Signer<'a> {
    service: &'a TestService,
    issuer: &'a FakeIssuer,
    keys: &'a Keys,
}

impl Signer<'_> {
    /// What the service says to a token of that subject with these claims besides.
    async fn ping(&self, subject: &str, more: Value) -> Reply {
        let mut claims = json!({
            "iss": self.issuer.url, "aud": format!("{}/mcp", self.service.url), "sub": subject,
            "scope": "graph:read admin", "exp": NOW.unix_timestamp() + 3600,
        });
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let token = self.keys.sign_with(&self.keys.header("one"), &claims);
        self.service.rpc(&token, "ping", json!({})).await
    }
}

fn refused(reply: &Reply, says: &str) -> bool {
    reply.status == 401 && reply.header("www-authenticate").contains(says)
}

#[test]
fn a_claim_that_names_the_organization_leads_to_it_and_to_no_other() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let (alpha, beta) = (&both.alpha.principal, &both.beta.principal);
        let keys = Keys::ed25519();
        let issuer = FakeIssuer::start(Answer::Keys(vec![keys.published("one")])).await;
        let service = service(database).await;
        let signer = Signer { service: &service, issuer: &issuer, keys: &keys };
        assert!(refused(&signer.ping("ada", json!({ "org": "alpha" })).await, "issuer is not accepted"));
        assert_eq!(issuer.asked(super::issuer::DISCOVERY), 0, "nobody trusts it, so nobody asks it");

        let trusted = IssuerRow { default_role: Role::Auditor, reads_all: false, ..row(&issuer, Some("org")) };
        trust(database, alpha, &trusted).await.unwrap();
        trust(database, beta, &row(&issuer, Some("org"))).await.unwrap();
        // By its short name and by its id.
        let by_id = json!({ "org": beta.organization.to_string() });
        assert_eq!(signer.ping("bob", by_id).await.status, 200);
        // An auditor by the issuer's default: whatever the token says, its role allows no question to the graph.
        assert_eq!(signer.ping("ada", json!({ "org": "alpha" })).await.status, 403);
        for (case, claims) in [
            ("none", json!({})),
            ("another claim", json!({ "organization": "alpha" })),
            ("nobody's", json!({ "org": "gamma" })),
            ("no text", json!({ "org": ["alpha"] })),
        ] {
            assert!(refused(&signer.ping("ada", claims).await, "issuer is not accepted"), "{case}");
        }
        let members: Vec<(String, String, bool)> = sqlx::query_as(
            "SELECT o.slug || ' ' || p.name, p.role, p.reads_all FROM sync.principals p
             JOIN routing.organizations o ON o.id = p.organization_id WHERE p.subject IS NOT NULL ORDER BY 1",
        )
        .fetch_all(&mut database.superuser().await)
        .await
        .unwrap();
        let member = |name: &str, role: &str, all| (name.to_owned(), role.to_owned(), all);
        assert_eq!(members, [member("alpha ada", "auditor", false), member("beta bob", "member", true)]);
        assert_eq!(audit_log(database, alpha.organization).await.len(), 1);
        assert_eq!(audit_log(database, beta.organization).await.len(), 1);

        // No longer trusted: refused at once.
        let mut tx = database.store.begin(alpha).await.unwrap();
        tx.delete_issuer(trusted.id).await.unwrap();
        assert!(matches!(tx.delete_issuer(trusted.id).await, Err(StoreError::NotFound(_))));
        tx.commit().await.unwrap();
        assert!(refused(&signer.ping("ada", json!({ "org": "alpha" })).await, "issuer is not accepted"));
        // One organization cannot take away another's.
        let mut tx = database.store.begin(alpha).await.unwrap();
        let theirs = { database.store.begin(beta).await.unwrap().issuers(None, 9).await.unwrap().0[0].id };
        assert!(matches!(tx.delete_issuer(theirs).await, Err(StoreError::NotFound(_))));
        tx.commit().await.unwrap();
        assert_eq!(signer.ping("bob", json!({ "org": "beta" })).await.status, 200);
        service.stop().await;
    });
}

#[test]
fn tokens_that_lead_to_two_organizations_lead_to_none_unless_the_operator_said_whose_they_all_are() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let (alpha, beta) = (&both.alpha.principal, &both.beta.principal);
        let keys = Keys::ed25519();
        let issuer = FakeIssuer::start(Answer::Keys(vec![keys.published("one")])).await;
        let service = service(database).await;
        let signer = Signer { service: &service, issuer: &issuer, keys: &keys };
        trust(database, beta, &row(&issuer, Some("team"))).await.unwrap();
        let of_both = json!({ "org": "alpha", "team": "beta" });
        assert_eq!(signer.ping("ada", of_both.clone()).await.status, 200);
        let whole = row(&issuer, None);
        let by_claim = row(&issuer, Some("org"));
        trust(database, alpha, &by_claim).await.unwrap();
        assert!(refused(&signer.ping("ada", of_both.clone()).await, "more than one organization"));
        assert_eq!(signer.ping("ada", json!({ "org": "alpha" })).await.status, 200);
        // Twice the same issuer in one organization is once too often.
        let again = trust(database, alpha, &whole).await.unwrap_err();
        assert!(matches!(&again, StoreError::Conflict(name) if name == "issuer_known"), "{again}");
        let mut tx = database.store.begin(alpha).await.unwrap();
        tx.delete_issuer(by_claim.id).await.unwrap();
        tx.create_issuer(&whole).await.unwrap();
        tx.commit().await.unwrap();
        let seen = audit_log(database, alpha.organization).await.len();
        assert_eq!(signer.ping("ada", of_both).await.status, 200);
        assert_eq!(audit_log(database, alpha.organization).await.len(), seen + 1);
        // All tokens of an issuer are one organization's.
        let mut tx = database.store.begin(beta).await.unwrap();
        let known = tx.issuers(None, 9).await.unwrap().0[0].id;
        tx.delete_issuer(known).await.unwrap();
        let taken = tx.create_issuer(&row(&issuer, None)).await.unwrap_err();
        assert!(matches!(&taken, StoreError::Conflict(name) if name == "issuer_routed"), "{taken}");
        drop(tx);
        service.stop().await;
    });
}

#[test]
fn the_metadata_names_the_issuers_that_the_operator_wants_to_be_named() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let keys = Keys::ed25519();
        let issuer = FakeIssuer::start(Answer::Keys(vec![keys.published("one")])).await;
        let issuers = json!([{ "issuer": issuer.url, "organization": "alpha" }]).to_string();
        let settings = [("SYNC_ISSUERS", issuers.as_str()), ("SYNC_PRIVATE_ISSUER_HOSTS", r#"["127.0.0.1"]"#)];
        let service = TestService::start_with(database.store.clone(), &settings, |answers| answers).await;
        let named = async || {
            let url = format!("{}/.well-known/oauth-protected-resource/mcp", service.url);
            Reply::of(service.client.get(url)).await.json()["authorization_servers"].clone()
        };
        let private = FakeIssuer::start(Answer::Status(500)).await;
        trust(database, &both.beta.principal, &row(&private, Some("org"))).await.unwrap();
        assert_eq!(named().await, json!([issuer.url]));
        let mut tx = database.store.system("test").await.unwrap();
        for other in ["https://other.example", issuer.url.as_str()] {
            tx.advertise_issuer(other, true).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(named().await, json!([issuer.url]), "strangers do not make it be read each time");
        service.clock.advance(time::Duration::seconds(30));
        assert_eq!(named().await, json!([issuer.url, "https://other.example"]));
        service.stop().await;
    });
}
