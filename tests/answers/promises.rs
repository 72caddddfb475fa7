//! What an answer says of its own provenance: freshness and rungs are exactly what they are.

use serde_json::{Value, json};
use sqlx::Connection as _;
use time::Duration;

use super::world::{START, World, rows};

#[tokio::test]
async fn what_is_at_risk_is_named_with_file_and_line() {
    let world = World::with_billing().await;
    let answer = world.at_risk(json!({})).await;
    assert_eq!(
        rows(&answer, "findings", &["file", "line", "symbol", "change_kind", "field", "severity", "applies"]),
        [
            "src/promotions.ts 4 promote param_removed coupon breaking on_upgrade",
            "src/subscriptions.ts 6 renewsOn operation_deprecated null breaking on_date",
            "src/subscriptions.ts 6 renewsOn response_field_removed current_period_end breaking on_upgrade",
            "src/subscriptions.ts 12 isActive operation_deprecated null breaking on_date",
        ]
    );
    let counts = (&answer["call_sites_checked"], &answer["call_sites_without_feed"]);
    assert_eq!(counts, (&json!(4), &json!(1)), "Slack has no feed");
    assert_eq!(answer["summary"]["applies"], json!({"now": 0, "on_date": 2, "on_upgrade": 2, "unknown": 0}));
    assert_eq!(answer["context_savings"]["files"], 2);

    // A call in a test is left out unless asked for, and then says that it is one.
    let with_tests = world.at_risk(json!({"include_tests": true, "path": "src/promotions.test.ts"})).await;
    assert_eq!(rows(&with_tests, "findings", &["line", "context"]), ["3 test"]);
    world.end().await;
}

#[tokio::test]
async fn a_stale_index_and_a_stale_feed_show_exactly_their_instants() {
    let mut world = World::with_billing().await;
    let at = |answer: &Value| {
        let feed = &answer["feeds"][0];
        (
            answer["indexed_at"].clone(),
            answer["feed_fetched_at"].clone(),
            feed["fetched_at"].clone(),
            feed["version"].clone(),
            feed["state"].as_str().unwrap().to_owned(),
        )
    };
    let stripe = json!({"vendor": "stripe"});
    let begun = json!("2026-11-30T12:00:00.000Z");
    for (age, state) in [
        (Duration::ZERO, "fresh"),
        (Duration::hours(24), "fresh"),
        (Duration::hours(25), "stale"),
        (Duration::days(7), "expired"),
        (Duration::days(400), "expired"),
    ] {
        world.clock.set(START + age);
        let expected = (begun.clone(), begun.clone(), begun.clone(), json!(1), state.to_owned());
        assert_eq!(at(&world.at_risk(stripe.clone()).await), expected, "{age}");
        assert_eq!(at(&world.explain("src/subscriptions.ts", 6).await), expected, "{age}");
        assert_eq!(at(&world.changed(stripe.clone()).await), expected, "{age}");
    }
    let repositories = world.call(&world.asker(), "sync_repositories", json!({})).await.unwrap();
    assert_eq!(repositories["repositories"][0]["indexed_at"], begun);

    // A check that finds nothing new counts as a check, and moves nothing else.
    world.clock.set(START + Duration::days(8));
    world.adopt(&[super::sample::stripe_feed()]).await;
    let checked = json!("2026-12-08T12:00:00.000Z");
    let answer = at(&world.at_risk(stripe.clone()).await);
    assert_eq!(answer, (begun, checked.clone(), checked, json!(2), "fresh".to_owned()));
    world.end().await;
}

#[tokio::test]
async fn the_clock_decides_what_applies() {
    let world = World::with_billing().await;
    let applies = |answer: &Value| rows(answer, "findings", &["change_kind", "applies"]);
    let path = json!({"path": "src/subscriptions.ts"});
    world.clock.set(time::macros::datetime!(2027-01-14 23:59:59 UTC));
    assert_eq!(
        applies(&world.at_risk(path.clone()).await),
        ["operation_deprecated on_date", "response_field_removed on_upgrade", "operation_deprecated on_date"]
    );
    world.clock.set(time::macros::datetime!(2027-01-15 00:00 UTC));
    assert_eq!(
        applies(&world.at_risk(path).await),
        ["operation_deprecated now", "response_field_removed on_upgrade", "operation_deprecated now"]
    );
    world.end().await;
}

#[tokio::test]
async fn no_rung_is_asserted_that_nothing_established() {
    let world = World::with_billing().await;
    let asker = world.asker();
    for (tool, arguments) in [
        ("sync_whats_at_risk", json!({"include_tests": true, "limit": 50})),
        ("sync_explain_call_site", json!({"file": "src/subscriptions.ts", "line": 6})),
        ("sync_explain_call_site", json!({"file": "src/promotions.ts", "line": 9})),
        ("sync_whats_changed", json!({"vendor": "stripe", "limit": 50})),
    ] {
        let answer = world.call(&asker, tool, arguments).await.unwrap();
        let mut rungs = Vec::new();
        binding_sources(&answer, &mut rungs);
        assert!(!rungs.is_empty());
        assert!(rungs.iter().all(|rung| rung.is_null() || rung == "static"), "{tool}: {rungs:?}");
    }
    let repositories = world.call(&asker, "sync_repositories", json!({})).await.unwrap();
    let counts = &repositories["repositories"][0]["counts"];
    assert_eq!(counts["rungs"], json!({"static": 6, "resolved": 0, "observed": 0, "unattributed": 0}));
    assert_eq!(counts["telemetry_coverage"], 0.0);
    world.end().await;
}

fn binding_sources(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                if name == "binding_source" {
                    found.push(value.clone());
                }
                binding_sources(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| binding_sources(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn a_historic_row_passes_verbatim_and_a_mixed_page_has_no_common_rung() {
    let world = World::with_billing().await;
    let mut owner = world.database.owner_in(world.organization).await;
    sqlx::query("UPDATE sync.findings SET binding_source = 'unattributed' WHERE change_kind = 'param_removed'")
        .execute(&mut owner)
        .await
        .unwrap();
    owner.close().await.unwrap();
    let mixed = world.at_risk(json!({})).await;
    assert_eq!(mixed["binding_source"], Value::Null);
    assert_eq!(
        rows(&mixed, "findings", &["line", "binding_source"]),
        ["4 unattributed", "6 static", "6 static", "12 static"]
    );
    let agreed = world.at_risk(json!({"path": "src/promotions.ts"})).await;
    assert_eq!(agreed["binding_source"], "unattributed");
    assert_eq!(world.at_risk(json!({"path": "src/subscriptions.ts"})).await["binding_source"], "static");
    world.end().await;
}
