//! Call sites: the rows that SQL searches, and whole ones for the join.

use std::collections::BTreeMap;

use sqlx::{FromRow, Postgres, QueryBuilder};
use sync_core::graph::{CallSite, Client, Context};
use sync_core::operation::Operation;
use sync_core::rung::BindingSource;

use crate::convert::{below, binding_source, context, count, small, stored};
use crate::error::StoreError;
use crate::facts::{CallSitesOfFile, decode};
use crate::indexes::Index;
use crate::tx::Tx;

/// A call site as its row says; [`CallSiteRow::ordinal`] finds the whole one in its file's facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSiteRow {
    /// Path of its file.
    pub path: String,
    /// Position in [`sync_core::graph::FileFacts::call_sites`] of that file.
    pub ordinal: u32,
    /// First line.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// Column of the first line, in UTF-16 units from 1.
    pub column: u32,
    /// Enclosing symbol; empty at module level.
    pub symbol: String,
    /// Chain as written.
    pub chain: String,
    /// Vendor id.
    pub vendor: String,
    /// The operation, where it is provable.
    pub operation: Option<Operation>,
    /// The rung, as the row says, which may be above what the snapshot claimed.
    pub binding_source: BindingSource,
    /// Product code or test.
    pub context: Context,
}

/// Which call sites are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallSiteFilter {
    /// A file, or a folder with everything below it.
    pub path: Option<String>,
    /// Vendor id.
    pub vendor: Option<String>,
    /// Tests, stories, mocks and fixtures too.
    pub include_tests: bool,
}

/// How many call sites there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallSiteCounts {
    /// All.
    pub call_sites: u64,
    /// Those whose operation is known.
    pub mapped: u64,
    /// By rung, as the rows say, sorted by word.
    pub by_binding_source: Vec<(BindingSource, u64)>,
    /// By vendor, sorted.
    pub by_vendor: Vec<(String, u64)>,
}

/// A call site with its path, its client and the rung of its row: what the join takes.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedSite {
    /// Path of its file.
    pub path: String,
    /// The call, as the snapshot had it.
    pub call: CallSite,
    /// Its client.
    pub client: Option<Client>,
    /// The rung, as the row says.
    pub binding_source: BindingSource,
}

/// How often an operation is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationUse {
    /// [`Operation::erased`].
    pub operation_erased: String,
    /// How many call sites in product code.
    pub call_sites: u64,
}

/// The columns of [`CallSiteColumns`] from call sites `c` of the files `p` of an index: ref key is $1, sequence number
/// $2, path $3.
macro_rules! select_call_sites {
    ($rest:literal) => {
        concat!(
            "SELECT p.path, c.ordinal, c.line, c.end_line, c.start_column, c.symbol, c.chain, c.vendor, c.operation,
                    c.binding_source, c.context
             FROM sync.ref_paths p
             CROSS JOIN LATERAL (SELECT * FROM sync.call_sites s WHERE s.file_key = p.file_key OFFSET 0) c
             WHERE p.ref_key = $1 AND p.from_seq <= $2 AND p.to_seq > $2 AND p.call_sites > 0 AND p.path = $3 ",
            $rest
        )
    };
}

impl Tx {
    /// Call sites that span the line, innermost first.
    pub async fn call_sites_at(
        &mut self,
        index: &Index,
        path: &str,
        line: u32,
    ) -> Result<Vec<CallSiteRow>, StoreError> {
        let rows: Vec<CallSiteColumns> = sqlx::query_as(select_call_sites!(
            "AND c.line <= $4 AND c.end_line >= $4
             ORDER BY c.end_line - c.line, c.line DESC, c.start_column DESC, c.ordinal"
        ))
        .bind(index.ref_key)
        .bind(index.seq)
        .bind(path)
        .bind(stored(line))
        .fetch_all(self.connection())
        .await?;
        rows.into_iter().map(CallSiteColumns::read).collect()
    }

    /// The call sites of a file nearest to a line, nearest first, at most `limit`.
    pub async fn nearest_call_sites(
        &mut self,
        index: &Index,
        path: &str,
        line: u32,
        limit: u32,
    ) -> Result<Vec<CallSiteRow>, StoreError> {
        let rows: Vec<CallSiteColumns> = sqlx::query_as(select_call_sites!(
            "ORDER BY CASE WHEN c.line <= $4 AND c.end_line >= $4 THEN 0
                           ELSE least(abs(c.line::bigint - $4), abs(c.end_line::bigint - $4)) END,
                      c.line, c.start_column, c.ordinal
             LIMIT $5"
        ))
        .bind(index.ref_key)
        .bind(index.seq)
        .bind(path)
        .bind(stored(line))
        .bind(i64::from(limit))
        .fetch_all(self.connection())
        .await?;
        rows.into_iter().map(CallSiteColumns::read).collect()
    }

    /// Every call site of a file, in source order.
    pub async fn call_sites_of(&mut self, index: &Index, path: &str) -> Result<Vec<CallSiteRow>, StoreError> {
        let rows: Vec<CallSiteColumns> =
            sqlx::query_as(select_call_sites!("ORDER BY c.line, c.start_column, c.ordinal"))
                .bind(index.ref_key)
                .bind(index.seq)
                .bind(path)
                .fetch_all(self.connection())
                .await?;
        rows.into_iter().map(CallSiteColumns::read).collect()
    }

    /// How many call sites meet the filter.
    pub async fn count_call_sites(
        &mut self,
        index: &Index,
        filter: &CallSiteFilter,
    ) -> Result<CallSiteCounts, StoreError> {
        let mut query: QueryBuilder<Postgres> = QueryBuilder::new(
            "SELECT n.vendor, n.binding_source, sum(n.call_sites), sum(n.mapped)
             FROM sync.ref_paths p
             CROSS JOIN LATERAL (SELECT * FROM sync.call_counts c WHERE c.file_key = p.file_key OFFSET 0) n
             WHERE p.call_sites > 0 AND p.ref_key = ",
        );
        query.push_bind(index.ref_key);
        query.push(" AND p.from_seq <= ").push_bind(index.seq).push(" AND p.to_seq > ").push_bind(index.seq);
        if let Some(path) = &filter.path {
            push_path(&mut query, "p.path", path);
        }
        if let Some(vendor) = &filter.vendor {
            query.push(" AND n.vendor = ").push_bind(vendor);
        }
        if !filter.include_tests {
            query.push(" AND n.context = 'code'");
        }
        query.push(" GROUP BY n.vendor, n.binding_source ORDER BY n.vendor, n.binding_source");
        let rows: Vec<(String, String, i64, i64)> = query.build_query_as().fetch_all(self.connection()).await?;
        CallSiteCounts::of(&rows)
    }

    /// Which operations of a vendor are called in product code, sorted.
    pub async fn operations_used(&mut self, index: &Index, vendor: &str) -> Result<Vec<OperationUse>, StoreError> {
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "SELECT c.operation_erased, count(*)
             FROM sync.ref_paths p
             CROSS JOIN LATERAL (SELECT s.operation_erased FROM sync.call_sites s
                                 WHERE s.file_key = p.file_key AND s.vendor = $3 AND s.context = 'code'
                                   AND s.operation_erased IS NOT NULL
                                 OFFSET 0) c
             WHERE p.ref_key = $1 AND p.from_seq <= $2 AND p.to_seq > $2 AND p.call_sites > 0
             GROUP BY c.operation_erased ORDER BY c.operation_erased",
        )
        .bind(index.ref_key)
        .bind(index.seq)
        .bind(vendor)
        .fetch_all(self.connection())
        .await?;
        Ok(rows
            .into_iter()
            .map(|(operation_erased, n)| OperationUse { operation_erased, call_sites: count(n) })
            .collect())
    }

    /// Every call site of an index, whole, by path and position.
    pub async fn indexed_sites(&mut self, index: &Index) -> Result<Vec<IndexedSite>, StoreError> {
        let clients: BTreeMap<String, Client> =
            self.clients(index).await?.into_iter().map(|client| (client.id.clone(), client)).collect();
        let rows: Vec<(String, Vec<u8>, Vec<String>)> = sqlx::query_as(
            "SELECT p.path, f.body,
                    ARRAY(SELECT c.binding_source FROM sync.call_sites c
                          WHERE c.organization_id = p.organization_id AND c.file_key = p.file_key
                          ORDER BY c.ordinal)
             FROM sync.ref_paths p
             JOIN sync.facts f ON f.organization_id = p.organization_id AND f.file_key = p.file_key
             WHERE p.ref_key = $1 AND p.from_seq <= $2 AND p.to_seq > $2 AND p.call_sites > 0
             ORDER BY p.path",
        )
        .bind(index.ref_key)
        .bind(index.seq)
        .fetch_all(self.connection())
        .await?;
        let mut sites = Vec::new();
        for (path, body, sources) in rows {
            let facts: CallSitesOfFile = decode(&body)?;
            if facts.call_sites.len() != sources.len() {
                return Err(StoreError::unreadable("call sites", "their number differs from the facts"));
            }
            for (call, source) in facts.call_sites.into_iter().zip(sources) {
                let client = call.client.as_ref().and_then(|id| clients.get(id)).cloned();
                sites.push(IndexedSite { path: path.clone(), call, client, binding_source: binding_source(&source)? });
            }
        }
        Ok(sites)
    }
}

/// Adds `AND <column>` is the path or below it; the empty path is the root.
pub(crate) fn push_path(query: &mut QueryBuilder<Postgres>, column: &'static str, path: &str) {
    let path = path.trim_end_matches('/');
    if path.is_empty() {
        return;
    }
    let (first, end) = below(path);
    query.push(" AND (").push(column).push(" = ").push_bind(path.to_owned());
    query.push(" OR (").push(column).push(" >= ").push_bind(first);
    query.push(" AND ").push(column).push(" < ").push_bind(end).push("))");
}

impl CallSiteCounts {
    /// From (vendor, rung, all, mapped).
    fn of(rows: &[(String, String, i64, i64)]) -> Result<Self, StoreError> {
        let mut counts = Self::default();
        let mut vendors = BTreeMap::new();
        let mut rungs = BTreeMap::new();
        for (vendor, rung, all, mapped) in rows {
            counts.call_sites += count(*all);
            counts.mapped += count(*mapped);
            *vendors.entry(vendor.clone()).or_insert(0) += count(*all);
            *rungs.entry(rung.clone()).or_insert(0) += count(*all);
        }
        counts.by_vendor = vendors.into_iter().collect();
        counts.by_binding_source =
            rungs.into_iter().map(|(rung, n)| Ok((binding_source(&rung)?, n))).collect::<Result<_, StoreError>>()?;
        Ok(counts)
    }
}

#[derive(FromRow)]
struct CallSiteColumns {
    path: String,
    ordinal: i32,
    line: i32,
    end_line: i32,
    start_column: i32,
    symbol: String,
    chain: String,
    vendor: String,
    operation: Option<String>,
    binding_source: String,
    context: String,
}

impl CallSiteColumns {
    fn read(self) -> Result<CallSiteRow, StoreError> {
        Ok(CallSiteRow {
            path: self.path,
            ordinal: small(self.ordinal),
            line: small(self.line),
            end_line: small(self.end_line),
            column: small(self.start_column),
            symbol: self.symbol,
            chain: self.chain,
            vendor: self.vendor,
            operation: self.operation.map(Operation::from_text),
            binding_source: binding_source(&self.binding_source)?,
            context: context(&self.context)?,
        })
    }
}
