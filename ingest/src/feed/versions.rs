//! Ordering version labels within (axis, package): a label that cannot be ordered stops publishing.

use std::collections::BTreeMap;

use semver::Version;
use sync_core::change::{Axis, FeedVersion, VendorChange};
use time::Date;
use time::macros::format_description;

use super::assemble::AssembleError;
use super::records::{VendorFile, VersionEntry};

/// The date that a label begins with.
pub(super) fn leading_date(label: &str) -> Option<Date> {
    Date::parse(label.get(..10)?, format_description!("[year]-[month]-[day]")).ok()
}

/// Every version of one vendor, numbered from 1 within (axis, package): what its file lists, in that order, and what
/// its changes name besides, put in by date or by number.
pub(super) fn ordered<'a>(
    vendor: &str,
    file: Option<&VendorFile>,
    changes: impl Iterator<Item = (&'a VendorChange, &'a str)>,
) -> Result<Vec<FeedVersion>, AssembleError> {
    let mut groups: BTreeMap<(Axis, Option<String>), Vec<VersionEntry>> = BTreeMap::new();
    for entry in file.into_iter().flat_map(|file| &file.versions) {
        groups.entry((entry.axis, entry.package.clone())).or_default().push(entry.clone());
    }
    for ((axis, _), entries) in &mut groups {
        for entry in entries.iter_mut() {
            entry.published_at = entry.published_at.or_else(|| leading_date(&entry.label));
        }
        check_order(vendor, *axis, entries)?;
    }
    for (change, origin) in changes {
        let Some(axis) = change.axis else { continue };
        let entries = groups.entry((axis, change.package.clone().filter(|_| axis == Axis::Sdk))).or_default();
        for label in [&change.from_version, &change.to_version].into_iter().flatten() {
            insert(axis, entries, label).ok_or_else(|| AssembleError::Label {
                vendor: vendor.to_owned(),
                label: label.clone(),
                record: origin.to_owned(),
            })?;
        }
    }
    let mut versions = Vec::new();
    for ((axis, package), entries) in groups {
        for (n, entry) in entries.into_iter().enumerate() {
            versions.push(FeedVersion {
                axis,
                package: package.clone(),
                label: entry.label,
                ordinal: u32::try_from(n + 1).unwrap_or(u32::MAX),
                published_at: entry.published_at,
                default_api: entry.default_api,
            });
        }
    }
    Ok(versions)
}

/// A listed order must not contradict the labels' own.
fn check_order(vendor: &str, axis: Axis, entries: &[VersionEntry]) -> Result<(), AssembleError> {
    for (n, entry) in entries.iter().enumerate() {
        let wrong = |reason: String| AssembleError::Versions { vendor: vendor.to_owned(), reason };
        if axis == Axis::Sdk && (entry.package.is_none() || Version::parse(&entry.label).is_err()) {
            return Err(wrong(format!("`{}` is not a version of a package", entry.label)));
        }
        for earlier in &entries[..n] {
            if earlier.label == entry.label {
                return Err(wrong(format!("`{}` is listed twice", entry.label)));
            }
            let falls = match axis {
                Axis::Sdk => Version::parse(&earlier.label).ok() > Version::parse(&entry.label).ok(),
                Axis::Api => leading_date(&earlier.label)
                    .zip(leading_date(&entry.label))
                    .is_some_and(|(earlier, later)| earlier > later),
            };
            if falls {
                return Err(wrong(format!("`{}` is listed before `{}`", earlier.label, entry.label)));
            }
        }
    }
    Ok(())
}

/// Puts a label in its place; nothing where it has none.
fn insert(axis: Axis, entries: &mut Vec<VersionEntry>, label: &str) -> Option<()> {
    if entries.iter().any(|entry| entry.label == label) {
        return Some(());
    }
    let entry =
        |published_at| VersionEntry { axis, package: None, label: label.to_owned(), published_at, default_api: None };
    match axis {
        Axis::Sdk => {
            let version = Version::parse(label).ok()?;
            let at = entries.partition_point(|other| Version::parse(&other.label).is_ok_and(|other| other < version));
            entries.insert(at, entry(None));
        }
        Axis::Api => {
            let day = leading_date(label)?;
            let later = |other: &VersionEntry| {
                leading_date(&other.label).is_some_and(|date| (date, other.label.as_str()) > (day, label))
            };
            let at = entries.iter().position(later).unwrap_or(entries.len());
            entries.insert(at, entry(Some(day)));
        }
    }
    Some(())
}
