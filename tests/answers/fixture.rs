//! A real repository, indexed by the real indexer and joined with the embedded feed: what it must find is found, and
//! nothing of its text is anywhere.

use std::path::Path;

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use sync_ingest::feed::assemble::vendor_feeds;
use sync_ingest::feed::embedded_records;
use sync_server::jobs::index_child::{self, IndexRequest};

use super::heard::Heard;
use super::world::{World, rows};

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/repositories").join(name)
}

async fn indexed() -> World {
    let mut world = World::empty().await;
    world.adopt(&vendor_feeds(&embedded_records().unwrap()).unwrap()).await;
    let request = IndexRequest {
        executable: env!("CARGO_BIN_EXE_syncd-under-test").into(),
        path: fixture("billing"),
        rev: None,
        ref_name: None,
        cache: None,
        gate: "on",
        known: None,
        spool: std::env::temp_dir(),
    };
    let snapshot = sync_tests::facts::whole(index_child::run(&request).await.unwrap().unwrap());
    let repository = world.register("example/billing", 1).await;
    world.index(repository, "main", &snapshot).await;
    world
}

fn expected() -> Value {
    serde_json::from_str(&std::fs::read_to_string(fixture("billing.expected.json")).unwrap()).unwrap()
}

/// Every finding of the repository, over all pages.
async fn findings(world: &World) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = world.at_risk(json!({"limit": 50, "cursor": cursor})).await;
        found.extend(page["findings"].as_array().unwrap().iter().cloned());
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            return found;
        }
    }
}

#[tokio::test]
async fn exactly_the_expected_findings_are_answered() {
    let world = indexed().await;
    let names = ["file", "line", "operation", "change_kind", "field"];
    let mut found = rows(&json!({"rows": findings(&world).await}), "rows", &names);
    let mut expected = rows(&expected(), "findings", &names);
    for row in &mut expected {
        // A change about no field has an empty one in the feed, and none in an answer.
        if row.ends_with(' ') {
            row.push_str("null");
        }
    }
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    world.end().await;
}

#[tokio::test]
async fn each_call_site_is_explained_with_evidence() {
    let world = indexed().await;
    for site in expected()["call_sites"].as_array().unwrap() {
        let line = u32::try_from(site["line"].as_u64().unwrap()).unwrap();
        let answer = world.explain(site["file"].as_str().unwrap(), line).await;
        for name in ["line", "chain", "vendor", "operation", "args_keys", "response_fields_read", "context"] {
            assert_eq!(answer[name], site[name], "{name} of {site}");
        }
        for name in ["sdk_version", "api_version"] {
            if !site[name].is_null() {
                assert_eq!(answer[name], site[name], "{name} of {site}");
            }
        }
        assert!(!answer["evidence"].as_array().unwrap().is_empty(), "{answer:#}");
        assert_eq!(answer["binding_source"], "static");
    }
    world.end().await;
}

/// Promise 5: canary comments, values and bodies of the fixture appear in no answer, table or log.
#[tokio::test]
async fn no_text_of_the_source_is_anywhere() {
    let _heard = Heard::start();
    let world = indexed().await;
    let mut told = Vec::new();
    for row in findings(&world).await {
        told.push(world.at_risk(json!({"finding_id": row["finding_id"]})).await);
    }
    let expected = expected();
    for site in expected["call_sites"].as_array().unwrap() {
        let line = u32::try_from(site["line"].as_u64().unwrap()).unwrap();
        told.push(world.explain(site["file"].as_str().unwrap(), line).await);
    }
    for vendor in ["stripe", "github", "openai", "resend"] {
        told.push(world.changed(json!({"vendor": vendor, "limit": 50})).await);
    }
    told.push(world.call(&world.asker(), "sync_repositories", json!({})).await.unwrap());
    let told = told.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let (tables, tables_seen) = dump(&world).await;
    let facts = facts(&world).await;
    let log = Heard::text();
    assert!(told.contains("paymentIntents") && tables.contains("paymentIntents") && facts.contains("paymentIntents"));
    assert!(tables_seen > 15 && !log.is_empty());
    for canary in expected["canaries"].as_array().unwrap() {
        let canary = canary.as_str().unwrap();
        for (place, text) in [("an answer", &told), ("a table", &tables), ("facts", &facts), ("the log", &log)] {
            assert!(!text.contains(canary), "{canary} is in {place}");
        }
    }
    world.end().await;
}

/// Every row of every table of every organization, as text.
async fn dump(world: &World) -> (String, usize) {
    let mut superuser = world.database.superuser().await;
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
         WHERE schemaname IN ('sync', 'routing', 'feed') ORDER BY 1",
    )
    .fetch_all(&mut superuser)
    .await
    .unwrap();
    let mut text = String::new();
    for table in &tables {
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!("SELECT t::text FROM {table} t")))
            .fetch_all(&mut superuser)
            .await
            .unwrap();
        text.push_str(&rows.join("\n"));
    }
    (text, tables.len())
}

/// The compressed column, as it reads.
async fn facts(world: &World) -> String {
    let mut tx = world.store().begin(&world.asker().principal).await.unwrap();
    let repository = tx.repository_by_name("example/billing").await.unwrap().unwrap();
    let index = tx.current_index(repository.id, "main").await.unwrap().unwrap();
    let mut text = String::new();
    for path in tx.calling_paths(&index, "", 1_000).await.unwrap() {
        let facts = tx.file(&index, &path).await.unwrap().unwrap();
        text.push_str(&serde_json::to_string(&facts).unwrap());
    }
    tx.commit().await.unwrap();
    text
}

#[tokio::test]
async fn a_common_rung_is_said_and_a_page_of_a_real_repository_fits() {
    let world = indexed().await;
    let first = world.at_risk(json!({})).await;
    assert_eq!(first["binding_source"], "static");
    assert!(rows(&first, "findings", &["file"]).len() >= 7, "a page says something: {first:#}");
    world.end().await;
}
