//! Two organizations with the same shape, whose every private string carries a canary: a word that must never be seen
//! by the other.

use sync_core::ids::{OrganizationId, PrincipalId, RepositoryId};
use sync_core::principal::{Principal, PrincipalKind, Readable, Role, Scope};
use sync_store::{NewMember, NewRepository, Store, StoreError, Swap};

use crate::{NOW, facts};

/// One of the two.
#[derive(Debug, Clone)]
pub struct Canary {
    /// A member who reads everything.
    pub principal: Principal,
    /// Its one repository; both organizations name theirs `acme/billing`.
    pub repository: RepositoryId,
    /// In its paths, symbols, chains and versions, and nowhere else.
    pub canary: &'static str,
    /// The index of `main` at commit `aaaa…`.
    pub swap: Swap,
}

/// Both.
#[derive(Debug, Clone)]
pub struct TwoOrganizations {
    /// `alpha`.
    pub alpha: Canary,
    /// `beta`.
    pub beta: Canary,
}

impl TwoOrganizations {
    /// Makes both, each with a member, a repository and an index of one file with one call site.
    pub async fn create(store: &Store) -> Result<Self, StoreError> {
        Ok(Self {
            alpha: Canary::create(store, "alpha", "canary-alpha-5f3a").await?,
            beta: Canary::create(store, "beta", "canary-beta-91c7").await?,
        })
    }
}

impl Canary {
    async fn create(store: &Store, slug: &str, canary: &'static str) -> Result<Self, StoreError> {
        let organization = OrganizationId::at(NOW);
        let mut system = store.system("test").await?;
        system.create_organization(organization, slug, NOW).await?;
        system.commit().await?;

        let principal = Principal {
            organization,
            id: PrincipalId::at(NOW),
            name: format!("member-{canary}"),
            kind: PrincipalKind::User,
            role: Role::Owner,
            scopes: [Scope::GraphRead, Scope::SourcesWrite, Scope::AuditRead].into_iter().collect(),
            readable: Readable::All,
            credential_id: "test".to_owned(),
        };
        let repository = RepositoryId::at(NOW);
        let mut tx = store.begin_write(&principal).await?;
        let member = NewMember {
            id: principal.id,
            name: &principal.name,
            kind: principal.kind,
            role: principal.role,
            identity: None,
            reads_all: true,
        };
        tx.create_member(&member, NOW).await?;
        let registered = NewRepository {
            id: repository,
            name: "acme/billing",
            provider: None,
            clone_url: Some(&format!("https://git.example/{canary}")),
            default_branch: "main",
        };
        tx.register_repository(&registered, NOW).await?;
        let mut call = facts::call(&format!("charge_{canary}"), 6);
        call.chain = format!("{canary}.charges.create");
        let snapshot = facts::snapshot(
            &"a".repeat(40),
            vec![facts::client(&format!("2025-05-28.{canary}"))],
            vec![facts::file(&format!("src/{canary}.ts"), vec![call])],
        );
        let swap = facts::swap(&mut tx, repository, "main", &snapshot, NOW).await?;
        tx.commit().await?;
        Ok(Self { principal, repository, canary, swap })
    }
}
