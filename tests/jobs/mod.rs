//! Jobs: asked for, taken, run, tried again, given up, given back. Time stands unless a test moves it.

mod crashes;
mod fairness;
mod growth;
mod queue;
mod reindex;
mod sweep;
mod worker;

use std::sync::Arc;

use serde_json::Value;
use sync_core::clock::{Clock as _, MockClock};
use sync_core::ids::{JobId, LeaseId, OrganizationId, RepositoryId};
use sync_core::principal::Principal;
use sync_store::{Enqueued, Job, JobCause, JobKind, NewJob, NewRepository, Store, StoreError, Ticket};
use sync_tests::NOW;
use time::Duration;

/// How long leases of these tests hold.
const LEASE: Duration = Duration::seconds(20);

/// A queue at a time that moves only when told to.
struct Queue<'a> {
    store: &'a Store,
    clock: Arc<MockClock>,
}

/// A source and whose it is.
#[derive(Clone)]
struct Source {
    principal: Principal,
    repository: RepositoryId,
}

impl<'a> Queue<'a> {
    fn of(store: &'a Store) -> Self {
        Self { store, clock: Arc::new(MockClock::at(NOW)) }
    }

    async fn organization(&self, slug: &str) -> Principal {
        let organization = OrganizationId::at(NOW);
        let mut system = self.store.system("test").await.unwrap();
        system.create_organization(organization, slug, NOW).await.unwrap();
        system.commit().await.unwrap();
        Principal::service(organization, "test")
    }

    async fn source(&self, principal: &Principal, name: &str) -> Source {
        let repository = RepositoryId::at(NOW);
        let mut tx = self.store.begin_change(principal).await.unwrap();
        let new = NewRepository {
            id: repository,
            name,
            provider: None,
            clone_url: Some("https://git.example/acme/billing"),
            default_branch: "main",
        };
        tx.register_repository(&new, NOW).await.unwrap();
        tx.commit().await.unwrap();
        Source { principal: principal.clone(), repository }
    }

    async fn one_source(&self) -> Source {
        let principal = self.organization("acme").await;
        self.source(&principal, "acme/billing").await
    }

    async fn ask(&self, source: &Source, cause: JobCause, ref_name: Option<&str>, payload: &Value) -> Enqueued {
        let now = self.clock.now();
        let mut tx = self.store.begin_change(&source.principal).await.unwrap();
        let new = NewJob {
            id: JobId::at(now),
            repository: source.repository,
            kind: JobKind::Reindex,
            ref_name,
            cause,
            payload,
            run_at: now,
        };
        let enqueued = tx.enqueue(&new, now).await.unwrap();
        tx.commit().await.unwrap();
        enqueued
    }

    async fn push(&self, source: &Source) -> Enqueued {
        self.ask(source, JobCause::Webhook, None, &Value::Null).await
    }

    async fn take(&self) -> Option<Ticket> {
        let now = self.clock.now();
        let mut tx = self.store.system("test").await.unwrap();
        let ticket = tx.claim(LeaseId::at(now), now + LEASE, now).await.unwrap();
        tx.commit().await.unwrap();
        ticket
    }

    async fn finish(&self, source: &Source, ticket: &Ticket) -> Result<(), StoreError> {
        let mut tx = self.store.begin_change(&source.principal).await?;
        tx.finish_job(ticket, &sync_store::JobReport::default(), self.clock.now()).await?;
        tx.commit().await
    }

    async fn job(&self, source: &Source, id: JobId) -> Job {
        let mut tx = self.store.begin(&source.principal).await.unwrap();
        let job = tx.job(id).await.unwrap().unwrap();
        tx.commit().await.unwrap();
        job
    }
}
