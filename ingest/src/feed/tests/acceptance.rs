//! Call sites of public repositories, written down by hand, against the embedded records: the findings that reading
//! the code confirmed, and no other.

use std::collections::BTreeMap;

use sync_core::change::VendorFeed;
use sync_core::graph::{CallSite, Client, Context, Read};
use sync_core::ids::RepositoryId;
use sync_core::join::{FeedIndex, Finding, Site, join};
use sync_core::operation::Operation;
use sync_core::rung::Rung;
use time::macros::date;

use super::embedded_feeds;

fn call(vendor: &str, chain: &str, operation: &str, line: u32, args: &[&str], reads: &[&str]) -> CallSite {
    CallSite {
        line,
        end_line: line,
        column: 1,
        callee_line: line,
        callee_column: 1,
        symbol: "handler".to_owned(),
        symbol_ordinal: 0,
        call_ordinal: line,
        chain: chain.to_owned(),
        client: Some("c".to_owned()),
        vendor: vendor.to_owned(),
        operation: Some(Operation::from_text(operation)),
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

fn client(vendor: &str, package: &str, sdk: (&str, &str), api: (Option<&str>, &str), envelope: Option<&str>) -> Client {
    Client {
        id: "c".to_owned(),
        vendor: vendor.to_owned(),
        package: Some(package.to_owned()),
        sdk_version: Some(sdk.0.to_owned()),
        sdk_version_source: sdk.1.to_owned(),
        api_version: api.0.map(str::to_owned),
        api_version_source: api.1.to_owned(),
        constructed_at: "lib/client.ts#client#0".to_owned(),
        envelope: envelope.map(str::to_owned),
    }
}

/// `line kind field to_version applies`, a line per finding.
fn findings(feeds: &[VendorFeed], calls: &[CallSite], client: &Client) -> Vec<String> {
    let repository: RepositoryId = "src_0123456789abcdef0123456789abcdef".parse().unwrap();
    let index = FeedIndex::new(feeds);
    let sites: Vec<Site<'_>> = calls.iter().map(|call| Site { path: "a.ts", call, client: Some(client) }).collect();
    let shown = |finding: Finding| {
        let change = index.change(&finding.change_id).unwrap();
        format!(
            "{} {} {} {} {} {}{}",
            finding.line,
            finding.change_kind,
            change.field,
            change.to_version.as_deref().unwrap_or("-"),
            finding.severity.as_str(),
            finding.window.applies(date!(2026 - 11 - 30)).as_str(),
            finding.reason.map(|reason| format!(" {reason}")).unwrap_or_default(),
        )
    };
    let mut lines: Vec<String> = join(repository, &sites, &index).into_iter().map(shown).collect();
    lines.sort();
    lines
}

#[test]
fn actions_stale_reads_the_rate_that_github_removes() {
    let octokit = client("github", "@actions/github", ("6.0.0", "lockfile"), (None, "sdk_default"), Some("data"));
    let calls = [
        call("github", "this.client.rest.rateLimit.get", "GET /rate_limit", 707, &[], &["data.rate"]),
        call(
            "github",
            "this.client.rest.issues.listForRepo",
            "GET /repos/{owner}/{repo}/issues",
            586,
            &["owner", "repo", "state", "per_page", "direction", "sort", "page"],
            &["data.length", "data.map"],
        ),
        call(
            "github",
            "this.client.rest.issues.listComments",
            "GET /repos/{owner}/{repo}/issues/{issue_number}/comments",
            569,
            &["owner", "repo", "issue_number", "since"],
            &["data"],
        ),
    ];
    assert_eq!(
        findings(embedded_feeds(), &calls, &octokit),
        ["707 response_field_removed rate 2026-03-10 breaking on_upgrade"]
    );
}

#[test]
fn semantic_release_reads_the_merge_commit_that_github_removes() {
    let octokit = client("github", "@octokit/core", ("7.0.6", "lockfile"), (None, "sdk_default"), Some("data"));
    let calls = [call(
        "github",
        "octokit.request",
        "GET /repos/{owner}/{repo}/pulls/{pull_number}",
        132,
        &["owner", "repo", "pull_number"],
        &["data", "data.merge_commit_sha"],
    )];
    assert_eq!(
        findings(embedded_feeds(), &calls, &octokit),
        ["132 response_field_removed merge_commit_sha 2026-03-10 breaking on_upgrade"]
    );
}

#[test]
fn dub_passes_parameters_that_stripe_removes_after_its_pin() {
    let stripe = client("stripe", "stripe", ("18.2.0", "lockfile"), (Some("2025-05-28.basil"), "literal"), None);
    let promotion = |line, reads: &[&str]| {
        let args = ["code", "coupon", "restrictions"];
        call("stripe", "stripeApp.promotionCodes.create", "POST /v1/promotion_codes", line, &args, reads)
    };
    let calls = [
        promotion(184, &[]),
        promotion(62, &["id"]),
        call(
            "stripe",
            "stripe.paymentIntents.create",
            "POST /v1/payment_intents",
            221,
            &[
                "amount",
                "confirm",
                "confirmation_method",
                "currency",
                "customer",
                "description",
                "payment_method",
                "payment_method_options",
                "payment_method_types",
                "statement_descriptor",
                "statement_descriptor_suffix",
                "transfer_group",
            ],
            &[],
        ),
        call(
            "stripe",
            "stripe.paymentIntents.create",
            "POST /v1/payment_intents",
            44,
            &[
                "amount",
                "confirm",
                "confirmation_method",
                "currency",
                "customer",
                "description",
                "payment_method",
                "payment_method_types",
                "statement_descriptor_suffix",
                "transfer_group",
            ],
            &["amount", "id"],
        ),
        call(
            "stripe",
            "stripe.checkout.sessions.create",
            "POST /v1/checkout/sessions",
            153,
            &[
                "cancel_url",
                "currency",
                "customer",
                "mode",
                "payment_method_options",
                "payment_method_types",
                "success_url",
            ],
            &["url"],
        ),
    ];
    assert_eq!(
        findings(embedded_feeds(), &calls, &stripe),
        [
            "153 param_removed payment_method_types 2026-09-30.endive breaking on_upgrade",
            "184 param_renamed coupon 2025-09-30.clover breaking on_upgrade",
            "221 param_removed payment_method_types 2026-09-30.endive breaking on_upgrade",
            "44 param_removed payment_method_types 2026-09-30.endive breaking on_upgrade",
            "62 param_renamed coupon 2025-09-30.clover breaking on_upgrade",
        ]
    );
}

#[test]
fn nextjs_subscription_payments_reads_periods_under_the_accounts_version() {
    let stripe = client("stripe", "stripe", ("14.25.0", "lockfile"), (None, "account_default"), None);
    let calls = [call(
        "stripe",
        "stripe.subscriptions.retrieve",
        "GET /v1/subscriptions/{subscription_exposed_id}",
        228,
        &["expand"],
        &[
            "cancel_at",
            "cancel_at_period_end",
            "canceled_at",
            "created",
            "current_period_end",
            "current_period_start",
            "default_payment_method",
            "ended_at",
            "id",
            "items.data[].price.id",
            "metadata",
            "quantity",
            "status",
            "trial_end",
            "trial_start",
        ],
    )];
    assert_eq!(
        findings(embedded_feeds(), &calls, &stripe),
        [
            "228 response_field_removed current_period_start 2025-03-31.basil breaking unknown",
            "228 response_field_renamed current_period_end 2025-03-31.basil breaking unknown",
        ]
    );
}

#[test]
fn chatbot_ui_calls_what_openai_switched_off() {
    let openai = client("openai", "openai", ("4.23.0", "lockfile"), (None, "unknown"), None);
    let calls = [
        call("openai", "openai.beta.assistants.list", "GET /assistants", 18, &["limit"], &["data"]),
        call(
            "openai",
            "openai.chat.completions.create",
            "POST /chat/completions",
            27,
            &["max_tokens", "messages", "model", "stream", "temperature"],
            &[],
        ),
        call("openai", "openai.embeddings.create", "POST /embeddings", 65, &["input", "model"], &["data"]),
    ];
    assert_eq!(
        findings(embedded_feeds(), &calls, &openai),
        [
            "18 operation_deprecated  - potentially_breaking now",
            "27 param_deprecated max_tokens 2025-03-22 potentially_breaking now",
        ]
    );
}
