//! Page cursors and the vendors that may be asked about: what every question of a service shares.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sync_core::cursor::CursorKey;
use sync_store::{CallSiteFilter, Index};

use super::error::{AnswerError, Code, MAX_NAMES};
use crate::audit::{Asker, Reading};

/// Seals and opens page cursors.
#[derive(Debug)]
pub(super) struct Cursors {
    /// The key, the same on every replica.
    pub key: CursorKey,
    /// The vendors that can be asked about.
    pub vendors: Vendors,
}

/// Everything a cursor is bound to.
#[derive(Debug)]
pub(super) struct Bound([String; 6]);

impl Cursors {
    /// A cursor that goes on after a position.
    pub(super) fn seal(&self, bound: &Bound, position: &impl Serialize) -> Result<String, AnswerError> {
        self.key.seal(&bound.parts(), position).map_err(|error| {
            tracing::error!(%error, "a cursor has no JSON");
            AnswerError::internal()
        })
    }

    /// The position in a cursor of the same question.
    pub(super) fn open<P: DeserializeOwned>(&self, bound: &Bound, cursor: &str) -> Result<P, AnswerError> {
        Ok(self.key.open(&bound.parts(), cursor)?)
    }
}

impl Bound {
    /// Binds cursors to who asks what of which index and feeds.
    pub(super) fn to(asker: &Asker, tool: &str, arguments: &Value, index: &str, feeds: &str) -> Self {
        Self([
            asker.principal.organization.to_string(),
            asker.principal.id.to_string(),
            tool.to_owned(),
            arguments.to_string(),
            index.to_owned(),
            feeds.to_owned(),
        ])
    }

    fn parts(&self) -> [&str; 6] {
        self.0.each_ref().map(String::as_str)
    }
}

/// Refuses a cursor on a question that has one page.
pub(super) fn unused(cursor: Option<&str>) -> Result<(), AnswerError> {
    cursor.map_or(Ok(()), |_| Err(sync_core::cursor::CursorExpired.into()))
}

/// The vendors of the catalog; those of feeds and of an index are known beside them.
#[derive(Debug)]
pub(super) struct Vendors(pub BTreeSet<String>);

impl Vendors {
    /// Refuses a vendor that neither the catalog, nor a feed, nor the index knows.
    pub(super) async fn must_know(
        &self,
        reading: &mut Reading,
        index: Option<&Index>,
        vendor: &str,
    ) -> Result<(), AnswerError> {
        if self.0.contains(vendor) {
            return Ok(());
        }
        let mut known = self.known(reading).await?;
        let mut used = BTreeSet::new();
        if let Some(index) = index {
            let all = CallSiteFilter { include_tests: true, ..CallSiteFilter::default() };
            let counts = reading.tx.count_call_sites(index, &all).await?;
            used.extend(counts.by_vendor.into_iter().map(|(vendor, _)| vendor));
            known.extend(used.iter().cloned());
        }
        if known.contains(vendor) { Ok(()) } else { Err(unknown(vendor, &known, &used)) }
    }

    /// All vendors that can be asked about without an index, sorted.
    pub(super) async fn known(&self, reading: &mut Reading) -> Result<BTreeSet<String>, AnswerError> {
        let mut known = self.0.clone();
        known.extend(reading.tx.feeds().await?.into_iter().map(|feed| feed.vendor));
        Ok(known)
    }
}

/// Names what is known: what may be meant by its spelling, then what the repository calls, then the rest.
pub(super) fn unknown(vendor: &str, known: &BTreeSet<String>, used: &BTreeSet<String>) -> AnswerError {
    let given: String = vendor.to_ascii_lowercase().chars().take(MAX_SPELLING).collect();
    let mut names: Vec<&String> = known.iter().collect();
    names.sort_by_cached_key(|name| (misspelt(name, &given).unwrap_or(usize::MAX), !used.contains(*name), *name));
    let meant: Vec<String> =
        names.iter().map_while(|name| misspelt(name, &given).map(|_| format!("`{name}`"))).collect();
    let next = match meant.split_at_checked(3).map_or(meant.as_slice(), |(first, _)| first) {
        [] => "Call again with one of details.vendors, as it is written there.".to_owned(),
        near => format!(
            "Did you mean {}? Call again with one of details.vendors, as it is written there.",
            near.join(" or ")
        ),
    };
    let total = names.len();
    names.truncate(MAX_NAMES);
    AnswerError::new(
        Code::VendorUnknown,
        format!("No vendor `{}` is known to the catalog or to a feed.", sync_core::text::shown(vendor, 60)),
        next,
    )
    .with_details(serde_json::json!({"vendors": names, "total": total}))
}

/// As many characters of what was given are compared.
const MAX_SPELLING: usize = 40;

/// How far a name is from what was given, where that may be a way to write it: with a slip or two, or as a part.
fn misspelt(name: &str, given: &str) -> Option<usize> {
    let distance = strsim::osa_distance(name, given);
    let (short, long) = if name.len() < given.len() { (name, given) } else { (given, name) };
    let part = short.len() >= 3 && long.contains(short);
    (part || distance <= 1 + given.chars().count() / 4).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_vendor_comes_first() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let known = set(&["aws-s3", "github", "slack", "stripe", "twilio"]);
        let error = unknown("Stripes", &known, &set(&[]));
        assert_eq!(error.code, Code::VendorUnknown);
        assert_eq!(error.details["vendors"][0], "stripe");
        assert_eq!(error.details["total"], 5);
        for (given, used, first) in [
            ("tripe", &[][..], "stripe"),
            ("gtihub", &["slack"], "github"),
            ("s3", &["twilio"], "twilio"),
            ("AWS", &["twilio"], "aws-s3"),
            // Nothing like it: what the repository calls comes first.
            ("paypal", &["slack"], "slack"),
        ] {
            let error = unknown(given, &known, &set(used));
            assert_eq!(error.details["vendors"][0], first, "{given}");
            let near = !used.contains(&first);
            assert_eq!(error.next_step.starts_with(&format!("Did you mean `{first}`?")), near, "{}", error.next_step);
        }
    }
}
