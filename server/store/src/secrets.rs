//! Secrets of an organization, encrypted: the store only ever sees ciphertext.

use sqlx::FromRow;
use time::OffsetDateTime;

use crate::error::StoreError;
use crate::tx::Tx;

/// What a secret is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretPurpose {
    /// To read a repository.
    RepositoryCredential,
    /// To check who sent a webhook.
    WebhookSecret,
}

impl SecretPurpose {
    /// Every purpose.
    pub const ALL: [Self; 2] = [Self::RepositoryCredential, Self::WebhookSecret];

    /// The word used in rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RepositoryCredential => "repository_credential",
            Self::WebhookSecret => "webhook_secret",
        }
    }
}

/// A secret as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecret {
    /// Which key it is encrypted with.
    pub key_id: String,
    /// Used once with that key.
    pub nonce: [u8; 12],
    /// With its tag.
    pub ciphertext: Vec<u8>,
}

/// A secret and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRow {
    /// What it is for.
    pub purpose: SecretPurpose,
    /// Whose it is: a repository's or an endpoint's id.
    pub name: String,
    /// What is stored.
    pub sealed: SealedSecret,
}

impl Tx {
    /// Stores a secret in the place of the one of that purpose and name.
    pub async fn put_secret(
        &mut self,
        purpose: SecretPurpose,
        name: &str,
        sealed: &SealedSecret,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sync.secrets (purpose, name, key_id, nonce, ciphertext, created_at, changed_at)
             VALUES ($1, $2, $3, $4, $5, $6, $6)
             ON CONFLICT (organization_id, purpose, name) DO UPDATE
             SET key_id = excluded.key_id, nonce = excluded.nonce, ciphertext = excluded.ciphertext,
                 changed_at = excluded.changed_at",
        )
        .bind(purpose.as_str())
        .bind(name)
        .bind(&sealed.key_id)
        .bind(&sealed.nonce[..])
        .bind(&sealed.ciphertext)
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// The secret of that purpose and name.
    pub async fn secret(&mut self, purpose: SecretPurpose, name: &str) -> Result<Option<SealedSecret>, StoreError> {
        let row: Option<Row> = sqlx::query_as(
            "SELECT purpose, name, key_id, nonce, ciphertext FROM sync.secrets WHERE purpose = $1 AND name = $2",
        )
        .bind(purpose.as_str())
        .bind(name)
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map(Row::read).transpose()?.map(|row| row.sealed))
    }

    /// Since when the secret of that purpose and name is as it is.
    pub async fn secret_changed_at(
        &mut self,
        purpose: SecretPurpose,
        name: &str,
    ) -> Result<Option<OffsetDateTime>, StoreError> {
        let at = sqlx::query_scalar("SELECT changed_at FROM sync.secrets WHERE purpose = $1 AND name = $2")
            .bind(purpose.as_str())
            .bind(name)
            .fetch_optional(self.connection())
            .await?;
        Ok(at)
    }

    /// Forgets a secret; whether there was one.
    pub async fn delete_secret(&mut self, purpose: SecretPurpose, name: &str) -> Result<bool, StoreError> {
        let gone = sqlx::query("DELETE FROM sync.secrets WHERE purpose = $1 AND name = $2")
            .bind(purpose.as_str())
            .bind(name)
            .execute(self.connection())
            .await?;
        Ok(gone.rows_affected() > 0)
    }

    /// At most `limit` secrets that are encrypted with another key than this, locked until the transaction ends.
    pub async fn secrets_of_other_keys(&mut self, key_id: &str, limit: u32) -> Result<Vec<SecretRow>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT purpose, name, key_id, nonce, ciphertext FROM sync.secrets WHERE key_id <> $1
             ORDER BY purpose, name LIMIT $2 FOR UPDATE",
        )
        .bind(key_id)
        .bind(i64::from(limit))
        .fetch_all(self.connection())
        .await?;
        rows.into_iter().map(Row::read).collect()
    }
}

#[derive(FromRow)]
struct Row {
    purpose: String,
    name: String,
    key_id: String,
    nonce: Vec<u8>,
    ciphertext: Vec<u8>,
}

impl Row {
    fn read(self) -> Result<SecretRow, StoreError> {
        let purpose = SecretPurpose::ALL.into_iter().find(|purpose| purpose.as_str() == self.purpose);
        Ok(SecretRow {
            purpose: purpose.ok_or_else(|| StoreError::unreadable("purpose of a secret", &self.purpose))?,
            name: self.name,
            sealed: SealedSecret {
                key_id: self.key_id,
                nonce: self.nonce.try_into().map_err(|_| StoreError::unreadable("secret", "length of the nonce"))?,
                ciphertext: self.ciphertext,
            },
        })
    }
}
