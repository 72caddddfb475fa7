//! Pins against changes: when a finding applies.

use super::*;
use crate::change::FeedVersion;

const TODAY: Date = date!(2026 - 11 - 30);

fn version(axis: Axis, label: &str, ordinal: u32, default_api: Option<&str>) -> FeedVersion {
    FeedVersion {
        axis,
        package: (axis == Axis::Sdk).then(|| "stripe".to_owned()),
        label: label.to_owned(),
        ordinal,
        published_at: None,
        default_api: default_api.map(str::to_owned),
    }
}

/// Stripe's versions around basil, and a label without a date.
fn versions() -> Vec<FeedVersion> {
    vec![
        version(Axis::Api, "2025-02-24.acacia", 1, None),
        version(Axis::Api, "2025-03-31.basil", 2, None),
        version(Axis::Api, "next", 3, None),
        version(Axis::Sdk, "11.0.0", 1, None),
        version(Axis::Sdk, "17.7.0", 2, Some("2025-02-24.acacia")),
        version(Axis::Sdk, "18.0.0", 3, Some("2025-03-31.basil")),
        version(Axis::Sdk, "18.0.1", 4, None),
    ]
}

fn applies(change: VendorChange, client: Option<&Client>) -> Applies {
    let feeds = [VendorFeed { versions: versions(), ..feed(vec![change]) }];
    let call = call(&[], &[]);
    let findings = join(repository(), &[Site { path: "a.ts", call: &call, client }], &FeedIndex::new(&feeds));
    findings[0].window.applies(TODAY)
}

fn removed() -> VendorChange {
    change("operation_removed", "")
}

#[test]
fn api_pins_compare_by_ordinal_else_by_date_else_not() {
    let pinned = |label: &str, source: &str| applies(removed(), Some(&client(Some(label), source)));
    for source in ["literal", "header"] {
        assert_eq!(pinned("2025-02-24.acacia", source), Applies::OnUpgrade);
        assert_eq!(pinned("2025-03-31.basil", source), Applies::Now);
        assert_eq!(pinned("next", source), Applies::Now);
        assert_eq!(pinned("2024-04-10", source), Applies::OnUpgrade);
        assert_eq!(pinned("2025-03-31.preview", source), Applies::Now);
        assert_eq!(pinned("2025-05-28.basil", source), Applies::Now);
        assert_eq!(pinned("preview", source), Applies::Unknown);
    }
    let undated = VendorChange { to_version: Some("next".to_owned()), introduced_ordinal: Some(3), ..removed() };
    assert_eq!(applies(undated.clone(), Some(&client(Some("2025-03-31.basil"), "literal"))), Applies::OnUpgrade);
    assert_eq!(applies(undated, Some(&client(Some("2026-01-01"), "literal"))), Applies::Unknown);
}

#[test]
fn what_is_set_outside_of_the_code_is_unknown() {
    for source in ["account_default", "environment", "unknown", "astrology"] {
        assert_eq!(applies(removed(), Some(&client(None, source))), Applies::Unknown);
        assert_eq!(applies(removed(), Some(&client(Some("2025-02-24.acacia"), source))), Applies::Unknown);
    }
    assert_eq!(applies(removed(), Some(&client(None, "literal"))), Applies::Unknown);
    assert_eq!(applies(removed(), None), Applies::Unknown);
}

fn sdk(version: &str, source: &str) -> Client {
    Client {
        sdk_version: Some(version.to_owned()),
        sdk_version_source: source.to_owned(),
        ..client(None, "sdk_default")
    }
}

#[test]
fn without_a_pin_the_sdks_default_decides() {
    let installed = |version: &str| applies(removed(), Some(&sdk(version, "lockfile")));
    assert_eq!(installed("17.7.0"), Applies::OnUpgrade);
    assert_eq!(installed("17.9.3"), Applies::OnUpgrade);
    assert_eq!(installed("18.0.0"), Applies::Now);
    // A release that is listed without a default sends what the one before it sent.
    assert_eq!(installed("18.0.1"), Applies::Now);
    assert_eq!(installed("23.1.0"), Applies::Now);
    // Before SDKs pinned a version it was the account's.
    assert_eq!(installed("11.0.0"), Applies::Unknown);
    assert_eq!(installed("1.0.0"), Applies::Unknown);
    let ranged = |range: &str| applies(removed(), Some(&sdk(range, "manifest_range")));
    assert_eq!(ranged("^17.7.0"), Applies::OnUpgrade);
    assert_eq!(ranged("^18.0.0"), Applies::Now);
    assert_eq!(ranged("~18.0"), Applies::Now);
    assert_eq!(ranged("18.x"), Applies::Now);
    assert_eq!(ranged("18.0.0"), Applies::Now);
    assert_eq!(ranged(">=17.7.0"), Applies::Unknown);
    assert_eq!(ranged("latest"), Applies::Unknown);
    assert_eq!(ranged("^17 || ^18"), Applies::Unknown);
    let known = Client { api_version: Some("2025-02-24.acacia".to_owned()), ..sdk("18.0.0", "lockfile") };
    assert_eq!(applies(removed(), Some(&known)), Applies::OnUpgrade);
}

#[test]
fn where_every_sdk_version_sends_the_same_the_version_does_not_matter() {
    let mut feeds = [feed(vec![removed()])];
    feeds[0].versions = vec![version(Axis::Sdk, "1.0.0", 1, Some("2022-11-28"))];
    let call = call(&[], &[]);
    let client = client(None, "sdk_default");
    let site = Site { path: "a.ts", call: &call, client: Some(&client) };
    let findings = join(repository(), &[site], &FeedIndex::new(&feeds));
    assert_eq!(findings[0].window, Window::OnUpgrade);
}

#[test]
fn sdk_changes_compare_with_the_installed_version() {
    let change = || VendorChange {
        axis: Some(Axis::Sdk),
        package: Some("stripe".to_owned()),
        to_version: Some("18.0.0".to_owned()),
        ..removed()
    };
    let at = |version: &str, source: &str| applies(change(), Some(&sdk(version, source)));
    assert_eq!(at("17.7.0", "lockfile"), Applies::OnUpgrade);
    assert_eq!(at("18.0.0", "lockfile"), Applies::Now);
    assert_eq!(at("18.0.0-beta.1", "lockfile"), Applies::OnUpgrade);
    assert_eq!(at("^17.1.0", "manifest_range"), Applies::OnUpgrade);
    assert_eq!(at("^18.1.0", "manifest_range"), Applies::Now);
    assert_eq!(at(">=17.0.0", "manifest_range"), Applies::Unknown);
    assert_eq!(at("*", "manifest_range"), Applies::Unknown);
    assert_eq!(at("18.0.0", "unknown"), Applies::Unknown);
}

#[test]
fn a_change_without_an_axis_goes_by_its_day() {
    let dated = |sunset, published_at| {
        let change = VendorChange { axis: None, to_version: None, sunset, published_at, ..removed() };
        applies(change, Some(&client(Some("2025-02-24.acacia"), "literal")))
    };
    assert_eq!(dated(Some(date!(2026 - 12 - 01)), Some(date!(2024 - 01 - 01))), Applies::OnDate);
    assert_eq!(dated(Some(date!(2026 - 08 - 26)), None), Applies::Now);
    assert_eq!(dated(None, Some(date!(2024 - 01 - 01))), Applies::Now);
    assert_eq!(dated(None, None), Applies::Unknown);
}

#[test]
fn a_window_reads_back_from_its_row_and_says_the_word_of_the_day() {
    for window in [Window::Now, Window::OnUpgrade, Window::Unknown, Window::Dated(TODAY)] {
        let (word, day) = window.to_row();
        assert_eq!(Window::from_row(word, day), Some(window));
    }
    assert_eq!(Window::from_row("soon", None), None);
    assert_eq!(Window::from_row("dated", None), None);
    assert_eq!(Window::Dated(date!(2026 - 08 - 26)).applies(date!(2026 - 08 - 25)), Applies::OnDate);
    assert_eq!(Window::Dated(date!(2026 - 08 - 26)).applies(date!(2026 - 08 - 26)), Applies::Now);
}
