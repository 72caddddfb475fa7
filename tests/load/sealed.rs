//! Whether the audit log serializes an organization's requests, and what sealing costs: see `tests/load/README.md`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use sync_core::clock::MockClock;
use sync_core::ids::{EventId, OrganizationId, RequestId};
use sync_core::principal::Principal;
use sync_server::answers::error::AnswerError;
use sync_server::audit::seal_key::SealKeys;
use sync_server::audit::sealing::seal;
use sync_server::audit::verify::verify;
use sync_server::audit::{Asker, AuditLedger, Auditor};
use sync_server::keys::Keys;
use sync_store::{AuditEvent, Maintenance, Outcome, PoolOptions, Protocol, Store};
use sync_tests::{NOW, TestDatabase};

/// How long each figure is taken, and how often both sides take turns.
const FOR: Duration = Duration::from_secs(2);
const TURNS: usize = 3;

async fn organizations(store: &Store, count: i64) -> Vec<Principal> {
    let mut principals = Vec::new();
    for n in 0..count {
        let organization = OrganizationId::at(NOW + time::Duration::milliseconds(n));
        let mut tx = store.system("test").await.unwrap();
        tx.create_organization(organization, &format!("load-{n}"), NOW).await.unwrap();
        tx.commit().await.unwrap();
        principals.push(Principal::service(organization, "load"));
    }
    principals
}

/// Audited reads a second of so many callers, who act for the principals in turn.
async fn reads_a_second(auditor: &Auditor, principals: &[Principal], callers: usize) -> f64 {
    let began = Instant::now();
    let asking: Vec<_> = (0..callers)
        .map(|caller| {
            let (auditor, principal) = (auditor.clone(), Arc::new(principals[caller % principals.len()].clone()));
            tokio::spawn(async move {
                let mut answered = 0_u32;
                while began.elapsed() < FOR {
                    let asker = Asker {
                        principal: principal.clone(),
                        request_id: RequestId::at(NOW),
                        protocol: Protocol::Mcp,
                        door: "mcp.load",
                        began: tokio::time::Instant::now(),
                        client_ip: None,
                        pinned_repository: None,
                        ledger: AuditLedger::default(),
                    };
                    let read: Result<_, AnswerError> = auditor
                        .audited(&asker, None, &json!({}), |reading| {
                            Box::pin(async move { Ok(reading.tx.own_organization().await?) })
                        })
                        .await;
                    answered += u32::from(read.is_ok());
                }
                answered
            })
        })
        .collect();
    let mut answered = 0;
    for caller in asking {
        answered += caller.await.unwrap();
    }
    f64::from(answered) / began.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measured by hand: see tests/load/README.md"]
async fn one_organization_is_not_serialized() {
    let database = TestDatabase::create().await;
    let store = Store::connect(&database.app_url, PoolOptions::default()).await.unwrap();
    let many = organizations(&store, 16).await;
    let auditor = Auditor::new(store.clone(), Arc::new(MockClock::at(NOW)), Keys::derive(b"load"));
    for callers in [1, 16, 64] {
        let (mut one, mut all) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            one.push(reads_a_second(&auditor, &many[..1], callers).await);
            all.push(reads_a_second(&auditor, &many, callers).await);
        }
        one.sort_by(f64::total_cmp);
        all.sort_by(f64::total_cmp);
        let (one, all) = (one[TURNS / 2], all[TURNS / 2]);
        println!(
            "{callers:2} callers: {one:6.0} audited reads/s of one organization, {all:6.0} of 16; ratio {:.2}",
            one / all
        );
    }
    store.close().await;
    database.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measured by hand: see tests/load/README.md"]
async fn what_sealing_costs() {
    const ROWS: i64 = 100_000;
    let database = TestDatabase::create().await;
    let principal = organizations(&database.store, 1).await.remove(0);
    for batch in 0..100 {
        let mut tx = database.store.begin(&principal).await.unwrap();
        for n in 0..ROWS / 100 {
            let time = NOW + time::Duration::microseconds(batch * 1000 + n);
            let event = AuditEvent {
                event_id: EventId::at(time),
                time,
                principal: Some(principal.id),
                principal_name: Some(principal.name.clone()),
                principal_kind: Some(principal.kind),
                credential_id: Some("tok_0123456789abcdef0123456789abcdef".to_owned()),
                protocol: Protocol::Mcp,
                action: "mcp.tools/call:sync_explain_call_site".to_owned(),
                repository: None,
                arguments_digest: Some([7; 32]),
                outcome: Some(Outcome::Ok),
                code: None,
                rows: Some(1),
                duration: Some(Duration::from_millis(3)),
                request_id: RequestId::at(time),
                client_ip: Some("192.0.2.7".parse().unwrap()),
            };
            tx.record_event(&event).await.unwrap();
        }
        tx.commit().await.unwrap();
    }
    let maintenance = Maintenance::connect(&database.maintenance_url, PoolOptions::default()).await.unwrap();
    let keys = SealKeys::derive(b"load", []).unwrap();
    let began = Instant::now();
    let sealed = seal(&maintenance, &keys, principal.organization, NOW).await.unwrap();
    let took = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let report = verify(&database.store, &keys, principal.organization, &[]).await.unwrap();
    let verified = began.elapsed().as_secs_f64();
    assert!(report.is_whole() && report.rows == sealed.rows);
    let bytes: i64 = sqlx::query_scalar("SELECT sum(length(records))::bigint FROM sync.audit_seal_records")
        .fetch_one(&mut database.superuser().await)
        .await
        .unwrap();
    println!(
        "{} rows in {} seals: sealed in {took:.2} s, verified in {verified:.2} s, {bytes} bytes of records",
        sealed.rows, sealed.seals
    );
    maintenance.close().await;
    database.finish().await;
}
