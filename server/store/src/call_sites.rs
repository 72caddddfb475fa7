//! Call sites: the rows that SQL searches, and whole ones for the join.

use sync_core::graph::{CallSite, Client, Context};
use sync_core::operation::Operation;
use sync_core::rung::BindingSource;

use crate::error::StoreError;
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

impl Tx {
    /// Call sites that span the line, innermost first.
    pub async fn call_sites_at(
        &mut self,
        index: &Index,
        path: &str,
        line: u32,
    ) -> Result<Vec<CallSiteRow>, StoreError> {
        let _ = (index, path, line);
        Err(crate::tx::pending())
    }

    /// The call sites of a file nearest to a line, nearest first, at most `limit`.
    pub async fn nearest_call_sites(
        &mut self,
        index: &Index,
        path: &str,
        line: u32,
        limit: u32,
    ) -> Result<Vec<CallSiteRow>, StoreError> {
        let _ = (index, path, line, limit);
        Err(crate::tx::pending())
    }

    /// Every call site of a file, in source order.
    pub async fn call_sites_of(&mut self, index: &Index, path: &str) -> Result<Vec<CallSiteRow>, StoreError> {
        let _ = (index, path);
        Err(crate::tx::pending())
    }

    /// How many call sites meet the filter.
    pub async fn count_call_sites(
        &mut self,
        index: &Index,
        filter: &CallSiteFilter,
    ) -> Result<CallSiteCounts, StoreError> {
        let _ = (index, filter);
        Err(crate::tx::pending())
    }

    /// Which operations of a vendor are called, sorted.
    pub async fn operations_used(&mut self, index: &Index, vendor: &str) -> Result<Vec<OperationUse>, StoreError> {
        let _ = (index, vendor);
        Err(crate::tx::pending())
    }

    /// Every call site of an index, whole, by path and position.
    pub async fn indexed_sites(&mut self, index: &Index) -> Result<Vec<IndexedSite>, StoreError> {
        let _ = index;
        Err(crate::tx::pending())
    }
}
