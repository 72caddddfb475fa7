//! What changes answered to holders of an `Idempotency-Key`.

use sqlx::FromRow;
use time::OffsetDateTime;

use crate::error::StoreError;
use crate::tx::Tx;

/// The most answers that are forgotten beside one that is remembered: old ones go as fast as new ones come.
const FORGOTTEN_AT_ONCE: i64 = 100;

/// What was answered under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedAnswer {
    /// Keyed digest of the operation and its arguments.
    pub request_digest: [u8; 32],
    /// HTTP status.
    pub status: u16,
    /// The JSON body; absent where there was none, or where it held a secret.
    pub body: Option<Vec<u8>>,
    /// The id of what was made, where the body held a secret.
    pub created_id: Option<String>,
}

impl Tx {
    /// Holds a key until the end of this transaction; false where another transaction holds it.
    pub async fn hold_idempotency_key(&mut self, key_hash: &[u8; 32]) -> Result<bool, StoreError> {
        let mut number = [0; 8];
        number.copy_from_slice(&key_hash[..8]);
        Ok(sqlx::query_scalar("SELECT pg_try_advisory_xact_lock($1)")
            .bind(i64::from_be_bytes(number))
            .fetch_one(self.connection())
            .await?)
    }

    /// What was answered under a key since that instant.
    pub async fn remembered_answer(
        &mut self,
        key_hash: &[u8; 32],
        since: OffsetDateTime,
    ) -> Result<Option<RememberedAnswer>, StoreError> {
        let row: Option<Row> = sqlx::query_as(
            "SELECT request_digest, status, body, created_id FROM sync.idempotency_keys
             WHERE key_hash = $1 AND created_at > $2",
        )
        .bind(&key_hash[..])
        .bind(since)
        .fetch_optional(self.connection())
        .await?;
        row.map(Row::read).transpose()
    }

    /// Remembers what is answered under a key, in place of what was answered under it before `since`; other keys' answers
    /// of before are forgotten along with it.
    pub async fn remember_answer(
        &mut self,
        key_hash: &[u8; 32],
        answer: &RememberedAnswer,
        since: OffsetDateTime,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM sync.idempotency_keys WHERE created_at <= $2 AND (key_hash = $1 OR key_hash IN
                 (SELECT key_hash FROM sync.idempotency_keys WHERE created_at <= $2
                  ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED))",
        )
        .bind(&key_hash[..])
        .bind(since)
        .bind(FORGOTTEN_AT_ONCE)
        .execute(self.connection())
        .await?;
        sqlx::query(
            "INSERT INTO sync.idempotency_keys (key_hash, request_digest, created_at, status, body, created_id)
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(&key_hash[..])
        .bind(&answer.request_digest[..])
        .bind(now)
        .bind(i16::try_from(answer.status).unwrap_or(200))
        .bind(answer.body.as_deref())
        .bind(answer.created_id.as_deref())
        .execute(self.connection())
        .await?;
        Ok(())
    }
}

#[derive(FromRow)]
struct Row {
    request_digest: Vec<u8>,
    status: i16,
    body: Option<Vec<u8>>,
    created_id: Option<String>,
}

impl Row {
    fn read(self) -> Result<RememberedAnswer, StoreError> {
        let unreadable = |what: &str| StoreError::unreadable("answer", what);
        Ok(RememberedAnswer {
            request_digest: self.request_digest.try_into().map_err(|_| unreadable("length of the digest"))?,
            status: u16::try_from(self.status).map_err(|_| unreadable("status"))?,
            body: self.body,
            created_id: self.created_id,
        })
    }
}
