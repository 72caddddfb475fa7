//! That the service is as `openapi/sync.v1.json` says: a generator of requests finds no answer that is not described.

use std::process::{Command, Stdio};

use sync_core::principal::Scope;
use sync_tests::service::TestService;
use sync_tests::{TestDatabase, TwoOrganizations, with_database};

/// Requests made in the test command; tests/schemathesis/run makes 20,000 by hand.
const CASES: &str = "2000";

#[test]
fn two_thousand_generated_requests_are_answered_as_described() {
    with_database(async |database: &TestDatabase| {
        let both = TwoOrganizations::create(&database.store).await.unwrap();
        let service = TestService::start(database).await;
        let (_, token) = service.token(&both.alpha.principal, &Scope::ALL, None).await;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/schemathesis/run");
        let mut run = Command::new(script);
        run.args([&service.url, CASES])
            .env("SYNC_TOKEN", token)
            .env("MAX_EXAMPLES", "70")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let run = blocking(&mut run).await;
        let (said, told) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert!(run.status.success() && said.contains("cases, no failure"), "{said}\n{told}");
        service.stop().await;
    });
}

/// The service answers on the threads of this runtime, so that none may wait for the script.
async fn blocking(command: &mut Command) -> std::process::Output {
    let child = command
        .spawn()
        .unwrap_or_else(|error| panic!("tests/schemathesis/run cannot be started: {error}; next: install bash"));
    tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap()
}
