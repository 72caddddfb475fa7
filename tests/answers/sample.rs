//! Facts and feeds written by hand, so that every expected answer is known before it is asked for.

use sync_core::change::{Axis, ChangeKind, Confidence, FeedVersion, Severity, VendorChange, VendorFeed};
use sync_core::graph::{CallSite, Client, Context, EvidenceStep, FileFacts, Header, PartialReason, Skipped, Symbol};
use sync_core::ids::ChangeId;
use sync_core::operation::Operation;
use sync_core::rung::Rung;
use sync_tests::facts::SnapshotFacts;
use time::Date;
use time::macros::date;

/// The commit of [`billing`].
pub(crate) const COMMIT: &str = "3f2a000000000000000000000000000000000001";

/// A billing service: two Stripe calls that changes meet, one that none meets, one whose operation is not known, one
/// in a test, and one to a vendor without a feed.
pub(crate) fn billing() -> SnapshotFacts {
    let stripe = client("stripe", "stripe", Some("2025-02-24.acacia"), "src/stripe.ts#stripe#0");
    let slack = client("slack", "@slack/web-api", None, "src/notify.ts#slack#0");
    let call = |line, symbol: &str, chain: &str, operation: Option<&str>| CallSite {
        client: Some(stripe.id.clone()),
        ..call_site("stripe", line, symbol, chain, operation)
    };
    let through_stripe = vec![
        EvidenceStep { step: "stripe imported from ./stripe".to_owned(), line: Some(1), target: None },
        EvidenceStep {
            step: "constructed by new Stripe".to_owned(),
            line: None,
            target: Some("src/stripe.ts#stripe#0".to_owned()),
        },
    ];
    let subscriptions = file(
        "src/subscriptions.ts",
        1800,
        vec![
            CallSite {
                end_line: 8,
                response_fields_read: vec!["current_period_end".to_owned()],
                evidence: through_stripe.clone(),
                ..call(6, "renewsOn", "stripe.subscriptions.retrieve", Some("GET /v1/subscriptions/{id}"))
            },
            CallSite {
                response_fields_read: vec!["status".to_owned()],
                evidence: through_stripe.clone(),
                ..call(12, "isActive", "stripe.subscriptions.retrieve", Some("GET /v1/subscriptions/{id}"))
            },
        ],
    );
    let promotions = file(
        "src/promotions.ts",
        900,
        vec![
            CallSite {
                args_keys: vec!["code".to_owned(), "coupon".to_owned()],
                ..call(4, "promote", "stripe.promotionCodes.create", Some("POST /v1/promotion_codes"))
            },
            call(9, "anything", "stripe[name].create", None),
        ],
    );
    let test = file(
        "src/promotions.test.ts",
        400,
        vec![CallSite {
            args_keys: vec!["coupon".to_owned()],
            context: Context::Test,
            ..call(3, "", "stripe.promotionCodes.create", Some("POST /v1/promotion_codes"))
        }],
    );
    let notify = file(
        "src/notify.ts",
        300,
        vec![CallSite {
            client: Some(slack.id.clone()),
            ..call_site("slack", 5, "notify", "slack.chat.postMessage", Some("POST /api/chat.postMessage"))
        }],
    );
    let mut stripe_module = file("src/stripe.ts", 200, vec![]);
    stripe_module.symbols = vec![symbol("stripe", 3)];
    let money = file("src/money.ts", 100, vec![]);
    snapshot(
        COMMIT,
        vec![stripe, slack],
        vec![notify, stripe_module, money, promotions, test, subscriptions],
        vec![Skipped { path: "src/generated/".to_owned(), reason: "generated".to_owned() }],
    )
}

/// Stripe's feed: a field that [`billing`] reads goes, a parameter it sends goes, and one edit in two operations.
pub(crate) fn stripe_feed() -> VendorFeed {
    let version = |label: &str, ordinal, day| FeedVersion {
        axis: Axis::Api,
        package: None,
        label: label.to_owned(),
        ordinal,
        published_at: Some(day),
        default_api: None,
    };
    let basil = Some(("2025-02-24.acacia", "2025-03-31.basil", 2, date!(2025 - 03 - 31)));
    let clover = Some(("2025-03-31.basil", "2025-09-30.clover", 3, date!(2025 - 09 - 30)));
    feed(
        "stripe",
        vec![
            version("2025-02-24.acacia", 1, date!(2025 - 02 - 24)),
            version("2025-03-31.basil", 2, date!(2025 - 03 - 31)),
            version("2025-09-30.clover", 3, date!(2025 - 09 - 30)),
        ],
        vec![
            change("POST /v1/promotion_codes", ChangeKind::ParamRemoved, "request.body", "coupon", clover),
            VendorChange {
                group_id: "grp_lists".to_owned(),
                ..change("GET /v1/prices", ChangeKind::ResponseFieldAdded, "response.body", "tier", clover)
            },
            VendorChange {
                group_id: "grp_lists".to_owned(),
                ..change("GET /v1/subscriptions/{id}", ChangeKind::ResponseFieldAdded, "response.body", "tier", clover)
            },
            change(
                "GET /v1/subscriptions/{id}",
                ChangeKind::ResponseFieldRemoved,
                "response.body",
                "current_period_end",
                basil,
            ),
            VendorChange {
                sunset: Some(date!(2027 - 01 - 15)),
                axis: None,
                ..change("GET /v1/subscriptions/{id}", ChangeKind::OperationDeprecated, "operation", "", None)
            },
        ],
    )
}

/// A change of Stripe's API: between which labels, with which ordinal, on which day.
pub(crate) fn change(
    operation: &str,
    kind: ChangeKind,
    location: &str,
    field: &str,
    version: Option<(&str, &str, u32, Date)>,
) -> VendorChange {
    let change_id = ChangeId::of(&[operation, kind.as_str(), location, field]);
    let breaking = !matches!(kind, ChangeKind::ResponseFieldAdded);
    VendorChange {
        group_id: format!("grp_{}", &change_id.as_str()[4..12]),
        change_id,
        vendor: "stripe".to_owned(),
        operation: Some(Operation::from_text(operation)),
        change_kind: kind,
        location: location.to_owned(),
        field: field.to_owned(),
        path_ptr: None,
        value: None,
        old: None,
        new: None,
        severity: if breaking { Severity::Breaking } else { Severity::NonBreaking },
        axis: version.is_some().then_some(Axis::Api),
        package: None,
        chain: None,
        from_version: version.map(|(from, ..)| from.to_owned()),
        to_version: version.map(|(_, to, ..)| to.to_owned()),
        introduced_ordinal: version.map(|(_, _, ordinal, _)| ordinal),
        sunset: None,
        published_at: version.map(|(.., day)| day),
        replacement: None,
        confidence: Confidence::Declared,
        changelog_url: None,
    }
}

/// A feed, its changes newest first.
pub(crate) fn feed(vendor: &str, versions: Vec<FeedVersion>, changes: Vec<VendorChange>) -> VendorFeed {
    VendorFeed {
        format: sync_core::change::FEED_FORMAT,
        vendor: vendor.to_owned(),
        license: "CC-BY-4.0".to_owned(),
        versions,
        changes,
    }
}

/// A snapshot of these files, which are sorted and sealed here.
pub(crate) fn snapshot(
    commit: &str,
    mut clients: Vec<Client>,
    mut files: Vec<FileFacts>,
    skipped: Vec<Skipped>,
) -> SnapshotFacts {
    clients.sort_by(|a, b| a.id.cmp(&b.id));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    SnapshotFacts {
        header: Header {
            format: sync_core::graph::SNAPSHOT_FORMAT,
            analyzer: "test".to_owned(),
            catalog: "test".to_owned(),
            repository: None,
            ref_name: None,
            commit: Some(commit.to_owned()),
            gate: "on".to_owned(),
            clients,
            partial: !skipped.is_empty(),
            partial_reasons: skipped
                .iter()
                .map(|path| PartialReason {
                    reason: path.reason.clone(),
                    count: 1,
                    files: vec![path.path.clone()],
                    limit: None,
                })
                .collect(),
        },
        skipped,
        files: files.into_iter().map(|file| file.seal().unwrap()).collect(),
    }
}

/// A client of a vendor.
pub(crate) fn client(vendor: &str, package: &str, api_version: Option<&str>, constructed_at: &str) -> Client {
    Client {
        id: sync_core::graph::short_hash(&[vendor, package, constructed_at]),
        vendor: vendor.to_owned(),
        package: Some(package.to_owned()),
        sdk_version: Some("17.0.0".to_owned()),
        sdk_version_source: "lockfile".to_owned(),
        api_version: api_version.map(str::to_owned),
        api_version_source: if api_version.is_some() { "literal" } else { "unknown" }.to_owned(),
        constructed_at: constructed_at.to_owned(),
        envelope: None,
    }
}

/// A call in product code whose arguments and reads are all visible and none.
pub(crate) fn call_site(vendor: &str, line: u32, symbol: &str, chain: &str, operation: Option<&str>) -> CallSite {
    CallSite {
        line,
        end_line: line,
        column: 9,
        callee_line: line,
        callee_column: 20,
        symbol: symbol.to_owned(),
        symbol_ordinal: 0,
        call_ordinal: 0,
        chain: chain.to_owned(),
        client: None,
        vendor: vendor.to_owned(),
        operation: operation.map(Operation::from_text),
        args_keys: vec![],
        args_complete: true,
        args_literals: std::collections::BTreeMap::new(),
        response_fields_read: vec![],
        reads: vec![],
        response_complete: true,
        call_hash: "0".repeat(16),
        binding_source: Rung::Static,
        context: Context::Code,
        evidence: vec![],
    }
}

/// A file with these calls.
pub(crate) fn file(path: &str, bytes: u64, call_sites: Vec<CallSite>) -> FileFacts {
    FileFacts {
        path: path.to_owned(),
        content_hash: "0".repeat(40),
        facts_hash: String::new(),
        language: "typescript".to_owned(),
        parser: "oxc".to_owned(),
        bytes,
        lines: 100,
        symbols: vec![],
        imports: vec![],
        exports: vec![],
        edges: vec![],
        unresolved: vec![],
        call_sites,
    }
}

fn symbol(name: &str, line: u32) -> Symbol {
    Symbol {
        name: name.to_owned(),
        qualified: name.to_owned(),
        ordinal: 0,
        kind: "constant".to_owned(),
        line,
        end_line: line,
        exported: true,
    }
}
