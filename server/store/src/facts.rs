//! Facts of one file, as the snapshot's line carried them, and what is known of a path.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sqlx::FromRow;
use sync_core::graph::{CallSite, FileFacts, Symbol};

use crate::convert::{below, count, small};
use crate::error::StoreError;
use crate::indexes::Index;
use crate::tx::Tx;

/// What an index knows of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathState {
    /// A file with facts.
    File(FileRow),
    /// A folder that holds files with facts.
    Folder {
        /// How many, at any depth.
        files: u64,
        /// Call sites in them.
        call_sites: u64,
    },
    /// Not read: the skipped path (the file itself or a folder above it) and why.
    Skipped {
        /// As recorded; a folder ends in `/`.
        path: String,
        /// `hidden`, `vendored`, `ignored`, ….
        reason: String,
    },
    /// Not in the index.
    Absent,
}

/// Sizes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Its path.
    pub path: String,
    /// Size.
    pub bytes: u64,
    /// Number of lines.
    pub lines: u32,
    /// Its language.
    pub language: String,
    /// Call sites in it.
    pub call_sites: u64,
}

/// Where a symbol stands in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolLine {
    /// As asked: `path#qualified#ordinal`.
    pub target: String,
    /// Its file.
    pub path: String,
    /// Its first line.
    pub line: u32,
}

/// A statement over `p`, the rows of the paths `$2` of the ref `$1` as they are at `$3`.
///
/// Several paths are asked for one by one (LATERAL … OFFSET 0) and not with `= ANY` or a join: on a table that is not
/// analyzed yet, as after a first import, the planner makes a filter of those and reads every path of the ref.
macro_rules! of_paths {
    ($columns:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM unnest($2::text[]) AS asked (path)
              CROSS JOIN LATERAL (SELECT * FROM sync.ref_paths r
                                  WHERE r.ref_key = $1 AND r.path = asked.path AND r.from_seq <= $3 AND r.to_seq > $3
                                  OFFSET 0) p ",
            $rest
        )
    };
}

/// The same of one path, `$2`, without a function in FROM: a statement that has one is planned anew each time, which
/// takes longer than to run it.
macro_rules! of_path {
    ($columns:literal, $join:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM sync.ref_paths p ",
            $join,
            " WHERE p.ref_key = $1 AND p.path = $2 AND p.from_seq <= $3 AND p.to_seq > $3 AND p.file_key IS NOT NULL"
        )
    };
}

impl Tx {
    /// The facts of a file in an index.
    pub async fn file(&mut self, index: &Index, path: &str) -> Result<Option<FileFacts>, StoreError> {
        Ok(self.files(index, &[path.to_owned()]).await?.pop())
    }

    /// The call site at a position of a file, whole, and the size of the file in bytes. Of its file's facts nothing but the
    /// call sites is read.
    pub async fn call_site(
        &mut self,
        index: &Index,
        path: &str,
        ordinal: u32,
    ) -> Result<Option<(CallSite, u64)>, StoreError> {
        let row: Option<(Vec<u8>, i64)> = sqlx::query_as(of_path!(
            "f.body, p.bytes",
            "CROSS JOIN LATERAL (SELECT * FROM sync.facts s WHERE s.file_key = p.file_key OFFSET 0) f"
        ))
        .bind(index.ref_key)
        .bind(path)
        .bind(index.seq)
        .fetch_optional(self.connection())
        .await?;
        let Some((body, bytes)) = row else { return Ok(None) };
        let facts: CallSitesOfFile = decode(&body)?;
        Ok(facts.call_sites.into_iter().nth(ordinal as usize).map(|call| (call, count(bytes))))
    }

    /// The size of a file in bytes, where the path is a file of the index.
    pub async fn file_bytes(&mut self, index: &Index, path: &str) -> Result<Option<u64>, StoreError> {
        let bytes: Option<i64> = sqlx::query_scalar(of_path!("p.bytes", ""))
            .bind(index.ref_key)
            .bind(path)
            .bind(index.seq)
            .fetch_optional(self.connection())
            .await?;
        Ok(bytes.map(count))
    }

    /// What an index knows of a path; a trailing `/` is ignored, the empty path is the root.
    pub async fn path_state(&mut self, index: &Index, path: &str) -> Result<PathState, StoreError> {
        let path = path.trim_end_matches('/');
        let exact: Vec<PathColumns> = sqlx::query_as(of_paths!(
            "p.path, p.skipped, coalesce(p.language, '') AS language, p.bytes, p.lines, p.call_sites",
            "ORDER BY p.path"
        ))
        .bind(index.ref_key)
        .bind(path_and_folders_above(path))
        .bind(index.seq)
        .fetch_all(self.connection())
        .await?;
        if let Some(row) = exact.iter().find(|row| row.path == path && row.skipped.is_none()) {
            return Ok(PathState::File(row.read()));
        }
        let (files, call_sites) = self.count_below(index, path).await?;
        if files > 0 {
            return Ok(PathState::Folder { files, call_sites });
        }
        // The nearest skipped path says why: paths sort from the root down.
        match exact.into_iter().rev().find_map(|row| row.skipped.map(|reason| (row.path, reason))) {
            Some((path, reason)) => Ok(PathState::Skipped { path, reason }),
            None => Ok(PathState::Absent),
        }
    }

    /// Sizes of those paths that are files of the index, by path.
    pub async fn file_rows(&mut self, index: &Index, paths: &[String]) -> Result<Vec<FileRow>, StoreError> {
        let rows: Vec<PathColumns> = sqlx::query_as(of_paths!(
            "p.path, p.skipped, coalesce(p.language, '') AS language, p.bytes, p.lines, p.call_sites",
            "WHERE p.file_key IS NOT NULL ORDER BY p.path"
        ))
        .bind(index.ref_key)
        .bind(paths)
        .bind(index.seq)
        .fetch_all(self.connection())
        .await?;
        Ok(rows.iter().map(PathColumns::read).collect())
    }

    /// The lines of `path#qualified#ordinal` targets of this index, in the order asked; a target that is not there is
    /// left out. A target without a symbol (`path##0`) is line 1 of its file.
    pub async fn symbol_lines(&mut self, index: &Index, targets: &[String]) -> Result<Vec<SymbolLine>, StoreError> {
        let asked: Vec<(&String, Target<'_>)> =
            targets.iter().filter_map(|target| Some((target, Target::parse(target)?))).collect();
        let paths: BTreeSet<String> = asked.iter().map(|(_, target)| target.path.to_owned()).collect();
        let paths: Vec<String> = paths.into_iter().collect();
        let files: Vec<SymbolsOfFile> = self.files(index, &paths).await?;
        let files: BTreeMap<&str, &[Symbol]> = files.iter().map(|file| (&file.path[..], &file.symbols[..])).collect();
        Ok(asked
            .into_iter()
            .filter_map(|(text, target)| {
                let line = target.line_in(files.get(target.path)?)?;
                Some(SymbolLine { target: text.clone(), path: target.path.to_owned(), line })
            })
            .collect())
    }

    /// The facts of files, or that part of them which `T` names: what it does not name is passed over.
    async fn files<T: DeserializeOwned>(&mut self, index: &Index, paths: &[String]) -> Result<Vec<T>, StoreError> {
        let query = match paths {
            [path] => sqlx::query_scalar(of_path!(
                "f.body",
                "CROSS JOIN LATERAL (SELECT * FROM sync.facts s WHERE s.file_key = p.file_key OFFSET 0) f"
            ))
            .bind(index.ref_key)
            .bind(path),
            paths => sqlx::query_scalar(of_paths!(
                "f.body",
                "JOIN sync.facts f ON f.organization_id = p.organization_id AND f.file_key = p.file_key
                     ORDER BY p.path"
            ))
            .bind(index.ref_key)
            .bind(paths),
        };
        let bodies: Vec<Vec<u8>> = query.bind(index.seq).fetch_all(self.connection()).await?;
        bodies.iter().map(|body| decode(body)).collect()
    }

    async fn count_below(&mut self, index: &Index, folder: &str) -> Result<(u64, u64), StoreError> {
        if folder.is_empty() {
            return Ok((index.counts.files, index.counts.call_sites));
        }
        let (first, end) = below(folder);
        let (files, call_sites): (i64, i64) = sqlx::query_as(
            "SELECT count(*), coalesce(sum(call_sites), 0)::bigint
             FROM sync.ref_paths
             WHERE ref_key = $1 AND path >= $2 AND path < $3 AND from_seq <= $4 AND to_seq > $4
               AND file_key IS NOT NULL",
        )
        .bind(index.ref_key)
        .bind(first)
        .bind(end)
        .bind(index.seq)
        .fetch_one(self.connection())
        .await?;
        Ok((count(files), count(call_sites)))
    }
}

/// `a/b/c.ts` gives itself, `a/b/c.ts/` (a skipped folder of that name), `a/b/` and `a/`.
fn path_and_folders_above(path: &str) -> Vec<String> {
    let mut paths = vec![path.to_owned(), format!("{path}/")];
    paths.extend(path.match_indices('/').map(|(at, _)| path[..=at].to_owned()));
    paths
}

/// A symbol named from another file.
struct Target<'a> {
    path: &'a str,
    qualified: &'a str,
    ordinal: u32,
}

impl<'a> Target<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (rest, ordinal) = text.rsplit_once('#')?;
        let (path, qualified) = rest.rsplit_once('#')?;
        Some(Self { path, qualified, ordinal: ordinal.parse().ok()? })
    }

    fn line_in(&self, symbols: &[Symbol]) -> Option<u32> {
        if self.qualified.is_empty() {
            return Some(1);
        }
        symbols.iter().find(|s| s.qualified == self.qualified && s.ordinal == self.ordinal).map(|s| s.line)
    }
}

/// Facts as they are stored: the line's JSON, compressed.
pub(crate) fn encode(file: &FileFacts) -> Result<Vec<u8>, StoreError> {
    let json = serde_json::to_vec(file).map_err(|error| StoreError::Bug(format!("facts of a file: {error}")))?;
    zstd::encode_all(&json[..], COMPRESSION).map_err(|error| StoreError::Bug(format!("facts of a file: {error}")))
}

/// zstd's own default: a third of the time of the levels that save another tenth.
const COMPRESSION: i32 = 3;

/// The part of facts that a call site is read from.
#[derive(Deserialize)]
pub(crate) struct CallSitesOfFile {
    pub(crate) call_sites: Vec<CallSite>,
}

/// The part of facts that a symbol is looked up in.
#[derive(Deserialize)]
struct SymbolsOfFile {
    path: String,
    symbols: Vec<Symbol>,
}

/// Reads facts, or a part of them, as [`encode`] wrote them.
pub(crate) fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, StoreError> {
    let json = zstd::decode_all(body).map_err(|error| StoreError::unreadable("facts", error))?;
    serde_json::from_slice(&json).map_err(|error| StoreError::unreadable("facts", error))
}

#[derive(FromRow)]
struct PathColumns {
    path: String,
    skipped: Option<String>,
    language: String,
    bytes: i64,
    lines: i32,
    call_sites: i32,
}

impl PathColumns {
    fn read(&self) -> FileRow {
        FileRow {
            path: self.path.clone(),
            bytes: count(self.bytes),
            lines: small(self.lines),
            language: self.language.clone(),
            call_sites: u64::from(small(self.call_sites)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_above_a_path_is_looked_at() {
        assert_eq!(path_and_folders_above("a/b/c.ts"), ["a/b/c.ts", "a/b/c.ts/", "a/", "a/b/"]);
    }

    #[test]
    fn a_target_may_have_hashes_in_its_path() {
        let target = Target::parse("src/c#/a.ts#Billing.charge#1").unwrap();
        assert_eq!((target.path, target.qualified, target.ordinal), ("src/c#/a.ts", "Billing.charge", 1));
        assert_eq!(Target::parse("src/a.ts##0").unwrap().qualified, "");
        assert!(Target::parse("src/a.ts").is_none() && Target::parse("a#b#c").is_none());
    }
}
