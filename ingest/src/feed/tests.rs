//! From the embedded records to a signed feed and back.

mod acceptance;
mod cli;
mod http;
mod probes;
mod records;

use std::sync::OnceLock;

use sync_core::change::VendorFeed;

use super::assemble::vendor_feeds;
use super::records::embedded_records;

/// The feeds of the embedded records.
pub(super) fn embedded_feeds() -> &'static [VendorFeed] {
    static FEEDS: OnceLock<Vec<VendorFeed>> = OnceLock::new();
    FEEDS.get_or_init(|| vendor_feeds(&embedded_records().unwrap()).unwrap())
}

#[test]
fn the_embedded_records_make_feeds() {
    let feeds = embedded_feeds();
    let counts: Vec<(&str, usize)> = feeds.iter().map(|feed| (feed.vendor.as_str(), feed.changes.len())).collect();
    // 27 curated, 726 of GitHub, 2,359 of Stripe; 5 and 9 of the latter two gave way to a curated one.
    assert_eq!(
        counts,
        [("github", 726), ("notion", 1), ("openai", 6), ("plaid", 1), ("resend", 1), ("slack", 2), ("stripe", 2361)]
    );
}
