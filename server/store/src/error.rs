//! What can go wrong between the service and its database.

/// Why a store call failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The row that was to be changed does not exist, or belongs to somebody else, which is the same.
    #[error("{0} was not found")]
    NotFound(String),
    /// A constraint refused the row; carries the constraint's name.
    #[error("the database refused the row: {0}")]
    Conflict(String),
    /// The database cannot be reached, is out of connections or too slow; worth another try.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// The store itself refuses: a rung that nothing established, a feed version that falls, a role that may bypass
    /// row security.
    #[error("{0}")]
    Refused(String),
    /// A statement or a stored value is wrong; trying again does not help.
    #[error("the store is at fault: {0}")]
    Bug(String),
}

impl StoreError {
    /// Whether the same call may succeed in a moment.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}
