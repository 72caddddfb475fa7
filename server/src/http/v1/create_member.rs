//! `POST /v1/members`.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::PrincipalId;
use sync_core::policy::Operation;
use sync_core::principal::{PrincipalKind, Role};
use sync_store::{NewMember, StoreError};

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::views::{MemberView, named, owners_only, reads_no_more};
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Make a service principal.
pub(super) struct CreateMember;

/// A service principal to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewMember")]
pub(super) struct Wanted {
    /// Its name, which no other member without an identity provider has.
    #[schemars(schema_with = "words::name")]
    name: String,
    /// The most that any token of it can do.
    #[schemars(schema_with = "words::role")]
    role: Role,
    /// Whether it reads every repository, which is so where nothing is said, or only those that are granted.
    reads_all: Option<bool>,
}

impl Endpoint for CreateMember {
    const OPERATION: Operation = Operation::CreateMember;
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/v1/members";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Make a service principal";
    const DESCRIPTION: &'static str = "A member that is a machine: CI, a collector, an agent that runs by itself. It can do nothing until it has a token: POST /v1/tokens. Whoever reads only what is granted makes members of the same kind. People become members at their first request with a token of an issuer that the organization trusts.";
    const SUCCESS: StatusCode = StatusCode::CREATED;
    type Path = Nothing;
    type Query = Nothing;
    type Body = Wanted;
    type Output = MemberView;
}

impl Answer for CreateMember {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<MemberView, Problem> {
        let wanted = input.body;
        owners_only(call, [wanted.role])?;
        reads_no_more(call, wanted.reads_all.unwrap_or(true))?;
        let id = PrincipalId::at(reading.now);
        let new = NewMember {
            id,
            name: named("name", &wanted.name)?,
            kind: PrincipalKind::Service,
            role: wanted.role,
            identity: None,
            reads_all: wanted.reads_all.unwrap_or(true),
        };
        match reading.tx.add_member(&new, reading.now).await {
            Ok(()) => {}
            Err(StoreError::Conflict(_)) => {
                return Err(Problem::conflict(
                    "name_taken",
                    "There is a member of that name.",
                    "Choose another name, or use the member that is there.",
                ));
            }
            Err(error) => return Err(error.into()),
        }
        reading.rows(1);
        reading.tx.member(id).await?.map(MemberView::from).ok_or_else(Problem::internal)
    }
}
