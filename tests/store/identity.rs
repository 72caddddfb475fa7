//! Members, tokens and grants.

use std::collections::BTreeSet;

use sync_core::ids::{OrganizationId, PrincipalId, TokenId};
use sync_core::principal::{Principal, PrincipalKind, Readable, Role, Scope};
use sync_store::{NewMember, NewToken, OrganizationState, StoreError};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

#[test]
fn organizations_are_found_by_slug_and_id_and_slugs_are_unique() {
    with_database(async |database: &TestDatabase| {
        let id = OrganizationId::at(NOW);
        let mut system = database.store.system("test's").await.unwrap();
        let made = system.create_organization(id, "acme", NOW).await.unwrap();
        assert_eq!(made.state, OrganizationState::Active);
        assert_eq!(system.organization_by_slug("acme").await.unwrap(), Some(made.clone()));
        assert_eq!(system.organization(id).await.unwrap(), Some(made.clone()));
        assert_eq!(system.organization(OrganizationId::at(NOW)).await.unwrap(), None);
        assert_eq!(system.organizations().await.unwrap(), [made]);
        let taken = system.create_organization(OrganizationId::at(NOW), "acme", NOW).await.unwrap_err();
        assert!(matches!(taken, StoreError::Conflict(_)), "{taken}");
    });
}

#[test]
fn a_token_is_found_in_its_organization_only_and_its_use_is_noted_once_a_minute() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let scopes = BTreeSet::from([Scope::GraphRead]);
        let new = NewToken {
            id: TokenId::at(NOW),
            principal: two.alpha.principal.id,
            name: "laptop",
            secret_hash: [7; 32],
            scopes: &scopes,
            expires_at: Some(NOW + Duration::DAY),
        };
        let mut tx = database.store.begin(&two.alpha.principal).await.unwrap();
        tx.create_token(&new, NOW).await.unwrap();
        tx.commit().await.unwrap();

        let mut auth = database.store.authenticate(two.beta.principal.organization).await.unwrap();
        assert_eq!(auth.token(new.id).await.unwrap(), None);
        drop(auth);

        let mut auth = database.store.authenticate(two.alpha.principal.organization).await.unwrap();
        let token = auth.token(new.id).await.unwrap().unwrap();
        assert_eq!((token.secret_hash, &token.scopes, token.name.as_str()), ([7; 32], &scopes, "laptop"));
        assert_eq!((token.expires_at, token.revoked_at, token.last_used_at), (new.expires_at, None, None));
        assert_eq!(token.member.id, two.alpha.principal.id);
        assert_eq!(token.member.readable, Readable::All);
        for (at, noted) in [(0, 0), (30, 0), (60, 60), (61, 60)] {
            auth.touch_token(new.id, NOW + Duration::seconds(at)).await.unwrap();
            let used = auth.token(new.id).await.unwrap().unwrap().last_used_at;
            assert_eq!(used, Some(NOW + Duration::seconds(noted)));
        }
        auth.commit().await.unwrap();

        let mut tx = database.store.begin(&two.alpha.principal).await.unwrap();
        tx.revoke_token(new.id, NOW).await.unwrap();
        tx.revoke_token(new.id, NOW + Duration::DAY).await.unwrap();
        assert!(matches!(tx.revoke_token(TokenId::at(NOW), NOW).await.unwrap_err(), StoreError::NotFound(_)));
        tx.commit().await.unwrap();
        let mut auth = database.store.authenticate(two.alpha.principal.organization).await.unwrap();
        assert_eq!(auth.token(new.id).await.unwrap().unwrap().revoked_at, Some(NOW));
    });
}

#[test]
fn a_member_of_an_identity_provider_is_made_once_and_reads_what_was_granted() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let organization = two.alpha.principal.organization;
        let first = NewMember {
            id: PrincipalId::at(NOW),
            name: "Ada",
            kind: PrincipalKind::User,
            role: Role::Member,
            identity: Some(("https://id.example", "ada")),
            reads_all: false,
        };
        let mut auth = database.store.authenticate(organization).await.unwrap();
        assert_eq!(auth.member_by_identity("https://id.example", "ada").await.unwrap(), None);
        let made = auth.create_member(&first, NOW).await.unwrap();
        assert_eq!(made.readable, Readable::Only(BTreeSet::new()));
        auth.commit().await.unwrap();

        let mut auth = database.store.authenticate(organization).await.unwrap();
        let second = NewMember { id: PrincipalId::at(NOW), ..first };
        assert_eq!(auth.create_member(&second, NOW).await.unwrap().id, made.id);
        auth.commit().await.unwrap();

        let mut tx = database.store.begin(&Principal::service(organization, "test")).await.unwrap();
        tx.grant(made.id, two.alpha.repository, NOW).await.unwrap();
        tx.grant(made.id, two.alpha.repository, NOW).await.unwrap();
        assert_eq!(tx.member_by_name("Ada").await.unwrap(), None);
        let local = tx.member_by_name(&two.alpha.principal.name).await.unwrap().unwrap();
        assert_eq!(local.id, two.alpha.principal.id);
        tx.commit().await.unwrap();
        // A reference cannot leave the organization.
        let mut tx = database.store.begin(&Principal::service(organization, "test")).await.unwrap();
        let foreign = tx.grant(made.id, two.beta.repository, NOW).await.unwrap_err();
        assert!(matches!(foreign, StoreError::Conflict(_)), "{foreign}");
        drop(tx);

        let mut auth = database.store.authenticate(organization).await.unwrap();
        let member = auth.member_by_identity("https://id.example", "ada").await.unwrap().unwrap();
        assert_eq!(member.readable, Readable::Only(BTreeSet::from([two.alpha.repository])));
        drop(auth);
        let mut auth = database.store.authenticate(two.beta.principal.organization).await.unwrap();
        assert_eq!(auth.member_by_identity("https://id.example", "ada").await.unwrap(), None);
    });
}
