//! The service is killed in the middle of requests: what left it is written down, what never ended is a timeout, and no
//! request is written down twice.
//!
//! Five times in the test command; two hundred times by hand:
//! `cargo test -p sync-tests audit::killed -- --ignored --nocapture`.

#![expect(clippy::print_stdout, reason = "how many requests there were is what the long run is read for")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use sync_core::clock::Clock as _;
use sync_core::ids::{RequestId, TokenId};
use sync_core::principal::{Principal, Scope};
use sync_server::clock::SystemClock;
use sync_server::identity::{random_secret, token};
use sync_store::{NewToken, Store};
use sync_tests::{TestDatabase, TwoOrganizations, with_database};
use uuid::Uuid;

use super::{Log, said};

const SECRET: &str = "a key of the tests, long enough for one";

/// A `syncd serve` of its own process.
pub(super) struct Served {
    process: Child,
    pub(super) address: String,
}

impl Served {
    /// On the database at that address of the application role.
    pub(super) fn start(database_url: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_syncd-under-test"))
            .arg("serve")
            .env("SYNC_DATABASE_URL", database_url)
            .env("SYNC_SECRET_KEY", SECRET)
            .env("SYNC_LISTEN", "127.0.0.1:0")
            .env("SYNC_PRINCIPAL_REQUESTS_PER_MINUTE", "1000000")
            .env("SYNC_ORGANIZATION_REQUESTS_PER_MINUTE", "1000000")
            .env("SYNC_LOG_FORMAT", "json")
            .env("SYNC_LOG", "info,rmcp=error")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let address = loop {
            let Some(line) = lines.next() else { panic!("it ended before it served") };
            let line = line.unwrap();
            let told: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            if told["message"] == "serving" {
                break told["address"].as_str().unwrap().to_owned();
            }
        };
        // Read on, so that it never waits for a reader of its log.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A token of a member, by the system's clock, which a process of its own goes by.
pub(super) async fn credential(
    store: &Store,
    principal: &Principal,
    scopes: impl IntoIterator<Item = Scope>,
) -> String {
    let now = SystemClock.now();
    let made = token::make(
        principal.organization,
        TokenId::at(now),
        random_secret().unwrap_or_else(|_| panic!("no randomness")),
    );
    let mut tx = store.begin(principal).await.unwrap();
    let new = NewToken {
        id: token::parse(&made.text).unwrap_or_else(|_| panic!("no token")).id,
        principal: principal.id,
        name: "test",
        secret_hash: made.secret_hash,
        scopes: &scopes.into_iter().collect(),
        expires_at: None,
    };
    tx.create_token(&new, now).await.unwrap();
    tx.commit().await.unwrap();
    made.text
}

/// What a client saw of each of its requests: the status, as soon as its line had come.
type Seen = Arc<Mutex<BTreeMap<Uuid, u16>>>;

/// Asks one thing after the other, each on a connection of its own, until it is told to stop.
fn ask(address: &str, credential: &str, which: usize, seen: &Seen, stop: &AtomicBool) {
    for n in which.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let id = RequestId::at(SystemClock.now()).uuid();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "sync_repositories", "arguments": {} } })
        .to_string();
        let (method, path, body) = match n % 4 {
            0 => ("GET", "/v1/audit/export", ""),
            1 => ("GET", "/v1/audit?limit=5", ""),
            _ => ("POST", "/mcp", body.as_str()),
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {credential}\r\nX-Request-Id: {id}\r\n\
             Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let Ok(mut connection) = TcpStream::connect(address) else { return };
        if connection.write_all(request.as_bytes()).is_err() {
            continue;
        }
        let mut first = [0; 12];
        if connection.read_exact(&mut first).is_err() {
            continue;
        }
        let status = String::from_utf8_lossy(&first[9..]).parse().unwrap_or(0);
        seen.lock().unwrap().insert(id, status);
        // The rest, as far as it comes.
        let mut rest = Vec::new();
        let _ = connection.read_to_end(&mut rest);
    }
}

fn killed(times: u32) {
    with_database(async |database: &TestDatabase| {
        let two = TwoOrganizations::create(&database.store).await.unwrap();
        let log = Log::of(database, &two.alpha.principal).await;
        let credential = credential(&database.store, &log.principal, [Scope::GraphRead, Scope::AuditRead]).await;
        // Something to export.
        log.write(2000, SystemClock.now() - time::Duration::HOUR).await;

        let seen = Seen::default();
        for round in 0..times {
            let mut served = Served::start(&database.app_url);
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                for which in 0..4 {
                    let (address, credential, seen, stop) = (&served.address, &credential, &seen, &stop);
                    scope.spawn(move || ask(address, credential, which, seen, stop));
                }
                // After some answers, another number of them each time: somewhere in the middle of what comes next.
                let wanted = seen.lock().unwrap().len() + 1 + (round as usize * 7) % 20;
                while seen.lock().unwrap().len() < wanted {
                    std::thread::sleep(Duration::from_millis(1));
                }
                served.process.kill().unwrap();
                served.process.wait().unwrap();
                stop.store(true, Ordering::SeqCst);
            });
        }
        // The server notices that its clients are gone before it is asked what they left.
        database.open_transactions().await.unwrap();

        let seen = seen.lock().unwrap().clone();
        let mut superuser = database.superuser().await;
        let rows: Vec<(Uuid, i64)> =
            sqlx::query_as("SELECT request_id, count(*) FROM sync.audit_events GROUP BY request_id")
                .fetch_all(&mut superuser)
                .await
                .unwrap();
        let rows: BTreeMap<Uuid, i64> = rows.into_iter().collect();
        let twice: Vec<_> = rows.iter().filter(|(_, count)| **count != 1).collect();
        assert!(twice.is_empty(), "two rows of one request: {twice:?}");
        let unwritten: Vec<_> = seen.iter().filter(|(id, status)| **status != 503 && !rows.contains_key(id)).collect();
        assert!(unwritten.is_empty(), "answered without a row: {unwritten:?}");
        let answered = seen.values().filter(|status| **status == 200).count();
        assert!(answered >= times as usize, "{answered} answers of {times} rounds are too few to tell anything");

        let open: i64 = sqlx::query_scalar(OPEN).fetch_one(&mut superuser).await.unwrap();
        let later = SystemClock.now() + time::Duration::minutes(6);
        let mut closed = 0;
        loop {
            let mut tx = log.maintenance.begin(log.organization()).await.unwrap();
            let now_closed = tx.close_open_events(later - time::Duration::minutes(5), later).await.unwrap();
            tx.commit().await.unwrap();
            closed += now_closed;
            if now_closed == 0 {
                break;
            }
        }
        assert_eq!(i64::try_from(closed).unwrap(), open, "each that never ended is a timeout");
        let left: i64 = sqlx::query_scalar(OPEN).fetch_one(&mut superuser).await.unwrap();
        let outcomes: i64 = sqlx::query_scalar("SELECT count(*) - count(DISTINCT event_id) FROM sync.audit_outcomes")
            .fetch_one(&mut superuser)
            .await
            .unwrap();
        assert_eq!((left, outcomes), (0, 0), "none is left open, and none ended twice");
        log.seal(later).await;
        let report = log.verify().await;
        assert!(report.is_whole(), "{}", said(&report));
        println!(
            "{times} kills: {} requests seen, {answered} answered, {} rows, {open} never ended",
            seen.len(),
            rows.len() - 2000
        );
    });
}

/// Events that have no outcome.
const OPEN: &str = "SELECT count(*) FROM sync.audit_events e WHERE e.outcome IS NULL AND NOT EXISTS
                        (SELECT FROM sync.audit_outcomes o WHERE o.event_id = e.event_id)";

#[test]
fn a_kill_loses_no_row_of_what_was_answered() {
    killed(5);
}

#[test]
#[ignore = "two hundred kills, by hand"]
fn two_hundred_kills_lose_no_row_of_what_was_answered() {
    killed(200);
}
