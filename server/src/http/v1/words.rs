//! Schemas of the words and ids that the core has types for: `#[schemars(schema_with = "words::token_id")]`.

use schemars::{Schema, SchemaGenerator, json_schema};
use sync_core::ids::{EventId, OrganizationId, PrincipalId, RepositoryId, RequestId, TokenId};
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
