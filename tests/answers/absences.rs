//! Absence is typed and counted: each way of knowing nothing has its own status and reason.

use serde_json::{Value, json};
use sync_store::RepositoryState;

use super::sample;
use super::world::World;

/// The parts of an answer that say why there is none.
fn said(answer: &Value) -> (&str, &str) {
    (answer["status"].as_str().unwrap(), answer["reason"].as_str().unwrap_or("-"))
}

#[tokio::test]
async fn a_path_is_absent_for_a_reason() {
    let world = World::with_billing().await;
    for (path, reason) in [
        ("src/nowhere.ts", "path_not_indexed"),
        ("nowhere", "path_not_indexed"),
        ("src/generated/client.ts", "skipped"),
        ("src/generated", "skipped"),
        ("src/money.ts", "no_vendor_call_sites"),
        ("src/promotions.test.ts", "no_vendor_call_sites"),
    ] {
        let answer = world.at_risk(json!({"path": path})).await;
        assert_eq!(said(&answer), ("not_indexed", reason), "{path}");
        assert_eq!(answer["findings"], json!([]));
        assert_eq!(answer["call_sites_checked"], 0);
        assert_eq!(answer["indexed_at"], "2026-11-30T12:00:00.000Z", "the index's age is said");
        assert!(answer["explanation"].as_str().unwrap().contains(path), "{answer}");
        if path.contains(".ts") && !path.contains("test") {
            assert_eq!(said(&world.explain(path, 1).await), ("not_indexed", reason), "{path}");
        }
    }
    let skipped = world.at_risk(json!({"path": "src/generated/client.ts"})).await;
    assert!(skipped["explanation"].as_str().unwrap().contains("`src/generated/` is generated"));
    let tests = world.at_risk(json!({"path": "src/promotions.test.ts"})).await;
    assert!(tests["explanation"].as_str().unwrap().contains("1 in tests"));
    world.end().await;
}

#[tokio::test]
async fn an_empty_list_means_something_only_where_call_sites_were_checked() {
    let world = World::with_billing().await;
    let checked =
        world.at_risk(json!({"severity": "breaking", "since": "2025-09-30.clover", "vendor": "stripe"})).await;
    assert_eq!(said(&checked), ("ok", "-"));
    assert_eq!((checked["total"].as_u64(), checked["call_sites_checked"].as_u64()), (Some(0), Some(4)));
    let without = world.at_risk(json!({"vendor": "twilio"})).await;
    assert_eq!(said(&without), ("not_indexed", "no_vendor_call_sites"));
    world.end().await;
}

#[tokio::test]
async fn a_line_without_a_call_site_names_the_nearest() {
    let world = World::with_billing().await;
    let answer = world.explain("src/subscriptions.ts", 40).await;
    assert_eq!(said(&answer), ("not_indexed", "no_call_site_at_line"));
    assert_eq!((&answer["nearest"][0]["line"], &answer["nearest"][1]["line"]), (&json!(12), &json!(6)));
    assert_eq!(answer["chain"], Value::Null);
    // Any line that the call spans is the call's.
    assert_eq!(world.explain("src/subscriptions.ts", 8).await["line"], 6);
    let folder = world.explain("src", 1).await;
    assert_eq!(said(&folder), ("not_indexed", "path_not_indexed"));
    world.end().await;
}

#[tokio::test]
async fn an_operation_that_is_not_provable_is_null_and_not_a_guess() {
    let world = World::with_billing().await;
    let answer = world.explain("src/promotions.ts", 9).await;
    assert_eq!(answer["status"], "ok");
    assert_eq!(answer["operation"], Value::Null);
    assert_eq!(answer["chain"], "stripe[name].create");
    assert_eq!(answer["known_changes"], json!([]));
    world.end().await;
}

#[tokio::test]
async fn what_was_never_indexed_says_what_its_job_is_doing() {
    let world = World::empty().await;
    let nothing = world.at_risk(json!({})).await;
    assert_eq!(said(&nothing), ("not_indexed", "never_indexed"));
    assert_eq!(nothing["repository"], Value::Null);

    let repository = world.register("acme/billing", 1).await;
    for (state, why, reason, words) in [
        (RepositoryState::Registered, None, "never_indexed", "was never indexed"),
        (RepositoryState::Indexing, None, "never_indexed", "being indexed"),
        (RepositoryState::Failed, Some("no such branch"), "never_indexed", "no such branch"),
        (RepositoryState::Gated, Some("home_folder"), "gated", "home_folder"),
        (RepositoryState::Deleting, None, "never_indexed", "being erased"),
    ] {
        let mut tx = world.store().begin_write(&world.asker().principal).await.unwrap();
        tx.set_repository_state(repository, state, why, super::world::START).await.unwrap();
        tx.commit().await.unwrap();
        for answer in [world.at_risk(json!({})).await, world.explain("src/a.ts", 1).await] {
            assert_eq!(said(&answer), ("not_indexed", reason));
            assert_eq!(answer["repository"], "acme/billing");
            assert_eq!(answer["indexed_at"], Value::Null);
            assert!(answer["explanation"].as_str().unwrap().contains(words), "{answer}");
        }
        let changed = world.changed(json!({"vendor": "stripe"})).await;
        assert_eq!(changed["status"], "no_feed");
    }
    world.end().await;
}

#[tokio::test]
async fn a_ref_or_a_base_that_is_not_indexed_is_said() {
    let world = World::with_billing().await;
    for arguments in [json!({"ref": "feature/x"}), json!({"ref": "0".repeat(40)}), json!({"base": "feature/x"})] {
        let answer = world.at_risk(arguments.clone()).await;
        assert_eq!(said(&answer), ("not_indexed", "ref_not_indexed"), "{arguments}");
        assert!(answer["explanation"].as_str().unwrap().contains("not indexed"));
    }
    assert_eq!(said(&world.at_risk(json!({"ref": "main"})).await), ("ok", "-"));
    world.end().await;
}

#[tokio::test]
async fn a_vendor_without_a_feed_is_not_safe() {
    let world = World::with_billing().await;
    let answer = world.at_risk(json!({"path": "src/notify.ts"})).await;
    assert_eq!(answer["status"], "no_feed");
    assert_eq!((&answer["call_sites_checked"], &answer["call_sites_without_feed"]), (&json!(0), &json!(1)));
    assert_eq!(answer["feed_fetched_at"], Value::Null);
    assert_eq!(answer["feeds"][0], json!({"vendor": "slack", "version": null, "fetched_at": null, "state": "none"}));
    assert!(answer["explanation"].as_str().unwrap().contains("does not mean safe"));
    let changed = world.changed(json!({"vendor": "slack"})).await;
    assert_eq!(said(&changed), ("no_feed", "no_feed"));
    // Where only some vendors have none, the answer stands and lists them first.
    let all = world.at_risk(json!({})).await;
    assert_eq!((all["status"].as_str(), all["feeds"][0]["state"].as_str()), (Some("ok"), Some("none")));
    // They were not checked, which is counted and said; the age of the others is said too.
    let stripe = world.at_risk(json!({"vendor": "stripe"})).await;
    assert_eq!((&stripe["call_sites_without_feed"], &stripe["explanation"]), (&json!(0), &Value::Null));
    assert_eq!(all["call_sites_checked"], stripe["call_sites_checked"]);
    assert_eq!(all["call_sites_without_feed"], 1);
    assert!(all["explanation"].as_str().unwrap().starts_with("1 of the call sites were not checked"), "{all}");
    assert_eq!(all["feed_fetched_at"], stripe["feed_fetched_at"]);
    assert!(all["feed_fetched_at"].is_string(), "{all}");
    world.end().await;
}

#[tokio::test]
async fn a_newer_head_is_said() {
    let world = World::with_billing().await;
    let newer = "f".repeat(40);
    let mut tx = world.store().begin_write(&world.asker().principal).await.unwrap();
    let id = tx.repository_by_name("acme/billing").await.unwrap().unwrap().id;
    tx.set_head_commit(id, "main", &newer).await.unwrap();
    tx.commit().await.unwrap();
    let answer = world.at_risk(json!({})).await;
    assert_eq!(answer["head_commit"], newer);
    assert_eq!(answer["commit"], sample::COMMIT);
    world.end().await;
}
