//! `POST /v1/tokens`.

use std::collections::BTreeSet;

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::{PrincipalId, TokenId};
use sync_core::policy::Operation;
use sync_core::principal::Scope;
use sync_store::{NewToken, StoreError};
use time::Duration;

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::views::{NewTokenView, credential_reads_no_more, named, owners_only, usable};
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;
use crate::identity::{random_secret, token};

/// Make a token for a member.
pub(super) struct CreateToken;

/// A token to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewToken")]
pub(super) struct Wanted {
    /// Whose it will be.
    #[schemars(schema_with = "words::principal_id")]
    principal: PrincipalId,
    /// What it is called.
    #[schemars(schema_with = "words::name")]
    name: String,
    /// What it may be used for: at least one, and what the member's role allows.
    #[schemars(schema_with = "words::some_scopes")]
    scopes: BTreeSet<Scope>,
    /// After how many days it is refused; never by itself where nothing is said.
    #[schemars(range(min = 1, max = 3650))]
    expires_in_days: Option<u16>,
}

/// What the problem is where a name has two live tokens.
pub(super) fn two_live_tokens() -> Problem {
    Problem::conflict(
        "two_live_tokens",
        "Two tokens of that member and name are live already.",
        "Revoke one of them, or choose another name; GET /v1/tokens lists them.",
    )
}

impl Endpoint for CreateToken {
    const OPERATION: Operation = Operation::CreateToken;
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/v1/tokens";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Make a token for a member";
    const DESCRIPTION: &'static str = "The answer holds the token, which is shown this once and kept nowhere. Two tokens of a member live under the same name: one, and the one that takes its place. What has the scope admin makes tokens with every scope that the member's role allows, also without an end: give such a token an end.";
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const FAILURES: &'static [StatusCode] = &[StatusCode::NOT_FOUND];
    type Path = Nothing;
    type Query = Nothing;
    type Body = Wanted;
    type Output = NewTokenView;
}

impl Answer for CreateToken {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<NewTokenView, Problem> {
        let wanted = input.body;
        let name = named("name", &wanted.name)?;
        if wanted.scopes.is_empty() {
            return Err(Problem::invalid_argument("scopes", "at least one scope"));
        }
        if wanted.expires_in_days.is_some_and(|days| !(1..=3650).contains(&days)) {
            return Err(Problem::invalid_argument("expires_in_days", "a whole number from 1 to 3650"));
        }
        // Under the lock that changes of roles wait for: nobody becomes an owner meanwhile.
        let member = reading.tx.lock_member(wanted.principal).await?.ok_or_else(|| Problem::not_found("member"))?;
        owners_only(call, [member.role])?;
        credential_reads_no_more(call, reading, member.id).await?;
        usable(&wanted.scopes, member.role)?;
        let id = TokenId::at(reading.now);
        let made = token::make(reading.tx.organization(), id, random_secret().map_err(|_| Problem::internal())?);
        let new = NewToken {
            id,
            principal: member.id,
            name,
            secret_hash: made.secret_hash,
            scopes: &wanted.scopes,
            expires_at: wanted.expires_in_days.map(|days| reading.now + Duration::days(days.into())),
        };
        match reading.tx.create_token(&new, reading.now).await {
            Ok(()) => {}
            Err(StoreError::Conflict(rule)) if rule == "two_live_tokens" => return Err(two_live_tokens()),
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
