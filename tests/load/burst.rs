//! Five thousand deliveries in a minute to one repository: see `tests/load/README.md`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sync_store::{Forge, PoolOptions, Store};
use sync_tests::service::{Reply, TestService};
use sync_tests::{TestDatabase, TwoOrganizations};

use crate::webhooks::{Hooked, body};

/// How many come.
const DELIVERIES: usize = 5_000;

/// In what time.
const WITHIN: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measured by hand: see tests/load/README.md"]
async fn five_thousand_deliveries_in_a_minute_are_all_taken() {
    let database = TestDatabase::create().await;
    let both = TwoOrganizations::create(&database.store).await.unwrap();
    // The pool that `syncd serve` has by default.
    let options = PoolOptions { max_connections: 8, ..PoolOptions::default() };
    let store = Store::connect(&database.app_url, options).await.unwrap();
    let service = TestService::start_with(store, &[], |answers| answers).await;
    let address = "https://github.com/acme/billing";
    let hooked = Hooked::new(&database, &service, &both.alpha.principal, Forge::Github, address).await;
    let push = body("github/push.json");
    let (began, lost) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
    let mut sent = Vec::new();
    for at in 0..DELIVERIES {
        // Evenly over the minute, whether those before are answered or not.
        let due = began + WITHIN * u32::try_from(at).unwrap() / u32::try_from(DELIVERIES).unwrap();
        tokio::time::sleep_until(due.into()).await;
        let (request, lost) = (hooked.signed("push", &at.to_string(), push.clone()), lost.clone());
        sent.push(tokio::spawn(async move {
            let asked = Instant::now();
            let reply = Reply::of(request).await;
            if reply.status != 202 {
                lost.fetch_add(1, Ordering::Relaxed);
            }
            asked.elapsed()
        }));
    }
    let mut times = Vec::new();
    for one in sent {
        times.push(one.await.unwrap());
    }
    times.sort();
    let took = began.elapsed();
    let at = |share: usize| times[(times.len() * share / 1000).min(times.len() - 1)].as_secs_f64() * 1e3;
    let (jobs, lost) = (hooked.jobs().await, lost.load(Ordering::Relaxed));
    println!(
        "{DELIVERIES} deliveries in {:.1} s: p50 {:.1} ms, p99 {:.1} ms, longest {:.1} ms; {lost} not taken, {} jobs asked for {} times",
        took.as_secs_f64(),
        at(500),
        at(990),
        at(1000),
        jobs.len(),
        jobs.iter().map(|job| job.requests).sum::<u32>(),
    );
    assert_eq!((jobs.len(), lost), (1, 0));
    assert_eq!(jobs[0].requests as usize, DELIVERIES, "each is in the one job");
    service.stop().await;
    database.finish().await;
}
