//! Answers that are kept waiting, or that panic, where `sync_repositories` is asked; all else passes through.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use sync_server::answers::envelope::Answer;
use sync_server::answers::error::AnswerError;
use sync_server::answers::explain_call_site::{ExplainCallSite, ExplainQuestion};
use sync_server::answers::feed::FeedDocument;
use sync_server::answers::repositories::{Repositories, RepositoriesQuestion};
use sync_server::answers::whats_at_risk::{WhatsAtRisk, WhatsAtRiskQuestion};
use sync_server::answers::whats_changed::{WhatsChanged, WhatsChangedQuestion};
use sync_server::answers::{Answers, Completion};
use sync_server::audit::Asker;
use tokio::sync::Semaphore;

/// What happens to a question before it is passed on.
#[derive(Clone)]
enum Before {
    Wait(Handle),
    Panic,
}

/// Made before the answers that it stands in front of.
pub(crate) struct Held(Before);

/// Knows when the question came, and lets it go.
#[derive(Clone)]
pub(crate) struct Handle {
    reached: Arc<Semaphore>,
    released: Arc<Semaphore>,
}

impl Held {
    pub(crate) fn new() -> (Self, Handle) {
        let handle = Handle { reached: Arc::new(Semaphore::new(0)), released: Arc::new(Semaphore::new(0)) };
        (Self(Before::Wait(handle.clone())), handle)
    }

    pub(crate) fn panicking() -> Self {
        Self(Before::Panic)
    }

    pub(crate) fn over(self, inner: Arc<dyn Answers>) -> impl Answers {
        Between { before: self.0, inner }
    }
}

impl Handle {
    /// Returns once the question came.
    pub(crate) async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    /// Lets it go.
    pub(crate) fn release(&self) {
        self.released.add_permits(1);
    }
}

struct Between {
    before: Before,
    inner: Arc<dyn Answers>,
}

#[async_trait]
impl Answers for Between {
    async fn repositories(
        &self,
        asker: &Asker,
        question: RepositoriesQuestion,
    ) -> Result<Answer<Repositories>, AnswerError> {
        match &self.before {
            Before::Panic => panic!("a defect, as a test wants it"),
            Before::Wait(handle) => {
                handle.reached.add_permits(1);
                handle.released.acquire().await.unwrap().forget();
            }
        }
        self.inner.repositories(asker, question).await
    }

    async fn whats_at_risk(
        &self,
        asker: &Asker,
        question: WhatsAtRiskQuestion,
    ) -> Result<Answer<WhatsAtRisk>, AnswerError> {
        self.inner.whats_at_risk(asker, question).await
    }

    async fn explain_call_site(
        &self,
        asker: &Asker,
        question: ExplainQuestion,
    ) -> Result<Answer<ExplainCallSite>, AnswerError> {
        self.inner.explain_call_site(asker, question).await
    }

    async fn whats_changed(
        &self,
        asker: &Asker,
        question: WhatsChangedQuestion,
    ) -> Result<Answer<WhatsChanged>, AnswerError> {
        self.inner.whats_changed(asker, question).await
    }

    async fn feed(&self, asker: &Asker, vendor: &str) -> Result<FeedDocument, AnswerError> {
        self.inner.feed(asker, vendor).await
    }

    async fn feed_vendors(&self, asker: &Asker) -> Result<Vec<String>, AnswerError> {
        self.inner.feed_vendors(asker).await
    }

    async fn complete(&self, asker: &Asker, completion: Completion) -> Result<Vec<String>, AnswerError> {
        self.inner.complete(asker, completion).await
    }

    async fn refuse(
        &self,
        asker: &Asker,
        action: &'static str,
        arguments: &Map<String, Value>,
        error: AnswerError,
    ) -> AnswerError {
        self.inner.refuse(asker, action, arguments, error).await
    }
}
