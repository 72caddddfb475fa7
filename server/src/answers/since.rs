//! What "after this" means: an exact version label of the vendor, else a date, else a change id.

use serde_json::Value;
use sync_core::ids::ChangeId;
use sync_store::Since;
use time::Date;
use time::macros::format_description;

use super::error::AnswerError;
use crate::audit::Reading;

/// Reads the text of a caller. Without a vendor there are no version labels.
pub(super) async fn read(reading: &mut Reading, vendor: Option<&str>, text: &str) -> Result<Since, AnswerError> {
    if let Some(vendor) = vendor {
        let mut labelled = reading.tx.feed_versions(vendor, text).await?;
        if labelled.len() > 1 {
            let of: Vec<String> = labelled
                .iter()
                .map(|version| version.package.clone().unwrap_or_else(|| version.axis.as_str().to_owned()))
                .collect();
            let allowed = format!(
                "a date or a change_id, since several version lists of {vendor} have that label ({})",
                sync_core::text::shown(&of.join(", "), 200)
            );
            return Err(AnswerError::invalid_argument("since", &Value::from(text), allowed));
        }
        if let Some(version) = labelled.pop() {
            return Ok(Since::Version {
                vendor: vendor.to_owned(),
                axis: version.axis,
                package: version.package,
                ordinal: version.ordinal,
            });
        }
    }
    if let Ok(date) = Date::parse(text, format_description!("[year]-[month]-[day]")) {
        return Ok(Since::Date(date));
    }
    if let Ok(id) = text.parse::<ChangeId>()
        && let Some(row) = reading.tx.change(&id).await?
        && vendor.is_none_or(|vendor| vendor == row.change.vendor)
    {
        return Ok(Since::Change { vendor: row.change.vendor, position: row.position });
    }
    let labels = vendor.map_or_else(
        || "a version label together with `vendor`".to_owned(),
        |vendor| format!("a version label of {vendor}'s feed"),
    );
    Err(AnswerError::invalid_argument(
        "since",
        &Value::from(text),
        format!("{labels}, a date as 2026-01-31, or the change_id of a change in the feed"),
    ))
}
