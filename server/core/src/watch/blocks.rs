//! Hours joined until they say something, and what a past of such blocks leads one to expect.

use super::{Hour, MATTERS, MAX_BLOCK_HOURS, MIN_BLOCKS, MIN_DAYS, ONE_IN};

/// Hours in a row with enough answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    /// First hour with traffic.
    pub(super) from: i64,
    /// Last hour with traffic.
    pub(super) to: i64,
    pub(super) answers: u64,
    pub(super) failures: u64,
    pub(super) successes: u64,
}

impl Block {
    fn of(hour: &Hour) -> Self {
        // More of a kind than of all is a fault of who counts, which must not become a share above one.
        let at_most = |count: u64| count.min(hour.answers);
        Self {
            from: hour.hour,
            to: hour.hour,
            answers: hour.answers,
            failures: at_most(hour.failures),
            successes: at_most(hour.successes),
        }
    }

    /// Both together.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            to: self.to.max(other.to),
            answers: self.answers.saturating_add(other.answers),
            failures: self.failures.saturating_add(other.failures),
            successes: self.successes.saturating_add(other.successes),
        }
    }

    pub(super) fn failure_share(&self) -> f64 {
        share(self.failures, self.answers)
    }

    pub(super) fn success_share(&self) -> f64 {
        share(self.successes, self.answers)
    }
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { number(part) / number(all) }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of spans; beyond 2^53 nobody asks for the last digit of a share"
)]
fn number(count: u64) -> f64 {
    count as f64
}

/// The blocks of at least so many answers up to an hour, the newest first. Hours that do not come together to a block are passed over.
pub(super) fn blocks_before(hours: &[Hour], last: i64, size: u64) -> impl Iterator<Item = Block> {
    let end = hours.partition_point(|hour| hour.hour <= last);
    let mut rest = hours.get(..end).unwrap_or_default().iter().rev().filter(|hour| hour.answers > 0).peekable();
    std::iter::from_fn(move || {
        let mut block = Block::of(rest.next()?);
        loop {
            if block.answers >= size {
                return Some(block);
            }
            let hour = Block::of(rest.next()?);
            // Too far apart to be of one time: begin again with the older hour.
            block = if block.to.saturating_sub(hour.from) < MAX_BLOCK_HOURS { block.with(hour) } else { hour };
        }
    })
}

/// What a past leads one to expect of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Baseline {
    /// The share of what is looked for.
    pub(super) share: f64,
    /// Its upper limit.
    pub(super) upper: f64,
    /// Its lower limit.
    pub(super) lower: f64,
    /// The share of the worst block.
    pub(super) worst: f64,
    /// The correlation within a block: 0 for answers that fail independently of each other.
    overdispersion: f64,
}

/// Standard errors by which the share is taken to be uncertain.
const STANDARD_ERRORS: f64 = 3.0;

impl Baseline {
    /// From blocks of the past; nothing where they are too few.
    pub(super) fn of(past: &[Block], of: impl Fn(&Block) -> u64) -> Option<Self> {
        let mut days: Vec<i64> = past.iter().map(|block| block.to.div_euclid(24)).collect();
        days.dedup();
        if past.len() < MIN_BLOCKS || days.len() < MIN_DAYS {
            return None;
        }
        let mut counts: Vec<(f64, f64)> = past.iter().map(|block| (number(of(block)), number(block.answers))).collect();
        let share = |(part, all): &(f64, f64)| part / all;
        counts.sort_by(|a, b| share(a).total_cmp(&share(b)));
        let worst = counts.last().map(share)?;
        counts.truncate(counts.len() - counts.len() / 100);
        let answers: f64 = counts.iter().map(|(_, all)| all).sum();
        let parts: f64 = counts.iter().map(|(part, _)| part).sum();
        let mean = parts / answers;
        let overdispersion = overdispersion(&counts, mean, answers);
        let squares: f64 = counts.iter().map(|(_, all)| all * all).sum();
        // One success and one failure more, so that none seen is not taken for none possible.
        let smoothed = (parts + 1.0) / (answers + 2.0);
        let design = 1.0 + (squares / answers - 1.0) * overdispersion;
        let error = STANDARD_ERRORS * (smoothed * (1.0 - smoothed) * design / answers).sqrt();
        Some(Self {
            share: mean,
            upper: (smoothed + error).min(1.0),
            lower: (smoothed - error).max(0.0),
            worst,
            overdispersion,
        })
    }

    /// The share from which a block is elevated: far enough above the baseline to matter to anybody.
    pub(super) fn elevated_from(&self) -> f64 {
        (2.0 * self.upper).max(self.upper + MATTERS)
    }

    /// Whether chance alone would hardly ever give blocks, of (answers, share), as far or farther from an expected
    /// share: the product of the Chernoff bounds of their binomial tails, with as many answers in each as are worth that
    /// of independent ones.
    pub(super) fn is_incredible(&self, blocks: &[(u64, f64)], expected: f64) -> bool {
        let bound = |(answers, share): &(u64, f64)| {
            let answers = number(*answers);
            answers / (1.0 + (answers - 1.0).max(0.0) * self.overdispersion) * divergence(*share, expected)
        };
        blocks.iter().map(bound).sum::<f64>() >= ONE_IN.ln()
    }
}

/// By the method of moments: by how much the squares of the deviations exceed what a binomial gives.
fn overdispersion(counts: &[(f64, f64)], mean: f64, answers: f64) -> f64 {
    let variance = mean * (1.0 - mean);
    let pairs: f64 = counts.iter().map(|(_, all)| all * (all - 1.0)).sum();
    if variance <= 0.0 || pairs <= 0.0 {
        return 0.0;
    }
    let deviations: f64 = counts.iter().map(|(part, all)| (part - all * mean).powi(2)).sum();
    ((deviations / variance - answers) / pairs).clamp(0.0, 1.0)
}

/// The Kullback–Leibler divergence of two shares.
fn divergence(share: f64, expected: f64) -> f64 {
    let term = |a: f64, b: f64| if a <= 0.0 { 0.0 } else { a * (a / b).ln() };
    if (expected <= 0.0 && share > 0.0) || (expected >= 1.0 && share < 1.0) {
        return f64::INFINITY;
    }
    term(share, expected) + term(1.0 - share, 1.0 - expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(hour: i64, answers: u64, failures: u64) -> Hour {
        Hour { hour, answers, failures, successes: answers.saturating_sub(failures) }
    }

    #[test]
    fn hours_are_joined_until_they_are_enough_and_not_across_days_of_silence() {
        let hours =
            [hour(1, 100, 1), hour(50, 30, 0), hour(51, 0, 0), hour(52, 30, 3), hour(60, 500, 5), hour(61, 1, 9)];
        let blocks: Vec<Block> = blocks_before(&hours, 61, 40).collect();
        let counts: Vec<_> = blocks.iter().map(|block| (block.from, block.to, block.answers, block.failures)).collect();
        assert_eq!(counts, [(60, 61, 501, 6), (50, 52, 60, 3), (1, 1, 100, 1)]);
        assert_eq!(
            blocks_before(&hours, 51, 40).map(|block| block.from).collect::<Vec<_>>(),
            [1],
            "thirty are too few"
        );
        assert_eq!(blocks_before(&[], 5, 40).count(), 0);
    }

    #[test]
    fn a_baseline_wants_blocks_of_several_days() {
        let past: Vec<Hour> = (0..120).map(|n| hour(n, 100, 1)).collect();
        let of =
            |hours: &[Hour]| Baseline::of(&blocks_before(hours, 200, 40).collect::<Vec<_>>(), |block| block.failures);
        assert!(of(&past[..96]).is_none(), "four days");
        let sparse: Vec<Hour> = past.iter().copied().step_by(6).collect();
        assert!(of(&sparse).is_none(), "twenty blocks");
        let baseline = of(&past).unwrap();
        assert!((baseline.share - 0.01).abs() < 1e-9 && baseline.overdispersion == 0.0, "{baseline:?}");
        assert!((0.012..0.015).contains(&baseline.upper) && baseline.lower < 0.01, "{baseline:?}");
    }

    #[test]
    fn bursts_make_what_is_credible_wide() {
        let bursty: Vec<Hour> = (0..200).map(|n| hour(n, 1000, if n % 10 == 0 { 100 } else { 5 })).collect();
        let calm: Vec<Hour> = (0..200).map(|n| hour(n, 1000, if n % 10 == 0 { 15 } else { 14 })).collect();
        let of = |hours: &[Hour]| {
            Baseline::of(&blocks_before(hours, 200, 40).collect::<Vec<_>>(), |block| block.failures).unwrap()
        };
        let (bursty, calm) = (of(&bursty), of(&calm));
        assert!((bursty.worst - 0.1).abs() < 1e-9, "{bursty:?}");
        assert!(calm.is_incredible(&[(1000, 0.1)], calm.upper) && !bursty.is_incredible(&[(1000, 0.1)], bursty.upper));
    }

    #[test]
    fn divergence_is_that_of_two_shares() {
        assert!(divergence(0.3, 0.3).abs() < 1e-12);
        assert!((divergence(0.0, 0.5) - 2.0_f64.ln()).abs() < 1e-12);
        assert!((divergence(0.5, 0.1) - 0.510_825_623_766).abs() < 1e-9);
        assert!(divergence(0.1, 0.0).is_infinite() && divergence(0.9, 1.0).is_infinite());
    }
}
