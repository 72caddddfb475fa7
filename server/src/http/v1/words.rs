//! Schemas of the words and ids that the core has types for: `#[schemars(schema_with = "words::token_id")]`.

use schemars::{Schema, SchemaGenerator, json_schema};
use sync_core::ids::{EventId, IssuerId, OrganizationId, PrincipalId, RepositoryId, RequestId, TokenId};
use sync_core::principal::{Role, Scope};

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
