//! What the worker does for the log, round by round, with a clock that the test moves.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode};
use sync_core::clock::MockClock;
use sync_core::seal::{Hash, SignedHead};
use sync_server::audit::heads::{self, Heads};
use sync_server::audit::maintain::Maintainer;
use sync_server::audit::verify::verify;
use sync_store::AuditEvent;
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};
use time::{Duration, OffsetDateTime};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::{Log, event, said, seal_keys};

fn maintainer(log: &Log<'_>, heads: Heads, kept: Option<Duration>, clock: &Arc<MockClock>) -> Maintainer {
    Maintainer::new(log.maintenance.clone(), log.keys.clone(), heads, kept, clock.clone())
}

fn nowhere() -> Heads {
    Heads::new(None, None).unwrap()
}

#[test]
fn a_call_that_never_ended_is_a_timeout_after_five_minutes() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        let clock = Arc::new(MockClock::at(NOW));
        let mut maintainer = maintainer(&log, nowhere(), None, &clock);
        let begun = AuditEvent { outcome: None, ..event(NOW) };
        let mut tx = database.store.begin(&log.principal).await.unwrap();
        tx.record_event(&begun).await.unwrap();
        tx.commit().await.unwrap();
        let outcomes = async || -> Vec<(uuid::Uuid, String, Option<String>, i64)> {
            sqlx::query_as("SELECT event_id, outcome, code, duration_us FROM sync.audit_outcomes")
                .fetch_all(&mut database.superuser().await)
                .await
                .unwrap()
        };
        clock.advance(Duration::minutes(5));
        maintainer.round().await;
        assert_eq!(outcomes().await, []);
        clock.advance(Duration::SECOND);
        maintainer.round().await;
        let timeout = Some("timeout".to_owned());
        let expected = [(begun.event_id.uuid(), "timeout".to_owned(), timeout, 301_000_000)];
        assert_eq!(outcomes().await, expected);
        clock.advance(Duration::minutes(5));
        maintainer.round().await;
        assert_eq!(outcomes().await, expected, "once");
        log.settle().await;
        maintainer.round().await;
        let report = log.verify().await;
        assert!(report.is_whole() && report.rows == 2, "{}", said(&report));
    });
}

#[test]
fn heads_are_appended_to_the_file_and_the_file_finds_what_the_database_hides() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let (alpha, beta) =
            (Log::of(database, &two.alpha.principal).await, Log::of(database, &two.beta.principal).await);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heads.ndjson");
        let clock = Arc::new(MockClock::at(NOW));
        let mut maintainer = maintainer(&alpha, Heads::new(Some(path.clone()), None).unwrap(), None, &clock);
        for minute in 1..=3 {
            alpha.write(2, NOW + Duration::minutes(minute)).await;
            if minute == 2 {
                beta.write(1, NOW).await;
            }
            clock.advance(Duration::MINUTE);
            alpha.settle().await;
            maintainer.round().await;
        }
        let (left, others) = heads::read(&std::fs::read_to_string(&path).unwrap());
        let mut numbers: Vec<_> = left.iter().map(|left| (left.head.organization, left.head.number)).collect();
        let (a, b) = (alpha.organization(), beta.organization());
        // Within an organization they are in order.
        numbers.sort_by_key(|(organization, _)| *organization != a);
        assert_eq!((numbers, others), (vec![(a, 1), (a, 2), (a, 3), (b, 1)], vec![]));
        for log in [&alpha, &beta] {
            let report = verify(&database.store, &log.keys, log.organization(), &left).await.unwrap();
            assert!(report.is_whole(), "{}", said(&report));
        }
        // A file that cannot be written keeps nothing from being sealed, and catches up later.
        std::fs::rename(&path, folder.path().join("away")).unwrap();
        std::fs::create_dir(&path).unwrap();
        alpha.write(1, NOW).await;
        alpha.settle().await;
        maintainer.round().await;
        assert_eq!(alpha.verify().await.seals, 4);
        std::fs::remove_dir(&path).unwrap();
        maintainer.round().await;
        let (late, _) = heads::read(&std::fs::read_to_string(&path).unwrap());
        assert_eq!(late.iter().map(|late| late.head.number).collect::<Vec<_>>(), [4]);
    });
}

/// Takes what is posted; refuses the first.
async fn collector() -> (url::Url, mpsc::UnboundedReceiver<(HeaderMap, Bytes)>) {
    let (sender, received) = mpsc::unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/heads", listener.local_addr().unwrap()).parse().unwrap();
    let refused = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let take = move |headers: HeaderMap, body: Bytes| async move {
        let first = !refused.swap(true, std::sync::atomic::Ordering::SeqCst);
        sender.send((headers, body)).unwrap();
        if first { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::NO_CONTENT }
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/heads", post(take))).await });
    (url, received)
}

#[test]
fn heads_are_posted_signed_until_they_are_taken() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        let (url, mut received) = collector().await;
        let clock = Arc::new(MockClock::at(NOW));
        let mut maintainer = maintainer(&log, Heads::new(None, Some(url)).unwrap(), None, &clock);
        log.write(1, NOW).await;
        log.settle().await;
        maintainer.round().await;
        log.write(1, NOW).await;
        log.settle().await;
        clock.advance(Duration::MINUTE);
        maintainer.round().await;
        maintainer.round().await;
        let mut taken = Vec::new();
        while let Ok((headers, body)) = received.try_recv() {
            let head: SignedHead = serde_json::from_slice(&body).unwrap();
            assert_eq!(log.keys.check_head(&head), Ok(()));
            let text = |name: &str| headers[name].to_str().unwrap().to_owned();
            assert_eq!(text("content-type"), "application/json");
            let id = text("webhook-id");
            assert_eq!(id, format!("seal_{}_{}", log.organization(), head.head.number));
            let signature = text("webhook-signature");
            let signature = STANDARD.decode(signature.strip_prefix("v1a,").unwrap()).unwrap();
            let mut signed = format!("{id}.{}.", text("webhook-timestamp")).into_bytes();
            signed.extend_from_slice(&body);
            let key = aws_lc_rs::signature::UnparsedPublicKey::new(
                &aws_lc_rs::signature::ED25519,
                seal_keys().current().public_key().to_vec(),
            );
            key.verify(&signed, &signature).unwrap();
            taken.push(head.head.number);
        }
        // The first was refused and comes again, before the second; nothing comes twice that was taken.
        assert_eq!(taken, [1, 1, 2]);
    });
}

#[test]
fn whole_seals_lose_their_rows_in_time_and_that_is_signed() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        let clock = Arc::new(MockClock::at(NOW));
        let kept = Duration::days(30);
        let mut maintainer = maintainer(&log, nowhere(), Some(kept), &clock);
        log.write(3, NOW).await;
        log.settle().await;
        maintainer.round().await;
        clock.advance(Duration::days(20));
        let young = log.write(2, NOW + Duration::days(20)).await;
        log.settle().await;
        maintainer.round().await;
        clock.advance(Duration::days(9));
        maintainer.round().await;
        assert_eq!(log.verify().await.pruned, None, "29 days are not 30");

        clock.advance(Duration::days(2));
        maintainer.round().await;
        let report = log.verify().await;
        assert!(report.is_whole(), "{}", said(&report));
        let pruned = report.pruned.unwrap();
        assert_eq!((pruned.through, pruned.rows, pruned.at), (1, 3, NOW + Duration::days(31)));
        assert_eq!((report.seals, report.rows), (2, 2));
        let mut superuser = database.superuser().await;
        let left: Vec<uuid::Uuid> =
            sqlx::query_scalar("SELECT event_id FROM sync.audit_events ORDER BY time, event_id")
                .fetch_all(&mut superuser)
                .await
                .unwrap();
        assert_eq!(left, young.iter().map(|id| id.uuid()).collect::<Vec<_>>());

        // November is over and empty but for nothing: its partitions are dropped, December's hold rows and stay.
        let partitions: Vec<String> = sqlx::query_scalar(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'sync.audit_events'::regclass ORDER BY 1",
        )
        .fetch_all(&mut superuser)
        .await
        .unwrap();
        assert_eq!(partitions[0], "sync.audit_events_2026_12", "{partitions:?}");
        // Three months ahead of the clock's month, each fenced.
        assert!(partitions.contains(&"sync.audit_events_2027_03".to_owned()), "{partitions:?}");
        let unfenced: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_class WHERE relname LIKE 'audit%' AND relkind IN ('r', 'p')
               AND relnamespace = 'sync'::regnamespace AND NOT (relrowsecurity AND relforcerowsecurity)",
        )
        .fetch_one(&mut superuser)
        .await
        .unwrap();
        assert_eq!(unfenced, 0);

        // A row that turns up in what was removed did not stand there; one that goes beyond it is missed.
        log.as_owner(
            "INSERT INTO sync.audit_events (event_id, time, xid, protocol, action, outcome, request_id)
             SELECT '00000000-0000-7000-8000-000000000001', time, '1', protocol, action, outcome, request_id
             FROM sync.audit_events LIMIT 1",
        )
        .await;
        log.as_owner(&format!("DELETE FROM sync.audit_events WHERE event_id = '{}'", young[0].uuid())).await;
        let expected = format!(
            "event evt_00000000000070008000000000000001 was inserted after seal 1 was made\n\
             event {} was deleted (seal 2, position 0)",
            young[0]
        );
        assert_eq!(said(&log.verify().await), expected);
    });
}

#[test]
fn partitions_that_hold_rows_of_anybody_stay() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.beta.principal).await;
        log.write(1, NOW).await;
        let after: OffsetDateTime = NOW + Duration::days(900);
        // November holds a row; the three months that were made ahead hold none.
        assert_eq!(log.maintenance.drop_partitions(after.date()).await.unwrap(), 7);
        assert_eq!(log.maintenance.drop_partitions(after.date()).await.unwrap(), 0);
        assert_eq!(log.maintenance.ensure_partitions(NOW.date(), 4).await.unwrap(), 7);
        assert_eq!(log.maintenance.ensure_partitions(NOW.date(), 4).await.unwrap(), 0);
        log.seal(NOW).await;
        assert!(log.verify().await.is_whole());
        assert_ne!(log.verify().await.last.unwrap().head.root, Hash::ZERO);
    });
}
