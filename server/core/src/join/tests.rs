//! Exact expectations of the join.

mod kinds;
mod properties;
mod windows;

use std::collections::BTreeMap;

use time::macros::date;

use super::*;
use crate::change::{Axis, Confidence, VendorChange, VendorFeed};
use crate::graph::{Read, literal_digest};
use crate::rung::Rung;

pub(super) fn repository() -> RepositoryId {
    "src_0123456789abcdef0123456789abcdef".parse().unwrap()
}

/// A breaking change of `POST /v1/charges` at `field`, of the API version 2025-03-31.basil.
pub(super) fn change(kind: &str, field: &str) -> VendorChange {
    VendorChange {
        change_id: ChangeId::of(&[kind, field]),
        vendor: "stripe".to_owned(),
        operation: Some(Operation::from_text("POST /v1/charges/{charge}")),
        change_kind: ChangeKind::from_word(kind),
        location: String::new(),
        field: field.to_owned(),
        path_ptr: None,
        value: None,
        old: None,
        new: None,
        severity: Severity::Breaking,
        axis: Some(Axis::Api),
        package: None,
        chain: None,
        from_version: None,
        to_version: Some("2025-03-31.basil".to_owned()),
        introduced_ordinal: None,
        sunset: None,
        published_at: Some(date!(2025 - 04 - 01)),
        replacement: None,
        confidence: Confidence::Declared,
        group_id: String::new(),
        changelog_url: None,
    }
}

pub(super) fn feed(changes: Vec<VendorChange>) -> VendorFeed {
    VendorFeed { format: 1, vendor: "stripe".to_owned(), license: String::new(), versions: Vec::new(), changes }
}

/// A call of `POST /v1/charges/{id}` that gives `args` and reads `reads`, everything visible.
pub(super) fn call(args: &[&str], reads: &[&str]) -> CallSite {
    CallSite {
        line: 7,
        end_line: 7,
        column: 1,
        callee_line: 7,
        callee_column: 1,
        symbol: "pay".to_owned(),
        symbol_ordinal: 0,
        call_ordinal: 0,
        chain: "stripe.charges.update".to_owned(),
        client: Some("c".to_owned()),
        vendor: "stripe".to_owned(),
        operation: Some(Operation::from_text("POST /v1/charges/{id}")),
        args_keys: args.iter().map(|&key| key.to_owned()).collect(),
        args_complete: true,
        args_literals: BTreeMap::new(),
        response_fields_read: reads.iter().map(|&field| field.to_owned()).collect(),
        reads: reads.iter().map(|&field| Read { field: field.to_owned(), guarded: false, compared: false }).collect(),
        response_complete: true,
        call_hash: String::new(),
        binding_source: Rung::Static,
        context: Context::Code,
        evidence: Vec::new(),
    }
}

pub(super) fn client(api_version: Option<&str>, source: &str) -> Client {
    Client {
        id: "c".to_owned(),
        vendor: "stripe".to_owned(),
        package: Some("stripe".to_owned()),
        sdk_version: None,
        sdk_version_source: "unknown".to_owned(),
        api_version: api_version.map(str::to_owned),
        api_version_source: source.to_owned(),
        constructed_at: "lib/stripe.ts#stripe#0".to_owned(),
        envelope: None,
    }
}

/// What the change makes of the call: severity and reason, or no finding.
pub(super) fn met(
    change: VendorChange,
    call: &CallSite,
    client: Option<&Client>,
) -> Option<(Severity, Option<String>)> {
    let feeds = [feed(vec![change])];
    let findings = join(repository(), &[Site { path: "a.ts", call, client }], &FeedIndex::new(&feeds));
    assert!(findings.len() <= 1, "one change, one call site: {findings:?}");
    findings.into_iter().next().map(|finding| (finding.severity, finding.reason))
}

#[test]
fn a_finding_carries_what_its_call_site_and_its_change_say() {
    let feeds = [feed(vec![change("param_removed", "coupon")])];
    let (call, client) = (call(&["coupon"], &[]), client(Some("2024-04-10"), "literal"));
    let site = Site { path: "lib/pay.ts", call: &call, client: Some(&client) };
    let findings = join(repository(), &[site], &FeedIndex::new(&feeds));
    let change = &feeds[0].changes[0];
    let expected = Finding {
        finding_id: FindingId::of(&[
            &repository().to_string(),
            change.change_id.as_str(),
            "lib/pay.ts",
            "pay#0",
            "stripe.charges.update",
            "0",
        ]),
        change_id: change.change_id.clone(),
        path: "lib/pay.ts".to_owned(),
        line: 7,
        symbol: "pay".to_owned(),
        chain: "stripe.charges.update".to_owned(),
        vendor: "stripe".to_owned(),
        operation: Some(Operation::from_text("POST /v1/charges/{id}")),
        change_kind: ChangeKind::ParamRemoved,
        severity: Severity::Breaking,
        window: Window::OnUpgrade,
        reason: None,
        sunset: None,
        binding_source: BindingSource::Rung(Rung::Static),
        context: Context::Code,
    };
    assert_eq!(findings, [expected]);
}

#[test]
fn a_findings_id_stays_while_its_line_moves_and_differs_by_call() {
    let change = ChangeId::of(&["x"]);
    let id = |call: &CallSite| finding_id("src", &change, &Site { path: "a.ts", call, client: None });
    let here = call(&[], &[]);
    let moved = CallSite { line: 90, end_line: 91, ..here.clone() };
    let second = CallSite { call_ordinal: 1, ..here.clone() };
    let namesake = CallSite { symbol_ordinal: 1, ..here.clone() };
    assert_eq!(id(&here), id(&moved));
    assert_ne!(id(&here), id(&second));
    assert_ne!(id(&here), id(&namesake));
}

#[test]
fn another_vendors_operation_of_the_same_name_is_not_met() {
    let other = CallSite { vendor: "acme".to_owned(), ..call(&["coupon"], &[]) };
    assert_eq!(met(change("param_removed", "coupon"), &other, None), None);
    let unbound = CallSite { operation: None, ..call(&["coupon"], &[]) };
    assert_eq!(met(change("operation_removed", ""), &unbound, None), None);
}

#[test]
fn the_digest_of_a_literal_is_pinned() {
    assert_eq!(literal_digest("card"), crate::graph::short_hash(&["card"]));
    assert_eq!(literal_digest("card").len(), 16);
}
