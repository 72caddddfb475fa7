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
    for forge in [Forge::Github, Forge::Gitlab] {
        let (name, right) = sign(forge, secret, b"{}");
        let with = |value: &str| -> HeaderMap { [(name.clone(), value.parse().unwrap())].into_iter().collect() };
        // Right but for its last character, and the same characters in another order, wrong from the first: how long reading
        // them takes depends on which they are, and who sends them knows that.
        let last = if right.ends_with('0') { "1" } else { "0" };
        let almost = format!("{}{last}", &right[..right.len() - 1]);
        let prefix = right.len() - right.trim_start_matches("sha256=").len();
        let (fixed, digits) = almost.split_at(prefix);
        let turned = format!("{fixed}{}{}", &digits[17..], &digits[..17]);
        let (almost, wrong) = (with(&almost), with(&turned));
        let mut times = [Vec::with_capacity(SAMPLES), Vec::with_capacity(SAMPLES)];
        // In turns that no rhythm of the machine follows.
        let mut turn = 0x9e37_79b9_u32;
        while times.iter().any(|times| times.len() < SAMPLES) {
            turn ^= turn << 13;
            turn ^= turn >> 17;
            turn ^= turn << 5;
            let which = (turn & 1) as usize;
            let headers = [&almost, &wrong][which];
            let began = Instant::now();
            let taken = verify(forge, headers, Bytes::from_static(b"{}"), &[secret.as_bytes()], NOW);
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
