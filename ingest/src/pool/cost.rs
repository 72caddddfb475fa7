//! What all files together may cost to parse: a thousand of which each stays within its own limits would keep a machine
//! for an hour.

use std::time::Duration;

use super::Outcome;
use crate::reason::Reason;

/// Costs are counted in this time of the processor; what takes less is free. Of ordinary files the largest take a tenth.
const UNIT: Duration = Duration::from_millis(250);
/// Most of these for all files of an index.
const MOST: u32 = 960;

/// What is spent at most, in words.
pub(crate) fn limits() -> String {
    let (unit, most) = (UNIT.as_millis(), (UNIT * MOST).as_secs());
    format!("{most} s of processor time together, of files that take {unit} ms or more or end their parser")
}

/// The cost of a file that took so long.
pub(super) fn of_time(time: Duration) -> u32 {
    u32::try_from(time.as_millis() / UNIT.as_millis()).unwrap_or(u32::MAX)
}

/// The cost of a file that ended its parser.
pub(super) fn of_death(reason: Reason) -> u32 {
    match reason {
        Reason::ParseTimeout => of_time(crate::limits::FILE_TIME),
        _ => 1,
    }
}

/// Whether so much is all that may be spent.
pub(super) const fn is_all(spent: u32) -> bool {
    spent >= MOST
}

/// Leaves out the files behind the one at which all was spent, in the order of their paths: which others were parsed
/// meanwhile depends on the machine.
pub(super) fn cut(outcomes: &mut [(Outcome, u32)]) {
    let mut spent = 0_u32;
    for (outcome, cost) in outcomes {
        if is_all(spent) {
            *outcome = Outcome::Failed(Reason::ParseCut);
        }
        spent = spent.saturating_add(*cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(costs: &[u32]) -> Vec<Option<Reason>> {
        let mut outcomes: Vec<_> = costs.iter().map(|cost| (Outcome::Skipped(Reason::Binary), *cost)).collect();
        cut(&mut outcomes);
        let reason = |outcome: &Outcome| if let Outcome::Failed(reason) = outcome { Some(*reason) } else { None };
        outcomes.iter().map(|(outcome, _)| reason(outcome)).collect()
    }

    #[test]
    fn what_comes_behind_the_file_at_which_all_is_spent_is_left_out() {
        let cut = Some(Reason::ParseCut);
        assert_eq!(reasons(&[0, MOST - 1, 0, 0]), [None; 4]);
        assert_eq!(reasons(&[0, MOST - 1, 1, 0, 5]), [None, None, None, cut, cut]);
        assert_eq!(reasons(&[u32::MAX, u32::MAX, 0]), [None, cut, cut]);
        assert_eq!([of_death(Reason::ParseTimeout), of_death(Reason::ParseMemory)], [8, 1]);
        assert_eq!([249, 250, 1_999].map(|millis| of_time(Duration::from_millis(millis))), [0, 1, 7]);
    }
}
