//! Small lookups that answers need beside pages: several changes at once, those of an operation, paths that call.

use sync_core::change::VendorChange;
use sync_core::ids::ChangeId;

use crate::error::StoreError;
use crate::indexes::Index;
use crate::tx::Tx;

impl Tx {
    /// Those of the changes that are in a feed, in no order.
    pub async fn changes_by_id(&mut self, ids: &[ChangeId]) -> Result<Vec<VendorChange>, StoreError> {
        let _ = ids;
        Err(crate::tx::pending())
    }

    /// The changes of a vendor's operation (in its erased form), newest first, at most `limit`, and how many there are.
    pub async fn changes_of_operation(
        &mut self,
        vendor: &str,
        operation_erased: &str,
        limit: u32,
    ) -> Result<(Vec<VendorChange>, u64), StoreError> {
        let _ = (vendor, operation_erased, limit);
        Err(crate::tx::pending())
    }

    /// The operations (in their erased form) that the changes of these groups are about, each once a group.
    pub async fn operations_of_groups(
        &mut self,
        vendor: &str,
        groups: &[String],
    ) -> Result<Vec<(String, String)>, StoreError> {
        let _ = (vendor, groups);
        Err(crate::tx::pending())
    }

    /// Paths of files with call sites that begin with a text, sorted, at most `limit`.
    pub async fn calling_paths(&mut self, index: &Index, prefix: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        let _ = (index, prefix, limit);
        Err(crate::tx::pending())
    }
}
