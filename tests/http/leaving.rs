//! Clients that leave at any moment of a change: what was acknowledged is there, what is there is written down, and no
//! connection to the database is left in a transaction.

#![expect(clippy::print_stdout, reason = "how many changes there were is what the long run is read for")]

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use futures::StreamExt as _;
use serde_json::json;
use sqlx::PgConnection;
use sync_core::principal::Scope;
use sync_tests::service::TestService;
use sync_tests::{TestDatabase, TwoOrganizations, with_database};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How many changes are asked for in one round.
const CHANGES: usize = 100;

/// When a client leaves.
#[derive(Clone, Copy)]
enum Leaves {
    /// After so many bytes of what it says.
    Saying(usize),
    /// So long after it has said all of it.
    Waiting(Duration),
    /// With the answer.
    Answered,
}

/// Asks for a member of that name; gives whether it heard that the member was made.
async fn ask(address: &str, token: &str, name: &str, leaves: Leaves) -> bool {
    let body = json!({ "name": name, "role": "ingest" }).to_string();
    let request = format!(
        "POST /v1/members HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    if let Leaves::Saying(bytes) = leaves {
        stream.write_all(&request.as_bytes()[..bytes.min(request.len() - 1)]).await.unwrap();
        return false;
    }
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut heard = [0; 12];
    let answer = stream.read_exact(&mut heard);
    let answered = match leaves {
        Leaves::Waiting(so_long) => matches!(tokio::time::timeout(so_long, answer).await, Ok(Ok(_))),
        _ => answer.await.is_ok(),
    };
    answered && &heard == b"HTTP/1.1 201"
}

#[test]
fn what_was_acknowledged_is_there_and_what_is_there_is_written_down() {
    leaving(3..30);
}

#[test]
#[ignore = "ten thousand clients, by hand"]
fn of_ten_thousand_clients_that_leave_none_loses_what_was_acknowledged() {
    leaving(100..101);
}

/// In so many rounds at least, and at most.
fn leaving(rounds: Range<usize>) {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        // Limits of requests are not what this is about.
        let many = "1000000";
        let settings = [
            ("SYNC_PRINCIPAL_REQUESTS_PER_MINUTE", many),
            ("SYNC_ORGANIZATION_REQUESTS_PER_MINUTE", many),
            ("SYNC_STRANGER_REQUESTS_PER_MINUTE", many),
        ];
        let service = TestService::start_with(database.store.clone(), &settings, |answers| answers).await;
        let (_, token) = service.token(&both.alpha.principal, &[Scope::Admin], None).await;
        let address = service.url.strip_prefix("http://").unwrap().to_owned();
        let mut superuser = database.superuser().await;
        let (mut acknowledged, mut unheard) = (BTreeSet::new(), false);
        for round in 0..rounds.end {
            // Until some left between the change and its answer, which is what this is about.
            if round >= rounds.start && unheard {
                break;
            }
            let heard: Vec<Option<String>> = futures::stream::iter(0..CHANGES)
                .map(|n| {
                    let (address, token) = (&address, &token);
                    let micros = u64::try_from((n % 25) * (n % 25) * 250).unwrap();
                    let leaves = match n % 4 {
                        0 => Leaves::Answered,
                        1 => Leaves::Saying(n * 37 % 500),
                        _ => Leaves::Waiting(Duration::from_micros(micros)),
                    };
                    async move {
                        let name = format!("member-{round}-{n}");
                        ask(address, token, &name, leaves).await.then_some(name)
                    }
                })
                .buffer_unordered(16)
                .collect()
                .await;
            acknowledged.extend(heard.into_iter().flatten());
            assert!(acknowledged.len() >= (round + 1) * CHANGES / 4, "whoever waits is answered");
            unheard = made(&mut superuser).await.len() > acknowledged.len();
        }
        assert!(unheard, "nobody left between a change and its answer");
        // Ends what is under way; nothing is made after this.
        service.stop().await;
        let made = made(&mut superuser).await;
        let lost: Vec<_> = acknowledged.difference(&made).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
        let written: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM sync.audit_events WHERE action = 'rest.create_member' AND outcome = 'ok'",
        )
        .fetch_one(&mut superuser)
        .await
        .unwrap();
        assert_eq!(usize::try_from(written).unwrap(), made.len());
        println!("{} made, {} acknowledged, none lost", made.len(), acknowledged.len());
        assert_eq!(database.open_transactions().await.unwrap(), Vec::<String>::new());
    });
}

/// The members that are there.
async fn made(superuser: &mut PgConnection) -> BTreeSet<String> {
    let names = sqlx::query_scalar("SELECT name FROM sync.principals WHERE kind = 'service'");
    names.fetch_all(superuser).await.unwrap().into_iter().collect()
}
