//! `GET /v1/provider`.

use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use sync_core::policy::Operation;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::provider::{Capability, ProviderCode};

/// What this provider can do.
pub(super) struct GetProvider;

/// A provider of code intelligence.
#[derive(Serialize, JsonSchema)]
pub(super) struct Provider {
    /// `sync`.
    id: String,
    /// For people.
    label: String,
    /// What it can be asked for; what is not among these is declined with `CAPABILITY_UNSUPPORTED`.
    capabilities: Vec<String>,
    /// Whether everything stays on the caller's machine; where not, fetching wants consent for each source.
    local: bool,
    /// The codes in which it says what went wrong, and their statuses.
    errors: Vec<ProviderProblem>,
}

/// A code of a provider.
#[derive(Serialize, JsonSchema)]
pub(super) struct ProviderProblem {
    /// As in `code` of a problem.
    code: String,
    /// HTTP status.
    status: u16,
}

impl Endpoint for GetProvider {
    const OPERATION: Operation = Operation::GetProvider;
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/v1/provider";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "What this provider of code intelligence can do";
    const DESCRIPTION: &'static str =
        "Exactly what is backed. Selecting a provider allows nothing: fetching a source's code wants consent for it.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Output = Provider;
}

impl Answer for GetProvider {
    async fn answer(_: &Call, reading: &mut Reading, _: Input<Self>) -> Result<Provider, Problem> {
        reading.rows(1);
        let problem =
            |code: ProviderCode| ProviderProblem { code: code.as_str().to_owned(), status: code.status().as_u16() };
        Ok(Provider {
            id: "sync".to_owned(),
            label: "Sync".to_owned(),
            capabilities: Capability::ALL.map(|capability| capability.as_str().to_owned()).to_vec(),
            local: false,
            errors: ProviderCode::ALL.map(problem).into(),
        })
    }
}
