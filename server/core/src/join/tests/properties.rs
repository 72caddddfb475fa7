//! What holds for any change, call and pin.

use proptest::prelude::*;

use super::*;

fn field() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "a", "a.b", "a[].b", "[].a", "data", "data.a", "b", "é.ü", "..", "a..b", "[", "]."])
        .prop_map(str::to_owned)
}

fn kind() -> impl Strategy<Value = String> {
    prop_oneof![prop::sample::select(ChangeKind::KNOWN).prop_map(str::to_owned), "\\PC{0,12}"]
}

fn any_change() -> impl Strategy<Value = VendorChange> {
    let label = prop_oneof![
        Just(None),
        "\\PC{0,14}".prop_map(Some),
        prop::sample::select(vec!["2025-03-31.basil", "1.2.3", "4.x"]).prop_map(|label| Some(label.to_owned()))
    ];
    let axis = prop::sample::select(vec![None, Some(Axis::Api), Some(Axis::Sdk)]);
    (kind(), field(), axis, label, prop::bool::ANY, prop::option::of("[a.()]{0,9}")).prop_map(
        |(kind, field, axis, to_version, operation, chain)| VendorChange {
            change_id: ChangeId::of(&[&kind, &field, &format!("{axis:?}{to_version:?}{operation}{chain:?}")]),
            axis,
            to_version,
            operation: operation.then(|| Operation::from_text("POST /v1/charges/{id}")),
            package: axis.and(Some("stripe".to_owned())),
            chain,
            ..change(&kind, &field)
        },
    )
}

fn any_call() -> impl Strategy<Value = CallSite> {
    let fields = || prop::collection::vec(field(), 0..4);
    let chain = prop::sample::select(vec!["s.a", "a", "", "s.b()"]);
    (fields(), prop::bool::ANY, fields(), prop::bool::ANY, 0_u32..3, chain).prop_map(
        |(args_keys, args_complete, reads, response_complete, call_ordinal, chain)| {
            let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
            CallSite {
                args_keys,
                args_complete,
                response_complete,
                call_ordinal,
                chain: chain.to_owned(),
                ..call(&[], &reads)
            }
        },
    )
}

fn any_client() -> impl Strategy<Value = Client> {
    let source = prop::sample::select(vec!["literal", "header", "sdk_default", "environment", "", "é"]);
    let sdk_source = prop::sample::select(vec!["lockfile", "manifest_range", "unknown"]);
    let strange = vec!["^0.0.3", "~1", "x", ">=", "^", "1.2.3-a", "99999999999999999999.0.0", "^18446744073709551615"];
    let version = prop_oneof!["\\PC{0,10}", prop::sample::select(strange).prop_map(str::to_owned)];
    let envelope = prop::option::of(Just("data".to_owned()));
    (prop::option::of("\\PC{0,12}"), source, version, sdk_source, envelope).prop_map(
        |(api, source, version, sdk_source, envelope)| Client {
            sdk_version: Some(version),
            sdk_version_source: sdk_source.to_owned(),
            envelope,
            ..client(api.as_deref(), source)
        },
    )
}

fn sites<'a>(calls: &'a [CallSite], client: &'a Client) -> Vec<Site<'a>> {
    calls.iter().map(|call| Site { path: "a.ts", call, client: Some(client) }).collect()
}

proptest! {
    #[test]
    fn nothing_panics_and_additions_and_strangers_meet_nothing(
        changes in prop::collection::vec(any_change(), 0..6),
        calls in prop::collection::vec(any_call(), 0..4),
        client in any_client(),
    ) {
        let feeds = [feed(changes)];
        for finding in join(repository(), &sites(&calls, &client), &FeedIndex::new(&feeds)) {
            let word = finding.change_kind.as_str();
            prop_assert!(ChangeKind::KNOWN.contains(&word) && word != "other");
            let addition = word.ends_with("_added") || word.ends_with("_optional");
            prop_assert!(!addition || word == "response_enum_value_added");
        }
    }

    #[test]
    fn the_order_of_call_sites_and_changes_does_not_matter(
        changes in prop::collection::vec(any_change(), 0..6),
        calls in prop::collection::vec(any_call(), 0..4),
        client in any_client(),
    ) {
        let feeds = [feed(changes.clone())];
        let reversed = [feed(changes.into_iter().rev().collect())];
        let shown = |findings: Vec<Finding>| {
            let mut lines: Vec<String> = findings.iter().map(|finding| format!("{finding:?}")).collect();
            lines.sort();
            lines
        };
        let mut sites = sites(&calls, &client);
        let one = join(repository(), &sites, &FeedIndex::new(&feeds));
        sites.reverse();
        let other = join(repository(), &sites, &FeedIndex::new(&reversed));
        prop_assert_eq!(shown(one), shown(other));
    }

    #[test]
    fn an_argument_that_is_seen_is_seen_though_others_are_hidden(call in any_call(), field in field()) {
        let hidden = CallSite { args_complete: false, ..call.clone() };
        let removed = || change("param_removed", &field);
        if let Some((severity, _)) = met(removed(), &call, None) {
            prop_assert!(met(removed(), &hidden, None).is_some_and(|(lowered, _)| lowered <= severity));
        }
    }
}
