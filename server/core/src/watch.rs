//! Detectors on watched traffic: has a call begun to fail, and does its operation still answer? Pure.
//!
//! Both look at the hourly counts of one call site, compare the newest traffic with the call site's own past, and are
//! asked once for each hour that is complete. They say nothing of the cause, and nothing of silence: spans are sampled,
//! so that hours without traffic are evidence of nothing.
//!
//! # Method of [`status_rate_rise`]
//! 1. **Blocks.** Hours are joined, from the newest backwards, until a block has enough answers: [`SIZES`] are tried one
//!    after the other, so that a large rise is seen soon and a small one in time. No block reaches over more than
//!    [`MAX_BLOCK_HOURS`]. Everything below is about shares of blocks, never of hours with three answers.
//! 2. **Baseline.** The blocks of the [`BASELINE_HOURS`] before those, at least [`MIN_BLOCKS`] of them, on [`MIN_DAYS`]
//!    days. Its *share* and its *overdispersion* ρ (the correlation within a block, by the method of moments for a
//!    beta-binomial) are of all but the worst hundredth of them, so that one incident of last week does not hide the
//!    next one. The share is taken at its upper limit: three standard errors above, as wide as ρ makes them.
//! 3. **Test.** A block is elevated where its share is twice the baseline's and two percentage points above it, so that
//!    it matters (of a call that fails half of the time nothing is). The newest blocks have to be elevated in a row, two
//!    at least: two where both are half as bad again as the worst block of the baseline, else more than twice as many as
//!    were in a row anywhere in the baseline, since bursts are the usual and some of them are longer than those before
//!    ([`LONGEST_RUN`] are always enough). And together they are not credible as chance: the product of their Chernoff
//!    bounds, the answers of each divided by the design effect `1 + (n − 1)ρ`, is below one in [`ONE_IN`].
//! 4. **Hysteresis.** The baseline is frozen when it opens. It closes when [`CALM_BLOCKS`] blocks in a row are below the
//!    middle between the share before and the one from which a block was elevated, and no larger block reaches into the
//!    rise any more; until then it stays as it is.
//!
//! On simulated traffic (`watch/tests.rs`: 6 to 2,000 answers an hour, of which 0 to 20 % fail, three weeks of past):
//!
//! | traffic | alarms in 720 call-site weeks without a change |
//! |---|---|
//! | steady | 0 |
//! | diurnal, with weekends and a nightly batch that fails six times as often | 0 |
//! | bursty: each hour a share of its own, bursts of 10–30 % of two hours on average, three to four a week | 11, at bursts longer or worse than any before |
//!
//! | a rise from 1 % to | answers an hour | hours until the alarm: median, 95 of 100 |
//! |---|---|---|
//! | 5 % | 50, 200, 2,000 | 10 and 16, 3 and 6, 2 and 2; at 6 an hour never |
//! | 10 % | 6, 50, 200, 2,000 | 22 and 44, 5 and 7, 2 and 2, 2 and 2 |
//! | 50 % | 6, 50 and more | 9 and 10, 2 and 2 |
//! | 20 %, diurnal | 6, 50, 200 and more | 13 and 24, 2 and 5, 2 and 2 |
//! | 50 %, bursty | 6, 50, 200, 2,000 | 11 and 17, 6 and 14, 6 and 16, 6 and more than 120 |
//!
//! # Method of [`operation_gone`]
//! Blocks of the smallest size. Gone is what answers 404 or 410 to nearly everything and succeeds at nothing, in two
//! blocks in a row, where its past makes that incredible: for a share of successes at the lower limit of the baseline,
//! no success among so many answers is less likely than one in [`ONE_IN`]. That something does not exist is an answer
//! too, so that a call which was mostly answered 404 before is never gone.

mod blocks;
#[cfg(test)]
mod tests;

use blocks::{Baseline, Block, blocks_before};
use serde::{Deserialize, Serialize};

/// Answers that make a block, from the soonest to the finest.
pub const SIZES: [u64; 3] = [40, 160, 640];
/// How far back a block may reach to have that many.
pub const MAX_BLOCK_HOURS: i64 = 24;
/// How far the past reaches.
pub const BASELINE_HOURS: i64 = 28 * 24;
/// Blocks without which there is no baseline.
pub const MIN_BLOCKS: usize = 24;
/// Days on which a baseline has traffic.
pub const MIN_DAYS: usize = 5;
/// How unlikely chance has to be.
pub const ONE_IN: f64 = 1e6;
/// Blocks that are calm before a rise is over.
pub const CALM_BLOCKS: usize = 3;
/// Elevated blocks in a row that are enough whatever was before.
pub const LONGEST_RUN: usize = 24;
/// What a rise has to exceed the baseline by, as a share, to matter to anybody.
const MATTERS: f64 = 0.02;
/// What two blocks have to reach to be worse than every burst before them, as a multiple of the worst.
const ABOVE_WORST: f64 = 1.5;
/// The share of a block that answers 404 or 410 where nothing succeeds.
const NEARLY_ALL: f64 = 0.9;
/// The share of successes from which an operation is back.
const BACK: f64 = 0.1;

/// What was counted of one call site in one hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hour {
    /// Hours since 1970.
    pub hour: i64,
    /// Answers of any status.
    pub answers: u64,
    /// Those that are looked for. For [`status_rate_rise`] those of 4xx, or those of 5xx, each asked of its own; for
    /// [`operation_gone`] those of 404 and 410.
    pub failures: u64,
    /// Answers of 2xx; only [`operation_gone`] asks.
    pub successes: u64,
}

/// Something that was noticed, as it is kept until it is over.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Alarm {
    /// The first hour of the block in which it was first seen, since 1970.
    pub since: i64,
    /// The share before: of failures, or of successes for an operation that is gone.
    pub before: f64,
    /// The share from which a block was elevated; of an operation that is gone, 0.
    pub elevated_from: f64,
    /// The share when it was noticed.
    pub after: f64,
    /// Answers in the blocks in which it was noticed.
    pub answers: u64,
    /// The size of those blocks ([`SIZES`]), in which is also seen when it is over.
    pub block_answers: u64,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// Nothing is unusual, or too little is known.
    Quiet,
    /// It begins.
    Opens(Alarm),
    /// What was noticed still holds, or nothing shows that it does not.
    Stays,
    /// It is over.
    Closes,
}

/// Whether the share of failures of one call site rose clearly over its own baseline.
///
/// `hours` are sorted, one an hour at most, as far back as [`BASELINE_HOURS`]; `last` is the newest hour that is
/// complete. `open` is the alarm that this opened before and has not closed. Hours of alarms that are over are best left
/// out, so that the past is what is usual.
pub fn status_rate_rise(hours: &[Hour], last: i64, open: Option<&Alarm>) -> Verdict {
    if let Some(open) = open {
        let calm_below = f64::midpoint(open.before, open.elevated_from);
        let verdict = verdict_while_open(hours, last, open, |block: &Block| block.failure_share() < calm_below);
        // Larger blocks may still reach into the rise, and would open it again.
        return if rise(hours, last).is_some() { Verdict::Stays } else { verdict };
    }
    rise(hours, last).map_or(Verdict::Quiet, Verdict::Opens)
}

fn rise(hours: &[Hour], last: i64) -> Option<Alarm> {
    SIZES.into_iter().find_map(|size| rise_in_blocks(hours, last, size))
}

fn rise_in_blocks(hours: &[Hour], last: i64, size: u64) -> Option<Alarm> {
    let blocks = recent_blocks(hours, last, size)?;
    let failures = |block: &Block| block.failures;
    let run_of = |blocks: &[Block], from: f64| blocks.iter().take_while(|block| block.failure_share() >= from).count();
    // How long the run is has to be known to know what was before it.
    let run = run_of(&blocks, Baseline::of(blocks.get(2..)?, failures)?.elevated_from());
    let past = blocks.get(run.max(2)..)?;
    let baseline = Baseline::of(past, failures)?;
    let elevated_from = baseline.elevated_from();
    let run = blocks.get(..run_of(&blocks, elevated_from).min(run))?;
    let longest = past.split(|block| block.failure_share() < elevated_from).map(<[Block]>::len).max().unwrap_or(0);
    let is_worse = |block: &Block| block.failure_share() >= ABOVE_WORST * baseline.worst;
    let is_longer = run.len() >= (2 * longest + 1).clamp(2, LONGEST_RUN);
    let (newest, rest) = run.split_first()?;
    let next = rest.first()?;
    let is_rise = is_longer || (is_worse(newest) && is_worse(next));
    let counts: Vec<(u64, f64)> = run.iter().map(|block| (block.answers, block.failure_share())).collect();
    let all = rest.iter().fold(*newest, |all, block| all.with(*block));
    (is_rise && baseline.is_incredible(&counts, baseline.upper)).then(|| Alarm {
        since: all.from,
        before: baseline.share,
        elevated_from,
        after: all.failure_share(),
        answers: all.answers,
        block_answers: size,
    })
}

/// Whether an operation that one call site reaches is gone: it answers 404 or 410, and nothing else any more.
///
/// `hours`, `last` and `open` are as for [`status_rate_rise`].
pub fn operation_gone(hours: &[Hour], last: i64, open: Option<&Alarm>) -> Verdict {
    if let Some(open) = open {
        return verdict_while_open(hours, last, open, |block: &Block| block.success_share() >= BACK);
    }
    gone_in_blocks(hours, last).map_or(Verdict::Quiet, Verdict::Opens)
}

fn gone_in_blocks(hours: &[Hour], last: i64) -> Option<Alarm> {
    let blocks = recent_blocks(hours, last, SIZES[0])?;
    let (newest, before) = (blocks.first()?, blocks.get(1)?);
    let baseline = Baseline::of(blocks.get(2..)?, |block| block.successes)?;
    let gone = |block: &Block| block.successes == 0 && block.failure_share() >= NEARLY_ALL;
    let counts = [newest, before].map(|block| (block.answers, 0.0));
    (gone(newest) && gone(before) && baseline.is_incredible(&counts, baseline.lower)).then(|| Alarm {
        since: before.from,
        before: baseline.share,
        elevated_from: 0.0,
        after: 0.0,
        answers: newest.answers.saturating_add(before.answers),
        block_answers: SIZES[0],
    })
}

/// The blocks of now and of the past that counts, the newest first; nothing where there is no traffic now, since what is
/// old says nothing about now.
fn recent_blocks(hours: &[Hour], last: i64, size: u64) -> Option<Vec<Block>> {
    let blocks: Vec<Block> =
        blocks_before(hours, last, size).take_while(|block| block.from > last.saturating_sub(BASELINE_HOURS)).collect();
    blocks.first().is_some_and(|block| block.to > last.saturating_sub(MAX_BLOCK_HOURS)).then_some(blocks)
}

fn verdict_while_open(hours: &[Hour], last: i64, open: &Alarm, is_calm: impl Fn(&Block) -> bool) -> Verdict {
    let blocks = blocks_before(hours, last, open.block_answers);
    let since = blocks.take_while(|block| block.from > open.since).take(CALM_BLOCKS);
    let calm = since.take_while(is_calm).count();
    if calm == CALM_BLOCKS { Verdict::Closes } else { Verdict::Stays }
}
