//! Where forges send word of a push: endpoints of sources, and the deliveries that queued a job.
//!
//! A delivery is remembered in the transaction that queues its job and in no other: one whose first try failed is taken
//! when it comes again, and one that comes twice finds the job of the first.

use sync_core::ids::{JobId, RepositoryId, WebhookId};
use time::OffsetDateTime;

use sqlx::FromRow;
use uuid::Uuid;

use crate::error::StoreError;
use crate::secrets::{SealedSecret, SecretPurpose};
use crate::tx::{AuthTx, Tx};

/// Which forge speaks, and so how it signs and what it says. Words only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Forge {
    /// GitHub, also on a server of one's own.
    Github,
    /// GitLab, also on a server of one's own.
    Gitlab,
    /// Gitea.
    Gitea,
    /// Forgejo, as at Codeberg.
    Forgejo,
    /// Bitbucket.
    Bitbucket,
}

impl Forge {
    /// Every forge.
    pub const ALL: [Self; 5] = [Self::Github, Self::Gitlab, Self::Gitea, Self::Forgejo, Self::Bitbucket];

    /// The word used in rows, addresses and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Gitlab => "gitlab",
            Self::Gitea => "gitea",
            Self::Forgejo => "forgejo",
            Self::Bitbucket => "bitbucket",
        }
    }

    /// The forge of that word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|forge| forge.as_str() == word)
    }
}

/// Where one source's deliveries go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookEndpoint {
    /// Its id.
    pub id: WebhookId,
    /// Of which source.
    pub repository: RepositoryId,
    /// Who delivers.
    pub forge: Forge,
    /// Since when it is.
    pub created_at: OffsetDateTime,
    /// Until when the secret before the present one is taken too.
    pub previous_until: Option<OffsetDateTime>,
    /// When a delivery with a good signature came last.
    pub last_delivery_at: Option<OffsetDateTime>,
    /// What it said.
    pub last_event: Option<String>,
    /// What was wrong with the last delivery that was not taken; absent once one is.
    pub last_problem: Option<String>,
}

/// An endpoint with what its deliveries are checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDoor {
    /// The endpoint.
    pub endpoint: WebhookEndpoint,
    /// The secret in force.
    pub secret: Option<SealedSecret>,
    /// The one before it.
    pub previous: Option<SealedSecret>,
    /// Whether its organization is served.
    pub organization_active: bool,
}

/// Under which name the secret before the present one is kept.
pub fn previous_secret_name(id: WebhookId) -> String {
    format!("{id}/previous")
}

/// Columns of [`EndpointColumns`], before a WHERE.
macro_rules! select_endpoint {
    ($rest:literal) => {
        concat!(
            "SELECT w.id, w.repository_id, w.provider, w.created_at, w.previous_until, w.last_delivery_at, w.last_event,
                    w.last_problem
             FROM sync.webhook_endpoints w ",
            $rest
        )
    };
}

impl Tx {
    /// The endpoint of a source that may be read.
    pub async fn webhook_of(&mut self, repository: RepositoryId) -> Result<Option<WebhookEndpoint>, StoreError> {
        let readable = self.readable_ids();
        sqlx::query_as(select_endpoint!(
            "WHERE w.repository_id = $1 AND ($2::uuid[] IS NULL OR w.repository_id = ANY ($2))"
        ))
        .bind(repository.uuid())
        .bind(readable)
        .fetch_optional(self.connection())
        .await?
        .map(EndpointColumns::read)
        .transpose()
    }

    /// Makes the endpoint of a source, or says of the one that is there who delivers, and until when the secret before
    /// its present one is taken.
    pub async fn put_webhook(
        &mut self,
        id: WebhookId,
        repository: RepositoryId,
        forge: Forge,
        previous_until: Option<OffsetDateTime>,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sync.webhook_endpoints (id, repository_id, provider, previous_until, created_at)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (organization_id, repository_id)
             DO UPDATE SET provider = excluded.provider, previous_until = excluded.previous_until, last_problem = NULL",
        )
        .bind(id.uuid())
        .bind(repository.uuid())
        .bind(forge.as_str())
        .bind(previous_until)
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Forgets the endpoint of a source, with its secrets and deliveries; whether there was one.
    pub async fn forget_webhook(&mut self, repository: RepositoryId) -> Result<bool, StoreError> {
        let known: Option<Uuid> =
            sqlx::query_scalar("SELECT id FROM sync.webhook_endpoints WHERE repository_id = $1 FOR UPDATE")
                .bind(repository.uuid())
                .fetch_optional(self.connection())
                .await?;
        let Some(id) = known.map(WebhookId::from_uuid) else { return Ok(false) };
        sqlx::query("DELETE FROM sync.webhook_deliveries WHERE endpoint_id = $1")
            .bind(id.uuid())
            .execute(self.connection())
            .await?;
        for name in [id.to_string(), previous_secret_name(id)] {
            self.delete_secret(SecretPurpose::WebhookSecret, &name).await?;
        }
        sqlx::query("DELETE FROM sync.webhook_endpoints WHERE id = $1")
            .bind(id.uuid())
            .execute(self.connection())
            .await?;
        Ok(true)
    }

    /// Whether the endpoint is still there; until this transaction ends, no other delivery to it is worked on.
    pub async fn lock_webhook(&mut self, id: WebhookId) -> Result<bool, StoreError> {
        let known: Option<Uuid> =
            sqlx::query_scalar("SELECT id FROM sync.webhook_endpoints WHERE id = $1 FOR NO KEY UPDATE")
                .bind(id.uuid())
                .fetch_optional(self.connection())
                .await?;
        Ok(known.is_some())
    }

    /// The job that a delivery queued when it came before.
    pub async fn webhook_delivery(&mut self, id: WebhookId, key: &[u8; 32]) -> Result<Option<JobId>, StoreError> {
        let job: Option<Uuid> = sqlx::query_scalar(
            "SELECT job_id FROM sync.webhook_deliveries WHERE endpoint_id = $1 AND delivery_key = $2",
        )
        .bind(id.uuid())
        .bind(&key[..])
        .fetch_optional(self.connection())
        .await?;
        Ok(job.map(JobId::from_uuid))
    }

    /// Remembers which job a delivery queued.
    pub async fn remember_delivery(
        &mut self,
        id: WebhookId,
        key: &[u8; 32],
        job: JobId,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sync.webhook_deliveries (endpoint_id, delivery_key, job_id, received_at) VALUES ($1, $2, $3, $4)",
        )
        .bind(id.uuid())
        .bind(&key[..])
        .bind(job.uuid())
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Notes a delivery that was taken: what it said, and what of it somebody has to know.
    pub async fn note_delivery(
        &mut self,
        id: WebhookId,
        event: &str,
        problem: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE sync.webhook_endpoints SET last_delivery_at = $2, last_event = $3, last_problem = $4 WHERE id = $1",
        )
        .bind(id.uuid())
        .bind(now)
        .bind(sync_core::text::shown(&crate::convert::text(event), 100))
        .bind(problem.map(crate::jobs::said))
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Notes why a delivery was not taken.
    pub async fn note_refused_delivery(&mut self, id: WebhookId, problem: &str) -> Result<(), StoreError> {
        sqlx::query("UPDATE sync.webhook_endpoints SET last_problem = $2 WHERE id = $1")
            .bind(id.uuid())
            .bind(crate::jobs::said(problem))
            .execute(self.connection())
            .await?;
        Ok(())
    }
}

impl AuthTx {
    /// An endpoint with what its deliveries are checked against.
    pub async fn webhook(&mut self, id: WebhookId) -> Result<Option<WebhookDoor>, StoreError> {
        let row: Option<DoorColumns> = sqlx::query_as(
            "SELECT w.id, w.repository_id, w.provider, w.created_at, w.previous_until, w.last_delivery_at, w.last_event,
                    w.last_problem,
                    EXISTS (SELECT FROM routing.organizations o
                            WHERE o.id = w.organization_id AND o.state = 'active') AS organization_active,
                    s.key_id, s.nonce, s.ciphertext,
                    p.key_id AS previous_key_id, p.nonce AS previous_nonce, p.ciphertext AS previous_ciphertext
             FROM sync.webhook_endpoints w
             LEFT JOIN sync.secrets s
               ON s.organization_id = w.organization_id AND s.purpose = $2 AND s.name = $3
             LEFT JOIN sync.secrets p
               ON p.organization_id = w.organization_id AND p.purpose = $2 AND p.name = $4
             WHERE w.id = $1",
        )
        .bind(id.uuid())
        .bind(SecretPurpose::WebhookSecret.as_str())
        .bind(id.to_string())
        .bind(previous_secret_name(id))
        .fetch_optional(self.connection())
        .await?;
        row.map(DoorColumns::read).transpose()
    }
}

#[derive(FromRow)]
struct EndpointColumns {
    id: Uuid,
    repository_id: Uuid,
    provider: String,
    created_at: OffsetDateTime,
    previous_until: Option<OffsetDateTime>,
    last_delivery_at: Option<OffsetDateTime>,
    last_event: Option<String>,
    last_problem: Option<String>,
}

impl EndpointColumns {
    fn read(self) -> Result<WebhookEndpoint, StoreError> {
        Ok(WebhookEndpoint {
            id: WebhookId::from_uuid(self.id),
            repository: RepositoryId::from_uuid(self.repository_id),
            forge: Forge::named(&self.provider).ok_or_else(|| StoreError::unreadable("forge", &self.provider))?,
            created_at: self.created_at,
            previous_until: self.previous_until,
            last_delivery_at: self.last_delivery_at,
            last_event: self.last_event,
            last_problem: self.last_problem,
        })
    }
}

#[derive(FromRow)]
struct DoorColumns {
    #[sqlx(flatten)]
    endpoint: EndpointColumns,
    organization_active: bool,
    key_id: Option<String>,
    nonce: Option<Vec<u8>>,
    ciphertext: Option<Vec<u8>>,
    previous_key_id: Option<String>,
    previous_nonce: Option<Vec<u8>>,
    previous_ciphertext: Option<Vec<u8>>,
}

impl DoorColumns {
    fn read(self) -> Result<WebhookDoor, StoreError> {
        Ok(WebhookDoor {
            endpoint: self.endpoint.read()?,
            secret: sealed(self.key_id, self.nonce, self.ciphertext)?,
            previous: sealed(self.previous_key_id, self.previous_nonce, self.previous_ciphertext)?,
            organization_active: self.organization_active,
        })
    }
}

fn sealed(
    key_id: Option<String>,
    nonce: Option<Vec<u8>>,
    ciphertext: Option<Vec<u8>>,
) -> Result<Option<SealedSecret>, StoreError> {
    let (Some(key_id), Some(nonce), Some(ciphertext)) = (key_id, nonce, ciphertext) else { return Ok(None) };
    let nonce = nonce.try_into().map_err(|_| StoreError::unreadable("secret", "length of the nonce"))?;
    Ok(Some(SealedSecret { key_id, nonce, ciphertext }))
}
