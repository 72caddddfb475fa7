//! Questions at fixed times, by connections of their own, while something else goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sync_core::ids::RequestId;
use sync_server::answers::{Answers, tools};
use sync_server::audit::{Asker, AuditLedger};
use sync_store::Store;

use crate::answers::{World, generated};

/// Questions a second while something is stored, at fixed times: a store that takes the machine makes them late.
const ASKED_A_SECOND: u32 = 40;

/// Which repository is asked about: [`generated::repository`].
pub(super) const ASKED: &str = "acme/asked";

/// What is asked, by somebody else's connections.
pub(super) struct Asking {
    over: Arc<AtomicBool>,
    times: tokio::task::JoinHandle<Vec<Duration>>,
}

impl Asking {
    pub(super) fn begin(world: &World, store: &Store) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let answers: Arc<dyn Answers> = Arc::new(world.answers_over(store));
        let (asker, stop) = (world.asker(), over.clone());
        let arguments = json!({"repository": ASKED, "file": generated::path(7), "line": 1});
        let times = tokio::spawn(async move {
            let arguments: Map<String, Value> = arguments.as_object().unwrap().clone();
            let mut due = tokio::time::interval(Duration::from_secs(1) / ASKED_A_SECOND);
            let mut answered = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let began = due.tick().await;
                let (answers, arguments) = (answers.clone(), arguments.clone());
                let asker = Asker {
                    ledger: AuditLedger::default(),
                    began,
                    request_id: RequestId::at(sync_tests::NOW),
                    ..asker.clone()
                };
                answered.push(tokio::spawn(async move {
                    let tool = tools::find("sync_explain_call_site").unwrap();
                    tool.call(answers.as_ref(), &asker, &arguments).await.unwrap();
                    began.elapsed()
                }));
            }
            let mut times = Vec::new();
            for one in answered {
                times.push(one.await.unwrap());
            }
            times.sort();
            times
        });
        Self { over, times }
    }

    pub(super) async fn end(self) -> String {
        self.over.store(true, Ordering::Relaxed);
        let times = self.times.await.unwrap();
        let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
        format!("{} questions, p50 {:.1} ms, p99 {:.1} ms", times.len(), at(50), at(99))
    }
}

pub(super) fn load_average() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default().split(' ').take(1).collect()
}
