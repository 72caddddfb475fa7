//! The database crashes and comes back while fifty requests a second are asked: nothing but answers and "come back" is
//! told, whatever was acknowledged is there with its row, and it goes on by itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use sync_core::clock::Clock as _;
use sync_core::ids::RequestId;
use sync_core::principal::Scope;
use sync_server::clock::SystemClock;
use sync_server::postgres::{EmbeddedPostgres, Settings};
use sync_store::{Passwords, Store};
use sync_tests::{NOW, TestDatabase, TwoOrganizations};
use tokio::sync::{Mutex, Semaphore};
use uuid::Uuid;

use super::killed::{Served, credential};

/// Between two requests: fifty a second.
const EVERY: Duration = Duration::from_millis(20);
/// So many at once: a machine that does not keep up is asked less.
const AT_ONCE: usize = 16;
/// Nobody is kept waiting for so long, however busy the machine is: the service itself answers within two seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// What one request was told: what it was, its status, and whether it is an answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Told {
    what: &'static str,
    status: u16,
    answer: bool,
}

/// Asks one thing: a tool, a change, or whether the service lives. A change is a member of the request's own name.
async fn ask(client: &reqwest::Client, address: &str, credential: &str, which: u32, id: Uuid) -> Told {
    let post = |path: &str| client.post(format!("http://{address}{path}")).bearer_auth(credential);
    let (what, request) = match which % 4 {
        0 => ("change", post("/v1/members").json(&json!({ "name": id.to_string(), "role": "member" }))),
        1 => ("livez", client.get(format!("http://{address}/livez"))),
        _ => {
            let params = json!({ "name": "sync_repositories", "arguments": {} });
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            ("tool", post("/mcp").json(&call))
        }
    };
    let reply = request.header("x-request-id", id.to_string()).send().await;
    let reply = reply.unwrap_or_else(|error| panic!("{what}: no answer within {PATIENCE:?}: {error}"));
    let status = reply.status().as_u16();
    let text = reply.text().await.unwrap();
    let withheld = text.contains(r#""isError":true"#);
    assert!(!withheld || text.contains("unavailable"), "{text}");
    Told { what, status, answer: !withheld && status < 300 }
}

/// Ends the server at once, as a crash would, and starts it again on what it left.
fn crash_and_restart(server: EmbeddedPostgres, folder: &Path, settings: &Settings) -> EmbeddedPostgres {
    let pid = std::fs::read_to_string(folder.join("data/postmaster.pid")).unwrap();
    let pid = Pid::from_raw(pid.lines().next().unwrap().trim().parse().unwrap());
    kill(pid, Signal::SIGQUIT).unwrap();
    drop(server);
    EmbeddedPostgres::start(folder, settings).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_crashes_under_load_loses_nothing_that_was_acknowledged() {
    let outside = tempfile::tempdir().unwrap();
    // Root's server runs as another account, which must be able to pass.
    std::fs::set_permissions(outside.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let folder = outside.path().join("pg");
    let settings = Settings { durable: true, max_connections: 40, binaries: None };
    let server = EmbeddedPostgres::start(&folder, &settings).unwrap();
    let superuser_url = server.url("postgres", "sync");
    sync_store::create_database(&server.superuser_url(), "sync_owner", "sync").await.unwrap();
    sync_store::migrate(&server.url("sync_owner", "sync"), Passwords::default(), NOW).await.unwrap();
    let url = server.url("sync_app", "sync");
    let store = Store::connect(&url, TestDatabase::pool()).await.unwrap();
    let alpha = TwoOrganizations::create(&store).await.unwrap().alpha.principal;
    let credential = credential(&store, &alpha, [Scope::Admin]).await;
    store.close().await;

    let service = Served::start(&url);
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
    let told: Arc<Mutex<BTreeMap<Uuid, Told>>> = Arc::default();
    let (stop, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let longest = Arc::new(AtomicU64::new(0));
    let load = {
        let (told, stop, answers, longest) = (told.clone(), stop.clone(), answers.clone(), longest.clone());
        let (address, client) = (service.address.clone(), client.clone());
        tokio::spawn(async move {
            let places = Arc::new(Semaphore::new(AT_ONCE));
            let (mut ticks, mut asking) = (tokio::time::interval(EVERY), tokio::task::JoinSet::new());
            for which in 0.. {
                ticks.tick().await;
                let place = places.clone().acquire_owned().await.unwrap();
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let (told, answers, longest) = (told.clone(), answers.clone(), longest.clone());
                let (address, client, credential) = (address.clone(), client.clone(), credential.clone());
                asking.spawn(async move {
                    let id = RequestId::at(SystemClock.now()).uuid();
                    let asked = Instant::now();
                    let reply = ask(&client, &address, &credential, which, id).await;
                    longest.fetch_max(u64::try_from(asked.elapsed().as_millis()).unwrap(), Ordering::SeqCst);
                    drop(place);
                    answers.fetch_add(u32::from(reply.answer && reply.what != "livez"), Ordering::SeqCst);
                    told.lock().await.insert(id, reply);
                });
            }
            asking.join_all().await;
        })
    };
    let more = async |count: u32| {
        let wanted = answers.load(Ordering::SeqCst) + count;
        while answers.load(Ordering::SeqCst) < wanted {
            tokio::time::sleep(EVERY).await;
        }
    };
    more(30).await;
    let restarting = Instant::now();
    let server = tokio::task::spawn_blocking(move || crash_and_restart(server, &folder, &settings)).await.unwrap();
    let accepts = Instant::now();
    let healthy = async {
        while !client
            .get(format!("http://{}/readyz", service.address))
            .send()
            .await
            .is_ok_and(|reply| reply.status() == 200)
        {
            tokio::time::sleep(EVERY).await;
        }
    };
    tokio::time::timeout(PATIENCE, healthy).await.expect("it is healthy again soon after its database is");
    let healthy_after = accepts.elapsed();
    more(30).await;
    stop.store(true, Ordering::SeqCst);
    load.await.unwrap();

    let told = told.lock().await;
    let mut kinds: BTreeMap<&Told, u32> = BTreeMap::new();
    told.values().for_each(|told| *kinds.entry(told).or_default() += 1);
    println!(
        "away for {:?}, healthy {healthy_after:?} after; longest {longest:?} ms; {kinds:#?}",
        accepts - restarting
    );
    for told in kinds.keys() {
        let expected = match told.what {
            "livez" => told.status == 200,
            "tool" => matches!(told.status, 200 | 503),
            _ => matches!(told.status, 201 | 503),
        };
        assert!(expected, "{told:?}");
    }
    let mut superuser = PgConnection::connect(&superuser_url).await.unwrap();
    let members: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sync.principals").fetch_all(&mut superuser).await.unwrap();
    let rows: Vec<Uuid> = sqlx::query_scalar("SELECT request_id FROM sync.audit_events WHERE outcome = 'ok'")
        .fetch_all(&mut superuser)
        .await
        .unwrap();
    for (id, told) in told.iter().filter(|(_, told)| told.answer && told.what != "livez") {
        assert_eq!(rows.iter().filter(|row| *row == id).count(), 1, "{told:?} has one row");
        assert!(told.what != "change" || members.contains(&id.to_string()), "an acknowledged change is lost");
    }
    superuser.close().await.unwrap();
    drop(service);
    server.stop();
}
