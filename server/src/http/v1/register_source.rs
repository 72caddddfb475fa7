//! `POST /v1/sources`.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Deserialize;
use sync_core::policy::Operation;
use sync_core::principal::Readable;
use sync_store::{Forge, SecretPurpose, StoreError};

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::repository_named::RepositoryNamed;
use super::source_views::{ForgeWord, GateWord, SourceStatus, status};
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::sources::credential;
use crate::sources::provider::not_consented;
use crate::sources::register::Wanted;

/// Register a source.
pub(super) struct RegisterSource;

/// A source to register.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewSource")]
pub(super) struct Asked {
    /// Where it is cloned from, by https and without a credential in it.
    #[schemars(schema_with = "words::clone_url")]
    clone_url: String,
    /// What it is called; as its address ends, where nothing is said.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_repository_name")]
    name: Option<String>,
    /// Whose forge it lies at; as the address says it, where nothing is said.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_forge")]
    provider: Option<ForgeWord>,
    /// The branch that answers where none is named; the remote's, where nothing is said.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_ref_name")]
    default_branch: Option<String>,
    /// Patterns of further branches to follow: `*` within one part of a name, `**` for any number of parts.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_patterns")]
    tracked_refs: Option<Vec<String>>,
    /// Whether it is indexed at all; `auto` where nothing is said.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_gate")]
    gate: Option<GateWord>,
    /// What you allow.
    consent: Consent,
    /// What it is fetched with, where it is not public. Stored encrypted, never shown again.
    credential: Option<NewCredential>,
}

/// What is allowed of a source.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SourceConsent")]
struct Consent {
    /// That Sync fetches its code from where it lies.
    egress: bool,
}

/// What a source is fetched with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewCredential")]
pub(super) struct NewCredential {
    /// The user; what the forge expects beside a token, where nothing is said.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_user")]
    pub(super) user: Option<String>,
    /// A token or password that may read the repository, and should be able to do nothing else.
    #[schemars(schema_with = "words::credential")]
    pub(super) secret: SecretString,
}

impl Endpoint for RegisterSource {
    const OPERATION: Operation = Operation::RegisterSource;
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/v1/sources";
    const TAG: &'static str = "provider";
    const SUMMARY: &'static str = "Register a source";
    const DESCRIPTION: &'static str = "Its default branch is indexed as soon as a worker is free, and then follows its remote: by a webhook (POST /v1/sources/{source}/webhook) within seconds, and without one by a sweep. Without `consent.egress` nothing is registered, unless `gate` is `off`: then nothing is fetched, and snapshots are uploaded (PUT /v1/sources/{source}/snapshots/{commit}). Who reads only what is granted gets a grant for it.";
    const SUCCESS: StatusCode = StatusCode::CREATED;
    type Path = Nothing;
    type Query = Nothing;
    type Body = Asked;
    type Output = SourceStatus;
}

impl Answer for RegisterSource {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<SourceStatus, Problem> {
        let asked = input.body;
        // Nothing is fetched through a gate that is off, so that there is nothing to consent to.
        if !asked.consent.egress && !matches!(asked.gate, Some(GateWord::Off)) {
            return Err(not_consented());
        }
        let wanted = Wanted {
            clone_url: asked.clone_url,
            name: asked.name,
            forge: asked.provider.map(Forge::from),
            default_branch: asked.default_branch,
            tracked_refs: asked.tracked_refs.unwrap_or_default(),
            gate: asked.gate.map(Into::into).unwrap_or_default(),
        };
        let fit = wanted.check(&call.app.config)?;
        let by = asked.consent.egress.then_some(call.principal().name.as_str());
        let source = match fit.register(&mut reading.tx, by, reading.now).await {
            Ok((source, _job)) => source,
            Err(StoreError::Conflict(rule)) if rule == "repository_name_taken" => {
                return Err(Problem::conflict(
                    "name_taken",
                    "There is a source of that name.",
                    "Give another `name`; GET /v1/sources lists those that you may see.",
                ));
            }
            Err(error) => return Err(error.into()),
        };
        if let Readable::Only(_) = call.principal().readable {
            reading.tx.grant(call.principal().id, source.id, reading.now).await?;
        }
        if let Some(given) = asked.credential {
            let forge = source.provider.as_deref().and_then(Forge::named);
            given.store(call, reading, source.id, forge).await?;
        }
        status(call, reading, &RepositoryNamed::Id(source.id)).await
    }
}

impl NewCredential {
    /// Stores it, encrypted, as the credential of a source.
    pub(super) async fn store(
        &self,
        call: &Call,
        reading: &mut Reading,
        source: sync_core::ids::RepositoryId,
        forge: Option<Forge>,
    ) -> Result<(), Problem> {
        use secrecy::ExposeSecret as _;
        let user = self.user.as_deref().unwrap_or_else(|| credential::usual_user(forge));
        let allowed = "1 to 4096 printable characters without a space (in a user: and without a colon)";
        if !credential::is_user(user) {
            return Err(Problem::invalid_argument("user", allowed));
        }
        if !credential::is_plain(self.secret.expose_secret()) {
            return Err(Problem::invalid_argument("secret", allowed));
        }
        let organization = call.principal().organization;
        let sealed =
            credential::seal(&call.app.secrets, organization, source, user, &self.secret).map_err(|error| {
                tracing::error!(%error, "a credential cannot be encrypted");
                Problem::internal()
            })?;
        let purpose = SecretPurpose::RepositoryCredential;
        reading.tx.put_secret(purpose, &source.to_string(), &sealed, reading.now).await?;
        Ok(())
    }
}
