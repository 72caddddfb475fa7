//! What a seal covers.

use sync_store::{AuditOutcome, Outcome};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::Duration;

use super::{Log, event, said};

#[test]
fn a_sealed_log_is_whole_and_what_is_newer_is_unproven() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        assert_eq!(log.seal(NOW).await.seals, 0, "nothing to seal");
        log.write(5, NOW).await;
        // A call with outside effects has two rows.
        let begun = event(NOW + Duration::SECOND);
        let begun = sync_store::AuditEvent { outcome: None, ..begun };
        let mut tx = database.store.begin(&log.principal).await.unwrap();
        tx.record_event(&begun).await.unwrap();
        tx.commit().await.unwrap();
        let ended = AuditOutcome {
            event_id: begun.event_id,
            time: begun.time,
            outcome: Outcome::Ok,
            code: None,
            rows: Some(9),
            duration: std::time::Duration::from_millis(3),
        };
        let mut tx = database.store.begin(&log.principal).await.unwrap();
        tx.record_outcome(&ended).await.unwrap();
        tx.commit().await.unwrap();
        // There is one outcome of an event.
        let mut tx = database.store.begin(&log.principal).await.unwrap();
        let again = tx.record_outcome(&ended).await.unwrap_err();
        assert!(matches!(again, sync_store::StoreError::Conflict(_)), "{again}");
        drop(tx);

        let sealed = log.seal(NOW + Duration::MINUTE).await;
        assert_eq!((sealed.seals, sealed.rows), (1, 7));
        assert_eq!(log.seal(NOW + Duration::MINUTE).await.seals, 0, "no seal without rows");
        log.write(2, NOW + Duration::MINUTE).await;
        let report = log.verify().await;
        assert!(report.is_whole(), "{}", said(&report));
        assert_eq!((report.seals, report.rows, report.unsealed.rows), (1, 7, 2));
        assert_eq!(report.unsealed.oldest, Some(NOW + Duration::MINUTE));
        log.seal(NOW + Duration::minutes(2)).await;
        let report = log.verify().await;
        assert!(report.is_whole(), "{}", said(&report));
        assert_eq!((report.seals, report.rows, report.unsealed.rows), (2, 9, 0));
        let last = report.last.unwrap().head;
        assert_eq!((last.number, last.rows, last.organization), (2, 2, log.organization()));

        let other = Log::of(database, &two.beta.principal).await;
        let report = other.verify().await;
        assert_eq!((report.seals, report.rows, report.last), (0, 0, None), "another organization has its own");
    });
}

#[test]
fn a_transaction_that_is_open_holds_back_what_is_newer_and_loses_nothing() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        log.write(1, NOW).await;
        log.settle().await;
        let mut open = database.store.begin(&log.principal).await.unwrap();
        open.record_event(&event(NOW + Duration::SECOND)).await.unwrap();
        log.write(2, NOW + Duration::SECOND * 2).await;
        assert_eq!(log.seal_now(NOW).await.rows, 1, "of what is behind an open transaction nothing is final");
        open.commit().await.unwrap();
        assert_eq!(log.seal(NOW).await.rows, 3);
        let report = log.verify().await;
        assert!(report.is_whole(), "{}", said(&report));
        assert_eq!(report.rows, 4);
    });
}

#[test]
fn seals_are_cut_between_transactions() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        log.write(2, NOW).await;
        let mut tx = database.store.begin(&log.principal).await.unwrap();
        for n in 0..4 {
            tx.record_event(&event(NOW + Duration::SECOND * n)).await.unwrap();
        }
        tx.commit().await.unwrap();
        log.write(1, NOW + Duration::MINUTE).await;

        log.settle().await;
        let mut tx = log.maintenance.begin(log.organization()).await.unwrap();
        let horizon = tx.horizon().await.unwrap();
        let mut from = 0;
        let mut sizes = Vec::new();
        while from < horizon {
            let (rows, to) = tx.rows_to_seal(from, horizon, 3).await.unwrap();
            assert!(to > from && rows.iter().all(|row| (from..to).contains(&row.xid)));
            assert!(rows.is_sorted_by_key(sync_core::seal::Row::key));
            sizes.push(rows.len());
            from = to;
        }
        tx.commit().await.unwrap();
        // The transaction of four is never cut, though three is what was asked for.
        assert_eq!(sizes, [2, 4, 1]);
    });
}

#[test]
fn two_that_seal_at_once_make_one_chain() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        for round in 0..5 {
            log.write(3, NOW + Duration::minutes(round)).await;
            log.settle().await;
            let (one, other) = tokio::join!(log.seal_now(NOW), log.seal_now(NOW));
            assert!(one.rows + other.rows <= 3, "no row is sealed twice");
            log.seal(NOW).await;
        }
        let report = log.verify().await;
        assert!(report.is_whole(), "{}", said(&report));
        assert_eq!(report.rows, 15);
    });
}
