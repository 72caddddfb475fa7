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

/// What a member is in its organization: the most that any credential of theirs can do. Names only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything, and alone makes and unmakes owners. Every organization keeps one.
    Owner,
    /// Everything but that.
    Admin,
    /// Asks the graph, asks for patches, registers and refreshes sources.
    Member,
    /// Reads the audit log and nothing else.
    Auditor,
    /// Sends snapshots and spans and reads nothing: CI, a collector.
    Ingest,
}

impl Role {
    /// Every role, in the order of documentation.
    pub const ALL: [Self; 5] = [Self::Owner, Self::Admin, Self::Member, Self::Auditor, Self::Ingest];

    /// As written in rows and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Member => "member",
            Self::Auditor => "auditor",
            Self::Ingest => "ingest",
        }
    }

    /// Whether a credential of such a member may use the scope at all.
    pub const fn allows(self, scope: Scope) -> bool {
        match self {
            Self::Owner | Self::Admin => true,
            Self::Member => matches!(scope, Scope::GraphRead | Scope::GraphPropose | Scope::SourcesWrite),
            Self::Auditor => matches!(scope, Scope::AuditRead),
            Self::Ingest => matches!(scope, Scope::SourcesWrite | Scope::TelemetryWrite),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role; roles are owner, admin, member, auditor, ingest")]
pub struct BadRole(String);

impl FromStr for Role {
    type Err = BadRole;

    fn from_str(text: &str) -> Result<Self, BadRole> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| BadRole(crate::text::shown(text, 40)))
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

/// A word that is no kind of principal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of principal; kinds are user, service")]
pub struct BadKind(String);

impl FromStr for PrincipalKind {
    type Err = BadKind;

    fn from_str(text: &str) -> Result<Self, BadKind> {
        let kinds = [Self::User, Self::Service];
        kinds.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| BadKind(crate::text::shown(text, 40)))
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
    /// What the member is in the organization.
    pub role: Role,
    /// What the credential may be used for, as far as the role allows it: ask [`Principal::has`].
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
            role: Role::Owner,
            scopes: Scope::ALL.into_iter().collect(),
            readable: Readable::All,
            credential_id: format!("internal:{task}"),
        }
    }

    /// Whether the credential carries the scope (`admin` carries all but `telemetry:write`) and the member's role
    /// allows it: the one place where the two meet.
    pub fn has(&self, scope: Scope) -> bool {
        let carried =
            self.scopes.contains(&scope) || (scope != Scope::TelemetryWrite && self.scopes.contains(&Scope::Admin));
        carried && self.role.allows(scope)
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
    #[test]
    fn a_credential_can_do_what_both_its_scopes_and_its_members_role_allow() {
        let organization = OrganizationId::from_uuid(uuid::Uuid::nil());
        let with = |role, scopes: &[Scope]| Principal {
            role,
            scopes: scopes.iter().copied().collect(),
            ..Principal::service(organization, "test")
        };
        let able = |principal: Principal| -> Vec<&str> {
            Scope::ALL.into_iter().filter(|scope| principal.has(*scope)).map(Scope::as_str).collect()
        };
        let all = Scope::ALL.as_slice();
        let every = ["graph:read", "graph:propose", "sources:write", "telemetry:write", "audit:read", "admin"];
        assert_eq!(able(with(Role::Owner, all)), every);
        assert_eq!(able(with(Role::Admin, all)), every);
        assert_eq!(able(with(Role::Member, all)), ["graph:read", "graph:propose", "sources:write"]);
        assert_eq!(able(with(Role::Auditor, all)), ["audit:read"]);
        assert_eq!(able(with(Role::Ingest, all)), ["sources:write", "telemetry:write"]);
        assert_eq!(
            able(with(Role::Owner, &[Scope::Admin])),
            ["graph:read", "graph:propose", "sources:write", "audit:read", "admin"]
        );
        assert_eq!(able(with(Role::Ingest, &[Scope::Admin])), ["sources:write"]);
        assert_eq!(able(with(Role::Owner, &[Scope::GraphRead])), ["graph:read"]);
        assert_eq!(able(with(Role::Auditor, &[Scope::GraphRead])), [""; 0]);
    }

    #[test]
    fn roles_round_trip_and_unknown_words_name_the_known_ones() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse::<Role>(), Ok(role));
        }
        assert!("root".parse::<Role>().unwrap_err().to_string().contains("auditor"));
    }
}
