//! The only crate that says SQL.
//!
//! There is no pool to hold: work happens in a transaction of an organization ([`Store::begin`], [`Store::begin_write`]),
//! of an organization that is still being authenticated ([`Store::authenticate`]), or of no organization at all
//! ([`Store::system`]). The worker's maintenance of the audit log has a role and a door of its own ([`Maintenance`]).
//! Each ends with `commit(self)`; dropped without it, nothing of it happened.

mod audit;
mod audit_log;
mod call_sites;
mod connections;
mod convert;
mod erase;
mod error;
mod facts;
mod feed;
mod findings;
mod grants;
mod idempotency;
mod indexes;
mod issuers;
mod job_tickets;
mod jobs;
mod lookups;
mod maintenance;
mod members;
mod migrate;
mod organizations;
mod plans;
mod pool;
mod refs;
mod repositories;
mod seals;
mod secrets;
mod swap;
mod tokens;
mod tx;
mod webhooks;

pub use audit::{AuditEvent, AuditOutcome, Outcome, Protocol, Refusal};
pub use audit_log::{AuditFilter, AuditOrder, LoggedEvent};
pub use call_sites::{CallSiteCounts, CallSiteFilter, CallSiteRow, IndexedSite, OperationUse};
pub use error::StoreError;
pub use facts::{FileRow, PathState, SymbolLine};
pub use feed::{Adoption, ChangePage, ChangeRow, FeedRow, FeedSource, JoinedFeed, Since, VerifiedFeed};
pub use findings::{FindingFilter, FindingPosition, FindingRow, SummaryRow};
pub use grants::{GrantFilter, GrantRow};
pub use idempotency::RememberedAnswer;
pub use indexes::{Index, IndexCounts};
pub use issuers::{IssuerRow, MAX_ISSUERS, RoutedIssuer};
pub use job_tickets::{JobListener, JobProblem, JobReport, Requeued, Ticket};
pub use jobs::{Enqueued, Job, JobCause, JobKind, JobState, NewJob};
pub use maintenance::{HeadDestination, Maintenance, MaintenanceTx};
pub use members::{Member, MemberChange, MemberRow, NewMember};
pub use migrate::{Passwords, create_database, migrate, pending_migrations};
pub use organizations::{Organization, OrganizationState};
pub use plans::{Holdings, Plan, Used};
pub use pool::{PoolOptions, Store};
pub use refs::{RefOrigin, RefRow};
pub use repositories::{Gate, NewRepository, Repository, RepositoryState, SourceSettings};
pub use seals::Unsealed;
pub use secrets::{SealedSecret, SecretPurpose, SecretRow};
pub use swap::{SOURCE_IS_BUSY, SnapshotLine, Swap};
pub use tokens::{LIVE_TOKENS_A_NAME, NewToken, TokenInfo, TokenRow};
pub use tx::{AuthTx, SystemTx, Tx};
pub use webhooks::{Forge, WebhookDoor, WebhookEndpoint, previous_secret_name};
