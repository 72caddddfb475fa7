//! Secrets at rest: ciphertext in the table, whole rows of one organization, and a key that can be changed.

use std::process::Command;

use secrecy::ExposeSecret as _;
use sync_server::secrets::{KeyRing, SecretError};
use sync_store::SecretPurpose;
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};

const OLD: &str = "the-old-key-of-these-tests-long-enough";
const NEW: &str = "the-new-key-of-these-tests-long-enough";
const SECRET: &[u8] = b"canary-webhook-secret-3f9a";

#[test]
fn a_secret_is_encrypted_for_its_organization_and_survives_a_change_of_the_key() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let ring = KeyRing::derive(OLD.as_bytes(), []).unwrap();
        let purposes = SecretPurpose::ALL;
        for side in [&both.alpha, &both.beta] {
            let organization = side.principal.organization;
            let mut tx = database.store.begin_change(&side.principal).await.unwrap();
            for purpose in purposes {
                let sealed = ring.seal(organization, purpose, "one", SECRET).unwrap();
                tx.put_secret(purpose, "one", &sealed, NOW).await.unwrap();
            }
            assert_eq!(tx.secret(purposes[0], "two").await.unwrap(), None);
            tx.commit().await.unwrap();
        }
        // Nobody who reads the table reads a secret, and alpha's row is nothing to beta.
        let mut superuser = database.superuser().await;
        let rows: Vec<Vec<u8>> =
            sqlx::query_scalar("SELECT ciphertext FROM sync.secrets").fetch_all(&mut superuser).await.unwrap();
        assert_eq!(rows.len(), 4);
        assert!(rows.iter().all(|row| !row.windows(6).any(|window| window == b"canary")));
        let alpha = both.alpha.principal.organization;
        let mut tx = database.store.begin(&both.alpha.principal).await.unwrap();
        let sealed = tx.secret(purposes[1], "one").await.unwrap().unwrap();
        drop(tx);
        assert_eq!(ring.open(alpha, purposes[1], "one", &sealed).unwrap().expose_secret(), SECRET);
        let moved = ring.open(both.beta.principal.organization, purposes[1], "one", &sealed).map(|_| ()).unwrap_err();
        assert_eq!(moved, SecretError::Altered);

        // With the new key alone nothing opens, and the command says what is missing; with the old one it renews all.
        let rotate = |previous: &str| {
            Command::new(env!("CARGO_BIN_EXE_syncd-under-test"))
                .args(["secrets", "rotate"])
                .env("SYNC_DATABASE_URL", &database.app_url)
                .env("SYNC_SECRET_KEY", NEW)
                .env("SYNC_PREVIOUS_SECRET_KEYS", previous)
                .output()
                .unwrap()
        };
        let refused = rotate("");
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{told}");
        assert!(told.contains("next: put the earlier value of SYNC_SECRET_KEY"), "{told}");
        for (renewed, previous) in [(4, OLD), (0, "")] {
            let done = rotate(previous);
            let said = String::from_utf8(done.stdout).unwrap();
            assert!(done.status.success() && said.starts_with(&format!("{renewed} secrets")), "{said}");
        }
        let new = KeyRing::derive(NEW.as_bytes(), []).unwrap();
        let mut tx = database.store.begin_change(&both.alpha.principal).await.unwrap();
        let sealed = tx.secret(purposes[1], "one").await.unwrap().unwrap();
        assert_eq!(new.open(alpha, purposes[1], "one", &sealed).unwrap().expose_secret(), SECRET);
        assert!(tx.delete_secret(purposes[1], "one").await.unwrap());
        assert!(!tx.delete_secret(purposes[1], "one").await.unwrap());
        drop(tx);
    });
}
