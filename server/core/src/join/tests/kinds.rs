//! Every kind of change against calls that show what it is about, hide it, or do without it.

use super::*;

type Expected = Option<(Severity, Option<&'static str>)>;

const BREAKING: Expected = Some((Severity::Breaking, None));
const POTENTIALLY: Expected = Some((Severity::PotentiallyBreaking, None));
const ARGS: Expected = Some((Severity::PotentiallyBreaking, Some("args_not_visible")));
const VALUE: Expected = Some((Severity::PotentiallyBreaking, Some("value_not_visible")));
const RESPONSE: Expected = Some((Severity::PotentiallyBreaking, Some("response_not_visible")));
const NOTHING: Expected = None;

#[track_caller]
fn expect(change: VendorChange, call: &CallSite, client: Option<&Client>, expected: Expected) {
    let what = format!("{change:?}\n{call:?}");
    let got = met(change, call, client);
    assert_eq!(got.as_ref().map(|(severity, reason)| (*severity, reason.as_deref())), expected, "{what}");
}

fn hidden(args: &[&str]) -> CallSite {
    CallSite { args_complete: false, ..call(args, &[]) }
}

fn escaping(reads: &[&str]) -> CallSite {
    CallSite { response_complete: false, ..call(&[], reads) }
}

#[test]
fn changes_of_the_operation_meet_every_call_of_it() {
    for kind in
        ["operation_removed", "operation_moved", "operation_deprecated", "auth_changed", "response_status_changed"]
    {
        for call in [call(&[], &[]), hidden(&[]), escaping(&[])] {
            expect(change(kind, ""), &call, None, BREAKING);
        }
    }
}

#[test]
fn changes_of_a_parameter_meet_calls_that_give_it() {
    for kind in ["param_removed", "param_renamed", "param_type_changed", "param_deprecated"] {
        expect(change(kind, "coupon"), &call(&["amount", "coupon"], &[]), None, BREAKING);
        expect(change(kind, "coupon"), &hidden(&["coupon"]), None, BREAKING);
        expect(change(kind, "coupon"), &hidden(&["amount"]), None, ARGS);
        expect(change(kind, "coupon"), &call(&["amount"], &[]), None, NOTHING);
        expect(change(kind, "coupon"), &call(&[], &[]), None, NOTHING);
        expect(change(kind, "coupon"), &call(&["coupons"], &[]), None, NOTHING);
        // Read from the response is not given as an argument.
        expect(change(kind, "coupon"), &call(&[], &["coupon"]), None, NOTHING);
    }
    expect(change("param_tightened", "coupon"), &call(&["coupon"], &[]), None, POTENTIALLY);
    expect(change("param_tightened", "coupon"), &hidden(&[]), None, ARGS);
    expect(change("param_tightened", "coupon"), &call(&[], &[]), None, NOTHING);
}

#[test]
fn nested_parameters_follow_what_is_visible_of_the_object_around_them() {
    let nested = || change("param_removed", "payment_method_options.card.cvc");
    // Given, however deep.
    expect(nested(), &call(&["payment_method_options.card.cvc"], &[]), None, BREAKING);
    expect(nested(), &call(&["payment_method_options.card.cvc.token"], &[]), None, BREAKING);
    // The object around it is given and its keys are visible: it is not among them.
    let sibling = ["payment_method_options", "payment_method_options.ideal"];
    expect(nested(), &call(&sibling, &[]), None, NOTHING);
    let cousin = ["payment_method_options", "payment_method_options.card", "payment_method_options.card.network"];
    expect(nested(), &call(&cousin, &[]), None, NOTHING);
    // The object around it is a variable.
    expect(nested(), &call(&["payment_method_options", "payment_method_options.card"], &[]), None, ARGS);
    let card = || change("param_removed", "payment_method_options.card");
    expect(card(), &call(&["payment_method_options"], &[]), None, ARGS);
    expect(card(), &call(&["payment_method_options", "payment_method_options.ideal"], &[]), None, NOTHING);
    expect(card(), &hidden(&["payment_method_options", "payment_method_options.ideal"]), None, ARGS);
    // Two levels below what is visible nothing is known.
    expect(nested(), &call(&["payment_method_options"], &[]), None, NOTHING);
    expect(card(), &hidden(&["amount"]), None, NOTHING);
    // The change is of the object, the call gives something in it.
    let object = change("param_removed", "payment_method_options");
    expect(object, &call(&["payment_method_options.card.cvc"], &[]), None, BREAKING);
    // List items are at the place of their list.
    let items = change("param_type_changed", "payment_method_types[]");
    expect(items, &call(&["payment_method_types"], &[]), None, BREAKING);
    expect(change("param_removed", "items[].plan"), &call(&["items", "items[].plan"], &[]), None, BREAKING);
}

#[test]
fn required_parameters_meet_calls_that_do_without() {
    for kind in ["param_added_required", "param_became_required"] {
        expect(change(kind, "currency"), &call(&["amount"], &[]), None, BREAKING);
        expect(change(kind, "currency"), &call(&[], &[]), None, BREAKING);
        expect(change(kind, "currency"), &hidden(&["amount"]), None, ARGS);
        expect(change(kind, "currency"), &call(&["currency"], &[]), None, NOTHING);
        expect(change(kind, "currency"), &hidden(&["currency"]), None, NOTHING);
        // A member is required only of calls that give the object.
        let member = || change(kind, "transfer_data.destination");
        expect(member(), &call(&["amount"], &[]), None, NOTHING);
        expect(member(), &call(&["transfer_data"], &[]), None, ARGS);
        expect(member(), &call(&["transfer_data.amount"], &[]), None, BREAKING);
    }
    expect(change("default_changed", "capture_method"), &call(&["amount"], &[]), None, BREAKING);
    expect(change("default_changed", "capture_method"), &hidden(&["amount"]), None, ARGS);
    expect(change("default_changed", "capture_method"), &call(&["capture_method"], &[]), None, NOTHING);
}

#[test]
fn an_enum_value_that_went_meets_calls_that_give_it() {
    let removed = || VendorChange { value: Some("sofort".to_owned()), ..change("param_enum_value_removed", "type") };
    let literal = |value: &str| CallSite {
        args_literals: BTreeMap::from([("type".to_owned(), literal_digest(value))]),
        ..call(&["type"], &[])
    };
    expect(removed(), &literal("sofort"), None, BREAKING);
    expect(removed(), &literal("card"), None, NOTHING);
    expect(removed(), &call(&["type"], &[]), None, VALUE);
    expect(removed(), &hidden(&[]), None, ARGS);
    expect(removed(), &call(&["amount"], &[]), None, NOTHING);
    let mild = VendorChange { severity: Severity::PotentiallyBreaking, ..removed() };
    expect(mild, &literal("sofort"), None, BREAKING);
}

#[test]
fn changes_of_a_response_field_meet_calls_that_read_it() {
    for kind in ["response_field_removed", "response_field_renamed", "response_field_type_changed"] {
        expect(change(kind, "charges"), &call(&[], &["id", "charges"]), None, BREAKING);
        expect(change(kind, "charges"), &call(&[], &["charges.data[].id"]), None, BREAKING);
        expect(change(kind, "charges"), &call(&[], &["id"]), None, NOTHING);
        expect(change(kind, "charges"), &call(&[], &[]), None, NOTHING);
        // Given as an argument is not read from the response.
        expect(change(kind, "charges"), &call(&["charges"], &[]), None, NOTHING);
        // The whole value leaves: nothing of it is known to be read.
        expect(change(kind, "charges"), &escaping(&[]), None, NOTHING);
        expect(change(kind, "charges"), &escaping(&["id"]), None, NOTHING);
        // Only what is around it is read.
        let nested = || change(kind, "items.data[].plan");
        expect(nested(), &call(&[], &["items"]), None, NOTHING);
        expect(nested(), &escaping(&["items"]), None, RESPONSE);
        expect(nested(), &escaping(&["items.data[]"]), None, RESPONSE);
        // Something below what is around it is read, so that is where the value goes.
        expect(nested(), &escaping(&["items", "items.data[].id"]), None, NOTHING);
    }
    // The items of a list that the response is are the response itself.
    let in_list = || change("response_field_removed", "data[].items.data[].plan");
    expect(in_list(), &escaping(&["data"]), None, NOTHING);
    expect(in_list(), &escaping(&["data[]"]), None, NOTHING);
    expect(in_list(), &escaping(&["data[].items"]), None, RESPONSE);
    expect(change("response_field_deprecated", "charges"), &call(&[], &["charges.data"]), None, BREAKING);
    expect(change("response_field_deprecated", "items.data"), &escaping(&["items"]), None, NOTHING);
}

#[test]
fn the_envelope_of_a_client_is_not_the_vendors() {
    let octokit = Client { envelope: Some("data".to_owned()), ..client(None, "unknown") };
    let rate = || change("response_field_removed", "rate");
    expect(rate(), &call(&[], &["data.rate"]), Some(&octokit), BREAKING);
    expect(rate(), &call(&[], &["data.rate.limit"]), Some(&octokit), BREAKING);
    expect(rate(), &call(&[], &["rate"]), Some(&octokit), NOTHING);
    expect(rate(), &escaping(&["data"]), Some(&octokit), NOTHING);
    // Items of a list, with the envelope and as a paginator hands them out.
    let item = || change("response_field_removed", "[].merge_commit_sha");
    expect(item(), &call(&[], &["data[].merge_commit_sha"]), Some(&octokit), BREAKING);
    expect(item(), &call(&[], &["[].merge_commit_sha"]), Some(&octokit), BREAKING);
    expect(item(), &call(&[], &["data.length"]), Some(&octokit), NOTHING);
    // Where the vendor's own schema says `data`, it stays.
    let own = || change("response_field_removed", "data[].coupon");
    expect(own(), &call(&[], &["data[].coupon"]), Some(&client(None, "unknown")), BREAKING);
    expect(own(), &call(&[], &["coupon"]), Some(&client(None, "unknown")), NOTHING);
}

#[test]
fn a_field_that_may_be_null_meets_reads_without_a_guard() {
    let nullable = || VendorChange {
        severity: Severity::PotentiallyBreaking,
        ..change("response_field_became_nullable", "customer")
    };
    let read = |field: &str, guarded| CallSite {
        reads: vec![Read { field: field.to_owned(), guarded, compared: false }],
        ..call(&[], &[field])
    };
    expect(nullable(), &read("customer", false), None, POTENTIALLY);
    expect(nullable(), &read("customer.id", false), None, POTENTIALLY);
    expect(nullable(), &read("customer", true), None, NOTHING);
    expect(nullable(), &read("customer.id", true), None, NOTHING);
    expect(nullable(), &read("amount", false), None, NOTHING);
}

#[test]
fn an_enum_value_that_came_meets_reads_that_are_compared() {
    for kind in ["response_enum_value_added", "response_enum_value_removed"] {
        let new = || VendorChange { value: Some("paused".to_owned()), ..change(kind, "status") };
        let read = |field: &str, compared| CallSite {
            reads: vec![Read { field: field.to_owned(), guarded: false, compared }],
            ..call(&[], &[field])
        };
        expect(new(), &read("status", true), None, BREAKING);
        expect(new(), &read("status", false), None, NOTHING);
        expect(new(), &read("status.reason", true), None, NOTHING);
        expect(new(), &escaping(&[]), None, NOTHING);
    }
}

#[test]
fn the_surface_of_an_sdk_meets_its_chain_in_its_package() {
    let surface = || VendorChange {
        axis: Some(Axis::Sdk),
        package: Some("stripe".to_owned()),
        chain: Some("charges.update".to_owned()),
        ..change("sdk_surface_changed", "")
    };
    let stripe = client(None, "unknown");
    let through = |chain: &str| CallSite { chain: chain.to_owned(), ..call(&[], &[]) };
    expect(surface(), &through("stripe.charges.update"), Some(&stripe), BREAKING);
    expect(surface(), &through("this.billing.stripe.charges.update"), Some(&stripe), BREAKING);
    expect(surface(), &through("getStripe().charges.update"), Some(&stripe), BREAKING);
    // Another chain to the same operation, and the members alone.
    expect(surface(), &through("stripe.charges.modify"), Some(&stripe), NOTHING);
    expect(surface(), &through("charges.update"), Some(&stripe), NOTHING);
    // The same members to another operation.
    let elsewhere = CallSite {
        operation: Some(Operation::from_text("POST /v1/issuing/charges/{id}")),
        ..through("stripe.issuing.charges.update")
    };
    expect(surface(), &elsewhere, Some(&stripe), NOTHING);
    // Another package, and none.
    let other = Client { package: Some("stripe-lite".to_owned()), ..stripe.clone() };
    expect(surface(), &through("stripe.charges.update"), Some(&other), NOTHING);
    expect(surface(), &through("stripe.charges.update"), None, NOTHING);
}

#[test]
fn what_came_with_a_package_concerns_calls_through_it_alone() {
    let renamed = || VendorChange {
        axis: Some(Axis::Sdk),
        package: Some("stripe".to_owned()),
        ..change("param_renamed", "reply_to")
    };
    expect(renamed(), &call(&["reply_to"], &[]), Some(&client(None, "unknown")), BREAKING);
    expect(renamed(), &call(&["reply_to"], &[]), None, NOTHING);
}

#[test]
fn additions_and_strangers_meet_nothing() {
    let everything = CallSite { args_complete: false, response_complete: false, ..call(&["x"], &["x"]) };
    for kind in [
        "operation_added",
        "param_added_optional",
        "param_became_optional",
        "param_enum_value_added",
        "response_field_added",
        "status_rate_rise",
        "operation_gone_observed",
        "binding_contradicted",
        "other",
        "teleported",
    ] {
        expect(change(kind, "x"), &everything, None, NOTHING);
        expect(change(kind, ""), &everything, None, NOTHING);
    }
}

#[test]
fn what_the_feed_calls_non_breaking_meets_nothing() {
    for kind in ["operation_moved", "param_removed", "response_field_type_changed"] {
        let mild = VendorChange { severity: Severity::NonBreaking, ..change(kind, "x") };
        expect(mild, &call(&["x"], &["x"]), None, NOTHING);
    }
}

#[test]
fn past_the_change_only_a_use_of_before_is_a_finding() {
    let at = client(Some("2025-03-31.basil"), "literal");
    let past = client(Some("2025-05-28.basil"), "literal");
    let before = client(Some("2025-02-24.acacia"), "literal");
    // Given or read although it is gone.
    for (kind, call) in [
        ("param_removed", call(&["x"], &[])),
        ("param_renamed", call(&["x"], &[])),
        ("param_added_required", call(&[], &[])),
        ("response_field_removed", call(&[], &["x"])),
        ("response_field_renamed", call(&[], &["x"])),
        ("operation_removed", call(&[], &[])),
    ] {
        for client in [&before, &at, &past] {
            expect(change(kind, "x"), &call, Some(client), BREAKING);
        }
    }
    // Perhaps given or read, and perhaps as it is now.
    for (kind, call, expected) in [
        ("param_removed", hidden(&[]), ARGS),
        ("param_added_required", hidden(&[]), ARGS),
        ("param_type_changed", call(&["x"], &[]), BREAKING),
        ("default_changed", call(&[], &[]), BREAKING),
        ("response_field_type_changed", call(&[], &["x"]), BREAKING),
        ("response_field_became_nullable", call(&[], &["x"]), BREAKING),
    ] {
        expect(change(kind, "x"), &call, Some(&before), expected);
        expect(change(kind, "x"), &call, Some(&at), expected);
        expect(change(kind, "x"), &call, Some(&past), NOTHING);
        expect(change(kind, "x"), &call, None, expected);
    }
}

#[test]
fn every_known_kind_is_in_one_of_these_tests() {
    let text = include_str!("kinds.rs");
    for kind in ChangeKind::KNOWN {
        assert!(text.contains(&format!("\"{kind}\"")), "{kind} is in no test");
    }
}
