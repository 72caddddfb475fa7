//! Schemas of the words and ids that the core has types for: `#[schemars(schema_with = "words::token_id")]`.

use schemars::{Schema, SchemaGenerator, json_schema};
use sync_core::ids::{
    EventId, IssuerId, JobId, OrganizationId, PrincipalId, RepositoryId, RequestId, TokenId, WebhookId,
};
use sync_core::principal::{Role, Scope};
use sync_store::{Forge, Gate, JobCause, JobKind, JobState, RefOrigin, RepositoryState};

use crate::sources::{credential, names};

fn id(prefix: &str) -> Schema {
    json_schema!({ "type": "string", "pattern": format!("^{prefix}_[0-9a-f]{{32}}$") })
}

/// `org_…`
pub fn organization_id(_: &mut SchemaGenerator) -> Schema {
    id(OrganizationId::PREFIX)
}

/// `prn_…`
pub fn principal_id(_: &mut SchemaGenerator) -> Schema {
    id(PrincipalId::PREFIX)
}

/// `src_…`
pub fn repository_id(_: &mut SchemaGenerator) -> Schema {
    id(RepositoryId::PREFIX)
}

/// A repository's id or its name.
pub fn repository_named(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[a-z0-9._-]+(/[a-z0-9._-]+)*$", "minLength": 1, "maxLength": 100 })
}

/// `tok_…`
pub fn token_id(_: &mut SchemaGenerator) -> Schema {
    id(TokenId::PREFIX)
}

/// `evt_…`
pub fn event_id(_: &mut SchemaGenerator) -> Schema {
    id(EventId::PREFIX)
}

/// `req_…`
pub fn request_id(_: &mut SchemaGenerator) -> Schema {
    id(RequestId::PREFIX)
}

/// A role.
pub fn role(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Role::ALL.map(Role::as_str) })
}

/// A person or a machine.
pub fn principal_kind(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["user", "service"] })
}

/// Scopes, each once.
pub fn scopes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "items": { "type": "string", "enum": Scope::ALL.map(Scope::as_str) }, "uniqueItems": true,
    })
}

/// An instant with three decimals, UTC.
pub fn instant(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time" })
}

/// An instant, or null.
pub fn optional_instant(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "format": "date-time" })
}

/// `iss_…`
pub fn issuer_id(_: &mut SchemaGenerator) -> Schema {
    id(IssuerId::PREFIX)
}

/// `tok_…`, or null.
pub fn optional_token_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "pattern": format!("^{}_[0-9a-f]{{32}}$", TokenId::PREFIX) })
}

/// Scopes, each once, at least one.
pub fn some_scopes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "items": { "type": "string", "enum": Scope::ALL.map(Scope::as_str) }, "uniqueItems": true,
        "minItems": 1, "maxItems": Scope::ALL.len(),
    })
}

/// A role, or null.
pub fn optional_role(_: &mut SchemaGenerator) -> Schema {
    let mut words: Vec<Option<&str>> = Role::ALL.iter().map(|role| Some(role.as_str())).collect();
    words.push(None);
    json_schema!({ "type": ["string", "null"], "enum": words })
}

/// A role that an issuer's principals may begin with.
pub fn default_role(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["member", "auditor", "ingest"] })
}

/// A role that an issuer's principals may begin with, or null.
pub fn optional_default_role(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "enum": ["member", "auditor", "ingest", null] })
}

/// Names for people: no control characters, and a space does not come first.
const NAME: &str = "^[^\\u0000-\\u0020\\u007f-\\u00a0][^\\u0000-\\u001f\\u007f-\\u009f]{0,99}$";

/// A name for people.
pub fn name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": 100, "pattern": NAME })
}

/// A name for people, or null.
pub fn optional_name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "minLength": 1, "maxLength": 100, "pattern": NAME })
}

/// The size of a page.
pub fn limit(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": super::page::MAX_LIMIT, "default": super::page::DEFAULT_LIMIT })
}

/// An address that is fetched from.
pub fn https_address(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "uri", "pattern": "^https://", "maxLength": 512 })
}

/// An address that is fetched from, or null.
pub fn optional_https_address(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "format": "uri", "pattern": "^https://", "maxLength": 512 })
}

/// The name of a claim.
pub fn claim(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$" })
}

/// An audience, or null.
pub fn optional_audience(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "minLength": 1, "maxLength": 512, "pattern": "^[!-~]+$" })
}

/// Signature algorithms, each once, or null.
pub fn optional_algorithms(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["array", "null"], "items": { "type": "string", "enum": crate::identity::jwt::ALGORITHMS },
        "uniqueItems": true, "minItems": 1, "maxItems": crate::identity::jwt::ALGORITHMS.len(),
    })
}

/// `job_…`
pub fn job_id(_: &mut SchemaGenerator) -> Schema {
    id(JobId::PREFIX)
}

/// `whk_…`
pub fn webhook_id(_: &mut SchemaGenerator) -> Schema {
    id(WebhookId::PREFIX)
}

/// Where a repository is cloned from.
pub fn clone_url(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "uri", "pattern": "^https://", "maxLength": 2048 })
}

/// Where a repository is cloned from, or null.
pub fn optional_clone_url(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "format": "uri", "pattern": "^https://", "maxLength": 2048 })
}

/// Where a repository was cloned from: also a folder of the service's machine.
pub fn known_clone_url(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"] })
}

/// A repository's name.
pub fn repository_name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": 100, "pattern": names::REPOSITORY })
}

/// A repository's name, or null.
pub fn optional_repository_name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "minLength": 1, "maxLength": 100, "pattern": names::REPOSITORY })
}

/// The name of a branch or of another ref, or null.
pub fn optional_ref_name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "minLength": 1, "maxLength": names::MAX_REF, "pattern": names::REF })
}

/// Patterns of branches, or null.
pub fn optional_patterns(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["array", "null"], "maxItems": names::MAX_PATTERNS,
        "items": { "type": "string", "minLength": 1, "maxLength": names::MAX_REF, "pattern": names::PATTERN },
    })
}

/// The part of a credential that is sent.
pub fn credential(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "minLength": 1, "maxLength": credential::MAX_LENGTH, "pattern": "^[!-~]+$", "writeOnly": true,
    })
}

/// Who a credential is of, or null.
pub fn optional_user(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["string", "null"], "minLength": 1, "maxLength": credential::MAX_LENGTH, "pattern": "^[!-9;-~]+$",
    })
}

/// A forge.
pub fn forge(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Forge::ALL.map(Forge::as_str) })
}

/// A forge, or null.
pub fn optional_forge(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "enum": or_null(Forge::ALL.map(Forge::as_str)) })
}

/// Whether a repository is indexed at all.
pub fn gate(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Gate::ALL.map(Gate::as_str) })
}

/// Whether a repository is indexed at all, or null.
pub fn optional_gate(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "enum": or_null(Gate::ALL.map(Gate::as_str)) })
}

/// What indexing of a source is doing.
pub fn source_state(_: &mut SchemaGenerator) -> Schema {
    use RepositoryState::{Deleting, Failed, Gated, Indexed, Indexing, Registered};
    let words = [Registered, Indexing, Indexed, Gated, Failed, Deleting].map(RepositoryState::as_str);
    json_schema!({ "type": "string", "enum": words })
}

/// Why a ref is kept.
pub fn ref_origin(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": RefOrigin::ALL.map(RefOrigin::as_str) })
}

/// What a job does.
pub fn job_kind(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": JobKind::ALL.map(JobKind::as_str) })
}

/// Why a job was asked for.
pub fn job_cause(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": JobCause::ALL.map(JobCause::as_str) })
}

/// What a job is doing.
pub fn job_state(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": JobState::ALL.map(JobState::as_str) })
}

fn or_null<const N: usize>(words: [&'static str; N]) -> Vec<Option<&'static str>> {
    words.into_iter().map(Some).chain([None]).collect()
}
