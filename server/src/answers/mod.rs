//! The one place where an answer is made, behind [`Answers`], so that the layers above never learn where it comes from.
//!
//! One file a question. Each answer is read in one transaction that sees one index, carries its freshness in the
//! [`envelope`], says what is absent and why instead of an empty list, and leaves only after its audit row is committed.

mod absence;
pub mod arguments;
mod changes;
mod complete;
mod cursor;
pub mod envelope;
pub mod error;
pub mod evidence;
pub mod explain_call_site;
pub mod feed;
mod freshness;
mod in_process;
mod page;
pub mod repositories;
pub mod schema;
mod since;
mod target;
pub mod tools;
pub mod whats_at_risk;
pub mod whats_changed;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::audit::Asker;
use envelope::Answer;
use error::AnswerError;
use explain_call_site::{ExplainCallSite, ExplainQuestion};
use feed::FeedDocument;
pub use in_process::InProcess;
pub use page::{DEFAULT_BYTES, MAX_BYTES};
use repositories::{Repositories, RepositoriesQuestion};
use whats_at_risk::{WhatsAtRisk, WhatsAtRiskQuestion};
use whats_changed::{WhatsChanged, WhatsChangedQuestion};

/// Answers questions. Every method commits the audit row of the question before it returns, answer or error; where
/// that fails it returns `unavailable` and the asker's ledger says so.
#[async_trait]
pub trait Answers: Send + Sync + 'static {
    /// Which call sites meet a vendor change.
    async fn whats_at_risk(
        &self,
        asker: &Asker,
        question: WhatsAtRiskQuestion,
    ) -> Result<Answer<WhatsAtRisk>, AnswerError>;

    /// What one line of code depends on.
    async fn explain_call_site(
        &self,
        asker: &Asker,
        question: ExplainQuestion,
    ) -> Result<Answer<ExplainCallSite>, AnswerError>;

    /// What a vendor changed.
    async fn whats_changed(
        &self,
        asker: &Asker,
        question: WhatsChangedQuestion,
    ) -> Result<Answer<WhatsChanged>, AnswerError>;

    /// Which repositories are visible.
    async fn repositories(
        &self,
        asker: &Asker,
        question: RepositoriesQuestion,
    ) -> Result<Answer<Repositories>, AnswerError>;

    /// The resource `sync://feed/{vendor}`; `vendor_unknown` where there is none of that vendor.
    async fn feed(&self, asker: &Asker, vendor: &str) -> Result<FeedDocument, AnswerError>;

    /// The vendors that `sync://feed/{vendor}` can be asked of, sorted.
    async fn feed_vendors(&self, asker: &Asker) -> Result<Vec<String>, AnswerError>;

    /// Values for a parameter that begin with what is typed, sorted, at most 100.
    async fn complete(&self, asker: &Asker, completion: Completion) -> Result<Vec<String>, AnswerError>;

    /// Writes down that a question was refused before it was asked, and gives back what to say: `error` itself, or
    /// `unavailable` where the row could not be committed.
    async fn refuse(
        &self,
        asker: &Asker,
        action: &'static str,
        arguments: &Map<String, Value>,
        error: AnswerError,
    ) -> AnswerError;
}

/// What is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// Which parameter.
    pub of: Completed,
    /// What is typed so far.
    pub prefix: String,
}

/// Parameters whose values can be completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completed {
    /// Vendor ids.
    Vendor,
    /// Names of visible repositories.
    Repository,
    /// Paths of files with vendor calls.
    Path,
}
