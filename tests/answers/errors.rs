//! Errors: one code each, what happened to what, and the next step; and what may not be seen is as what never was.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use sync_core::ids::{FindingId, OrganizationId};
use sync_core::principal::Readable;
use sync_server::answers::error::AnswerError;
use sync_server::audit::Asker;
use uuid::Uuid;

use super::heard::Heard;
use super::sample;
use super::world::{World, rows};

const TOOLS: [&str; 4] = ["sync_whats_at_risk", "sync_explain_call_site", "sync_whats_changed", "sync_repositories"];

/// The least arguments of a tool, with one more.
fn arguments(tool: &str, name: &str, value: Value) -> Value {
    let mut arguments = match tool {
        "sync_explain_call_site" => json!({"file": "src/subscriptions.ts", "line": 6}),
        "sync_whats_changed" => json!({"vendor": "stripe"}),
        _ => json!({}),
    };
    arguments[name] = value;
    arguments
}

async fn refused(world: &World, asker: &Asker, tool: &str, arguments: Value) -> AnswerError {
    let error = world.call(asker, tool, arguments).await.unwrap_err();
    assert!(!error.next_step.is_empty() && !error.message.is_empty());
    error
}

#[tokio::test]
async fn a_wrong_argument_is_named_by_every_tool() {
    let world = World::with_billing().await;
    let asker = world.asker();
    for tool in TOOLS {
        for (name, value) in [("repository", json!("Not A Name")), ("repository", json!(7)), ("nonsense", json!(1))] {
            let error = refused(&world, &asker, tool, arguments(tool, name, value.clone())).await;
            assert_eq!(error.code.as_str(), "invalid_argument", "{tool} {name} {value}");
            assert_eq!(error.details["argument"], name);
        }
    }
    for (tool, given, argument) in [
        ("sync_whats_at_risk", json!({"severity": "severe"}), "severity"),
        ("sync_whats_at_risk", json!({"limit": 51}), "limit"),
        ("sync_whats_at_risk", json!({"path": "../etc/passwd"}), "path"),
        ("sync_whats_at_risk", json!({"finding_id": "fnd_1"}), "finding_id"),
        ("sync_whats_at_risk", json!({"since": "yesterday"}), "since"),
        ("sync_whats_at_risk", json!({"since": "2025-09-30.clover"}), "since"),
        ("sync_explain_call_site", json!({"file": "a.ts"}), "line"),
        ("sync_explain_call_site", json!({"file": ".", "line": 1}), "file"),
        ("sync_whats_changed", json!({}), "vendor"),
        ("sync_whats_changed", json!({"vendor": "stripe", "change_id": "x"}), "change_id"),
        ("sync_whats_changed", json!({"vendor": "stripe", "since": "2025-09-30.cloven"}), "since"),
    ] {
        let error = refused(&world, &asker, tool, given.clone()).await;
        assert_eq!(
            (error.code.as_str(), &error.details["argument"]),
            ("invalid_argument", &json!(argument)),
            "{given}"
        );
    }
    world.end().await;
}

#[tokio::test]
async fn what_is_not_there_has_a_code() {
    let world = World::with_billing().await;
    let asker = world.asker();
    let finding = FindingId::of(&["none"]).to_string();
    for (tool, given, code) in [
        ("sync_whats_at_risk", json!({"finding_id": finding}), "finding_not_found"),
        ("sync_whats_at_risk", json!({"vendor": "strype"}), "vendor_unknown"),
        ("sync_whats_changed", json!({"vendor": "strype"}), "vendor_unknown"),
        (
            "sync_whats_changed",
            json!({"vendor": "stripe", "change_id": finding.replace("fnd", "chg")}),
            "change_not_found",
        ),
        ("sync_whats_at_risk", json!({"cursor": "nonsense"}), "cursor_expired"),
        ("sync_whats_at_risk", json!({"cursor": ""}), "cursor_expired"),
    ] {
        assert_eq!(refused(&world, &asker, tool, given.clone()).await.code.as_str(), code, "{given}");
    }
    let unknown = refused(&world, &asker, "sync_whats_changed", json!({"vendor": "strype"})).await;
    assert_eq!(unknown.details["vendors"][0], "stripe");
    world.end().await;
}

#[tokio::test]
async fn several_repositories_want_one_named_and_a_path_may_name_it() {
    let world = World::with_billing().await;
    let web = world.register("acme/web", 2).await;
    let own = sample::file("web/pay.ts", 100, vec![sample::call_site("stripe", 3, "pay", "stripe.x", None)]);
    let shared = sample::file("src/money.ts", 100, vec![]);
    world.index(web, "main", &sample::snapshot(sample::COMMIT, vec![], vec![own, shared], vec![])).await;
    for extra in 0..25 {
        world.register(&format!("acme/z{extra:02}"), 100 + extra).await;
    }
    let asker = world.asker();
    let error = refused(&world, &asker, "sync_whats_at_risk", json!({})).await;
    assert_eq!(error.code.as_str(), "repository_required");
    assert_eq!(error.details["total"], 27);
    assert_eq!(error.details["repositories"].as_array().unwrap().len(), 20);
    assert_eq!(error.details["repositories"][0], "acme/billing");

    // In exactly one: answered from it, and the envelope says so. In two, or in none: to be named.
    let one = world.at_risk(json!({"path": "web/pay.ts"})).await;
    assert_eq!(one["repository"], "acme/web");
    assert_eq!(world.explain("web/pay.ts", 3).await["repository"], "acme/web");
    for path in ["src/money.ts", "src/nowhere.ts"] {
        let error = refused(&world, &asker, "sync_whats_at_risk", json!({"path": path})).await;
        assert_eq!(error.code.as_str(), "repository_required", "{path}");
    }
    // What a vendor changed is the same everywhere; only what of it is used is not known.
    let changed = world.changed(json!({"vendor": "stripe"})).await;
    assert_eq!((&changed["repository"], &changed["changes"][0]["used_here"]), (&Value::Null, &Value::Null));
    assert_eq!(changed["reason"], "repository_required");

    // An address that pins a repository answers from it, and from the one other that holds the path.
    let pinned = Asker { pinned_repository: Some(Arc::from("acme/billing")), ..asker.clone() };
    let answer = world.call(&pinned, "sync_whats_at_risk", json!({})).await.unwrap();
    assert_eq!(answer["repository"], "acme/billing");
    let other = world.call(&pinned, "sync_whats_at_risk", json!({"path": "web/pay.ts"})).await.unwrap();
    assert_eq!(other["repository"], "acme/web");
    let error = refused(&world, &pinned, "sync_whats_at_risk", json!({"repository": "acme/web"})).await;
    assert_eq!(error.code.as_str(), "invalid_argument");
    let listed = world.call(&pinned, "sync_repositories", json!({})).await.unwrap();
    assert_eq!(rows(&listed, "repositories", &["name"]), ["acme/billing"]);
    world.end().await;
}

#[tokio::test]
async fn what_may_not_be_seen_is_as_what_never_was() {
    let world = World::with_billing().await;
    let there = OrganizationId::from_uuid(Uuid::from_u128(0xf));
    world.create_organization(there, "globex").await;
    let secret = world.register_in(there, "globex/secret", 50).await;
    let canary = sample::file(
        "canary/CANARY.ts",
        10,
        vec![sample::call_site("stripe", 1, "CANARY", "stripe.charges.create", Some("GET /v1/subscriptions/{id}"))],
    );
    world.index_in(there, secret, "main", &sample::snapshot(sample::COMMIT, vec![], vec![canary], vec![])).await;
    let granted = world.register("acme/granted", 3).await;
    let everything = world.asker();
    let limited = world.asker_of(world.organization, Readable::Only(BTreeSet::from([granted])));

    for tool in TOOLS {
        for (asker, name) in [
            (&everything, "globex/secret"), // another organization's
            (&everything, "acme/neverwas"), // of nobody
            (&limited, "acme/billing"),     // of the same organization, without a grant
        ] {
            let error = refused(&world, asker, tool, arguments(tool, "repository", json!(name))).await;
            let bytes = serde_json::to_string(&error).unwrap();
            let mut expected = AnswerError::repository_not_found("NAME");
            expected.message = expected.message.replace("NAME", name);
            *expected.details = json!({"repository": name});
            assert_eq!(bytes, serde_json::to_string(&expected).unwrap(), "{tool}");
        }
        let pinned = Asker { pinned_repository: Some(Arc::from("globex/secret")), ..everything.clone() };
        let error = refused(&world, &pinned, tool, arguments(tool, "repository", Value::Null)).await;
        assert_eq!(error, AnswerError::repository_not_found("globex/secret"));
    }

    // Nothing of the other organization shows in any answer, nor does its path name its repository.
    for (tool, given) in [
        ("sync_whats_at_risk", json!({"include_tests": true, "limit": 50, "repository": "acme/billing"})),
        ("sync_whats_at_risk", json!({"path": "canary/CANARY.ts", "repository": "acme/billing"})),
        ("sync_whats_changed", json!({"vendor": "stripe"})),
        ("sync_repositories", json!({})),
    ] {
        let answer = world.call(&everything, tool, given).await.unwrap().to_string();
        assert!(!answer.contains("globex"), "{answer}");
        assert!(!answer.replace("canary/CANARY.ts", "").contains("CANARY"), "{answer}");
    }
    let error =
        refused(&world, &everything, "sync_explain_call_site", json!({"file": "canary/CANARY.ts", "line": 1})).await;
    assert_eq!(error.code.as_str(), "repository_required");
    let finding = {
        let globex = world.asker_of(there, Readable::All);
        world.call(&globex, "sync_whats_at_risk", json!({})).await.unwrap()["findings"][0]["finding_id"].clone()
    };
    let error = refused(
        &world,
        &everything,
        "sync_whats_at_risk",
        json!({"finding_id": finding, "repository": "acme/billing"}),
    )
    .await;
    assert_eq!(error.code.as_str(), "finding_not_found");
    let listed = world.call(&limited, "sync_repositories", json!({})).await.unwrap();
    assert_eq!(rows(&listed, "repositories", &["name"]), ["acme/granted"]);
    world.end().await;
}

#[tokio::test]
async fn a_denial_asks_the_database_the_same_in_the_same_order() {
    let world = World::with_billing().await;
    let there = OrganizationId::from_uuid(Uuid::from_u128(0xf));
    world.create_organization(there, "globex").await;
    let secret = world.register_in(there, "globex/secret", 50).await;
    world.index_in(there, secret, "main", &sample::snapshot(sample::COMMIT, vec![], vec![], vec![])).await;
    let everything = world.asker();
    let limited = world.asker_of(world.organization, Readable::Only(BTreeSet::new()));
    let _heard = Heard::start();
    for tool in TOOLS {
        let mut asked = Vec::new();
        for (asker, name) in
            [(&everything, "globex/secret"), (&everything, "acme/neverwas"), (&limited, "acme/billing")]
        {
            let error = refused(&world, asker, tool, arguments(tool, "repository", json!(name))).await;
            assert_eq!(error.code.as_str(), "repository_not_found");
            asked.push(Heard::statements());
        }
        assert!(asked[0].len() > 1, "the statements are heard: {asked:#?}");
        assert_eq!(asked[0], asked[1], "{tool}");
        assert_eq!(asked[0], asked[2], "{tool}");
    }
    world.end().await;
}
