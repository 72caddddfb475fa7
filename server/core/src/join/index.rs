//! Feeds prepared for the join: one hash lookup a call site.

use std::collections::HashMap;

use semver::Version;

use super::Site;
use crate::change::{Axis, ChangeKind, FeedVersion, VendorChange, VendorFeed};
use crate::ids::ChangeId;
use crate::operation::Operation;

/// Verified feeds, looked up by (vendor, erased operation) and by (package, last member of a chain).
#[derive(Debug)]
pub struct FeedIndex<'a> {
    by_operation: HashMap<&'a str, HashMap<String, Vec<&'a VendorChange>>>,
    by_chain: HashMap<&'a str, HashMap<&'a str, Vec<&'a VendorChange>>>,
    by_id: HashMap<&'a str, &'a VendorChange>,
    api: HashMap<&'a str, HashMap<&'a str, u32>>,
    sdk: HashMap<&'a str, HashMap<&'a str, Vec<SdkRelease<'a>>>>,
}

/// A version of an SDK package and the API version it sends when none is pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SdkRelease<'a> {
    pub(super) version: Version,
    pub(super) default_api: Option<&'a str>,
}

impl<'a> FeedIndex<'a> {
    /// Prepares feeds; `&feeds`, `feeds.iter()` and `feeds.iter().map(Arc::as_ref)` all do.
    pub fn new(feeds: impl IntoIterator<Item = &'a VendorFeed>) -> Self {
        let mut index = Self {
            by_operation: HashMap::new(),
            by_chain: HashMap::new(),
            by_id: HashMap::new(),
            api: HashMap::new(),
            sdk: HashMap::new(),
        };
        for feed in feeds {
            for version in &feed.versions {
                index.add_version(&feed.vendor, version);
            }
            for change in &feed.changes {
                index.add_change(change);
            }
        }
        for releases in index.sdk.values_mut().flat_map(HashMap::values_mut) {
            releases.sort_by(|a, b| a.version.cmp(&b.version));
        }
        index
    }

    /// The changes of one operation, of every kind, in the feed's order.
    pub fn changes_of(&self, vendor: &str, operation: &Operation) -> &[&'a VendorChange] {
        self.by_operation
            .get(vendor)
            .and_then(|operations| operations.get(&operation.erased()))
            .map_or(&[], Vec::as_slice)
    }

    /// The change of that id.
    pub fn change(&self, id: &ChangeId) -> Option<&'a VendorChange> {
        self.by_id.get(id.as_str()).copied()
    }

    /// Every change that may meet the call site: those of its operation and those of its SDK's surface whose chain
    /// the call's chain ends with.
    pub(super) fn for_each_candidate(&self, site: &Site<'_>, mut visit: impl FnMut(&'a VendorChange)) {
        let call = site.call;
        if let Some(operation) = &call.operation {
            for change in self.changes_of(&call.vendor, operation) {
                if change.change_kind != ChangeKind::SdkSurfaceChanged {
                    visit(change);
                }
            }
        }
        let package = site.client.and_then(|client| client.package.as_deref());
        if let Some(chains) = package.and_then(|package| self.by_chain.get(package))
            && let Some(changes) = chains.get(last_member(&call.chain))
        {
            for change in changes.iter().filter(|change| change.vendor == call.vendor) {
                visit(change);
            }
        }
    }

    /// Order of an API version label, where the vendor's feed lists it.
    pub(super) fn api_ordinal(&self, vendor: &str, label: &str) -> Option<u32> {
        self.api.get(vendor)?.get(label).copied()
    }

    /// The releases of a package that the vendor's feed lists, oldest first.
    pub(super) fn releases(&self, vendor: &str, package: &str) -> &[SdkRelease<'a>] {
        self.sdk.get(vendor).and_then(|packages| packages.get(package)).map_or(&[], Vec::as_slice)
    }

    fn add_version(&mut self, vendor: &'a str, version: &'a FeedVersion) {
        match (version.axis, version.package.as_deref()) {
            (Axis::Api, _) => {
                self.api.entry(vendor).or_default().insert(&version.label, version.ordinal);
            }
            (Axis::Sdk, Some(package)) => {
                if let Ok(number) = Version::parse(&version.label) {
                    let release = SdkRelease { version: number, default_api: version.default_api.as_deref() };
                    self.sdk.entry(vendor).or_default().entry(package).or_default().push(release);
                }
            }
            (Axis::Sdk, None) => {}
        }
    }

    fn add_change(&mut self, change: &'a VendorChange) {
        self.by_id.insert(change.change_id.as_str(), change);
        if let Some(operation) = &change.operation {
            let operations = self.by_operation.entry(&change.vendor).or_default();
            operations.entry(operation.erased()).or_default().push(change);
        }
        if change.change_kind == ChangeKind::SdkSurfaceChanged
            && let (Some(package), Some(chain)) = (&change.package, &change.chain)
        {
            self.by_chain.entry(package).or_default().entry(last_member(chain)).or_default().push(change);
        }
    }
}

fn last_member(chain: &str) -> &str {
    chain.rsplit('.').next().unwrap_or(chain)
}
