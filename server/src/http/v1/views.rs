//! Members, grants, tokens and issuers as `/v1` shows them, and the words that they are given with.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sync_core::clock::millis;
use sync_core::ids::{IssuerId, PrincipalId, RepositoryId, TokenId};
use sync_core::principal::{PrincipalKind, Readable, Role, Scope};
use sync_store::{GrantRow, IssuerRow, MemberRow, TokenInfo};
use time::OffsetDateTime;

use super::endpoint::Call;
use super::repository_named::RepositoryNamed;
use super::words;
use crate::audit::Reading;
use crate::http::problem::Problem;

/// A member of the organization.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Member")]
pub(super) struct MemberView {
    /// Its id.
    #[schemars(schema_with = "words::principal_id")]
    pub(super) id: PrincipalId,
    /// Name for people.
    name: String,
    /// A person or a machine.
    #[schemars(schema_with = "words::principal_kind")]
    kind: PrincipalKind,
    /// The most that any credential of theirs can do.
    #[schemars(schema_with = "words::role")]
    role: Role,
    /// Whether every repository can be read, or only those that were granted.
    reads_all: bool,
    /// Who it is at an identity provider, for members who come with a JSON Web Token.
    identity: Option<Identity>,
    /// Since when it is a member.
    #[serde(with = "millis")]
    #[schemars(schema_with = "words::instant")]
    created_at: OffsetDateTime,
    /// Since when it is shut out; null where it is not.
    #[serde(with = "millis::option")]
    #[schemars(schema_with = "words::optional_instant")]
    disabled_at: Option<OffsetDateTime>,
}

/// Who a member is at an identity provider.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Identity {
    /// The provider, as in the claim `iss`.
    issuer: String,
    /// The member there, as in the claim `sub`.
    subject: String,
}

impl From<MemberRow> for MemberView {
    fn from(row: MemberRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            kind: row.kind,
            role: row.role,
            reads_all: row.reads_all,
            identity: row.identity.map(|(issuer, subject)| Identity { issuer, subject }),
            created_at: row.created_at,
            disabled_at: row.disabled_at,
        }
    }
}

/// Which grant, in a path.
#[derive(Deserialize, JsonSchema)]
pub(super) struct GrantPath {
    /// Who reads.
    #[schemars(schema_with = "words::principal_id")]
    pub(super) principal: PrincipalId,
    /// What is read: the repository's id, or its name with each slash written `%2F`.
    #[schemars(schema_with = "words::repository_named")]
    pub(super) repository: RepositoryNamed,
}

/// That a member reads a repository.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Grant")]
pub(super) struct GrantView {
    /// Who reads.
    #[schemars(schema_with = "words::principal_id")]
    pub(super) principal: PrincipalId,
    /// Name of who reads.
    principal_name: String,
    /// What is read.
    #[schemars(schema_with = "words::repository_id")]
    pub(super) repository: RepositoryId,
    /// Name of what is read.
    repository_name: String,
    /// Since when.
    #[serde(with = "millis")]
    #[schemars(schema_with = "words::instant")]
    granted_at: OffsetDateTime,
}

impl From<GrantRow> for GrantView {
    fn from(row: GrantRow) -> Self {
        Self {
            principal: row.principal,
            principal_name: row.principal_name,
            repository: row.repository,
            repository_name: row.repository_name,
            granted_at: row.granted_at,
        }
    }
}

/// A token, without its secret, which nobody has but who it was given to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Token")]
pub(super) struct TokenView {
    /// Its id; also what the audit log calls the credential.
    #[schemars(schema_with = "words::token_id")]
    pub(super) id: TokenId,
    /// Whose it is.
    #[schemars(schema_with = "words::principal_id")]
    principal: PrincipalId,
    /// Name of whose it is.
    principal_name: String,
    /// What it is called. Two tokens of a principal with the same name live at a time: one, and its successor.
    name: String,
    /// What it may be used for, as far as the member's role allows it.
    #[schemars(schema_with = "words::scopes")]
    scopes: BTreeSet<Scope>,
    /// Since when it is.
    #[serde(with = "millis")]
    #[schemars(schema_with = "words::instant")]
    created_at: OffsetDateTime,
    /// From when it is refused; null: never by itself.
    #[serde(with = "millis::option")]
    #[schemars(schema_with = "words::optional_instant")]
    expires_at: Option<OffsetDateTime>,
    /// Since when it is revoked; null where it is not.
    #[serde(with = "millis::option")]
    #[schemars(schema_with = "words::optional_instant")]
    revoked_at: Option<OffsetDateTime>,
    /// When it was last used, to the minute.
    #[serde(with = "millis::option")]
    #[schemars(schema_with = "words::optional_instant")]
    last_used_at: Option<OffsetDateTime>,
    /// The token that it took the place of.
    #[schemars(schema_with = "words::optional_token_id")]
    replaces: Option<TokenId>,
}

impl From<TokenInfo> for TokenView {
    fn from(row: TokenInfo) -> Self {
        Self {
            id: row.id,
            principal: row.principal,
            principal_name: row.principal_name,
            name: row.name,
            scopes: row.scopes,
            created_at: row.created_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
            last_used_at: row.last_used_at,
            replaces: row.replaces,
        }
    }
}

/// A token that was just made.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct NewTokenView {
    /// All but its secret.
    pub(super) token: TokenView,
    /// The token as it is sent in `Authorization: Bearer`. It is shown this once and kept nowhere.
    pub(super) secret: String,
}

/// An issuer of JSON Web Tokens that the organization trusts.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Issuer")]
pub(super) struct IssuerView {
    /// Its id.
    #[schemars(schema_with = "words::issuer_id")]
    pub(super) id: IssuerId,
    /// As in the claim `iss`, byte for byte.
    issuer: String,
    /// The claim that has to be the organization's short name or id; null: every token of the issuer is the
    /// organization's, as only the operator can say.
    organization_claim: Option<String>,
    /// An audience that is accepted beside the service's own addresses.
    audience: Option<String>,
    /// Accepted signature algorithms.
    algorithms: Vec<String>,
    /// Where its keys are; null: where its OpenID configuration says.
    jwks_url: Option<String>,
    /// What a principal becomes at first sight.
    #[schemars(schema_with = "words::default_role")]
    default_role: Role,
    /// Whether it then reads every repository, or only those that are granted.
    reads_all: bool,
    /// Since when it is trusted.
    #[serde(with = "millis")]
    #[schemars(schema_with = "words::instant")]
    created_at: OffsetDateTime,
}

impl From<IssuerRow> for IssuerView {
    fn from(row: IssuerRow) -> Self {
        Self {
            id: row.id,
            issuer: row.issuer,
            organization_claim: row.organization_claim,
            audience: row.audience,
            algorithms: row.algorithms,
            jwks_url: row.jwks_url,
            default_role: row.default_role,
            reads_all: row.reads_all,
            created_at: row.created_at,
        }
    }
}

/// Refuses what concerns an owner where no owner asks: an administrator must not become one by a detour.
pub(super) fn owners_only(call: &Call, concerned: impl IntoIterator<Item = Role>) -> Result<(), Problem> {
    if call.principal().role == Role::Owner || !concerned.into_iter().any(|role| role == Role::Owner) {
        return Ok(());
    }
    Err(Problem::new(
        http::StatusCode::FORBIDDEN,
        "forbidden",
        "Only an owner makes, changes and unmakes owners, or gives them tokens.",
        "Ask an owner of the organization; GET /v1/members?role=owner lists them.",
    ))
}

/// Refuses to trust an issuer, or to trust it no longer, where an owner comes by it and no owner asks: who says what the keys
/// of an issuer are can come as anybody of it.
pub(super) async fn owners_issuer(call: &Call, reading: &mut Reading, issuer: &str) -> Result<(), Problem> {
    if call.principal().role == Role::Owner || !reading.tx.roles_by_issuer(issuer).await?.contains(&Role::Owner) {
        return Ok(());
    }
    Err(Problem::new(
        http::StatusCode::FORBIDDEN,
        "forbidden",
        "An owner of the organization comes by that issuer, so that only an owner says whether and how it is trusted.",
        "Ask an owner of the organization; GET /v1/members?role=owner lists them.",
    ))
}

/// Refuses to let a member read more than who asks reads, or to make a credential of one who does. Owners give what they
/// want, themselves included.
pub(super) fn reads_no_more(call: &Call, more: bool) -> Result<(), Problem> {
    let limited = matches!(call.principal().readable, Readable::Only(_)) && call.principal().role != Role::Owner;
    if !(limited && more) {
        return Ok(());
    }
    Err(Problem::new(
        http::StatusCode::FORBIDDEN,
        "forbidden",
        "You read only the repositories that are granted to you, and cannot give more than that to anybody.",
        "Say `reads_all: false` and grant what you read (PUT /v1/grants), or ask an owner.",
    ))
}

/// The same for a credential of that member.
pub(super) async fn credential_reads_no_more(
    call: &Call,
    reading: &mut Reading,
    member: PrincipalId,
) -> Result<(), Problem> {
    let Readable::Only(mine) = &call.principal().readable else { return Ok(()) };
    let mine: Vec<_> = mine.iter().copied().collect();
    reads_no_more(call, reading.tx.reads_more_than(member, &mine).await?)
}

/// A name for people, given as that argument, as it has to be; its schema is `words::name`.
pub(super) fn named<'a>(argument: &str, name: &'a str) -> Result<&'a str, Problem> {
    let control = |c: char| matches!(c, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}');
    let good = name.chars().next().is_some_and(|first| !control(first) && !matches!(first, ' ' | '\u{a0}'))
        && name.chars().count() <= 100
        && !name.chars().any(control);
    if good {
        Ok(name)
    } else {
        Err(Problem::invalid_argument(
            argument,
            "1 to 100 characters, none of them a control character, the first no space",
        ))
    }
}

/// Refuses scopes that no credential of a member with that role may use: a token of them would be for nothing.
pub(super) fn usable(scopes: &BTreeSet<Scope>, role: Role) -> Result<(), Problem> {
    if scopes.iter().all(|scope| role.allows(*scope)) {
        return Ok(());
    }
    let allowed: Vec<&str> = Scope::ALL.into_iter().filter(|scope| role.allows(*scope)).map(Scope::as_str).collect();
    Err(Problem::conflict(
        "role_forbids",
        format!("A member with the role {role} may not use all of these scopes."),
        format!("Leave out what the role does not allow; it allows {}. Or change the role.", allowed.join(", ")),
    ))
}
