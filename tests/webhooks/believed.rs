//! Who is believed: nobody without the secret, and nothing of what they send is parsed.

use sync_core::ids::OrganizationId;
use sync_server::webhooks::EndpointAddress;
use sync_server::webhooks::signature::sign;
use sync_store::{Forge, OrganizationState};
use sync_tests::service::{Reply, TestService, audit_log};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

use super::{Hooked, bare, body, nowhere, taken};

/// Action, outcome, code, count, credential and repository of an audit row.
type Row = (String, String, Option<String>, i64, String, Option<String>);

const GITHUB: &str = "https://github.com/acme/billing.git";

#[test]
fn a_forged_delivery_is_refused_unparsed_and_tells_nothing_of_the_endpoint() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let hooked = Hooked::new(database, &service, &both.alpha.principal, Forge::Github, GITHUB).await;
        let push = body("github/push.json");
        let right = sign(Forge::Github, &hooked.secret, &push).1;
        let mac = right.strip_prefix("sha256=").unwrap();
        let unsigned = || hooked.unsigned("push", "1", push.clone());
        let reencoded: serde_json::Value = serde_json::from_slice(&push).unwrap();
        let with = |value: String| unsigned().header("x-hub-signature-256", value);
        let wrong = sign(Forge::Github, "another secret", &push).1;
        let mut replies = Vec::new();
        for request in [
            unsigned(),
            with(format!("sha256={}", &mac[..40])),
            with(wrong.clone()),
            with(format!("sha256={}", mac.to_uppercase())),
            unsigned().header("x-hub-signature", format!("sha1={}", &mac[..40])),
            hooked.unsigned("push", "1", reencoded.to_string().into_bytes()).header("x-hub-signature-256", &right),
        ] {
            replies.push(Reply::of(request).await);
        }
        // No endpoint, one of another forge, one of another organization, and addresses that are none.
        let send = async |url: String| {
            let request = service.client.post(url).header("content-type", "application/json").body(push.clone());
            let request = request.header("x-github-event", "push").header("x-hub-signature-256", &right);
            Reply::of(request.header("x-github-delivery", "1")).await
        };
        let known = hooked.address;
        let beta = EndpointAddress { organization: both.beta.principal.organization, ..known };
        let nobody = EndpointAddress { organization: OrganizationId::at(NOW), ..known };
        for address in [nowhere(known), beta, nobody] {
            replies.push(send(address.url(&service.url, Forge::Github)).await);
        }
        replies.push(send(known.url(&service.url, Forge::Gitea)).await);
        replies.push(send(format!("{}/webhooks/github/nonsense", service.url)).await);
        replies.push(send(format!("{}/webhooks/sourcehut/{known}", service.url)).await);
        for reply in &replies {
            assert_eq!((reply.status, bare(reply)), (401, bare(&replies[0])));
        }
        assert_eq!(service.app.deliveries.parsed(), 0, "nothing is parsed before it is verified");
        assert_eq!(hooked.jobs().await, []);

        let good = Reply::of(hooked.signed("push", "1", push)).await;
        assert_eq!(taken(&good).1, "queued", "{good:?}");
        assert_eq!(service.app.deliveries.parsed(), 1);
        service.stop().await;
    });
}

#[test]
fn a_suspended_organization_takes_no_delivery_and_only_who_has_the_secret_is_told() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let hooked = Hooked::new(database, &service, &both.alpha.principal, Forge::Github, GITHUB).await;
        let push = || body("github/push.json");
        let put = async |state: OrganizationState| {
            let mut tx = database.store.begin_change(&both.alpha.principal).await.unwrap();
            tx.set_organization_state(state).await.unwrap();
            tx.commit().await.unwrap();
        };
        put(OrganizationState::Suspended).await;
        let refused = Reply::of(hooked.signed("push", "1", push())).await;
        assert_eq!((refused.status, refused.json()["code"].as_str()), (403, Some("organization_suspended")));
        let stranger = Reply::of(hooked.unsigned("push", "1", push())).await;
        assert_eq!(stranger.status, 401);
        assert_eq!((service.app.deliveries.parsed(), hooked.jobs().await), (0, vec![]));
        put(OrganizationState::Active).await;
        assert_eq!(taken(&Reply::of(hooked.signed("push", "1", push())).await).1, "queued");
        service.stop().await;
    });
}

#[test]
fn a_body_of_26_megabytes_is_too_long_and_one_of_24_is_not() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let hooked = Hooked::new(database, &service, &both.alpha.principal, Forge::Github, GITHUB).await;
        let padded = |megabytes: usize| {
            let mut long = body("github/push.json");
            long.resize(megabytes * 1024 * 1024, b' ');
            long
        };
        let reply = Reply::of(hooked.signed("push", "1", padded(26))).await;
        assert_eq!((reply.status, reply.json()["code"].as_str()), (413, Some("payload_too_large")), "{reply:?}");
        assert_eq!(service.app.deliveries.parsed(), 0);
        let reply = Reply::of(hooked.signed("push", "1", padded(24))).await;
        assert_eq!(reply.status, 202, "{reply:?}");
        service.stop().await;
    });
}

#[test]
fn large_bodies_of_strangers_keep_no_delivery_waiting() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let known = Hooked::new(database, &service, &both.alpha.principal, Forge::Github, GITHUB).await;
        let other = Hooked::new(database, &service, &both.beta.principal, Forge::Github, GITHUB).await;
        let large = || {
            let mut body = body("github/push.json");
            body.resize(24 * 1024 * 1024, b' ');
            body
        };
        // Bodies that begin with two megabytes and then are silent, of which none has a signature.
        let mut silent = Vec::new();
        let mut send = |url: String| {
            let (mut parts, stream) = futures::channel::mpsc::channel(4);
            parts.try_send(Ok::<_, std::io::Error>(vec![b'a'; 2 * 1024 * 1024])).unwrap();
            let request = service.client.post(url).header("content-type", "application/json");
            let request = request.header("x-github-event", "push").header("x-hub-signature-256", "sha256=00");
            let request = request.body(reqwest::Body::wrap_stream(stream));
            silent.push((parts, tokio::spawn(Reply::of(request))));
        };
        for _ in 0..12 {
            send(nowhere(known.address).url(&service.url, Forge::Github));
        }
        // Who knows an endpoint's address has one place at it, and keeps only that endpoint's own large ones waiting.
        for _ in 0..12 {
            send(known.address.url(&service.url, Forge::Github));
        }
        while service.app.large.held() != 1 {
            tokio::task::yield_now().await;
        }
        let taken_in = Reply::of(other.signed("push", "1", large())).await;
        assert_eq!(taken_in.status, 202, "{taken_in:?}");
        assert_eq!(known.deliver("push", "1", "github/push.json").await.status, 202, "a small one");
        for (parts, reply) in silent {
            drop(parts);
            let status = reply.await.unwrap().status;
            assert!([401, 408].contains(&status), "{status}");
        }
        assert_eq!(service.app.large.held(), 0);
        let taken_in = Reply::of(known.signed("push", "2", large())).await;
        assert_eq!(taken_in.status, 202, "{taken_in:?}");
        service.stop().await;
    });
}

#[test]
fn two_secrets_live_for_a_day_and_then_one() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let mut hooked = Hooked::new(database, &service, &both.alpha.principal, Forge::Gitea, GITHUB).await;
        let first = hooked.secret.clone();
        let rotate = async || {
            let mut tx = database.store.begin_change(&both.alpha.principal).await.unwrap();
            let ring = &service.app.secrets;
            let made =
                sync_server::webhooks::setup::make_or_rotate(&mut tx, ring, hooked.source, Forge::Gitea, NOW).await;
            tx.commit().await.unwrap();
            made.unwrap()
        };
        let second = rotate().await;
        assert_ne!(first, second);
        let mut sent = 0;
        let mut status = async |hooked: &mut Hooked<'_>, secret: &String| {
            sent += 1;
            hooked.secret.clone_from(secret);
            hooked.deliver("push", &sent.to_string(), "gitea/push.json").await.status
        };
        assert_eq!([status(&mut hooked, &first).await, status(&mut hooked, &second).await], [202, 202]);
        service.clock.advance(Duration::hours(24) - Duration::SECOND);
        assert_eq!(status(&mut hooked, &first).await, 202);
        service.clock.advance(Duration::SECOND);
        assert_eq!([status(&mut hooked, &first).await, status(&mut hooked, &second).await], [401, 202]);
        service.stop().await;
    });
}

#[test]
fn deliveries_are_in_the_audit_log_as_counts_and_what_is_wrong_is_shown() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let hooked = Hooked::new(database, &service, &both.alpha.principal, Forge::Github, GITHUB).await;
        for delivery in ["1", "2", "2"] {
            assert_eq!(hooked.deliver("push", delivery, "github/push.json").await.status, 202);
        }
        for _ in 0..4 {
            let forged = hooked.unsigned("push", "3", body("github/push.json"));
            assert_eq!(Reply::of(forged.header("x-hub-signature-256", "sha256=00")).await.status, 401);
        }
        let form = Reply::of(hooked.signed("push", "4", b"payload=%7B%7D".to_vec())).await;
        assert_eq!((form.status, form.json()["code"].as_str()), (422, Some("unreadable_delivery")), "{form:?}");
        assert!(form.text.contains("application/json"), "{form:?}");

        let app = &service.app;
        app.deliveries.flush(&app.store, &app.auditor, false).await;
        assert!(audit_log(database, hooked.owner.organization).await.is_empty(), "the minute is not over");
        let problem = hooked.endpoint().await.last_problem.unwrap();
        assert!(problem.contains("application/json"), "{problem}");
        service.clock.advance(Duration::MINUTE);
        app.deliveries.flush(&app.store, &app.auditor, false).await;
        let mut superuser = database.superuser().await;
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT action, outcome, code, rows, credential_id, repository_name FROM sync.audit_events
             WHERE protocol = 'webhook' ORDER BY code NULLS FIRST",
        )
        .fetch_all(&mut superuser)
        .await
        .unwrap();
        let endpoint = hooked.address.id.to_string();
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.0.as_str(), row.1.as_str(), row.2.as_deref(), row.3, row.4 == endpoint))
            .collect();
        assert_eq!(
            told,
            [
                ("webhook.delivery", "ok", None, 3, true),
                ("webhook.delivery", "refused", Some("bad_signature"), 4, true),
                ("webhook.delivery", "refused", Some("unreadable_delivery"), 1, true),
            ]
        );
        assert!(rows.iter().all(|row| row.5.as_deref().is_some_and(|name| name.starts_with("acme/"))), "{rows:?}");

        // Once one is taken, nothing is wrong any more.
        assert_eq!(hooked.deliver("push", "5", "github/push.json").await.status, 202);
        app.deliveries.flush(&app.store, &app.auditor, true).await;
        let endpoint = hooked.endpoint().await;
        assert_eq!((endpoint.last_problem, endpoint.last_event.as_deref()), (None, Some("push")));
        service.stop().await;
    });
}
