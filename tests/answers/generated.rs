//! A repository of 10,000 call sites and 1,000 findings whose every string is as long as one can be.

use sync_core::change::{ChangeKind, VendorChange, VendorFeed};
use sync_core::graph::{CallSite, EvidenceStep};
use sync_core::ids::ChangeId;
use sync_tests::facts::SnapshotFacts;
use time::macros::date;

use super::sample;

/// Call sites of the repository.
pub(crate) const CALL_SITES: usize = 10_000;
/// Findings of the repository: one call site in ten meets a change.
pub(crate) const FINDINGS: usize = 1_000;
/// Changes of the feed, each a group of its own.
pub(crate) const CHANGES: usize = 300;
/// Files, each with as many call sites.
const FILES: usize = 100;
/// The vendor whose changes are met.
pub(crate) const VENDOR: &str = "a-vendor-with-a-long-name-000000000000000000000000";

/// The vendors that are called, each with a feed.
fn vendors() -> Vec<String> {
    (0..20).map(|at| format!("{}{at:02}", &VENDOR[..VENDOR.len() - 2])).collect()
}

/// Path of a file.
pub(crate) fn path(at: usize) -> String {
    let folders = "a-folder-with-a-rather-long-name/".repeat(30);
    format!("{folders}{at:04}.ts")
}

/// Its snapshot.
pub(crate) fn repository() -> SnapshotFacts {
    let vendors = vendors();
    let long = |what: &str| what.repeat(300 / what.len() + 1);
    let files = (0..FILES).map(|file| {
        let calls = (0..CALL_SITES / FILES).map(|at| {
            let met = at % 10 == 0;
            let vendor = if met { VENDOR } else { &vendors[at % vendors.len()] };
            let operation = format!("POST /v1/{}/{}", long("things/"), if met { "met" } else { "other" });
            let line = u32::try_from(at * 10 + 1).unwrap();
            let mut call = sample::call_site(
                vendor,
                line,
                &format!("{}{at}", long("Symbol.of.a.class.")),
                &long("client.member."),
                Some(&operation),
            );
            if !met {
                return call;
            }
            call.args_keys = (0..60).map(|key| format!("a_rather_long_argument.key_{key:03}")).collect();
            call.response_fields_read = (0..60).map(|key| format!("data[].a_rather_long_field.{key:03}")).collect();
            call.evidence = (0..30)
                .map(|step| EvidenceStep { step: format!("{}{step}", long("a step ")), line: Some(1), target: None })
                .collect();
            CallSite { end_line: line + 3, ..call }
        });
        sample::file(&path(file), 40_000, calls.collect())
    });
    let skipped = (0..12).map(|at| sync_core::graph::Skipped {
        path: format!("skipped{at}/"),
        reason: format!("{}{at}", long("a_reason_")),
    });
    let mut snapshot = sample::snapshot(sample::COMMIT, vec![], files.collect(), skipped.collect());
    for reason in &mut snapshot.header.partial_reasons {
        reason.limit = Some(long("a limit "));
        reason.files = (0..20).map(path).collect();
    }
    snapshot
}

/// Its feeds.
pub(crate) fn feeds() -> Vec<VendorFeed> {
    let long = |what: &str| what.repeat(300 / what.len() + 1);
    let met = format!("POST /v1/{}/met", long("things/"));
    let changes = (0..CHANGES).map(|at| {
        let operation = if at == 0 { met.clone() } else { format!("{met}/{at}") };
        let field = if at == 0 { String::new() } else { long("deep.") };
        let kind = if at == 0 { ChangeKind::OperationRemoved } else { ChangeKind::ResponseFieldRemoved };
        let day = Some(("1", "2", 2, date!(2026 - 01 - 01)));
        VendorChange {
            vendor: VENDOR.to_owned(),
            change_id: ChangeId::of(&["generated", &at.to_string()]),
            group_id: format!("{}{at}", long("grp_")),
            path_ptr: Some(long("/components/schemas")),
            from_version: Some(long("1.0.")),
            to_version: Some(long("2.0.")),
            replacement: Some(long("use the other ")),
            changelog_url: Some(format!("https://vendor.example/{}", long("changes/"))),
            ..sample::change(&operation, kind, "response.body", &field, day)
        }
    });
    let mut feeds = vec![sample::feed(VENDOR, vec![], changes.collect())];
    for vendor in vendors().into_iter().filter(|vendor| vendor != VENDOR) {
        feeds.push(sample::feed(&vendor, vec![], vec![]));
    }
    feeds
}
