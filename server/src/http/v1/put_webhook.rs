//! `POST /v1/sources/{source}/webhook`.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sync_core::policy::Operation;
use sync_store::Forge;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::source_views::{ForgeWord, SourcePath, WebhookView, lasting};
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::provider::not_registered;
use crate::webhooks::setup;

/// Make the endpoint of a source's webhook, or another secret for it.
pub(super) struct PutWebhook;

/// Who delivers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewWebhook")]
pub(super) struct Asked {
    /// The forge; the source's own, where nothing is said.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_forge")]
    provider: Option<ForgeWord>,
}

/// An endpoint with the secret that is shown this once.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookWithSecret")]
pub(super) struct Made {
    /// The endpoint.
    #[serde(flatten)]
    webhook: WebhookView,
    /// What the forge signs with. It is shown this once.
    secret: String,
    /// What to choose at the forge as the content type.
    content_type: String,
    /// What to choose at the forge as events.
    events: Vec<String>,
    /// What to do at the forge.
    next_step: String,
}

impl Endpoint for PutWebhook {
    const OPERATION: Operation = Operation::PutWebhook;
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/v1/sources/{source}/webhook";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "Make the endpoint of a source's webhook, or another secret for it";
    const DESCRIPTION: &'static str = "The answer holds the secret, which is shown this once. Asked again, the endpoint stays and its secret is another one; the one before is taken for 24 more hours.";
    const SUBJECT: &'static str = "source";
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const BODY_OPTIONAL: bool = true;
    fn absent() -> Problem {
        not_registered()
    }
    type Path = SourcePath;
    type Query = Nothing;
    type Body = Asked;
    type Output = Made;
}

impl Answer for PutWebhook {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<Made, Problem> {
        let source = lasting(reading, &input.path.source).await?;
        let known = source.provider.as_deref().and_then(Forge::named);
        let forge = input.body.provider.map(Forge::from).or(known).ok_or_else(|| {
            Problem::conflict(
                "provider_unknown",
                "Nobody said whose forge the source lies at.",
                "Send `provider`: github, gitlab, gitea, forgejo or bitbucket.",
            )
        })?;
        let made = setup::make_or_rotate(&mut reading.tx, &call.app.secrets, source.id, forge, reading.now).await;
        let secret = made.map_err(|error| match error {
            setup::SetupError::Store(error) => error.into(),
            setup::SetupError::Secret(error) => {
                tracing::error!(%error, "the secret of a webhook cannot be stored");
                Problem::internal()
            }
        })?;
        let row = reading.tx.webhook_of(source.id).await?.ok_or_else(Problem::internal)?;
        reading.rows(1);
        let about = setup::at_the_forge(forge);
        Ok(Made {
            webhook: WebhookView::of(call, row),
            secret,
            content_type: "application/json".to_owned(),
            events: about.events.iter().map(|event| (*event).to_owned()).collect(),
            next_step: about.next_step.to_owned(),
        })
    }

    fn shown_once(output: &Made) -> Option<String> {
        Some(output.webhook.id.to_string())
    }
}
