//! From records to feeds: what is normalised, what replaces what, and what stops publishing.

use std::path::Path;

use sync_core::change::{Axis, ChangeKind, Confidence, Severity, VendorChange};
use time::Duration;
use time::macros::{date, datetime};

use super::embedded_feeds;
use crate::feed::assemble::{AssembleError, vendor_feeds};
use crate::feed::dev::{Renewal, publish_dev};
use crate::feed::records::{RecordSet, embedded_records};
use crate::feed::verify::{Loaded, Verifier};

/// The changes of one file with these records.
fn feeds_of(files: &[(&str, &str)]) -> Result<Vec<VendorChange>, AssembleError> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let feeds = vendor_feeds(&RecordSet::read(dir.path())?)?;
    Ok(feeds.into_iter().flat_map(|feed| feed.changes).collect())
}

fn embedded(vendor: &str, find: impl Fn(&VendorChange) -> bool) -> VendorChange {
    let feed = embedded_feeds().iter().find(|feed| feed.vendor == vendor).unwrap();
    let mut found = feed.changes.iter().filter(|change| find(change));
    let change = found.next().unwrap().clone();
    assert_eq!(found.next(), None, "one change is looked for");
    change
}

fn at(change: &VendorChange, operation: &str, location: &str, field: &str) -> bool {
    change.operation.as_ref().is_some_and(|o| o.as_str() == operation)
        && change.location == location
        && change.field == field
}

#[test]
fn the_embedded_files_are_those_of_the_fixtures() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/feed");
    let read = vendor_feeds(&RecordSet::read(&dir).unwrap()).unwrap();
    assert_eq!(read, vendor_feeds(&embedded_records().unwrap()).unwrap());
}

#[test]
fn a_persons_record_replaces_the_derived_one_and_takes_what_only_that_knew() {
    let moved = embedded("stripe", |change| {
        at(change, "POST /v1/promotion_codes", "request.body", "coupon")
            && change.to_version.as_deref() == Some("2025-09-30.clover")
    });
    assert_eq!(moved.change_kind, ChangeKind::ParamRenamed);
    assert_eq!(moved.replacement.as_deref(), Some("promotion.coupon (+promotion.type=\"coupon\")"));
    assert_eq!(moved.from_version.as_deref(), Some("2025-08-27.basil"));
    assert_eq!(moved.chain.as_deref(), Some("promotionCodes.create"));
    assert_eq!(moved.path_ptr.as_deref(), Some("#/params/PromotionCodeCreateParams/coupon"));
    assert_eq!(moved.confidence, Confidence::Declared);
}

#[test]
fn free_text_labels_become_an_axis_a_package_and_a_number_or_a_day() {
    let when = |vendor: &str, kind: ChangeKind| {
        let change = embedded(vendor, |change| change.change_kind == kind && change.change_kind != ChangeKind::Other);
        (change.axis, change.package, change.to_version, change.sunset)
    };
    let sdk = |package: &str, label: &str| (Some(Axis::Sdk), Some(package.to_owned()), Some(label.to_owned()), None);
    assert_eq!(when("openai", ChangeKind::SdkSurfaceChanged), sdk("openai", "5.0.0"));
    assert_eq!(when("resend", ChangeKind::ParamRenamed), sdk("resend", "4.0.0"));
    assert_eq!(when("plaid", ChangeKind::SdkSurfaceChanged), sdk("plaid", "9.0.0"));
    assert_eq!(when("stripe", ChangeKind::SdkSurfaceChanged), sdk("stripe", "22.0.0"));
    assert_eq!(when("openai", ChangeKind::OperationDeprecated), (None, None, None, Some(date!(2026 - 08 - 26))));
    let notion = (Some(Axis::Api), None, Some("2025-09-03".to_owned()), None);
    assert_eq!(when("notion", ChangeKind::OperationMoved), notion);
    let slack = |operation: &str| embedded("slack", |change| at(change, operation, "operation", ""));
    assert_eq!(slack("POST /api/files.upload").sunset, Some(date!(2025 - 11 - 12)));
    assert_eq!(slack("POST /api/channels.list").package.as_deref(), Some("@slack/web-api"));
    assert_eq!(slack("POST /api/channels.list").to_version.as_deref(), Some("6.0.0"));
    // Nobody pins a version of OpenAI's API: a date is a day.
    let tokens = embedded("openai", |change| change.field == "max_tokens");
    assert_eq!((tokens.axis, tokens.published_at), (None, Some(date!(2025 - 03 - 22))));
}

#[test]
fn an_sdk_release_that_left_the_api_version_changed_the_sdk() {
    let stripe = embedded_feeds().iter().find(|feed| feed.vendor == "stripe").unwrap();
    for change in &stripe.changes {
        match change.axis {
            Some(Axis::Sdk) => {
                assert_eq!(change.package.as_deref(), Some("stripe"));
                assert!(change.severity < Severity::Breaking || change.location == "client", "{}", change.change_id);
            }
            Some(Axis::Api) => assert_ne!(change.from_version, change.to_version, "{}", change.change_id),
            None => panic!("{} has no axis", change.change_id),
        }
        assert!(change.introduced_ordinal.is_some(), "{} is not ordered", change.change_id);
    }
    let by_axis = |axis| stripe.changes.iter().filter(|change| change.axis == Some(axis)).count();
    assert_eq!((by_axis(Axis::Api), by_axis(Axis::Sdk)), (1318, 1043));
}

#[test]
fn lists_answer_their_resources_in_data() {
    let ends = |operation: &str, field: &str| {
        embedded("stripe", |change| at(change, operation, "response.body", field));
    };
    ends("GET /v1/subscriptions", "data[].current_period_end");
    ends("GET /v1/subscriptions/search", "data[].current_period_end");
    ends("GET /v1/subscriptions/{subscription_exposed_id}", "current_period_end");
}

#[test]
fn one_edit_of_a_schema_is_one_group() {
    let group = |operation: &str, field: &str| {
        embedded("stripe", |change| at(change, operation, "response.body", field)).group_id
    };
    let list = group("GET /v1/subscriptions", "data[].current_period_start");
    assert_eq!(list, group("POST /v1/subscriptions", "current_period_start"));
    assert_ne!(list, group("POST /v1/subscriptions", "current_period_end"));
    let github = embedded_feeds().iter().find(|feed| feed.vendor == "github").unwrap();
    let downloads = github.changes.iter().filter(|change| change.field.ends_with("has_downloads"));
    let groups: std::collections::BTreeSet<_> = downloads.map(|change| &change.group_id).collect();
    assert_eq!(groups.len(), 1);
}

#[test]
fn ids_are_pinned() {
    let rate = embedded("github", |change| at(change, "GET /rate_limit", "response.body", "rate"));
    assert_eq!(rate.change_id.as_str(), "chg_1b6458fb34115398ae38394f21ce0f39");
}

#[test]
fn ids_do_not_depend_on_other_records() {
    let one = r#"{"vendor":"acme","operation":"GET /a","change_kind":"operation_removed","to_version":"2026-01-01"}"#;
    let two = r#"{"vendor":"acme","operation":"GET /b","change_kind":"operation_removed","to_version":"2025-01-01"}"#;
    let alone = feeds_of(&[("a.json", &format!("[{one}]"))]).unwrap();
    let both = feeds_of(&[("a.json", &format!("[{two},{one}]"))]).unwrap();
    assert_eq!(alone[0].change_id, both[0].change_id);
    // Newest first, and numbered by date whatever the order of the records.
    assert_eq!(both.iter().map(|change| change.introduced_ordinal).collect::<Vec<_>>(), [Some(2), Some(1)]);
}

#[test]
fn a_second_record_of_one_change_stops_publishing_with_both_named() {
    let record = |id: &str| {
        format!(
            r#"{{"id":"{id}","vendor":"acme","operation":"GET /a/{{{id}}}","change_kind":"response_field_moved","field":"x","to_version":"2026-01-01"}}"#
        )
    };
    let error = feeds_of(&[("a.json", &format!("[{}]", record("one"))), ("b.json", &format!("[{}]", record("two")))])
        .unwrap_err()
        .to_string();
    assert!(error.contains("a.json: one") && error.contains("b.json: two") && error.contains("next:"), "{error}");
}

#[test]
fn two_words_for_one_thing_at_one_place_are_one_change() {
    let record = |kind: &str, severity: &str| {
        format!(
            r#"{{"vendor":"acme","operation":"GET /a","change_kind":"response_field_became_{kind}","field":"x","to_version":"2026-01-01","severity":"{severity}"}}"#
        )
    };
    let both = |other: &str| format!("[{},{}]", record("nullable", "breaking"), other);
    assert_eq!(feeds_of(&[("a.json", &both(&record("optional", "breaking")))]).unwrap().len(), 1);
    // Said of one place, but not the same; and said twice.
    for other in [record("optional", "non_breaking"), record("nullable", "breaking")] {
        assert!(matches!(feeds_of(&[("a.json", &both(&other))]), Err(AssembleError::Duplicate { .. })));
    }
}

#[test]
fn a_label_without_a_place_stops_publishing_unless_it_is_listed() {
    let record = r#"[{"vendor":"acme","operation":"GET /a","change_kind":"operation_removed","to_version":"harvest"}]"#;
    let error = feeds_of(&[("a.json", record)]).unwrap_err();
    assert!(matches!(&error, AssembleError::Label { label, .. } if label == "harvest"), "{error}");
    let listed = r#"{"vendor":"acme","versions":[{"axis":"api","label":"sowing"},{"axis":"api","label":"harvest"}]}"#;
    let changes = feeds_of(&[("a.json", record), ("v.json", listed)]).unwrap();
    assert_eq!((changes[0].axis, changes[0].introduced_ordinal), (Some(Axis::Api), Some(2)));
    let falling =
        r#"{"vendor":"acme","versions":[{"axis":"api","label":"2026-01-01"},{"axis":"api","label":"2025-01-01"}]}"#;
    let dated = record.replace("harvest", "2026-01-01");
    assert!(matches!(
        feeds_of(&[("a.json", dated.as_str()), ("v.json", falling)]),
        Err(AssembleError::Versions { .. })
    ));
}

#[test]
fn what_a_record_does_not_say_is_filled_by_its_kind() {
    let records = r#"{"defaults":{"vendor":"acme","to_version":"2026-01-01"},"records":[
        {"operation":"POST /a","change_kind":"param_removed","field":"x"},
        {"operation":"GET /a","change_kind":"param_became_required","field":"x"},
        {"operation":"GET /a","change_kind":"response_field_became_optional","field":"y"},
        {"operation":"GET /b","change_kind":"response_status_changed","field":"204","replacement":"200"},
        {"operation":"GET /c","change_kind":"teleported","field":"z"}]}"#;
    let mut changes: Vec<_> = feeds_of(&[("a.json", records)])
        .unwrap()
        .into_iter()
        .map(|c| (c.change_kind.as_str().to_owned(), c.location, c.field, c.severity))
        .collect();
    changes.sort();
    let row = |kind: &str, location: &str, field: &str, severity| {
        (kind.to_owned(), location.to_owned(), field.to_owned(), severity)
    };
    assert_eq!(
        changes,
        [
            row("param_became_required", "request.query", "x", Severity::Breaking),
            row("param_removed", "request.body", "x", Severity::Breaking),
            row("response_field_became_nullable", "response.body", "y", Severity::PotentiallyBreaking),
            row("response_status_changed", "response.status", "", Severity::PotentiallyBreaking),
            row("teleported", "operation", "z", Severity::PotentiallyBreaking),
        ]
    );
}

#[test]
fn files_that_are_not_records_are_named() {
    for text in ["{", "{}", "[1]", r#"[{"vendor":"acme"}]"#, r#"[{"vendor":"a","change_kind":"x","sunset":"soon"}]"#] {
        let error = feeds_of(&[("bad.json", text)]).unwrap_err().to_string();
        assert!(error.contains("bad.json") && error.contains("next:"), "{error}");
    }
    assert!(matches!(feeds_of(&[]), Err(AssembleError::NoRecords(_))));
}

#[tokio::test]
async fn a_development_feed_is_verified_like_any() {
    let dir = tempfile::tempdir().unwrap();
    let now = datetime!(2026-11-30 12:00 UTC);
    let renewal = Renewal { before: Duration::DAY, at_least: 0 };
    let feed = publish_dev(dir.path(), renewal, now).await.unwrap();
    let verifier = Verifier::new(feed.dir.to_str().unwrap(), feed.root, feed.datastore).unwrap();
    let loaded = verifier.load(None, now).await.unwrap();
    assert!(
        matches!(loaded, Loaded::New(loaded) if loaded.version == feed.version && loaded.feeds == *embedded_feeds())
    );
}
