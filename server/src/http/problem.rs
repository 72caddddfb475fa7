//! Problem details (RFC 9457): how everything but MCP messages says what went wrong.

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use sync_core::ids::RequestId;
use sync_store::{Outcome, StoreError};

use crate::audit::Failure;

/// What went wrong with a request, for a person and for a program.
#[derive(Debug, Clone)]
pub struct Problem {
    /// HTTP status.
    pub status: StatusCode,
    /// A word that only grows: what a program acts on.
    pub code: &'static str,
    /// What happened, to what.
    pub detail: String,
    /// What to do now.
    pub next_step: String,
    /// When to come back, in seconds.
    pub retry_after_s: Option<u64>,
    /// A header that the status asks for: `Allow`, `WWW-Authenticate`.
    pub header: Option<(HeaderName, String)>,
    /// Facts about it for a program, as an object.
    pub details: Option<Box<Value>>,
}

impl Problem {
    /// A problem without a time to come back at.
    pub fn new(
        status: StatusCode,
        code: &'static str,
        detail: impl Into<String>,
        next_step: impl Into<String>,
    ) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
            next_step: next_step.into(),
            retry_after_s: None,
            header: None,
            details: None,
        }
    }

    /// The same with a header that the status asks for.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.header = Some((name, value.into()));
        self
    }

    /// The same with facts for a program: an object.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// What was named is not there: it never was, or is another organization's, or may not be read, which is all the
    /// same. Made of nothing that was given, so that these are the same bytes.
    pub fn not_found(what: &'static str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            format!("There is no such {what} that you may see."),
            "Check the id or name against the list of those that you may see.",
        )
    }

    /// An argument that cannot be taken: which, and what is allowed.
    pub fn invalid_argument(argument: &str, allowed: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid_argument",
            format!("`{argument}` is not as it has to be: allowed is {allowed}."),
            format!("Send `{argument}` as {allowed}."),
        )
    }

    /// What is asked cannot be done as things stand.
    pub fn conflict(code: &'static str, detail: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail, next_step)
    }

    /// The store is down or slow.
    pub fn unavailable() -> Self {
        Self {
            retry_after_s: Some(2),
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable",
                "The service cannot reach its database in time.",
                "Try again in 2 seconds; /readyz says what is missing.",
            )
        }
    }

    /// The keys of a token's issuer cannot be had. They are asked for again every 30 seconds.
    pub fn issuer_unavailable() -> Self {
        Self {
            retry_after_s: Some(30),
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable",
                "The keys of the token's issuer cannot be fetched at present; the token may well be good.",
                "Keep the token and try again in 30 seconds; the log of the service says what the issuer answered.",
            )
        }
    }

    /// A defect of ours.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "Sync failed on this request.",
            "Try again; if it stays, report request_id to whoever runs this service.",
        )
    }

    /// As a response to the request of that id.
    pub fn response(self, request_id: Option<RequestId>) -> Response {
        let mut body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.detail,
            "code": self.code,
            "request_id": request_id.map(|id| id.to_string()),
            "next_step": self.next_step,
        });
        if let Some(details) = self.details {
            body["details"] = *details;
        }
        let mut response = (self.status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some((name, value)) = self.header
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            headers.insert(name, value);
        }
        response
    }
}

impl Failure for Problem {
    fn code(&self) -> &'static str {
        self.code
    }

    fn outcome(&self) -> Outcome {
        let declined = self.status == StatusCode::NOT_IMPLEMENTED;
        if self.status.is_server_error() && !declined { Outcome::Error } else { Outcome::Refused }
    }

    fn unavailable() -> Self {
        Self::unavailable()
    }

    fn internal() -> Self {
        Self::internal()
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Unavailable(_) => {
                tracing::warn!(%error, "the store is unavailable");
                Self::unavailable()
            }
            StoreError::NotFound(_) => Self::not_found("thing"),
            StoreError::Conflict(rule) => {
                tracing::info!(rule, "the store refused a row");
                Self::conflict(
                    "conflict",
                    "What is asked does not go together with what is there.",
                    "Look at what is there, then ask again.",
                )
            }
            StoreError::OverLimit { limit, allowed, plan } => Self::conflict(
                "over_limit",
                format!("The plan {plan} of this organization allows {allowed} {limit}, and all are in use."),
                format!("Remove what is not needed, or ask the operator for a plan with more {limit}; see /v1/usage."),
            ),
            StoreError::Refused(_) | StoreError::Bug(_) => {
                tracing::error!(%error, "the store failed");
                Self::internal()
            }
        }
    }
}
