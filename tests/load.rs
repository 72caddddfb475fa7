//! How long each tool takes: see `tests/load/README.md`.

#![expect(clippy::print_stdout, reason = "the figures are what it is run for")]

mod asking;
mod bombs;
mod burst;
mod cost;
mod freshness;
mod scale;
mod sealed;
mod timing;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use sync_core::ids::RequestId;
use sync_server::answers::{Answers, tools};
use sync_server::audit::{Asker, AuditLedger};
use sync_store::{PoolOptions, Store};

use crate::answers::{World, generated, sample};

/// Calls of each tool at each number of callers.
const CALLS: usize = 480;

/// One question.
type Question = (&'static str, Value);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measured by hand: see tests/load/README.md"]
async fn each_tool_at_1_and_16_callers() {
    let small = World::with_billing().await;
    let questions = vec![
        ("sync_whats_at_risk", json!({})),
        ("sync_whats_at_risk", json!({"path": "src/subscriptions.ts"})),
        ("sync_explain_call_site", json!({"file": "src/subscriptions.ts", "line": 6})),
        ("sync_whats_changed", json!({"vendor": "stripe"})),
        ("sync_repositories", json!({})),
    ];
    measure("billing", &small, &questions).await;
    small.end().await;

    let mut large = World::empty().await;
    large.adopt(&generated::feeds()).await;
    let repository = large.register("acme/large", 1).await;
    large.index(repository, "main", &generated::repository()).await;
    let questions = vec![
        ("sync_whats_at_risk", json!({})),
        ("sync_whats_at_risk", json!({"limit": 50})),
        ("sync_whats_at_risk", json!({"path": generated::path(7)})),
        ("sync_explain_call_site", json!({"file": generated::path(7), "line": 1})),
        ("sync_whats_changed", json!({"vendor": generated::VENDOR})),
        ("sync_repositories", json!({})),
    ];
    measure("10,000 call sites", &large, &questions).await;
    large.end().await;

    // Many small files in many repositories are what a page of repositories costs most for.
    let many = World::empty().await;
    for at in 0..20 {
        let repository = many.register(&format!("acme/r{at:02}"), at + 1).await;
        many.index(repository, "main", &sample::billing()).await;
    }
    measure("20 repositories", &many, &[("sync_repositories", json!({}))]).await;
    many.end().await;
}

/// Who works as a child: where the tests are no release build, `SYNC_FIGURES_EXECUTABLE` names one.
fn executable() -> PathBuf {
    std::env::var_os("SYNC_FIGURES_EXECUTABLE")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_syncd-under-test")), PathBuf::from)
}

async fn measure(what: &str, world: &World, questions: &[Question]) {
    let store = Store::connect(&world.database.app_url, PoolOptions::default()).await.unwrap();
    let answers: Arc<dyn Answers> = Arc::new(world.answers_over(&store));
    for (tool, arguments) in questions {
        let shown: String = arguments.to_string().chars().take(60).collect();
        let mut figures = Vec::new();
        for callers in [1, 16] {
            let mut times = ask(&answers, world, callers, tool, arguments).await;
            times.sort();
            assert!(!times.is_empty(), "{tool} was never answered in time");
            let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
            figures.push(format!("{callers:2} callers: p50 {:7.2} ms, p99 {:7.2} ms", at(50), at(99)));
        }
        println!("{what:18} {tool:23} {shown:62} {}", figures.join(", "));
    }
    store.close().await;
}

async fn ask(
    answers: &Arc<dyn Answers>,
    world: &World,
    callers: usize,
    tool: &'static str,
    arguments: &Value,
) -> Vec<Duration> {
    let asking: Vec<_> = (0..callers)
        .map(|_| {
            let (answers, asker) = (answers.clone(), world.asker());
            let arguments: Map<String, Value> = arguments.as_object().unwrap().clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                for _ in 0..CALLS / callers {
                    let began = Instant::now();
                    let asker = Asker {
                        ledger: AuditLedger::default(),
                        began: began.into(),
                        request_id: RequestId::at(sync_tests::NOW),
                        ..asker.clone()
                    };
                    let answer = tools::find(tool).unwrap().call(answers.as_ref(), &asker, &arguments).await;
                    match answer {
                        Ok(_) => times.push(began.elapsed()),
                        // A machine that is too slow says so within the budget; it is no figure.
                        Err(error) => println!("{tool}: {error}"),
                    }
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for caller in asking {
        times.extend(caller.await.unwrap());
    }
    times
}
