//! What is said instead of an answer: a code that only grows, what happened to what, and the next step.

use serde::Serialize;
use serde_json::{Value, json};
use sync_core::cursor::CursorExpired;
use sync_store::StoreError;

/// The most names that an error lists.
pub const MAX_NAMES: usize = 20;

/// Why there is no answer. The codes only grow; callers act on them, so none is renamed or reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// An argument is missing, unknown, of the wrong type or out of range.
    InvalidArgument,
    /// Several repositories are visible and none was named.
    RepositoryRequired,
    /// No repository of that name is visible; the same whether it exists elsewhere or not at all.
    RepositoryNotFound,
    /// No finding of that id in the repository.
    FindingNotFound,
    /// No change of that id in the vendor's feed.
    ChangeNotFound,
    /// Neither the catalog nor a feed knows the vendor.
    VendorUnknown,
    /// The cursor is from another question, or the index or a feed moved.
    CursorExpired,
    /// The credential lacks a scope.
    Forbidden,
    /// Too many requests.
    RateLimited,
    /// A limit of the plan is reached.
    OverLimit,
    /// It took too long.
    Timeout,
    /// The store is down or slow.
    Unavailable,
    /// No patch is safe.
    PatchUnavailable,
    /// The source cannot be read.
    SourceUnavailable,
    /// A defect of Sync.
    Internal,
}

impl Code {
    /// Every code, in the order of documentation.
    pub const ALL: [Self; 15] = [
        Self::InvalidArgument,
        Self::RepositoryRequired,
        Self::RepositoryNotFound,
        Self::FindingNotFound,
        Self::ChangeNotFound,
        Self::VendorUnknown,
        Self::CursorExpired,
        Self::Forbidden,
        Self::RateLimited,
        Self::OverLimit,
        Self::Timeout,
        Self::Unavailable,
        Self::PatchUnavailable,
        Self::SourceUnavailable,
        Self::Internal,
    ];

    /// The word used in answers and audit rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid_argument",
            Self::RepositoryRequired => "repository_required",
            Self::RepositoryNotFound => "repository_not_found",
            Self::FindingNotFound => "finding_not_found",
            Self::ChangeNotFound => "change_not_found",
            Self::VendorUnknown => "vendor_unknown",
            Self::CursorExpired => "cursor_expired",
            Self::Forbidden => "forbidden",
            Self::RateLimited => "rate_limited",
            Self::OverLimit => "over_limit",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::PatchUnavailable => "patch_unavailable",
            Self::SourceUnavailable => "source_unavailable",
            Self::Internal => "internal",
        }
    }

    /// Whether the caller was refused (true), or the service failed the caller (false).
    pub const fn is_refusal(self) -> bool {
        !matches!(self, Self::Timeout | Self::Unavailable | Self::Internal)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Said instead of an answer. `message` and `next_step` are sentences for a person or an agent; neither ever holds
/// text of the store or of another organization.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct AnswerError {
    /// Why.
    pub code: Code,
    /// What happened, to what.
    pub message: String,
    /// What to do now.
    pub next_step: String,
    /// Machine-readable facts about it; an object, empty where there are none.
    pub details: Box<Value>,
}

impl AnswerError {
    /// An error without details.
    pub fn new(code: Code, message: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self { code, message: message.into(), next_step: next_step.into(), details: Box::new(json!({})) }
    }

    /// The same with details.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        *self.details = details;
        self
    }

    /// An argument that cannot be taken: which, what was given, what is allowed.
    pub fn invalid_argument(argument: &str, given: &Value, allowed: impl Into<String>) -> Self {
        let allowed = allowed.into();
        let given = sync_core::text::shown(&given.to_string(), 80);
        Self::new(
            Code::InvalidArgument,
            format!("`{argument}` cannot be {given}: allowed is {allowed}."),
            format!("Call again with `{argument}` as {allowed}."),
        )
        .with_details(json!({"argument": argument, "given": given, "allowed": allowed}))
    }

    /// An argument that has to be given and was not.
    pub fn missing_argument(argument: &str, allowed: impl Into<String>) -> Self {
        let allowed = allowed.into();
        Self::new(
            Code::InvalidArgument,
            format!("`{argument}` is required and was not given: it is {allowed}."),
            format!("Call again with `{argument}` as {allowed}."),
        )
        .with_details(json!({"argument": argument, "given": "null", "allowed": allowed}))
    }

    /// An argument that the tool does not have: models guess names, so the next step has the right ones.
    pub fn unknown_argument(argument: &str, given: &Value, known: &[&str]) -> Self {
        let argument = sync_core::text::shown(argument, 60);
        let known = known.join(", ");
        Self::new(
            Code::InvalidArgument,
            format!("`{argument}` is no argument of this tool; its arguments are {known}."),
            format!("Call again without `{argument}`, or with its value under the right one of these names: {known}."),
        )
        .with_details(json!({
            "argument": argument,
            "given": sync_core::text::shown(&given.to_string(), 80),
            "allowed": format!("absent: the arguments of this tool are {known}"),
        }))
    }

    /// No repository of that name is visible. Made from the given name alone, so that a name of another organization,
    /// one that may not be read and one that never was are the same bytes.
    pub fn repository_not_found(name: &str) -> Self {
        Self::new(
            Code::RepositoryNotFound,
            format!("No repository `{}` is visible to you.", sync_core::text::shown(name, 100)),
            "Call sync_repositories to see the names you can ask about.",
        )
        .with_details(json!({"repository": sync_core::text::shown(name, 100)}))
    }

    /// Several repositories are visible and none was named.
    pub fn repository_required(names: &[String], total: u64) -> Self {
        let listed: Vec<&String> = names.iter().take(MAX_NAMES).collect();
        Self::new(
            Code::RepositoryRequired,
            format!("{total} repositories are visible to you; this question is about one."),
            "Call again with `repository` set to one of details.repositories (sync_repositories lists all).",
        )
        .with_details(json!({"repositories": listed, "total": total}))
    }

    /// The store is down or slow.
    pub fn unavailable() -> Self {
        Self::new(
            Code::Unavailable,
            "The store did not answer in time; nothing was read and nothing was changed.",
            "Try again after details.retry_after_s seconds.",
        )
        .with_details(json!({"retry_after_s": 2}))
    }

    /// A defect of Sync. What went wrong is in the log of the service under the request id, not in the answer.
    pub fn internal() -> Self {
        Self::new(
            Code::Internal,
            "Sync failed on its own account; the question was not wrong.",
            "Try again; if it stays, report it with the request id.",
        )
    }
}

impl From<CursorExpired> for AnswerError {
    fn from(_: CursorExpired) -> Self {
        Self::new(
            Code::CursorExpired,
            "The cursor does not belong to this question, or the index or a feed has moved since it was given.",
            "Call again with the same arguments and without `cursor`.",
        )
    }
}

impl From<StoreError> for AnswerError {
    fn from(error: StoreError) -> Self {
        if error.is_unavailable() {
            tracing::warn!(%error, "the store is unavailable");
            return Self::unavailable();
        }
        tracing::error!(%error, "the store failed");
        Self::internal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_one_word_in_rows_and_in_answers() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn an_invalid_argument_names_itself_what_was_given_and_what_is_allowed() {
        let error = AnswerError::invalid_argument("limit", &json!(0), "a whole number from 1 to 50");
        assert_eq!(error.message, "`limit` cannot be 0: allowed is a whole number from 1 to 50.");
        assert_eq!(error.details["argument"], "limit");
        let long = AnswerError::invalid_argument("path", &json!("x".repeat(10_000)), "text");
        assert!(serde_json::to_string(&long).unwrap().len() < 1_000);
    }
}
