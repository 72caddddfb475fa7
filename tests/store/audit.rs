//! The log and the counted refusals.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Row as _;
use sync_core::clock::MockClock;
use sync_core::ids::{EventId, RequestId};
use sync_server::audit::refusals::Refusals;
use sync_store::{AuditEvent, AuditOutcome, Outcome, Protocol, Refusal};
use sync_tests::{NOW, TestDatabase, TwoOrganizations, with_database};

fn event() -> AuditEvent {
    AuditEvent {
        event_id: EventId::at(NOW),
        time: NOW,
        principal: None,
        principal_name: None,
        principal_kind: None,
        credential_id: None,
        protocol: Protocol::Mcp,
        action: "sync_whats_at_risk".to_owned(),
        repository: None,
        arguments_digest: None,
        outcome: Some(Outcome::Ok),
        code: None,
        rows: None,
        duration: None,
        request_id: RequestId::at(NOW),
        client_ip: None,
    }
}

#[test]
fn a_reads_event_is_whole_and_lands_in_its_month() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let principal = &two.alpha.principal;
        let mut tx = database.store.begin(principal).await.unwrap();
        let full = AuditEvent {
            principal: Some(principal.id),
            principal_name: Some(principal.name.clone()),
            principal_kind: Some(principal.kind),
            credential_id: Some("tok_1".to_owned()),
            repository: Some((two.alpha.repository, "acme/billing".to_owned())),
            arguments_digest: Some([9; 32]),
            rows: Some(3),
            duration: Some(Duration::from_micros(1500)),
            client_ip: Some("2001:db8::1".parse().unwrap()),
            ..event()
        };
        tx.record_event(&full).await.unwrap();
        tx.commit().await.unwrap();
        let row = sqlx::query(
            "SELECT tableoid::regclass::text AS partition, principal, protocol, outcome, rows, duration_us,
                    host(client_ip) AS ip, organization_id, xid::text AS xid
             FROM sync.audit_events",
        )
        .fetch_one(&mut database.superuser().await)
        .await
        .unwrap();
        assert_eq!(row.get::<String, _>("partition"), "sync.audit_events_2026_11");
        assert_eq!(row.get::<String, _>("principal"), principal.name);
        assert_eq!(row.get::<String, _>("outcome"), "ok");
        assert_eq!((row.get::<i64, _>("rows"), row.get::<i64, _>("duration_us")), (3, 1500));
        assert_eq!(row.get::<String, _>("ip"), "2001:db8::1");
        assert!(row.get::<String, _>("xid").parse::<u64>().unwrap() > 0);
    });
}

#[test]
fn an_uncommitted_read_leaves_no_row_and_a_month_beyond_the_partitions_is_kept_too() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let mut tx = database.store.begin(&two.alpha.principal).await.unwrap();
        tx.record_event(&event()).await.unwrap();
        drop(tx);
        let mut auth = database.store.authenticate(two.alpha.principal.organization).await.unwrap();
        let late = AuditEvent {
            time: NOW + time::Duration::days(400),
            outcome: Some(Outcome::Refused),
            code: Some("forbidden".to_owned()),
            ..event()
        };
        auth.record_event(&late).await.unwrap();
        auth.commit().await.unwrap();
        let rows: Vec<String> = sqlx::query_scalar("SELECT tableoid::regclass::text FROM sync.audit_events")
            .fetch_all(&mut database.superuser().await)
            .await
            .unwrap();
        assert_eq!(rows, ["sync.audit_events_default"]);
    });
}

#[test]
fn a_call_with_outside_effects_gets_its_outcome_later() {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let begun = AuditEvent { outcome: None, action: "refresh".to_owned(), ..event() };
        let mut tx = database.store.begin(&two.alpha.principal).await.unwrap();
        tx.record_event(&begun).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = database.store.begin(&two.alpha.principal).await.unwrap();
        let ended = AuditOutcome {
            event_id: begun.event_id,
            time: NOW,
            outcome: Outcome::Error,
            code: Some("unavailable".to_owned()),
            rows: None,
            duration: Duration::from_millis(3),
        };
        tx.record_outcome(&ended).await.unwrap();
        tx.commit().await.unwrap();
    });
}

#[test]
fn refusals_without_an_organization_are_counted_by_the_minute() {
    with_database(async |database: &TestDatabase| {
        let refusal = Refusal {
            time: NOW + Duration::from_secs(59),
            address_prefix: "192.0.2.0/24".to_owned(),
            protocol: Protocol::Rest,
            code: "no_credential".to_owned(),
            count: 2,
        };
        for _ in 0..2 {
            let mut system = database.store.system("test").await.unwrap();
            system.count_refusal(&refusal).await.unwrap();
            system.commit().await.unwrap();
        }
        let rows: Vec<(time::OffsetDateTime, String, i64)> =
            sqlx::query_as("SELECT minute, address_prefix, count FROM routing.refusals")
                .fetch_all(&mut database.superuser().await)
                .await
                .unwrap();
        assert_eq!(rows, [(NOW, "192.0.2.0/24".to_owned(), 4)]);

        let mut system = database.store.system("test").await.unwrap();
        for n in 0..1005 {
            let other = Refusal { address_prefix: format!("10.{}.{}.0/24", n / 256, n % 256), ..refusal.clone() };
            system.count_refusal(&other).await.unwrap();
        }
        system.commit().await.unwrap();
        let (prefixes, other): (i64, i64) = sqlx::query_as(
            "SELECT count(*), sum(count) FILTER (WHERE address_prefix = 'other')::bigint FROM routing.refusals",
        )
        .fetch_one(&mut database.superuser().await)
        .await
        .unwrap();
        assert_eq!((prefixes, other), (1001, 12));
    });
}

#[test]
fn counted_refusals_are_kept_for_thirty_days() {
    with_database(async |database: &TestDatabase| {
        let clock = Arc::new(MockClock::at(NOW));
        let refusals = Refusals::new(clock.clone());
        let minutes = async || -> Vec<time::OffsetDateTime> {
            sqlx::query_scalar("SELECT minute FROM routing.refusals ORDER BY minute")
                .fetch_all(&mut database.superuser().await)
                .await
                .unwrap()
        };
        refusals.count(Protocol::Mcp, None, "bad_token");
        refusals.flush(&database.store).await;
        assert_eq!(minutes().await, [NOW]);
        clock.advance(time::Duration::days(30));
        refusals.count(Protocol::Mcp, None, "bad_token");
        refusals.flush(&database.store).await;
        let later = NOW + Duration::from_hours(30 * 24);
        assert_eq!(minutes().await, [NOW, later]);
        // Nothing is counted any more, and the older of both goes all the same.
        clock.advance(time::Duration::hours(1));
        refusals.flush(&database.store).await;
        assert_eq!(minutes().await, [later]);
    });
}
