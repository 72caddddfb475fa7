//! Pages: all rows once, in order, within the size; cursors that belong to one question; comparisons with what was.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use sync_core::ids::PrincipalId;
use sync_core::principal::Readable;
use sync_server::audit::Asker;
use uuid::Uuid;

use super::generated;
use super::sample;
use super::world::{World, rows};

/// Every page of a question.
async fn pages(world: &World, asker: &Asker, tool: &str, mut arguments: Value) -> Vec<Value> {
    let mut pages = Vec::new();
    loop {
        let page = world.call(asker, tool, arguments.clone()).await.unwrap();
        arguments["cursor"] = page["next_cursor"].clone();
        pages.push(page);
        assert!(pages.len() < 2_000, "paging goes on");
        if arguments["cursor"].is_null() {
            return pages;
        }
    }
}

/// The ceilings hold on every page; `World::call` measures each answer.
#[tokio::test]
async fn a_large_repository_with_longest_strings_stays_within_its_bytes() {
    let mut world = World::empty().await;
    world.adopt(&generated::feeds()).await;
    let repository = world.register(&format!("acme/{}", "r".repeat(95)), 1).await;
    let snapshot = generated::repository();
    world.index(repository, "main", &snapshot).await;
    let asker = world.asker();

    let pages_of_all = pages(&world, &asker, "sync_whats_at_risk", json!({"limit": 50})).await;
    let findings: Vec<String> = pages_of_all.iter().flat_map(|page| rows(page, "findings", &["finding_id"])).collect();
    assert_eq!(findings.len(), generated::FINDINGS);
    assert_eq!(findings.iter().collect::<BTreeSet<_>>().len(), generated::FINDINGS, "each once");
    for page in &pages_of_all {
        assert_eq!(page["total"], generated::FINDINGS);
        assert_eq!(page["call_sites_checked"], generated::CALL_SITES);
    }
    let order: Vec<(String, u64)> = pages_of_all
        .iter()
        .flat_map(|page| page["findings"].as_array().unwrap())
        .map(|row| (row["file"].as_str().unwrap().to_owned(), row["line"].as_u64().unwrap()))
        .collect();
    assert!(order.is_sorted(), "one severity: by path and line");
    let first = world.at_risk(json!({})).await;
    let second = world.at_risk(json!({"cursor": first["next_cursor"]})).await;
    let listed: Vec<String> =
        [&first, &second].iter().flat_map(|page| rows(page, "findings", &["finding_id"])).collect();
    assert_eq!(listed, findings[..listed.len()], "pages of another size, the same order");
    let one = &first["findings"][0];
    let detail = world.at_risk(json!({"finding_id": one["finding_id"]})).await;
    assert_eq!(detail["detail"]["evidence_total"], 30, "steps that do not fit are counted");
    let explained = world.explain(&generated::path(0), u32::try_from(one["line"].as_u64().unwrap()).unwrap()).await;
    assert!(explained["left_out"].as_u64().unwrap() > 0, "what does not fit is counted");
    assert_eq!(explained["args_complete"], false, "and a list that was cut is not complete");
    for limit in [20, 50] {
        let pages =
            pages(&world, &asker, "sync_whats_changed", json!({"vendor": generated::VENDOR, "limit": limit})).await;
        let groups: usize = pages.iter().map(|page| page["changes"].as_array().unwrap().len()).sum();
        assert_eq!(groups, generated::CHANGES);
    }
    for extra in 0..60 {
        world.register(&format!("acme/{}{extra:02}", "s".repeat(90)), 1_000 + extra).await;
    }
    let listed = pages(&world, &asker, "sync_repositories", json!({"limit": 50})).await;
    let names: BTreeSet<String> = listed.iter().flat_map(|page| rows(page, "repositories", &["name"])).collect();
    assert_eq!(names.len(), 61);
    world.end().await;
}

#[tokio::test]
async fn a_cursor_belongs_to_one_question() {
    let mut world = World::with_billing().await;
    let asker = world.asker();
    let first = world.at_risk(json!({"limit": 1})).await;
    let cursor = first["next_cursor"].clone();
    let ask = |asker: Asker, tool: &'static str, arguments: Value| {
        let world = &world;
        async move { world.call(&asker, tool, arguments).await.map_err(|error| error.code.as_str()) }
    };
    let next = ask(asker.clone(), "sync_whats_at_risk", json!({"limit": 2, "cursor": cursor})).await.unwrap();
    assert_eq!(rows(&next, "findings", &["line"]), ["6", "6"], "the size of a page may change");

    let somebody = Asker {
        principal: Arc::new(sync_core::principal::Principal {
            id: PrincipalId::from_uuid(Uuid::from_u128(0xbb)),
            ..asker.principal.as_ref().clone()
        }),
        ..asker.clone()
    };
    for (asker, tool, arguments) in [
        (somebody, "sync_whats_at_risk", json!({"cursor": cursor})),
        (asker.clone(), "sync_whats_at_risk", json!({"cursor": cursor, "severity": "breaking"})),
        (asker.clone(), "sync_whats_at_risk", json!({"cursor": cursor, "path": "src"})),
        (asker.clone(), "sync_whats_at_risk", json!({"cursor": cursor, "repository": "acme/billing"})),
        (asker.clone(), "sync_whats_changed", json!({"cursor": cursor, "vendor": "stripe"})),
        (asker.clone(), "sync_repositories", json!({"cursor": cursor})),
    ] {
        let shown = arguments.to_string();
        assert_eq!(ask(asker, tool, arguments).await, Err("cursor_expired"), "{tool} {shown}");
    }

    // The feed moves, then the index moves: the page would be another.
    let mut feed = sample::stripe_feed();
    feed.changes.pop();
    world.adopt(&[feed]).await;
    let moved = world.call(&asker, "sync_whats_at_risk", json!({"cursor": cursor})).await.unwrap_err();
    assert_eq!(moved.code.as_str(), "cursor_expired");
    let cursor = world.at_risk(json!({"limit": 1})).await["next_cursor"].clone();
    assert!(cursor.is_string());
    let mut snapshot = sample::billing();
    snapshot.header.commit = Some("4".repeat(40));
    snapshot.files.remove(0);
    let repository = world.store().begin(&asker.principal).await.unwrap().repository_by_name("acme/billing").await;
    world.index(repository.unwrap().unwrap().id, "main", &snapshot).await;
    let moved = world.call(&asker, "sync_whats_at_risk", json!({"cursor": cursor})).await.unwrap_err();
    assert_eq!(moved.code.as_str(), "cursor_expired");
    world.end().await;
}

#[tokio::test]
async fn findings_are_narrowed_by_what_changed_since_and_by_a_base() {
    let world = World::with_billing().await;
    let kinds = |answer: &Value| rows(answer, "findings", &["line", "change_kind"]);
    let coupon = "4 param_removed";
    let period = "6 response_field_removed";
    for (since, expected) in [
        (json!({"vendor": "stripe", "since": "2025-03-31.basil"}), vec![coupon]),
        (json!({"vendor": "stripe", "since": "2025-02-24.acacia"}), vec![coupon, period]),
        (json!({"since": "2025-03-31"}), vec![coupon]),
        (json!({"since": "2025-03-30"}), vec![coupon, period]),
    ] {
        assert_eq!(kinds(&world.at_risk(since.clone()).await), expected, "{since}");
    }
    let changed = world.changed(json!({"vendor": "stripe"})).await;
    let removal = &changed["changes"][2];
    assert_eq!(removal["change_kind"], "response_field_removed");
    let after = world.at_risk(json!({"since": removal["change_id"]})).await;
    assert_eq!(kinds(&after), [coupon]);
    let newer = world.changed(json!({"vendor": "stripe", "since": removal["change_id"]})).await;
    assert_eq!(newer["total"], 2);

    // A branch that adds one call: only its findings are absent in main, and those of main are absent in none.
    let repository = sync_core::ids::RepositoryId::from_uuid(Uuid::from_u128(1));
    let mut branch = sample::billing();
    branch.header.commit = Some("5".repeat(40));
    let client = branch.header.clients.iter().find(|client| client.vendor == "stripe").map(|client| client.id.clone());
    let call =
        sample::call_site("stripe", 2, "again", "stripe.promotionCodes.create", Some("POST /v1/promotion_codes"));
    let call = sync_core::graph::CallSite { client, args_keys: vec!["coupon".to_owned()], ..call };
    branch.files.push(sample::file("src/zz.ts", 100, vec![call]).seal().unwrap());
    world.index(repository, "feature", &branch).await;
    let added = world.at_risk(json!({"ref": "feature", "base": "main"})).await;
    assert_eq!(rows(&added, "findings", &["file", "line"]), ["src/zz.ts 2"]);
    assert_eq!((&added["ref"], &added["total"]), (&json!("feature"), &json!(1)));
    assert_eq!(world.at_risk(json!({"base": "feature"})).await["total"], 0);

    // An older commit that is still kept is a base too: its findings are joined anew.
    let mut later = branch.clone();
    later.header.commit = Some("6".repeat(40));
    let mut grown = later.files.pop().unwrap();
    grown.call_sites[0].line = 3;
    grown.call_sites[0].end_line = 3;
    let mut second = grown.call_sites[0].clone();
    second.line = 9;
    second.end_line = 9;
    second.call_ordinal = 1;
    grown.call_sites.push(second);
    later.files.push(grown.seal().unwrap());
    world.index(repository, "feature", &later).await;
    let added = world.at_risk(json!({"ref": "feature", "base": "5".repeat(40)})).await;
    assert_eq!(rows(&added, "findings", &["file", "line"]), ["src/zz.ts 9"], "a moved line is no new finding");
    // At a commit that is not current there are call sites, and no findings.
    let old = world.at_risk(json!({"ref": "5".repeat(40)})).await;
    assert_eq!((&old["status"], &old["reason"]), (&json!("not_indexed"), &json!("ref_not_indexed")));
    let asker = world.asker_of(world.organization, Readable::All);
    let then = json!({"file": "src/zz.ts", "line": 2, "ref": "5".repeat(40)});
    assert_eq!(world.call(&asker, "sync_explain_call_site", then).await.unwrap()["line"], 2);
    world.end().await;
}

#[tokio::test]
async fn one_finding_and_one_change_are_shown_whole() {
    let world = World::with_billing().await;
    let listed = world.at_risk(json!({})).await;
    let id = listed["findings"][2]["finding_id"].clone();
    let answer = world.at_risk(json!({"finding_id": id})).await;
    assert_eq!(answer["findings"], json!([listed["findings"][2]]));
    let detail = &answer["detail"];
    assert_eq!(detail["chain"], "stripe.subscriptions.retrieve");
    assert_eq!(rows(detail, "evidence", &["file", "line"]), ["src/subscriptions.ts 1", "src/stripe.ts 3"]);
    assert_eq!(detail["change"]["field"], "current_period_end");
    assert_eq!(detail["life"], json!({"state": "open"}));
    let change = world.changed(json!({"vendor": "stripe", "change_id": detail["change"]["change_id"]})).await;
    assert_eq!(change["change"], detail["change"]);
    assert_eq!(rows(&change, "changes", &["change_id", "used_here"]).len(), 1);
    // A step in another file stands where its symbol stands now.
    assert_eq!(world.explain("src/subscriptions.ts", 6).await["evidence"][1]["line"], 3);
    world.end().await;
}
