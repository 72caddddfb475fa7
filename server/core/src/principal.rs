//! Who a request acts as.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{OrganizationId, PrincipalId, RepositoryId};

/// What a credential may be used for. Names only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// Ask the graph.
    #[serde(rename = "graph:read")]
    GraphRead,
    /// Ask for patches.
    #[serde(rename = "graph:propose")]
    GraphPropose,
    /// Register, refresh and delete sources; upload snapshots.
    #[serde(rename = "sources:write")]
    SourcesWrite,
    /// Send spans.
    #[serde(rename = "telemetry:write")]
    TelemetryWrite,
    /// Read the audit log.
    #[serde(rename = "audit:read")]
    AuditRead,
    /// Manage members, grants, tokens and issuers.
    #[serde(rename = "admin")]
    Admin,
}

impl Scope {
    /// Every scope, in the order of documentation.
    pub const ALL: [Self; 6] =
        [Self::GraphRead, Self::GraphPropose, Self::SourcesWrite, Self::TelemetryWrite, Self::AuditRead, Self::Admin];

    /// As written in tokens.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GraphRead => "graph:read",
            Self::GraphPropose => "graph:propose",
            Self::SourcesWrite => "sources:write",
            Self::TelemetryWrite => "telemetry:write",
            Self::AuditRead => "audit:read",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a scope; scopes are graph:read, graph:propose, sources:write, telemetry:write, audit:read, admin"
)]
pub struct BadScope(String);

impl FromStr for Scope {
    type Err = BadScope;

    fn from_str(text: &str) -> Result<Self, BadScope> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or_else(|| BadScope(crate::text::shown(text, 40)))
    }
}

/// Whether a principal is a person or a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    /// A person, by an identity provider or a personal token.
    User,
    /// A service: CI, a collector, a job of our own.
    Service,
}

impl PrincipalKind {
    /// The word used in rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Service => "service",
        }
    }
}

/// Which repositories a principal may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readable {
    /// All of the organization's.
    All,
    /// Only these.
    Only(BTreeSet<RepositoryId>),
}

impl Readable {
    /// Whether the repository may be read.
    pub fn allows(&self, repository: RepositoryId) -> bool {
        match self {
            Self::All => true,
            Self::Only(ids) => ids.contains(&repository),
        }
    }
}

/// Who a request acts as: made by authentication (or [`Principal::service`] for our own jobs) and by nothing else.
/// Every store transaction is begun with one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The tenant; every row the principal reaches belongs to it.
    pub organization: OrganizationId,
    /// The member.
    pub id: PrincipalId,
    /// Name for people, as shown in the audit log.
    pub name: String,
    /// Person or machine.
    pub kind: PrincipalKind,
    /// What the credential may be used for.
    pub scopes: BTreeSet<Scope>,
    /// Which repositories may be read.
    pub readable: Readable,
    /// The token's or the issuer's id, never the secret.
    pub credential_id: String,
}

impl Principal {
    /// Our own work in an organization: jobs, `syncd dev`, administration from the command line.
    pub fn service(organization: OrganizationId, task: &'static str) -> Self {
        Self {
            organization,
            id: PrincipalId::from_uuid(uuid::Uuid::nil()),
            name: format!("syncd:{task}"),
            kind: PrincipalKind::Service,
            scopes: Scope::ALL.into_iter().collect(),
            readable: Readable::All,
            credential_id: format!("internal:{task}"),
        }
    }

    /// Whether the credential carries the scope; `admin` carries all but `telemetry:write`.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || (scope != Scope::TelemetryWrite && self.scopes.contains(&Scope::Admin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_round_trip_and_unknown_words_name_the_known_ones() {
        for scope in Scope::ALL {
            assert_eq!(scope.as_str().parse::<Scope>(), Ok(scope));
        }
        assert!("graph:write".parse::<Scope>().unwrap_err().to_string().contains("graph:read"));
    }
}
