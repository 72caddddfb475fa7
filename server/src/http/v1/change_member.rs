//! `PATCH /v1/members/{principal}`.

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use sync_core::ids::PrincipalId;
use sync_core::policy::Operation;
use sync_core::principal::Role;
use sync_store::{MemberChange, StoreError};

use super::endpoint::{Answer, Call, Endpoint, Input, Nothing};
use super::views::{MemberView, named, owners_only, reads_no_more};
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// Change a member.
pub(super) struct ChangeMember;

/// Which member.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Named {
    /// Its id.
    #[schemars(schema_with = "words::principal_id")]
    principal: PrincipalId,
}

/// What changes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemberChange")]
pub(super) struct Wanted {
    /// Another name.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_name")]
    name: Option<String>,
    /// Another role.
    #[serde(default)]
    #[schemars(schema_with = "words::optional_role")]
    role: Option<Role>,
    /// Whether it reads every repository, or only those that are granted.
    reads_all: Option<bool>,
    /// Whether it is shut out.
    disabled: Option<bool>,
}

impl Endpoint for ChangeMember {
    const OPERATION: Operation = Operation::ChangeMember;
    const METHOD: Method = Method::PATCH;
    const PATH: &'static str = "/v1/members/{principal}";
    const TAG: &'static str = "identity";
    const SUMMARY: &'static str = "Change a member";
    const DESCRIPTION: &'static str = "Another name, another role, what it may read, whether it is let in at all. What is absent or null stays. A member who is shut out is so at once, with every token. Only an owner makes and unmakes owners, and one owner who is let in always remains.";
    const SUBJECT: &'static str = "member";
    type Path = Named;
    type Query = Nothing;
    type Body = Wanted;
    type Output = MemberView;
}

impl Answer for ChangeMember {
    async fn answer(call: &Call, reading: &mut Reading, input: Input<Self>) -> Result<MemberView, Problem> {
        let (id, wanted) = (input.path.principal, input.body);
        let not_found = || Problem::not_found(Self::SUBJECT);
        let change = MemberChange {
            name: wanted.name.as_deref().map(|name| named("name", name)).transpose()?,
            role: wanted.role,
            reads_all: wanted.reads_all,
            disabled: wanted.disabled,
        };
        // Its role is read under the lock that changes of roles wait for.
        let before = reading.tx.lock_member(id).await?.ok_or_else(not_found)?;
        owners_only(call, [before.role].into_iter().chain(wanted.role))?;
        reads_no_more(call, wanted.reads_all == Some(true))?;
        reading.rows(1);
        match reading.tx.change_member(id, &change, reading.now).await {
            Ok(row) => Ok(row.into()),
            Err(StoreError::NotFound(_)) => Err(not_found()),
            Err(StoreError::Conflict(rule)) if rule == "last_owner" => Err(Problem::conflict(
                "last_owner",
                "The member is the only owner who is let in, and an organization keeps one.",
                "Make another member an owner first: PATCH /v1/members/{principal} with the role owner.",
            )),
            Err(StoreError::Conflict(_)) => {
                Err(Problem::conflict("name_taken", "There is a member of that name.", "Choose another name."))
            }
            Err(error) => Err(error.into()),
        }
    }
}
