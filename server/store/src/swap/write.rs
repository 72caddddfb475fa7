//! The rows of a swap.

use std::collections::HashMap;

use sync_core::graph::{FileFacts, Header, PartialReason, Skipped};
use sync_core::ids::RepositoryId;
use time::OffsetDateTime;
use uuid::Uuid;

use super::LockedRef;
use super::columns::{CallCountArrays, CallSiteArrays, length};
use super::incoming::Held;
use crate::convert::{stored, stored_count, text};
use crate::error::StoreError;
use crate::facts::encode;
use crate::indexes::IndexCounts;
use crate::tx::Tx;

/// A file that differs from what the ref holds.
struct Differing {
    facts: FileFacts,
    hash: Vec<u8>,
    /// Whether no ref and no kept commit of the repository has these facts.
    is_new: bool,
}

impl Tx {
    /// Makes the ref where it is new, and reads it. The repository is locked, so nobody else moves it.
    pub(super) async fn lock_ref(&mut self, repository: RepositoryId, name: &str) -> Result<LockedRef, StoreError> {
        sqlx::query("INSERT INTO sync.refs (repository_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(repository.uuid())
            .bind(name)
            .execute(self.connection())
            .await?;
        let (key, seq, id, hash): (i64, i64, Option<Uuid>, Option<Vec<u8>>) = sqlx::query_as(
            "SELECT f.ref_key, f.seq, i.id, i.content_hash
             FROM sync.refs f
             LEFT JOIN sync.indexes i ON i.organization_id = f.organization_id AND i.id = f.current_index
             WHERE f.repository_id = $1 AND f.name = $2",
        )
        .bind(repository.uuid())
        .bind(name)
        .fetch_one(self.connection())
        .await?;
        Ok(LockedRef { key, seq, current: id.zip(hash) })
    }

    pub(super) async fn current_paths(&mut self, ref_key: i64) -> Result<HashMap<String, Held>, StoreError> {
        let rows: Vec<(String, Option<Vec<u8>>, Option<String>)> = sqlx::query_as(
            "SELECT path, facts_hash, skipped FROM sync.ref_paths
             WHERE ref_key = $1 AND to_seq = 9223372036854775807",
        )
        .bind(ref_key)
        .fetch_all(self.connection())
        .await?;
        Ok(rows
            .into_iter()
            .map(|(path, hash, skipped)| {
                (path, hash.map_or_else(|| Held::Skipped(skipped.unwrap_or_default()), Held::Facts))
            })
            .collect())
    }

    pub(super) async fn end_paths(&mut self, ref_key: i64, seq: i64, paths: &[String]) -> Result<(), StoreError> {
        if paths.is_empty() {
            return Ok(());
        }
        sqlx::query(
            "UPDATE sync.ref_paths SET to_seq = $2
             WHERE ref_key = $1 AND to_seq = 9223372036854775807 AND path = ANY ($3)",
        )
        .bind(ref_key)
        .bind(seq)
        .bind(paths)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub(super) async fn write_files(
        &mut self,
        repository: RepositoryId,
        ref_key: i64,
        seq: i64,
        files: Vec<FileFacts>,
    ) -> Result<(), StoreError> {
        if files.is_empty() {
            return Ok(());
        }
        let hashes = files.iter().map(facts_hash).collect::<Result<Vec<_>, _>>()?;
        let mut keys = self.keys_of_facts(repository, &hashes).await?;
        let files: Vec<Differing> = files
            .into_iter()
            .zip(hashes)
            .map(|(facts, hash)| Differing { is_new: !keys.contains_key(&hash), facts, hash })
            .collect();
        let (files, bodies) = encoded(files).await?;
        let new: Vec<&Differing> = files.iter().filter(|file| file.is_new).collect();
        if !new.is_empty() {
            let inserted = self.write_facts(repository, &new, bodies).await?;
            self.write_call_sites(&new, &inserted).await?;
            self.write_call_counts(&new, &inserted).await?;
            keys.extend(inserted);
        }
        self.write_paths(ref_key, seq, &files, &keys).await
    }

    async fn keys_of_facts(
        &mut self,
        repository: RepositoryId,
        hashes: &[Vec<u8>],
    ) -> Result<HashMap<Vec<u8>, i64>, StoreError> {
        let rows: Vec<(Vec<u8>, i64)> = sqlx::query_as(
            "SELECT facts_hash, file_key FROM sync.facts WHERE repository_id = $1 AND facts_hash = ANY ($2)",
        )
        .bind(repository.uuid())
        .bind(hashes)
        .fetch_all(self.connection())
        .await?;
        Ok(rows.into_iter().collect())
    }

    async fn write_facts(
        &mut self,
        repository: RepositoryId,
        new: &[&Differing],
        bodies: Vec<Vec<u8>>,
    ) -> Result<HashMap<Vec<u8>, i64>, StoreError> {
        let rows: Vec<(Vec<u8>, i64)> = sqlx::query_as(
            "INSERT INTO sync.facts (repository_id, facts_hash, body)
             SELECT $1, u.facts_hash, u.body FROM unnest($2::bytea[], $3::bytea[]) AS u (facts_hash, body)
             RETURNING facts_hash, file_key",
        )
        .bind(repository.uuid())
        .bind(new.iter().map(|file| &file.hash[..]).collect::<Vec<_>>())
        .bind(bodies)
        .fetch_all(self.connection())
        .await?;
        Ok(rows.into_iter().collect())
    }

    async fn write_call_sites(&mut self, new: &[&Differing], keys: &HashMap<Vec<u8>, i64>) -> Result<(), StoreError> {
        let mut columns = CallSiteArrays::default();
        for file in new {
            columns.add(key_of(keys, &file.hash)?, &file.facts);
        }
        sqlx::query(
            "INSERT INTO sync.call_sites
                 (file_key, ordinal, line, end_line, start_column, symbol, chain, vendor, operation,
                  operation_erased, binding_source, context)
             SELECT * FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::integer[], $5::integer[],
                                  $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
                                  $12::text[])",
        )
        .bind(columns.file_key)
        .bind(columns.ordinal)
        .bind(columns.line)
        .bind(columns.end_line)
        .bind(columns.start_column)
        .bind(columns.symbol)
        .bind(columns.chain)
        .bind(columns.vendor)
        .bind(columns.operation)
        .bind(columns.operation_erased)
        .bind(columns.binding_source)
        .bind(columns.context)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn write_call_counts(&mut self, new: &[&Differing], keys: &HashMap<Vec<u8>, i64>) -> Result<(), StoreError> {
        let mut columns = CallCountArrays::default();
        for file in new {
            columns.add(key_of(keys, &file.hash)?, &file.facts);
        }
        sqlx::query(
            "INSERT INTO sync.call_counts (file_key, ordinal, vendor, binding_source, context, call_sites, mapped)
             SELECT * FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::integer[],
                                  $7::integer[])",
        )
        .bind(columns.file_key)
        .bind(columns.ordinal)
        .bind(columns.vendor)
        .bind(columns.binding_source)
        .bind(columns.context)
        .bind(columns.call_sites)
        .bind(columns.mapped)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn write_paths(
        &mut self,
        ref_key: i64,
        seq: i64,
        files: &[Differing],
        keys: &HashMap<Vec<u8>, i64>,
    ) -> Result<(), StoreError> {
        let file_keys = files.iter().map(|file| key_of(keys, &file.hash)).collect::<Result<Vec<_>, _>>()?;
        sqlx::query(
            "INSERT INTO sync.ref_paths
                 (ref_key, from_seq, path, file_key, facts_hash, language, bytes, lines, call_sites)
             SELECT $1, $2, u.* FROM unnest($3::text[], $4::bigint[], $5::bytea[], $6::text[], $7::bigint[],
                                            $8::integer[], $9::integer[]) AS u",
        )
        .bind(ref_key)
        .bind(seq)
        .bind(files.iter().map(|file| file.facts.path.as_str()).collect::<Vec<_>>())
        .bind(file_keys)
        .bind(files.iter().map(|file| &file.hash[..]).collect::<Vec<_>>())
        .bind(files.iter().map(|file| text(&file.facts.language).into_owned()).collect::<Vec<_>>())
        .bind(files.iter().map(|file| stored_count(file.facts.bytes)).collect::<Vec<_>>())
        .bind(files.iter().map(|file| stored(file.facts.lines)).collect::<Vec<_>>())
        .bind(files.iter().map(|file| length(file.facts.call_sites.len())).collect::<Vec<_>>())
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub(super) async fn write_skipped(
        &mut self,
        ref_key: i64,
        seq: i64,
        skipped: &[Skipped],
    ) -> Result<(), StoreError> {
        if skipped.is_empty() {
            return Ok(());
        }
        sqlx::query(
            "INSERT INTO sync.ref_paths (ref_key, from_seq, path, skipped, bytes, lines, call_sites)
             SELECT $1, $2, u.path, u.reason, 0, 0, 0 FROM unnest($3::text[], $4::text[]) AS u (path, reason)",
        )
        .bind(ref_key)
        .bind(seq)
        .bind(skipped.iter().map(|skipped| skipped.path.as_str()).collect::<Vec<_>>())
        .bind(skipped.iter().map(|skipped| text(&skipped.reason).into_owned()).collect::<Vec<_>>())
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub(super) async fn write_index(
        &mut self,
        repository: RepositoryId,
        (ref_key, seq): (i64, i64),
        index_id: Uuid,
        content_hash: &[u8; 32],
        header: &Header,
        counts: &IndexCounts,
    ) -> Result<(), StoreError> {
        let json = |error: serde_json::Error| StoreError::Bug(format!("a snapshot's header: {error}"));
        sqlx::query(
            "INSERT INTO sync.indexes
                 (id, repository_id, ref_key, seq, content_hash, analyzer, catalog, gate, partial, partial_reasons,
                  files, skipped, symbols, edges, unresolved, call_sites, reason_counts)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::json, $11, $12, $13, $14, $15, $16, $17::json)",
        )
        .bind(index_id)
        .bind(repository.uuid())
        .bind(ref_key)
        .bind(seq)
        .bind(&content_hash[..])
        .bind(text(&header.analyzer))
        .bind(text(&header.catalog))
        .bind(text(&header.gate))
        .bind(header.partial)
        .bind(serde_json::to_string(&header.partial_reasons).map_err(json)?)
        .bind(stored_count(counts.files))
        .bind(stored_count(counts.skipped))
        .bind(stored_count(counts.symbols))
        .bind(stored_count(counts.edges))
        .bind(stored_count(counts.unresolved))
        .bind(stored_count(counts.call_sites))
        .bind(serde_json::to_string(&without_files(&header.partial_reasons)).map_err(json)?)
        .execute(self.connection())
        .await?;
        let bodies = header.clients.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>().map_err(json)?;
        sqlx::query(
            "INSERT INTO sync.clients (index_id, client_id, body)
             SELECT $1, u.client_id, u.body::json FROM unnest($2::text[], $3::text[]) AS u (client_id, body)",
        )
        .bind(index_id)
        .bind(header.clients.iter().map(|client| client.id.as_str()).collect::<Vec<_>>())
        .bind(bodies)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub(super) async fn point_ref_at(
        &mut self,
        ref_key: i64,
        index_id: Uuid,
        seq: i64,
        commit: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE sync.refs SET current_index = $2, seq = $3, commit_id = $4, indexed_at = $5,
                                  head_commit = nullif(head_commit, $4),
                                  committed_at = CASE WHEN commit_id = $4 THEN committed_at END
             WHERE ref_key = $1",
        )
        .bind(ref_key)
        .bind(index_id)
        .bind(seq)
        .bind(commit)
        .bind(now)
        .execute(self.connection())
        .await?;
        if let Some(commit) = commit {
            sqlx::query(
                "INSERT INTO sync.indexed_commits (ref_key, commit_id, index_id, indexed_at) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (organization_id, ref_key, commit_id)
                 DO UPDATE SET index_id = excluded.index_id, indexed_at = excluded.indexed_at",
            )
            .bind(ref_key)
            .bind(commit)
            .bind(index_id)
            .bind(now)
            .execute(self.connection())
            .await?;
        }
        Ok(())
    }
}

/// What answers say of the reasons.
fn without_files(reasons: &[PartialReason]) -> Vec<PartialReason> {
    let short = |reason: &PartialReason| PartialReason {
        reason: reason.reason.clone(),
        count: reason.count,
        files: Vec::new(),
        limit: None,
    };
    reasons.iter().map(short).collect()
}

/// The files, and what is stored of those that are new. Compressing takes longer than anything that answers may wait for a
/// thread.
async fn encoded(files: Vec<Differing>) -> Result<(Vec<Differing>, Vec<Vec<u8>>), StoreError> {
    let encoding = tokio::task::spawn_blocking(move || {
        let bodies = files.iter().filter(|file| file.is_new).map(|file| encode(&file.facts)).collect::<Result<_, _>>();
        (files, bodies)
    });
    let (files, bodies) = encoding.await.map_err(|error| StoreError::Bug(format!("facts of files: {error}")))?;
    Ok((files, bodies?))
}

fn facts_hash(file: &FileFacts) -> Result<Vec<u8>, StoreError> {
    match hex::decode(&file.facts_hash) {
        Ok(hash) if hash.len() == 32 => Ok(hash),
        _ => Err(StoreError::Refused(format!(
            "the facts of `{}` are not sealed; next: write the snapshot with `sync-ingest index`",
            sync_core::text::shown(&file.path, 200)
        ))),
    }
}

fn key_of(keys: &HashMap<Vec<u8>, i64>, hash: &[u8]) -> Result<i64, StoreError> {
    keys.get(hash).copied().ok_or_else(|| StoreError::Bug("facts that were just written have no key".to_owned()))
}
