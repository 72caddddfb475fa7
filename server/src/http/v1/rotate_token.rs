//! `POST /v1/tokens/{token}/rotate`.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::TokenId;
use sync_core::policy::Operation;
use sync_store::StoreError;
use time::Duration;

use super::create_token::two_live_tokens;
use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::views::{NewTokenView, credential_reads_no_more, owners_only};
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::identity::{random_secret, token};

/// Put another token in the place of one.
pub(super) struct RotateToken;

/// Which token.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Named {
    /// Its id.
    #[schemars(schema_with = "words::token_id")]
    token: TokenId,
}

/// How it is done.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TokenRotation")]
pub(super) struct Wanted {
    /// How many hours the old token still is accepted; 24 where nothing is said.
    #[schemars(range(min = 0, max = 720))]
    overlap_hours: Option<u16>,
}

impl Endpoint for RotateToken {
    const OPERATION: Operation = Operation::RotateToken;
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/v1/tokens/{token}/rotate";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Put another token in the place of one";
    const DESCRIPTION: &'static str = "The successor has the same member, name and scopes and lives as long as the old one did from its beginning. The old one is refused after the overlap, or once it is revoked. The answer holds the new token, which is shown this once.";
    const SUBJECT: &'static str = "token";
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const BODY_OPTIONAL: bool = true;
    type Path = Named;
    type Query = Nothing;
    type Body = Wanted;
    type Output = NewTokenView;
}

impl Answer for RotateToken {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<NewTokenView, Problem> {
        let (old, overlap) = (input.path.token, input.body.overlap_hours.unwrap_or(24));
        if overlap > 720 {
            return Err(Problem::invalid_argument("overlap_hours", "a whole number from 0 to 720"));
        }
        let not_found = || Problem::not_found(Self::SUBJECT);
        let known = reading.tx.token_info(old).await?.ok_or_else(not_found)?;
        let member = reading.tx.lock_member(known.principal).await?.ok_or_else(not_found)?;
        owners_only(call, [member.role])?;
        credential_reads_no_more(call, reading, member.id).await?;
        let id = TokenId::at(reading.now);
        let made = token::make(reading.tx.organization(), id, random_secret().map_err(|_| Problem::internal())?);
        let overlap = Duration::hours(overlap.into());
        match reading.tx.rotate_token(old, id, made.secret_hash, overlap, reading.now).await {
            Ok(()) => {}
            Err(StoreError::NotFound(_)) => return Err(not_found()),
            Err(StoreError::Conflict(rule)) if rule == "two_live_tokens" => return Err(two_live_tokens()),
            Err(StoreError::Conflict(rule)) if rule == "token_not_live" => {
                return Err(Problem::conflict(
                    "token_not_live",
                    "The token is revoked or has expired, so that there is nothing to take over.",
                    "Make a new one: POST /v1/tokens.",
                ));
            }
            Err(error) => return Err(error.into()),
        }
        reading.rows(1);
        let token = reading.tx.token_info(id).await?.ok_or_else(Problem::internal)?.into();
        Ok(NewTokenView { token, secret: made.text })
    }

    fn shown_once(output: &NewTokenView) -> Option<String> {
        Some(output.token.id.to_string())
    }
}
