//! Vendor changes as answers show them.

use sync_core::change::{Confidence, VendorChange};

use super::page::{self, clip};
use super::whats_changed::{ChangeRecord, ChangeRow};

/// One row for the newest change of a group.
pub(super) fn row(change: &VendorChange, group_size: u32, used_here: Option<u64>) -> ChangeRow {
    ChangeRow {
        change_id: change.change_id.to_string(),
        operation: change.operation.as_ref().map(|operation| clip(operation.as_str(), page::LONG)),
        more_in_group: u64::from(group_size.saturating_sub(1)),
        change_kind: clip(change.change_kind.as_str(), page::WORD),
        field: (!change.field.is_empty()).then(|| clip(&change.field, page::NAME)),
        path_ptr: change.path_ptr.as_deref().map(|pointer| clip(pointer, page::LONG)),
        severity: change.severity.as_str(),
        from_version: change.from_version.as_deref().map(|label| clip(label, page::WORD)),
        to_version: change.to_version.as_deref().map(|label| clip(label, page::WORD)),
        published_at: change.published_at.map(|day| day.to_string()),
        used_here,
    }
}

/// The full record.
pub(super) fn record(change: &VendorChange) -> ChangeRecord {
    let text = |text: &Option<String>, max| text.as_deref().map(|text| clip(text, max));
    ChangeRecord {
        change_id: change.change_id.to_string(),
        vendor: clip(&change.vendor, page::WORD),
        operation: change.operation.as_ref().map(|operation| clip(operation.as_str(), page::LONG)),
        change_kind: clip(change.change_kind.as_str(), page::WORD),
        location: clip(&change.location, page::WORD),
        field: clip(&change.field, page::NAME),
        path_ptr: text(&change.path_ptr, page::LONG),
        value: text(&change.value, page::NAME),
        old: text(&change.old, page::NAME),
        new: text(&change.new, page::NAME),
        severity: change.severity.as_str(),
        axis: change.axis.map(sync_core::change::Axis::as_str),
        package: text(&change.package, page::NAME),
        chain: text(&change.chain, page::LONG),
        from_version: text(&change.from_version, page::WORD),
        to_version: text(&change.to_version, page::WORD),
        sunset: change.sunset.map(|day| day.to_string()),
        published_at: change.published_at.map(|day| day.to_string()),
        replacement: text(&change.replacement, page::LONG),
        confidence: match change.confidence {
            Confidence::Declared => "declared",
            Confidence::Derived => "derived",
        },
        group_id: clip(&change.group_id, page::WORD),
        changelog_url: text(&change.changelog_url, page::LONG),
    }
}
