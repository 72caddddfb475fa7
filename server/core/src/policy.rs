//! Who may do what: the one table. The gate of `/mcp`, `tools/list` and every operation of `/v1` ask [`decide`], and
//! nothing else decides.
//!
//! A row says what an operation is called in the audit log, which scopes suffice for it (any one of them), and whether
//! what it reads belongs to a repository, which grants then narrow: what may not be read is not found. Names only grow.

use std::fmt;

use crate::principal::{Principal, Role, Scope};

/// What the thing asked about belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The organization as a whole.
    Organization,
    /// Repositories: a principal without a grant on one finds nothing of it.
    Repository,
    /// Nobody: it is the same for everyone who may ask at all.
    Everyone,
}

macro_rules! policy {
    ($($(#[doc = $doc:literal])+ $operation:ident = $name:literal, [$($scope:ident)|+], $about:ident;)+) => {
        /// Everything that a principal can ask of the service: each operation of `/v1`, and each method, tool, resource
        /// and prompt of MCP.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Operation {
            $($(#[doc = $doc])+ $operation,)+
        }

        impl Operation {
            /// Every operation, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$operation),+];

            /// As the audit log calls it: `rest.get_organization`, `mcp.tools/call:sync_repositories`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$operation => $name,)+
                }
            }

            /// Any of these suffices.
            pub const fn scopes(self) -> &'static [Scope] {
                match self {
                    $(Self::$operation => &[$(Scope::$scope),+],)+
                }
            }

            /// What it is about.
            pub const fn about(self) -> About {
                match self {
                    $(Self::$operation => About::$about,)+
                }
            }
        }
    };
}

policy! {
    // MCP. What is not in the table (a method that does not exist) needs what `Mcp` needs.
    /// To be let in at `/mcp` at all.
    Mcp = "mcp", [GraphRead], Everyone;
    /// The handshake of the older revisions.
    McpInitialize = "mcp.initialize", [GraphRead], Everyone;
    /// The handshake of the stateless revision.
    McpDiscover = "mcp.server/discover", [GraphRead], Everyone;
    /// Whether somebody is there.
    McpPing = "mcp.ping", [GraphRead], Everyone;
    /// The tools that this principal may call.
    McpToolsList = "mcp.tools/list", [GraphRead], Everyone;
    /// What is at risk.
    McpWhatsAtRisk = "mcp.tools/call:sync_whats_at_risk", [GraphRead], Repository;
    /// What a call site depends on.
    McpExplainCallSite = "mcp.tools/call:sync_explain_call_site", [GraphRead], Repository;
    /// What a vendor changed.
    McpWhatsChanged = "mcp.tools/call:sync_whats_changed", [GraphRead], Repository;
    /// Which repositories there are.
    McpRepositories = "mcp.tools/call:sync_repositories", [GraphRead], Repository;
    /// Which prompts there are.
    McpPromptsList = "mcp.prompts/list", [GraphRead], Everyone;
    /// The prompt that reviews a change.
    McpReviewChange = "mcp.prompts/get:sync_review_change", [GraphRead], Everyone;
    /// The prompt that plans an upgrade.
    McpUpgradePlan = "mcp.prompts/get:sync_upgrade_plan", [GraphRead], Everyone;
    /// Which feeds there are.
    McpResourcesList = "mcp.resources/list", [GraphRead], Everyone;
    /// How addresses of feeds look.
    McpTemplatesList = "mcp.resources/templates/list", [GraphRead], Everyone;
    /// One vendor's feed.
    McpFeed = "mcp.resources/read:sync://feed", [GraphRead], Everyone;
    /// Completion of a vendor, a repository or a path.
    McpComplete = "mcp.completion/complete", [GraphRead], Repository;

    // REST.
    /// The organization of the credential.
    GetOrganization = "rest.get_organization", [GraphRead | SourcesWrite | AuditRead | Admin], Organization;
    /// Changes what the organization says of itself; only an owner may.
    ChangeOrganization = "rest.change_organization", [Admin], Organization;
    /// Who asked what.
    ListAuditEvents = "rest.list_audit_events", [AuditRead], Organization;
    /// The audit log as a file.
    ExportAuditLog = "rest.export_audit_log", [AuditRead], Organization;
    /// Proof of one row of it.
    ProveAuditEvent = "rest.prove_audit_event", [AuditRead], Organization;
    /// Who is a member.
    ListMembers = "rest.list_members", [Admin], Organization;
    /// Makes a service principal.
    CreateMember = "rest.create_member", [Admin], Organization;
    /// One member.
    GetMember = "rest.get_member", [Admin], Organization;
    /// Changes a member's name, role, reach, or whether it is let in.
    ChangeMember = "rest.change_member", [Admin], Organization;
    /// Who reads what.
    ListGrants = "rest.list_grants", [Admin], Organization;
    /// Lets a member read a repository.
    PutGrant = "rest.put_grant", [Admin], Repository;
    /// Takes a grant back.
    DeleteGrant = "rest.delete_grant", [Admin], Repository;
    /// Which tokens there are.
    ListTokens = "rest.list_tokens", [Admin], Organization;
    /// Makes a token.
    CreateToken = "rest.create_token", [Admin], Organization;
    /// Puts another token in the place of one.
    RotateToken = "rest.rotate_token", [Admin], Organization;
    /// Revokes a token.
    RevokeToken = "rest.revoke_token", [Admin], Organization;
    /// Which issuers are trusted.
    ListIssuers = "rest.list_issuers", [Admin], Organization;
    /// Trusts an issuer.
    CreateIssuer = "rest.create_issuer", [Admin], Organization;
    /// Trusts an issuer no longer.
    DeleteIssuer = "rest.delete_issuer", [Admin], Organization;
    /// What was used, and what the plan allows.
    GetUsage = "rest.get_usage", [GraphRead | SourcesWrite | AuditRead | Admin], Organization;

    // REST, the provider group.
    /// What this provider of code intelligence can do.
    GetProvider = "rest.get_provider", [GraphRead | SourcesWrite | AuditRead | Admin], Everyone;
    /// Which sources there are.
    ListSources = "rest.list_sources", [GraphRead | SourcesWrite], Repository;
    /// Registers a source.
    RegisterSource = "rest.register_source", [SourcesWrite], Organization;
    /// How a source is.
    GetSource = "rest.get_source", [GraphRead | SourcesWrite], Repository;
    /// Changes what is followed of a source.
    ChangeSource = "rest.change_source", [SourcesWrite], Repository;
    /// Brings a ref of a source up to date.
    RefreshSource = "rest.refresh_source", [SourcesWrite], Repository;
    /// Allows to fetch a source's code, or takes that back.
    PutConsent = "rest.put_consent", [SourcesWrite], Repository;
    /// Stores what a source is fetched with.
    PutCredential = "rest.put_credential", [SourcesWrite], Repository;
    /// Forgets what a source is fetched with.
    DeleteCredential = "rest.delete_credential", [SourcesWrite], Repository;
    /// Makes the endpoint of a source's webhook, or another secret for it.
    PutWebhook = "rest.put_webhook", [SourcesWrite], Repository;
    /// Forgets the endpoint of a source's webhook.
    DeleteWebhook = "rest.delete_webhook", [SourcesWrite], Repository;
    /// Declined: this provider reads repositories and takes no single documents.
    AddDocuments = "rest.add_documents", [SourcesWrite], Everyone;
    /// What a job is doing.
    GetJob = "rest.get_job", [GraphRead | SourcesWrite], Repository;
    /// Takes a job back.
    CancelJob = "rest.cancel_job", [SourcesWrite], Repository;
    /// Stores a snapshot that was made elsewhere.
    UploadSnapshot = "rest.upload_snapshot", [SourcesWrite], Repository;
    /// Erases a source with all that is known of it.
    DeleteSource = "rest.delete_source", [SourcesWrite], Repository;
}

impl Operation {
    /// The operation of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.name() == name)
    }

    /// The operation behind a message of MCP: its method and, where the method has parts, which tool, resource or
    /// prompt. What is not in the table is [`Operation::Mcp`].
    pub fn of_mcp(door: &str, question: Option<&str>) -> Self {
        let of_question = || {
            let question = question?;
            Self::ALL.iter().copied().find(|operation| {
                let rest = operation.name().strip_prefix(door).and_then(|rest| rest.strip_prefix(':'));
                rest == Some(question)
            })
        };
        of_question().or_else(|| Self::named(door)).unwrap_or(Self::Mcp)
    }

    /// Whether it settles something about a source that outlasts the call: what is fetched, with what, on whose word. A
    /// member with the role ingest, whose token lies in a pipeline, sends what is new and settles nothing.
    pub const fn settles(self) -> bool {
        matches!(
            self,
            Self::RegisterSource
                | Self::ChangeSource
                | Self::PutConsent
                | Self::PutCredential
                | Self::DeleteCredential
                | Self::PutWebhook
                | Self::DeleteWebhook
                | Self::DeleteSource
        )
    }

    /// The operationId of a REST operation; nothing for one of MCP.
    pub fn rest_id(self) -> Option<&'static str> {
        self.name().strip_prefix("rest.")
    }
}

/// Why a principal may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// The credential lacks this scope; one that has it would do.
    Scope(Scope),
    /// The credential has the scope, but no credential of a member with this role may use it.
    Role(Role, Scope),
    /// The scope would do, but not for a member with this role: it settles nothing.
    Settles(Role, Scope),
}

impl Denied {
    /// The scope that is missing, or may not be used.
    pub const fn scope(self) -> Scope {
        match self {
            Self::Scope(scope) | Self::Role(_, scope) | Self::Settles(_, scope) => scope,
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scope(scope) => write!(f, "the credential lacks the scope {scope}"),
            Self::Role(role, scope) => write!(f, "a member with the role {role} may not use the scope {scope}"),
            Self::Settles(role, _) => write!(f, "a member with the role {role} sends what is new and settles nothing"),
        }
    }
}

/// Whether the principal may ask this at all. Which rows it then sees is row security's and the grants' part.
pub fn decide(principal: &Principal, operation: Operation) -> Result<(), Denied> {
    let scopes = operation.scopes();
    if let Some(scope) = scopes.iter().copied().find(|scope| principal.has(*scope)) {
        let may_not = principal.role == Role::Ingest && operation.settles();
        return if may_not { Err(Denied::Settles(principal.role, scope)) } else { Ok(()) };
    }
    let unused = scopes.iter().copied().find(|scope| principal.scopes.contains(scope));
    match (unused, scopes) {
        (Some(scope), _) => Err(Denied::Role(principal.role, scope)),
        (None, [first, ..]) => Err(Denied::Scope(*first)),
        // No row of the table is without a scope.
        (None, []) => Err(Denied::Scope(Scope::Admin)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ids::OrganizationId;

    fn with(role: Role, scopes: &[Scope]) -> Principal {
        Principal {
            role,
            scopes: scopes.iter().copied().collect(),
            ..Principal::service(OrganizationId::from_uuid(uuid::Uuid::nil()), "test")
        }
    }

    #[test]
    fn names_are_unique_and_every_row_has_a_scope() {
        let names: BTreeSet<&str> = Operation::ALL.iter().map(|operation| operation.name()).collect();
        assert_eq!(names.len(), Operation::ALL.len());
        assert!(Operation::ALL.iter().all(|operation| !operation.scopes().is_empty()));
        assert!(names.iter().all(|name| name.starts_with("rest.") || name.starts_with("mcp")));
    }

    #[test]
    fn any_of_the_scopes_suffices_and_what_lacks_is_said() {
        let operation = Operation::GetOrganization;
        for scope in operation.scopes() {
            assert_eq!(decide(&with(Role::Owner, &[*scope]), operation), Ok(()), "{scope}");
        }
        assert_eq!(
            decide(&with(Role::Owner, &[Scope::TelemetryWrite]), operation),
            Err(Denied::Scope(Scope::GraphRead))
        );
        let told = decide(&with(Role::Auditor, &[Scope::GraphRead]), Operation::McpRepositories).unwrap_err();
        assert_eq!(told, Denied::Role(Role::Auditor, Scope::GraphRead));
        assert!(told.to_string().contains("auditor"));
    }

    #[test]
    fn who_sends_only_settles_nothing() {
        let pipeline = with(Role::Ingest, &Scope::ALL);
        for operation in [Operation::DeleteSource, Operation::PutConsent, Operation::RegisterSource] {
            let told = decide(&pipeline, operation).unwrap_err();
            assert_eq!(told, Denied::Settles(Role::Ingest, Scope::SourcesWrite));
            assert!(told.to_string().contains("ingest"));
            assert_eq!(decide(&with(Role::Member, &[Scope::SourcesWrite]), operation), Ok(()));
        }
        assert_eq!(decide(&pipeline, Operation::RefreshSource), Ok(()));
        assert_eq!(decide(&pipeline, Operation::GetJob), Ok(()));
    }

    #[test]
    fn messages_find_their_row() {
        let of = |door, question| Operation::of_mcp(door, question);
        assert_eq!(of("mcp.tools/call", Some("sync_repositories")), Operation::McpRepositories);
        assert_eq!(of("mcp.resources/read", Some("sync://feed")), Operation::McpFeed);
        assert_eq!(of("mcp.tools/call", Some("unknown")), Operation::Mcp);
        assert_eq!(of("mcp.ping", None), Operation::McpPing);
        assert_eq!(of("mcp.unknown_method", None), Operation::Mcp);
        assert_eq!(Operation::GetOrganization.rest_id(), Some("get_organization"));
    }
}
