//! Whether the time that a signature is checked in tells how much of it is right: see `tests/load/README.md`.

use std::time::Instant;

use axum::body::Bytes;
use http::HeaderMap;
use sync_server::webhooks::signature::{sign, verify};
use sync_store::Forge;
use sync_tests::NOW;

/// Samples of each of the two.
const SAMPLES: usize = 100_000;

#[test]
#[ignore = "measured by hand: see tests/load/README.md"]
fn a_signature_that_is_almost_right_takes_as_long_as_one_that_is_all_wrong() {
    let secret = "whsec_dGhlIHNlY3JldCBvZiB0aGlzIG1lYXN1cmVtZW50ISE=";
    let another = "whsec_YW5vdGhlciBzZWNyZXQgb2YgdGhlIHNhbWUgbGVuZ3RoISE=";
    for forge in [Forge::Github, Forge::Gitlab] {
        let (name, right) = sign(forge, secret, b"{}");
        // The same request against two secrets: to one it is right but for its last character, to the other all wrong. What
        // differs is nothing that its sender knows.
        let last = if right.ends_with('0') { "1" } else { "0" };
        let sent = format!("{}{last}", &right[..right.len() - 1]);
        let headers: HeaderMap = [(name, sent.parse().unwrap())].into_iter().collect();
        let secrets = [secret.as_bytes(), another.as_bytes()];
        let mut times = [Vec::with_capacity(SAMPLES), Vec::with_capacity(SAMPLES)];
        // In turns that no rhythm of the machine follows.
        let mut turn = 0x9e37_79b9_u32;
        while times.iter().any(|times| times.len() < SAMPLES) {
            turn ^= turn << 13;
            turn ^= turn >> 17;
            turn ^= turn << 5;
            let which = (turn & 1) as usize;
            let one = [secrets[which]];
            let began = Instant::now();
            let taken = verify(forge, &headers, Bytes::from_static(b"{}"), &one, NOW);
            let took = began.elapsed();
            assert!(taken.is_none());
            #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a check")]
            times[which].push(took.as_nanos() as f64);
        }
        let t = welch(&times.map(|mut times| {
            times.truncate(SAMPLES);
            // What the machine did in between is no sample of the check.
            times.sort_by(f64::total_cmp);
            times.truncate(SAMPLES * 9 / 10);
            times
        }));
        println!("{}: |t| = {:.2} over {SAMPLES} samples of each", forge.as_str(), t.abs());
        assert!(t.abs() < 4.5);
    }
}

/// Welch's t: by how many standard errors two means differ.
fn welch([one, other]: &[Vec<f64>; 2]) -> f64 {
    let moments = |times: &Vec<f64>| {
        #[expect(clippy::cast_precision_loss, reason = "a hundred thousand is exact")]
        let count = times.len() as f64;
        let mean = times.iter().sum::<f64>() / count;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, variance / count)
    };
    let ((one, one_error), (other, other_error)) = (moments(one), moments(other));
    (one - other) / (one_error + other_error).sqrt()
}
