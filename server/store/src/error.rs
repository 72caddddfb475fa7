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
    /// The organization has what its plan allows.
    #[error("the limit {limit} of the plan {plan} is reached: {allowed}")]
    OverLimit {
        /// Which limit: `sources`, `call_sites`, `issuers`.
        limit: &'static str,
        /// What it allows.
        allowed: u64,
        /// The plan whose limit it is.
        plan: String,
    },
    /// A statement or a stored value is wrong; trying again does not help.
    #[error("the store is at fault: {0}")]
    Bug(String),
}

impl StoreError {
    /// Whether the same call may succeed in a moment.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// A stored value that this build cannot read.
    pub(crate) fn unreadable(what: &str, error: impl std::fmt::Display) -> Self {
        Self::Bug(format!("stored {what} cannot be read: {error}"))
    }
}

/// SQLSTATEs outside class 08 (connection) and 53 (resources) that another try may cure: a cancelled statement
/// (57014), a server that stops or starts (57P01–57P05), a serialization failure (40001), a deadlock (40P01), a lock
/// that was not granted (55P03), an idle transaction that was ended (25P03).
const TRANSIENT: [&str; 10] =
    ["57014", "57P01", "57P02", "57P03", "57P04", "57P05", "40001", "40P01", "55P03", "25P03"];

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or_default();
                if code.starts_with("23") {
                    Self::Conflict(database.constraint().unwrap_or("a value is missing").to_owned())
                } else if code.starts_with("08") || code.starts_with("53") || TRANSIENT.contains(&&*code) {
                    Self::Unavailable(database.message().to_owned())
                } else {
                    Self::Bug(format!("{} ({code})", database.message()))
                }
            }
            sqlx::Error::PoolTimedOut => Self::Unavailable("no connection became free in time".to_owned()),
            sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::BeginFailed => Self::Unavailable(error.to_string()),
            _ => Self::Bug(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_try_may_cure_is_unavailable() {
        assert!(StoreError::from(sqlx::Error::PoolTimedOut).is_unavailable());
        assert!(StoreError::from(sqlx::Error::PoolClosed).is_unavailable());
        assert!(!StoreError::from(sqlx::Error::RowNotFound).is_unavailable());
    }
}
