//! `PATCH /v1/sources/{source}`.

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::policy::Operation;
use sync_store::{JobCause, JobKind, SecretPurpose, SourceSettings};

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::repository_named::RepositoryNamed;
use super::source_views::{GateWord, SourcePath, SourceStatus, changeable, status};
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::provider::not_registered;
use crate::sources::refresh::may_refresh;
use crate::sources::register::{admitted, check_ref, enqueue, patterns, same_host};

/// Change what is followed of a source.
pub(super) struct ChangeSource;

/// What changes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SourceChange")]
pub(super) struct Wanted {
    /// Another branch that answers where none is named.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_ref_name")]
    default_branch: Option<String>,
    /// Other patterns of further branches, in the place of all that are there.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_patterns")]
    tracked_refs: Option<Vec<String>>,
    /// Another gate.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_gate")]
    gate: Option<GateWord>,
    /// Where it lies now, on the same host. A stored credential is forgotten: it was given for what lay there before.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_clone_url")]
    clone_url: Option<String>,
}

impl Endpoint for ChangeSource {
    const OPERATION: Operation = Operation::ChangeSource;
    const METHOD: Method = Method::PATCH;
    const PATH: &'static str = "/v1/sources/{source}";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "Change what is followed of a source";
    const DESCRIPTION: &'static str = "What is absent or null stays. The default branch is then indexed as soon as a worker is free; further branches follow with the next sweep.";
    const SUBJECT: &'static str = "source";
    fn absent() -> Problem {
        not_registered()
    }
    type Path = SourcePath;
    type Query = Nothing;
    type Body = Wanted;
    type Output = SourceStatus;
}

impl Answer for ChangeSource {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<SourceStatus, Problem> {
        let wanted = input.body;
        let source = changeable(reading, &input.path.source).await?;
        if let Some(branch) = &wanted.default_branch {
            check_ref("default_branch", branch)?;
            reading.tx.set_default_branch(source.id, branch).await?;
        }
        if wanted.tracked_refs.is_some() || wanted.gate.is_some() {
            let settings = SourceSettings {
                tracked_refs: wanted.tracked_refs.map(patterns).transpose()?.unwrap_or(source.settings.tracked_refs),
                gate: wanted.gate.map_or(source.settings.gate, Into::into),
            };
            reading.tx.set_source_settings(source.id, &settings).await?;
        }
        if let Some(address) = &wanted.clone_url {
            let address = admitted(address, &call.app.config)?;
            if !source.clone_url.as_deref().is_some_and(|known| same_host(known, address.as_str())) {
                return Err(Problem::conflict(
                    "another_host",
                    "The source lies on another host, or has no address.",
                    "Register the other repository as a source of its own; it wants consent of its own.",
                ));
            }
            if source.clone_url.as_deref() != Some(address.as_str()) {
                reading.tx.set_source_address(source.id, source.provider.as_deref(), Some(address.as_str())).await?;
                reading.tx.delete_secret(SecretPurpose::RepositoryCredential, &source.id.to_string()).await?;
            }
        }
        let source = reading.tx.repository(source.id).await?.ok_or_else(not_registered)?;
        if may_refresh(&source).is_ok() {
            enqueue(&mut reading.tx, source.id, JobKind::Reindex, None, JobCause::Person, reading.now).await?;
        }
        status(call, reading, &RepositoryNamed::Id(source.id)).await
    }
}
