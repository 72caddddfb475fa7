//! Answers remembered under keys.

use sync_store::RememberedAnswer;
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

const KEY: [u8; 32] = [7; 32];

fn answer(id: &str) -> RememberedAnswer {
    RememberedAnswer { request_digest: [1; 32], status: 201, body: None, created_id: Some(id.to_owned()) }
}

#[test]
fn a_key_is_held_by_one_transaction_and_its_answer_is_the_organizations_for_a_day() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let (alpha, beta) = (&both.alpha.principal, &both.beta.principal);
        let day = Duration::DAY;
        let mut first = database.store.begin_change(alpha).await.unwrap();
        assert!(first.hold_idempotency_key(&KEY).await.unwrap());
        let mut second = database.store.begin_change(alpha).await.unwrap();
        assert!(!second.hold_idempotency_key(&KEY).await.unwrap());
        first.remember_answer(&KEY, &answer("tok_1"), NOW - day, NOW).await.unwrap();
        first.commit().await.unwrap();
        // The transaction that did not get it sees, once it gets it, what was committed meanwhile.
        assert!(second.hold_idempotency_key(&KEY).await.unwrap());
        assert_eq!(second.remembered_answer(&KEY, NOW - day).await.unwrap(), Some(answer("tok_1")));
        drop(second);

        let mut other = database.store.begin_change(beta).await.unwrap();
        assert_eq!(other.remembered_answer(&KEY, NOW - day).await.unwrap(), None);
        drop(other);

        // After a day the key is free, and old answers of other keys go along with it.
        let mut tx = database.store.begin_change(alpha).await.unwrap();
        tx.remember_answer(&[8; 32], &answer("tok_2"), NOW - day, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let later = NOW + day;
        let mut tx = database.store.begin_change(alpha).await.unwrap();
        assert_eq!(tx.remembered_answer(&KEY, later - day).await.unwrap(), None);
        tx.remember_answer(&KEY, &answer("tok_3"), later - day, later).await.unwrap();
        assert_eq!(tx.remembered_answer(&KEY, later - day).await.unwrap(), Some(answer("tok_3")));
        assert_eq!(tx.remembered_answer(&[8; 32], NOW - day).await.unwrap(), None);
        tx.commit().await.unwrap();
    });
}
