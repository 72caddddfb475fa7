//! Absence is typed: why nothing can be said of a path, never an empty list that reads as "safe".

use sync_store::{CallSiteFilter, Index, PathState};

use super::error::AnswerError;
use super::target::Absence;
use crate::audit::Reading;

/// Why nothing is known of a path; nothing where the index holds it.
pub(super) async fn of_path(reading: &mut Reading, index: &Index, path: &str) -> Result<Option<Absence>, AnswerError> {
    let shown = sync_core::text::shown(path, 120);
    Ok(match reading.tx.path_state(index, path).await? {
        PathState::File(_) | PathState::Folder { .. } => None,
        PathState::Skipped { path: skipped, reason } => Some(Absence::new(
            "skipped",
            format!(
                "`{shown}` was not read when the index was made: `{}` is {}. Nothing is known of vendor calls in it.",
                sync_core::text::shown(&skipped, 120),
                sync_core::text::shown(&reason, 40)
            ),
        )),
        PathState::Absent => Some(Absence::new(
            "path_not_indexed",
            format!(
                "`{shown}` is not in the index of this commit: it is new, of a language that is not read, or misspelt. Nothing is known of vendor calls in it."
            ),
        )),
    })
}

/// Why there is no call site to check, where the path is indexed.
pub(super) async fn no_call_sites(
    reading: &mut Reading,
    index: &Index,
    filter: &CallSiteFilter,
) -> Result<Absence, AnswerError> {
    let vendor =
        filter.vendor.as_deref().map_or_else(|| "a vendor".to_owned(), |name| sync_core::text::shown(name, 60));
    let place = filter.path.as_deref().map(|path| format!(" in `{}`", sync_core::text::shown(path, 120)));
    let what = format!("No call that reaches {vendor} was found{}", place.unwrap_or_default());
    let mut tests = 0;
    if !filter.include_tests {
        let all = CallSiteFilter { include_tests: true, ..filter.clone() };
        tests = reading.tx.count_call_sites(index, &all).await?.call_sites;
    }
    let rest = if tests > 0 {
        format!(" outside of tests; {tests} in tests are looked at with include_tests.")
    } else {
        ". Calls that the indexer cannot follow (a client from a container, a computed URL) are not seen.".to_owned()
    };
    Ok(Absence::new("no_vendor_call_sites", what + &rest))
}
