//! The sealed audit log: what is proven, what is found, and by whom nothing can be changed.

mod commands;
mod cut;
mod killed;
mod maintained;
mod rest;
mod restarted;
mod sealed;
mod tampered;

use sqlx::{AssertSqlSafe, Executor as _, PgConnection};
use sync_core::ids::{EventId, OrganizationId, RequestId};
use sync_core::principal::Principal;
use sync_server::audit::seal_key::SealKeys;
use sync_server::audit::sealing::{Sealed, seal};
use sync_server::audit::verify::{Report, verify};
use sync_store::{AuditEvent, Maintenance, Outcome, Protocol};
use sync_tests::TestDatabase;
use time::{Duration, OffsetDateTime};

/// A log of one organization, and the hand that seals it.
struct Log<'a> {
    database: &'a TestDatabase,
    principal: Principal,
    maintenance: Maintenance,
    keys: SealKeys,
}

fn seal_keys() -> SealKeys {
    SealKeys::derive(b"a key of the tests that seals, long enough", []).unwrap()
}

fn event(time: OffsetDateTime) -> AuditEvent {
    AuditEvent {
        event_id: EventId::at(time),
        time,
        principal: None,
        principal_name: Some("Ada".to_owned()),
        principal_kind: None,
        credential_id: None,
        protocol: Protocol::Mcp,
        action: "mcp.tools/call:sync_whats_at_risk".to_owned(),
        repository: None,
        arguments_digest: Some([7; 32]),
        outcome: Some(Outcome::Ok),
        code: None,
        rows: Some(3),
        duration: None,
        request_id: RequestId::at(time),
        client_ip: Some("192.0.2.7".parse().unwrap()),
    }
}

impl<'a> Log<'a> {
    async fn of(database: &'a TestDatabase, principal: &Principal) -> Self {
        let maintenance = Maintenance::connect(&database.maintenance_url, TestDatabase::pool()).await.unwrap();
        Self { database, principal: principal.clone(), maintenance, keys: seal_keys() }
    }

    fn organization(&self) -> OrganizationId {
        self.principal.organization
    }

    /// Writes rows, each in a transaction of its own; gives their ids.
    async fn write(&self, count: i64, from: OffsetDateTime) -> Vec<EventId> {
        let mut ids = Vec::new();
        for n in 0..count {
            let event = event(from + Duration::milliseconds(n));
            let mut tx = self.database.store.begin(&self.principal).await.unwrap();
            tx.record_event(&event).await.unwrap();
            tx.commit().await.unwrap();
            ids.push(event.event_id);
        }
        ids
    }

    /// Seals what is written.
    async fn seal(&self, now: OffsetDateTime) -> Sealed {
        self.settle().await;
        self.seal_now(now).await
    }

    /// Seals what can be sealed at this moment.
    async fn seal_now(&self, now: OffsetDateTime) -> Sealed {
        seal(&self.maintenance, &self.keys, self.organization(), now).await.unwrap()
    }

    /// Returns once every row that is written can be sealed. Transactions of other tests hold that back: the order of
    /// transactions is the whole server's.
    async fn settle(&self) {
        let newest: Option<String> = sqlx::query_scalar(
            "SELECT max(xid)::text FROM (SELECT xid::text::numeric AS xid FROM sync.audit_events
                                         UNION ALL SELECT xid::text::numeric FROM sync.audit_outcomes) rows",
        )
        .fetch_one(&mut self.database.superuser().await)
        .await
        .unwrap();
        let newest: u64 = newest.map_or(0, |text| text.parse().unwrap());
        loop {
            let mut tx = self.maintenance.begin(self.organization()).await.unwrap();
            let horizon = tx.horizon().await.unwrap();
            tx.commit().await.unwrap();
            if horizon > newest {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    async fn verify(&self) -> Report {
        verify(&self.database.store, &self.keys, self.organization(), &[]).await.unwrap()
    }

    /// The owner of the tables, on this organization's rows.
    async fn owner(&self) -> PgConnection {
        self.database.owner_in(self.organization()).await
    }

    async fn as_owner(&self, sql: &str) {
        self.owner()
            .await
            .execute(AssertSqlSafe(sql.to_owned()))
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// What findings say, one a line.
fn said(report: &Report) -> String {
    report.findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
