//! Answers from the store of this process, each through the audit log's door.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use sync_core::cursor::CursorKey;

use super::cursor::{Cursors, Vendors};
use super::envelope::Answer;
use super::error::AnswerError;
use super::explain_call_site::{self, ExplainCallSite, ExplainQuestion};
use super::feed::{self, FeedDocument};
use super::repositories::{self, Repositories, RepositoriesQuestion};
use super::whats_at_risk::{self, WhatsAtRisk, WhatsAtRiskQuestion};
use super::whats_changed::{self, WhatsChanged, WhatsChangedQuestion};
use super::{Answers, Completed, Completion, complete, tools};
use crate::audit::{Asker, Auditor};

/// Answers from the store of this process.
#[derive(Clone)]
pub struct InProcess {
    auditor: Auditor,
    cursors: Arc<Cursors>,
}

impl InProcess {
    /// Through `auditor`; `cursors` is the same key on every replica; `vendors` are those of the catalog.
    pub fn new(auditor: Auditor, cursors: CursorKey, vendors: BTreeSet<String>) -> Self {
        Self { auditor, cursors: Arc::new(Cursors { key: cursors, vendors: Vendors(vendors) }) }
    }
}

#[async_trait]
impl Answers for InProcess {
    async fn whats_at_risk(
        &self,
        asker: &Asker,
        question: WhatsAtRiskQuestion,
    ) -> Result<Answer<WhatsAtRisk>, AnswerError> {
        let arguments = question.arguments();
        let (cursors, by) = (self.cursors.clone(), asker.clone());
        self.auditor
            .audited(asker, tools::AT_RISK, &arguments, move |reading| {
                Box::pin(async move { whats_at_risk::answer(reading, &by, &cursors, &question).await })
            })
            .await
    }

    async fn explain_call_site(
        &self,
        asker: &Asker,
        question: ExplainQuestion,
    ) -> Result<Answer<ExplainCallSite>, AnswerError> {
        let arguments = question.arguments();
        let by = asker.clone();
        self.auditor
            .audited(asker, tools::EXPLAIN, &arguments, move |reading| {
                Box::pin(async move { explain_call_site::answer(reading, &by, &question).await })
            })
            .await
    }

    async fn whats_changed(
        &self,
        asker: &Asker,
        question: WhatsChangedQuestion,
    ) -> Result<Answer<WhatsChanged>, AnswerError> {
        let arguments = question.arguments();
        let (cursors, by) = (self.cursors.clone(), asker.clone());
        self.auditor
            .audited(asker, tools::CHANGED, &arguments, move |reading| {
                Box::pin(async move { whats_changed::answer(reading, &by, &cursors, &question).await })
            })
            .await
    }

    async fn repositories(
        &self,
        asker: &Asker,
        question: RepositoriesQuestion,
    ) -> Result<Answer<Repositories>, AnswerError> {
        let arguments = question.arguments();
        let (cursors, by) = (self.cursors.clone(), asker.clone());
        self.auditor
            .audited(asker, tools::REPOSITORIES, &arguments, move |reading| {
                Box::pin(async move { repositories::answer(reading, &by, &cursors, &question).await })
            })
            .await
    }

    async fn feed(&self, asker: &Asker, vendor: &str) -> Result<FeedDocument, AnswerError> {
        let arguments = json!({ "vendor": vendor });
        let (cursors, vendor) = (self.cursors.clone(), vendor.to_owned());
        self.auditor
            .audited(asker, "sync://feed", &arguments, move |reading| {
                Box::pin(async move { feed::answer(reading, &cursors, &vendor).await })
            })
            .await
    }

    async fn feed_vendors(&self, asker: &Asker) -> Result<Vec<String>, AnswerError> {
        self.auditor
            .audited(asker, "feeds", &json!({}), move |reading| {
                Box::pin(async move {
                    let vendors: Vec<String> = reading.tx.feeds().await?.into_iter().map(|feed| feed.vendor).collect();
                    reading.rows(vendors.len());
                    Ok(vendors)
                })
            })
            .await
    }

    async fn complete(&self, asker: &Asker, completion: Completion) -> Result<Vec<String>, AnswerError> {
        let of = match completion.of {
            Completed::Vendor => "vendor",
            Completed::Repository => "repository",
            Completed::Path => "path",
        };
        let arguments = json!({ of: completion.prefix });
        let (cursors, by) = (self.cursors.clone(), asker.clone());
        self.auditor
            .audited(asker, "complete", &arguments, move |reading| {
                Box::pin(async move { complete::answer(reading, &by, &cursors, &completion).await })
            })
            .await
    }

    async fn refuse(
        &self,
        asker: &Asker,
        action: &'static str,
        arguments: &Map<String, Value>,
        error: AnswerError,
    ) -> AnswerError {
        self.auditor.refused(asker, action, &Value::Object(arguments.clone()), error).await
    }
}
