//! The composition root: everything a request needs, put together once.

use std::collections::BTreeSet;
use std::sync::Arc;

use sync_core::clock::Clock;
use sync_core::cursor::CursorKey;
use sync_ingest::catalog::Catalog;
use sync_store::Store;
use tokio_util::task::TaskTracker;

use crate::answers::{Answers, InProcess};
use crate::audit::Auditor;
use crate::audit::refusals::Refusals;
use crate::config::{Config, ConfigError};
use crate::gates::Gates;
use crate::http::limits::Limits;
use crate::http::names::Names;
use crate::http::uploads::Uploads;
use crate::identity::Authenticator;
use crate::identity::advertised::Advertised;
use crate::identity::issuers::Issuers;
use crate::identity::plans::Plans;
use crate::keys::Keys;
use crate::secrets::KeyRing;
use crate::usage::Usage;
use crate::webhooks::EndpointAddress;
use crate::webhooks::large::Large;
use crate::webhooks::tally::Tally;

/// The service, ready to be served.
pub struct App {
    /// What is configured.
    pub config: Config,
    /// The origin under which clients reach the service, without a trailing slash.
    pub public_url: String,
    /// The database.
    pub store: Store,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// The audit log.
    pub auditor: Auditor,
    /// Who asks.
    pub authenticator: Authenticator,
    /// Issuers that clients are told about.
    pub advertised: Advertised,
    /// Where answers come from.
    pub answers: Arc<dyn Answers>,
    /// Seals page cursors.
    pub cursors: CursorKey,
    /// Encrypts and opens stored secrets.
    pub secrets: KeyRing,
    /// Names under which the service may be addressed.
    pub names: Names,
    /// Refusals of no organization.
    pub refusals: Refusals,
    /// How much may be asked.
    pub limits: Limits,
    /// Deliveries of forges.
    pub deliveries: Tally,
    /// Whose turn it is at each of their endpoints.
    pub gates: Gates<EndpointAddress>,
    /// Their large ones.
    pub large: Large,
    /// Snapshots that are being received and stored.
    pub uploads: Uploads,
    /// What each organization's plan allows.
    pub plans: Plans,
    /// How much each organization uses.
    pub usage: Usage,
    /// Work that outlives the connection it came by.
    pub work: TaskTracker,
}

/// Why the service cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The configuration does not stand.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The built-in catalog is damaged.
    #[error("the built-in catalog cannot be read: {0}; next: install this release again")]
    Catalog(String),
}

impl App {
    /// The service as it is run: it answers from the store of this process.
    pub fn in_process(config: Config, store: Store, clock: Arc<dyn Clock>) -> Result<Arc<Self>, AppError> {
        let catalog = Catalog::embedded().map_err(|error| AppError::Catalog(error.to_string()))?;
        let vendors: BTreeSet<String> = catalog.vendors().map(|vendor| vendor.id.clone()).collect();
        let app = Self::new(config, store, clock, |auditor, cursors| {
            Arc::new(InProcess::new(auditor, cursors, vendors)) as Arc<dyn Answers>
        })?;
        Ok(app)
    }

    /// Puts the service together. `answers` makes the answers' side out of the audit door and the cursors' key.
    pub fn new(
        config: Config,
        store: Store,
        clock: Arc<dyn Clock>,
        answers: impl FnOnce(Auditor, CursorKey) -> Arc<dyn Answers>,
    ) -> Result<Arc<Self>, ConfigError> {
        let keys = Keys::derive(config.secret_key()?);
        let issuers = Issuers::read(&config, clock.clone()).map_err(|reason| ConfigError::Bad {
            key: "issuers".to_owned(),
            origin: "configuration".to_owned(),
            reason,
        })?;
        let auditor = Auditor::new(store.clone(), clock.clone(), keys.clone());
        let public_url = config.public_url();
        let advertised = issuers.configured().map(str::to_owned).collect();
        Ok(Arc::new(Self {
            advertised: Advertised::new(store.clone(), clock.clone(), advertised),
            answers: answers(auditor.clone(), keys.cursors()),
            authenticator: Authenticator::new(store.clone(), clock.clone(), issuers),
            cursors: keys.cursors(),
            secrets: config.key_ring()?,
            names: Names::of(&config),
            refusals: Refusals::new(clock.clone()),
            limits: Limits::new(clock.clone(), config.quotas()),
            deliveries: Tally::new(clock.clone()),
            gates: Gates::default(),
            large: Large::default(),
            uploads: Uploads::default(),
            plans: Plans::new(store.clone(), clock.clone()),
            usage: Usage::new(clock.clone()),
            work: TaskTracker::new(),
            config,
            public_url,
            store,
            clock,
            auditor,
        }))
    }
}
