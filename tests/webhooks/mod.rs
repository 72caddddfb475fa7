//! `POST /webhooks/{provider}/{endpoint}`: who is believed, what a delivery leads to, and that none is lost or counted twice.

mod believed;
mod repeated;
mod said;

use std::path::Path;

use http::HeaderMap;
use serde_json::{Value, json};
use sync_core::ids::{JobId, RepositoryId, WebhookId};
use sync_core::principal::Principal;
use sync_server::webhooks::signature::sign;
use sync_server::webhooks::{EndpointAddress, setup};
use sync_store::{Forge, Job, NewRepository, WebhookEndpoint};
use sync_tests::service::{Reply, TestService};
use sync_tests::{NOW, TestDatabase};

/// A source that a forge speaks of.
pub(crate) struct Hooked<'a> {
    pub(crate) database: &'a TestDatabase,
    pub(crate) service: &'a TestService,
    pub(crate) owner: Principal,
    pub(crate) source: RepositoryId,
    pub(crate) forge: Forge,
    pub(crate) address: EndpointAddress,
    pub(crate) secret: String,
}

/// A body of `fixtures/webhooks`.
pub(crate) fn body(file: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/webhooks");
    std::fs::read(folder.join(file)).unwrap()
}

impl<'a> Hooked<'a> {
    /// A source at that address, which is fetched on somebody's word, with an endpoint for that forge.
    pub(crate) async fn new(
        database: &'a TestDatabase,
        service: &'a TestService,
        owner: &Principal,
        forge: Forge,
        address: &str,
    ) -> Self {
        let source = RepositoryId::at(NOW);
        let name = format!("acme/{}", source.uuid().simple());
        let new = NewRepository {
            id: source,
            name: &name,
            provider: Some(forge.as_str()),
            clone_url: Some(address),
            default_branch: "main",
        };
        let mut tx = database.store.begin_write(owner).await.unwrap();
        tx.register_repository(&new, NOW).await.unwrap();
        tx.set_egress_consent(source, Some("ada"), NOW).await.unwrap();
        let secret = setup::make_or_rotate(&mut tx, &service.app.secrets, source, forge, NOW).await.unwrap();
        let id = tx.webhook_of(source).await.unwrap().unwrap().id;
        tx.commit().await.unwrap();
        let address = EndpointAddress { organization: owner.organization, id };
        Self { database, service, owner: owner.clone(), source, forge, address, secret }
    }

    /// A delivery as the forge sends it, without a signature.
    pub(crate) fn unsigned(&self, event: &str, delivery: &str, body: Vec<u8>) -> reqwest::RequestBuilder {
        let (event_header, delivery_header) = match self.forge {
            Forge::Github => ("x-github-event", "x-github-delivery"),
            Forge::Gitlab => ("x-gitlab-event", "x-gitlab-event-uuid"),
            Forge::Gitea => ("x-gitea-event", "x-gitea-delivery"),
            Forge::Forgejo => ("x-forgejo-event", "x-forgejo-delivery"),
            Forge::Bitbucket => ("x-event-key", "x-request-uuid"),
        };
        let request = self.service.client.post(self.address.url(&self.service.url, self.forge));
        let request = request.header("content-type", "application/json").header(event_header, event);
        request.header(delivery_header, delivery).body(body)
    }

    /// The same, signed.
    pub(crate) fn signed(&self, event: &str, delivery: &str, body: Vec<u8>) -> reqwest::RequestBuilder {
        let (name, value) = sign(self.forge, &self.secret, &body);
        self.unsigned(event, delivery, body).header(name, value)
    }

    /// Sends a body of `fixtures/webhooks`, signed.
    pub(crate) async fn deliver(&self, event: &str, delivery: &str, file: &str) -> Reply {
        Reply::of(self.signed(event, delivery, body(file))).await
    }

    /// The source's jobs, the oldest first.
    pub(crate) async fn jobs(&self) -> Vec<Job> {
        let mut tx = self.database.store.begin(&self.owner).await.unwrap();
        let mut jobs = tx.jobs_of(self.source, 100).await.unwrap();
        jobs.reverse();
        jobs
    }

    pub(crate) async fn endpoint(&self) -> WebhookEndpoint {
        let mut tx = self.database.store.begin(&self.owner).await.unwrap();
        tx.webhook_of(self.source).await.unwrap().unwrap()
    }
}

/// What was answered: the status, the outcome and the job.
pub(crate) fn taken(reply: &Reply) -> (u16, String, Option<JobId>) {
    let told = reply.json();
    let job = told["job_id"].as_str().map(|id| id.parse().unwrap());
    assert_eq!(told["duplicate"], json!(told["outcome"] == "duplicate"), "{reply:?}");
    (reply.status, told["outcome"].as_str().unwrap_or_default().to_owned(), job)
}

/// A reply without what tells two requests apart.
fn bare(reply: &Reply) -> (u16, HeaderMap, Value) {
    let mut headers = reply.headers.clone();
    for own in ["x-request-id", "date", "content-length"] {
        headers.remove(own);
    }
    let mut told = reply.json();
    told["request_id"] = Value::Null;
    (reply.status, headers, told)
}

/// An address of nobody, in the same organization.
fn nowhere(known: EndpointAddress) -> EndpointAddress {
    EndpointAddress { id: WebhookId::at(NOW), ..known }
}
