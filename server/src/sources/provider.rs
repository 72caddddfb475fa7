//! What this provider of code intelligence can do, and the words in which providers say what went wrong.

use http::StatusCode;

use crate::http::problem::Problem;

/// What a provider can be asked for, as far as it is backed here. Words only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// A source is registered.
    RegisterSource,
    /// A source is brought up to date.
    Refresh,
    /// How a source is.
    Status,
    /// A source is erased.
    Delete,
}

impl Capability {
    /// All that is backed.
    pub const ALL: [Self; 4] = [Self::RegisterSource, Self::Refresh, Self::Status, Self::Delete];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RegisterSource => "register_source",
            Self::Refresh => "refresh",
            Self::Status => "status",
            Self::Delete => "delete",
        }
    }
}

/// What went wrong with a provider. There are these and no others: nothing that somebody else said becomes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderCode {
    /// It does not do that.
    CapabilityUnsupported,
    /// It cannot be reached.
    ProviderUnavailable,
    /// Nobody allowed it.
    ProviderNotConsented,
    /// There is no such source.
    SourceNotRegistered,
    /// It took too long.
    ProviderTimeout,
    /// It failed.
    ProviderError,
}

impl ProviderCode {
    /// Every code.
    pub const ALL: [Self; 6] = [
        Self::CapabilityUnsupported,
        Self::ProviderUnavailable,
        Self::ProviderNotConsented,
        Self::SourceNotRegistered,
        Self::ProviderTimeout,
        Self::ProviderError,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CapabilityUnsupported => "CAPABILITY_UNSUPPORTED",
            Self::ProviderUnavailable => "PROVIDER_UNAVAILABLE",
            Self::ProviderNotConsented => "PROVIDER_NOT_CONSENTED",
            Self::SourceNotRegistered => "SOURCE_NOT_REGISTERED",
            Self::ProviderTimeout => "PROVIDER_TIMEOUT",
            Self::ProviderError => "PROVIDER_ERROR",
        }
    }

    /// As HTTP says it.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::CapabilityUnsupported => StatusCode::NOT_IMPLEMENTED,
            Self::ProviderUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::ProviderNotConsented => StatusCode::FORBIDDEN,
            Self::SourceNotRegistered => StatusCode::NOT_FOUND,
            Self::ProviderTimeout => StatusCode::GATEWAY_TIMEOUT,
            Self::ProviderError => StatusCode::BAD_GATEWAY,
        }
    }

    /// A problem of that code.
    pub fn problem(self, detail: impl Into<String>, next_step: impl Into<String>) -> Problem {
        Problem::new(self.status(), self.as_str(), detail, next_step)
    }
}

/// There is no such source: it never was, or is another organization's, or may not be read, which is all the same.
pub fn not_registered() -> Problem {
    ProviderCode::SourceNotRegistered.problem(
        "There is no such source that you may see.",
        "GET /v1/sources lists those that you may see; POST /v1/sources registers one.",
    )
}

/// Nobody allowed to fetch its code.
pub fn not_consented() -> Problem {
    ProviderCode::ProviderNotConsented.problem(
        "Nobody allowed to fetch this source's code from where it lies.",
        "Register it with `\"consent\": {\"egress\": true}`, or send that as {\"egress\": true} to PUT \
         /v1/sources/{source}/consent. Where its code must not leave, register it with \"gate\": \"off\": then nothing is \
         fetched, and CI uploads its snapshots.",
    )
}
