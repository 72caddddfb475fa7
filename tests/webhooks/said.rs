//! What deliveries lead to: pushes, deleted branches, pings, and repositories that move or go.

use serde_json::json;
use sync_store::{Forge, RefOrigin, RepositoryState, SecretPurpose, SourceSettings};
use sync_tests::service::{Reply, TestService};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};

use super::{Hooked, body, taken};

#[test]
fn every_forge_s_push_queues_and_its_ping_is_seen() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        for (forge, event, host) in [
            (Forge::Github, "push", "github.com"),
            (Forge::Gitlab, "Push Hook", "gitlab.com"),
            (Forge::Gitea, "push", "git.acme.example"),
            (Forge::Forgejo, "push", "codeberg.org"),
            (Forge::Bitbucket, "repo:push", "bitbucket.org"),
        ] {
            let address = format!("https://{host}/acme/billing.git");
            let hooked = Hooked::new(database, &service, &both.alpha.principal, forge, &address).await;
            let reply = hooked.deliver(event, "1", &format!("{}/push.json", forge.as_str())).await;
            let jobs = hooked.jobs().await;
            assert_eq!(taken(&reply), (202, "queued".to_owned(), Some(jobs[0].id)), "{forge:?}");
            assert_eq!((jobs[0].cause.as_str(), jobs[0].ref_name.as_deref()), ("webhook", Some("main")), "{forge:?}");
            let endpoint = hooked.endpoint().await;
            assert_eq!((endpoint.last_delivery_at, endpoint.last_problem), (Some(NOW), None), "{forge:?}");
        }
        let hooked =
            Hooked::new(database, &service, &both.alpha.principal, Forge::Github, "https://github.com/acme/billing")
                .await;
        let ping = hooked.deliver("ping", "1", "github/ping.json").await;
        assert_eq!(taken(&ping), (200, "ping".to_owned(), None));
        assert_eq!(hooked.endpoint().await.last_event.as_deref(), Some("ping"));
        assert_eq!(hooked.jobs().await, []);
        service.stop().await;
    });
}

#[test]
fn branches_are_followed_as_the_source_says_and_expire_once_they_are_deleted() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = &both.alpha.principal;
        let hooked = Hooked::new(database, &service, owner, Forge::Github, "https://github.com/acme/billing").await;
        let tag = hooked.deliver("push", "1", "github/push-tag.json").await;
        assert_eq!(taken(&tag).1, "ignored", "{tag:?}");
        let other = hooked.deliver("push", "2", "github/push-branch.json").await;
        assert_eq!(taken(&other).1, "ignored");
        assert!(other.text.contains("tracked_refs"), "{other:?}");

        let follow = SourceSettings { tracked_refs: vec!["release/*".to_owned()], ..SourceSettings::default() };
        let mut tx = database.store.begin_change(owner).await.unwrap();
        tx.set_source_settings(hooked.source, &follow).await.unwrap();
        tx.commit().await.unwrap();
        let refs = async || {
            let mut tx = database.store.begin(owner).await.unwrap();
            let refs = tx.refs(hooked.source).await.unwrap();
            refs.into_iter().map(|kept| (kept.name, kept.origin, kept.expires_at)).collect::<Vec<_>>()
        };
        let kept = |expires_at| vec![("release/2.x".to_owned(), RefOrigin::Tracked, expires_at)];
        // What was ignored was not remembered: the same delivery is taken now.
        assert_eq!(taken(&hooked.deliver("push", "2", "github/push-branch.json").await).1, "queued");
        assert_eq!(refs().await, kept(None));
        let gone = hooked.deliver("push", "3", "github/branch-deleted.json").await;
        assert_eq!(taken(&gone), (200, "ref_expires".to_owned(), None));
        assert_eq!(refs().await, kept(Some(NOW)));
        assert_eq!(taken(&hooked.deliver("push", "4", "github/push-branch.json").await).1, "queued");
        assert_eq!(refs().await, kept(None));

        let push = String::from_utf8(body("github/branch-deleted.json")).unwrap().replace("release/2.x", "main");
        let default = Reply::of(hooked.signed("push", "5", push.into_bytes())).await;
        assert_eq!(taken(&default).1, "noted", "{default:?}");
        assert!(hooked.endpoint().await.last_problem.unwrap().contains("default branch"));
        service.stop().await;
    });
}

#[test]
fn an_address_is_followed_on_its_host_only_and_never_with_a_credential() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = &both.alpha.principal;
        let at = |address: &'static str| Hooked::new(database, &service, owner, Forge::Github, address);
        let address = async |hooked: &Hooked<'_>| {
            let mut tx = database.store.begin(owner).await.unwrap();
            tx.repository(hooked.source).await.unwrap().unwrap().clone_url.unwrap()
        };
        let public = at("https://github.com/acme/billing.git").await;
        let renamed = public.deliver("repository", "1", "github/renamed.json").await;
        assert_eq!(taken(&renamed).1, "queued", "{renamed:?}");
        assert_eq!(address(&public).await, "https://github.com/acme/invoices.git");
        // The same again changes nothing; its name in answers stays.
        assert_eq!(taken(&public.deliver("repository", "2", "github/renamed.json").await).1, "ignored");

        // Another repository's rename, by a webhook that stands for both.
        let other = at("https://github.com/acme/other").await;
        assert_eq!(taken(&other.deliver("repository", "1", "github/renamed.json").await).1, "ignored");
        assert_eq!(address(&other).await, "https://github.com/acme/other");

        let private = at("https://github.com/acme/billing").await;
        let sealed =
            service.app.secrets.seal(owner.organization, SecretPurpose::RepositoryCredential, "x", b"{}").unwrap();
        let mut tx = database.store.begin_change(owner).await.unwrap();
        tx.put_secret(SecretPurpose::RepositoryCredential, &private.source.to_string(), &sealed, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let told = private.deliver("repository", "1", "github/transferred.json").await;
        assert_eq!(taken(&told).1, "noted");
        assert_eq!(address(&private).await, "https://github.com/acme/billing");
        let problem = private.endpoint().await.last_problem.unwrap();
        assert!(problem.contains("bigco/billing") && problem.contains("a credential is stored"), "{problem}");

        // Where the address is none that may be fetched, that is the reason, and no credential is spoken of.
        let inside = at("https://10.0.0.1/acme/billing").await;
        let told = inside.deliver("repository", "1", "github/renamed.json").await;
        assert_eq!(taken(&told).1, "noted");
        let problem = inside.endpoint().await.last_problem.unwrap();
        assert!(!problem.contains("a credential is stored") && problem.contains("; next: "), "{problem}");
        service.stop().await;
    });
}

#[test]
fn a_deleted_repository_is_said_and_nothing_is_erased() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = &both.alpha.principal;
        let hooked = Hooked::new(database, &service, owner, Forge::Github, "https://github.com/acme/billing").await;
        assert_eq!(taken(&hooked.deliver("repository", "1", "github/deleted.json").await).1, "noted");
        let mut tx = database.store.begin(owner).await.unwrap();
        let source = tx.repository(hooked.source).await.unwrap().unwrap();
        drop(tx);
        assert_eq!(source.state, RepositoryState::Failed);
        assert!(source.state_reason.unwrap().contains("deleted"));
        assert_eq!(hooked.jobs().await, []);
        let other = Hooked::new(database, &service, owner, Forge::Github, "https://github.com/acme/other").await;
        assert_eq!(taken(&other.deliver("repository", "1", "github/deleted.json").await).1, "ignored");
        service.stop().await;
    });
}

#[test]
fn what_may_not_be_fetched_is_not_queued_and_says_why() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let owner = &both.alpha.principal;
        let hooked = Hooked::new(database, &service, owner, Forge::Github, "https://github.com/acme/billing").await;
        let mut tx = database.store.begin_change(owner).await.unwrap();
        tx.set_egress_consent(hooked.source, None, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let told = hooked.deliver("push", "1", "github/push.json").await;
        assert_eq!(taken(&told), (200, "noted".to_owned(), None));
        assert!(told.json()["reason"].as_str().unwrap().contains("consent"), "{told:?}");
        assert!(hooked.endpoint().await.last_problem.unwrap().contains("consent"));

        // A push of a repository that was renamed, by a forge that does not say so: it is fetched where it was, and said.
        let renamed = Hooked::new(database, &service, owner, Forge::Github, "https://github.com/acme/before").await;
        assert_eq!(taken(&renamed.deliver("push", "1", "github/push.json").await).1, "queued");
        assert!(renamed.endpoint().await.last_problem.unwrap().contains("acme/billing"));

        let mut tx = database.store.begin_change(owner).await.unwrap();
        tx.set_repository_state(renamed.source, RepositoryState::Deleting, None, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let gone = renamed.deliver("push", "2", "github/push.json").await;
        assert_eq!((gone.status, &gone.json()["code"]), (401, &json!("not_accepted")), "{gone:?}");
        service.stop().await;
    });
}
