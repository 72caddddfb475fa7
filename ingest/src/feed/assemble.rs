//! From records to one feed a vendor: normalised, without repetition, with ids, groups and ordered versions.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sync_core::change::{Axis, FEED_FORMAT, FeedVersion, VendorChange, VendorFeed};
use sync_core::graph::short_hash;
use sync_core::ids::ChangeId;

use super::normalize::{Normalized, normalize};
use super::records::{RecordSet, VendorFile};
use super::versions::ordered;

/// The licence of the feed's data, stated in every vendor's file.
pub const DATA_LICENSE: &str = "CC-BY-4.0";

/// Why records make no feed.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// A record file cannot be read.
    #[error("`{path}`: {reason}; next: correct the file, its format is in fixtures/feed/README.md")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Nothing to publish.
    #[error("`{0}` holds no records; next: give a folder with record files (*.json)")]
    NoRecords(PathBuf),
    /// A version label that has no place among the others.
    #[error("`{label}` of {vendor} cannot be ordered ({record}); next: list it in the versions file of {vendor}")]
    Label {
        /// Vendor id.
        vendor: String,
        /// The label.
        label: String,
        /// The record that names it.
        record: String,
    },
    /// A versions file that contradicts itself.
    #[error("the versions of {vendor} contradict themselves: {reason}; next: correct their order, oldest first")]
    Versions {
        /// Vendor id.
        vendor: String,
        /// What is wrong.
        reason: String,
    },
    /// Two records say the same.
    #[error("two records are one change ({id}): {first} and {second}; next: remove one, or say what sets them apart")]
    Duplicate {
        /// The change id of both.
        id: ChangeId,
        /// The first record.
        first: String,
        /// The second record.
        second: String,
    },
}

/// One feed a vendor, sorted by vendor; changes newest first. The same records give the same feeds.
pub fn vendor_feeds(set: &RecordSet) -> Result<Vec<VendorFeed>, AssembleError> {
    let mut by_vendor: BTreeMap<&str, Vec<Normalized>> = BTreeMap::new();
    for record in &set.records {
        let vendor = set.vendors.get(&record.vendor);
        by_vendor.entry(&record.vendor).or_default().push(normalize(record, vendor)?);
    }
    by_vendor.into_iter().map(|(vendor, changes)| vendor_feed(vendor, set.vendors.get(vendor), changes)).collect()
}

fn vendor_feed(vendor: &str, file: Option<&VendorFile>, changes: Vec<Normalized>) -> Result<VendorFeed, AssembleError> {
    let changes = with_ids(replace_by_curated(changes))?;
    let versions = ordered(vendor, file, changes.iter().map(|c| (&c.change, c.origin.as_str())))?;
    let mut changes: Vec<VendorChange> = changes.into_iter().map(|normalized| normalized.change).collect();
    for change in &mut changes {
        change.introduced_ordinal = ordinal(change, &versions);
    }
    changes.sort_by(|a, b| {
        let key = |c: &VendorChange| (c.published_at, c.introduced_ordinal);
        key(b)
            .cmp(&key(a))
            .then_with(|| a.operation.cmp(&b.operation))
            .then_with(|| a.field.cmp(&b.field))
            .then_with(|| a.change_id.cmp(&b.change_id))
    });
    Ok(VendorFeed {
        format: FEED_FORMAT,
        vendor: vendor.to_owned(),
        license: DATA_LICENSE.to_owned(),
        versions,
        changes,
    })
}

/// Gives ids and groups. Two records of one id stop publishing, unless they say the same of one place in two words of
/// their source that are one of ours (`became_optional`, `became_nullable`).
fn with_ids(changes: Vec<Normalized>) -> Result<Vec<Normalized>, AssembleError> {
    let mut kept: Vec<Normalized> = Vec::with_capacity(changes.len());
    let mut seen: BTreeMap<ChangeId, usize> = BTreeMap::new();
    for mut normalized in changes {
        let change = &mut normalized.change;
        change.change_id = change_id(change);
        change.group_id = group_id(change);
        match seen.get(&change.change_id).map(|&n| &kept[n]) {
            Some(first) if first.word != normalized.word && first.change == normalized.change => {}
            Some(first) => {
                let (first, second) = (first.origin.clone(), normalized.origin);
                return Err(AssembleError::Duplicate { id: normalized.change.change_id, first, second });
            }
            None => {
                seen.insert(normalized.change.change_id.clone(), kept.len());
                kept.push(normalized);
            }
        }
    }
    Ok(kept)
}

/// Drops each record that a person's record of the same place and version stands for, and gives that one what only
/// the dropped one knew.
fn replace_by_curated(changes: Vec<Normalized>) -> Vec<Normalized> {
    type Place = (Option<String>, String, String, Option<String>);
    let place = |change: &VendorChange| -> Place {
        (
            change.operation.as_ref().map(sync_core::operation::Operation::erased),
            change.location.clone(),
            change.field.clone(),
            change.to_version.clone(),
        )
    };
    // A change of an SDK alone has no place that a record of the API could share.
    let has_place = |change: &VendorChange| change.operation.is_some() && change.location != "client";
    let (mut curated, rest): (Vec<_>, Vec<_>) = changes.into_iter().partition(|normalized| normalized.curated);
    let at: BTreeMap<Place, usize> = curated
        .iter()
        .enumerate()
        .filter(|(_, normalized)| has_place(&normalized.change))
        .map(|(n, normalized)| (place(&normalized.change), n))
        .collect();
    let mut kept = Vec::new();
    for normalized in rest {
        let stand_in = if has_place(&normalized.change) { at.get(&place(&normalized.change)) } else { None };
        let Some(&n) = stand_in else {
            kept.push(normalized);
            continue;
        };
        let (by, derived) = (&mut curated[n].change, normalized.change);
        by.path_ptr = by.path_ptr.take().or(derived.path_ptr);
        by.chain = by.chain.take().or(derived.chain);
        by.from_version = by.from_version.take().or(derived.from_version);
        by.replacement = by.replacement.take().or(derived.replacement);
        by.changelog_url = by.changelog_url.take().or(derived.changelog_url);
        by.old = by.old.take().or(derived.old);
        by.new = by.new.take().or(derived.new);
    }
    curated.append(&mut kept);
    curated
}

/// `chg_` and the hash of (vendor, erased operation, kind, location, field, label, value) and, where these do not
/// identify the place, of package, chain and pointer: where there is no operation, where the change is of an SDK, and
/// where a parameter or a response field is not named.
fn change_id(change: &VendorChange) -> ChangeId {
    let operation = change.operation.as_ref().map(sync_core::operation::Operation::erased);
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let mut parts = vec![
        change.vendor.clone(),
        operation.clone().unwrap_or_default(),
        change.change_kind.as_str().to_owned(),
        change.location.clone(),
        change.field.clone(),
        text(&change.to_version),
        text(&change.value),
    ];
    let of_sdk = change.axis == Some(Axis::Sdk) || change.location == "client";
    let unnamed =
        change.field.is_empty() && (change.location.starts_with("request.") || change.location == "response.body");
    if operation.is_none() || of_sdk || unnamed {
        parts.extend([text(&change.package), text(&change.chain), text(&change.path_ptr)]);
    }
    ChangeId::of(&parts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// One edit of a schema that surfaced in many operations has one group: same kind and version, and the same component
/// where the source names it, else the same last field.
fn group_id(change: &VendorChange) -> String {
    let component = change.path_ptr.as_deref().filter(|pointer| pointer.starts_with("#/"));
    let operation = change.operation.as_ref().map_or("", sync_core::operation::Operation::as_str);
    let leaf = change.field.rsplit('.').next().unwrap_or_default();
    let what = match (component, leaf) {
        (Some(component), _) => component,
        (None, "") => change.chain.as_deref().filter(|_| change.location == "client").unwrap_or(operation),
        (None, leaf) => leaf,
    };
    let version = change.to_version.as_deref().unwrap_or_default();
    let direction = change.location.split('.').next().unwrap_or_default();
    let parts = [change.vendor.as_str(), change.change_kind.as_str(), direction, what, version];
    format!("grp_{}", short_hash(&parts))
}

fn ordinal(change: &VendorChange, versions: &[FeedVersion]) -> Option<u32> {
    let axis = change.axis?;
    let label = change.to_version.as_deref()?;
    let package = change.package.as_deref().filter(|_| axis == Axis::Sdk);
    versions
        .iter()
        .find(|version| version.axis == axis && version.package.as_deref() == package && version.label == label)
        .map(|version| version.ordinal)
}
