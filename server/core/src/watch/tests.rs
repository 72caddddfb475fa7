//! Simulated traffic: how often the detectors are wrong, and how soon they are right. Everything is seeded.

use proptest::prelude::*;

use super::*;

/// Numbers that are the same on every machine (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// How many of so many happen, each with that chance: by the distances between those that do.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "distances are positive and cut")]
    fn binomial(&mut self, of: u64, chance: f64) -> u64 {
        if chance > 0.5 {
            return if chance >= 1.0 { of } else { of - self.binomial(of, 1.0 - chance) };
        }
        if chance <= 0.0 {
            return 0;
        }
        let (mut at, mut count) = (0_u64, 0);
        loop {
            let distance = (1.0 - self.share()).ln() / (1.0 - chance).ln();
            at = at.saturating_add(distance.min(1e15) as u64 + 1);
            if at > of {
                return count;
            }
            count += 1;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// The same volume and share at all hours.
    Steady,
    /// Days, nights and weekends; failures twice as frequent in the evening, and a nightly batch with many.
    Diurnal,
    /// Every hour has a share of its own, and two hours of a hundred begin a burst, of one to several hours.
    Bursty,
}

/// A call site's traffic.
struct Traffic {
    kind: Kind,
    volume: f64,
    share: f64,
    random: Random,
    burst: f64,
}

impl Traffic {
    fn new(kind: Kind, volume: f64, share: f64, seed: u64) -> Self {
        Self { kind, volume, share, random: Random(seed), burst: 0.0 }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "volumes are small and positive")]
    fn hour(&mut self, hour: i64) -> Hour {
        let of_day = hour.rem_euclid(24);
        let weekend = hour.div_euclid(24).rem_euclid(7) >= 5;
        let (busy, share) = match self.kind {
            Kind::Steady => (1.0, self.share),
            Kind::Diurnal => {
                let day = if (8..20).contains(&of_day) { 1.0 } else { 0.2 };
                let failing = match of_day {
                    3 => 6.0,
                    17..22 => 2.0,
                    _ => 1.0,
                };
                (if weekend { day / 2.0 } else { day }, self.share * failing)
            }
            Kind::Bursty => {
                self.burst = match self.random.share() {
                    chance if self.burst > 0.0 && chance < 0.5 => self.burst,
                    chance if self.burst == 0.0 && chance < 0.02 => 0.1 + 0.2 * self.random.share(),
                    _ => 0.0,
                };
                // An exponential of mean one around the share.
                let own = -(1.0 - self.random.share()).ln();
                (1.0, self.share * own + self.burst)
            }
        };
        let spread = 0.8 + 0.4 * self.random.share();
        let answers = (self.volume * busy * spread).round() as u64;
        let failures = self.random.binomial(answers, share.min(1.0));
        Hour { hour, answers, failures, successes: answers - failures }
    }
}

const DAY: i64 = 24;
const VOLUMES: [f64; 3] = [6.0, 100.0, 2000.0];
const SHARES: [f64; 4] = [0.0, 0.005, 0.03, 0.2];

/// Alarms of so many call sites of each volume and share, each watched for a week after three, and the weeks.
fn false_alarms(kind: Kind, seeds: u64) -> (usize, u64) {
    let (mut alarms, mut weeks) = (0, 0);
    for (number, volume) in (0_u64..).zip(VOLUMES) {
        for (at, share) in (0_u64..).zip(SHARES) {
            for seed in 0..seeds {
                let mut traffic = Traffic::new(kind, volume, share, seed * 64 + number * 8 + at);
                let mut hours: Vec<Hour> = (0..21 * DAY).map(|hour| traffic.hour(hour)).collect();
                let mut open: Option<Alarm> = None;
                for hour in 21 * DAY..28 * DAY {
                    hours.push(traffic.hour(hour));
                    match status_rate_rise(&hours, hour, open.as_ref()) {
                        Verdict::Opens(alarm) => {
                            alarms += 1;
                            open = Some(alarm);
                        }
                        Verdict::Closes => open = None,
                        Verdict::Quiet | Verdict::Stays => {}
                    }
                }
                weeks += 1;
            }
        }
    }
    (alarms, weeks)
}

#[test]
fn traffic_that_does_not_change_hardly_ever_raises_an_alarm() {
    // Bursts longer than any before are something new; see the figures in the module's text.
    for (kind, allowed) in [(Kind::Steady, 0), (Kind::Diurnal, 0), (Kind::Bursty, 1)] {
        let (alarms, weeks) = false_alarms(kind, 1);
        assert!(alarms <= allowed && weeks == 12, "{kind:?}: {alarms} in {weeks} weeks");
    }
}

/// The figures in the module's text. Run it in a release build.
#[test]
#[ignore = "minutes; measures the figures that the module's text states"]
fn false_alarms_at_length() {
    for kind in [Kind::Steady, Kind::Diurnal, Kind::Bursty] {
        let (alarms, weeks) = false_alarms(kind, 60);
        println!("{kind:?}: {alarms} alarms in {weeks} call-site weeks");
    }
    for volume in [6.0, 50.0, 200.0, 2000.0] {
        for (kind, to) in
            [(Kind::Steady, 0.05), (Kind::Steady, 0.1), (Kind::Steady, 0.5), (Kind::Diurnal, 0.2), (Kind::Bursty, 0.5)]
        {
            let mut delays: Vec<Option<i64>> = (0..100).map(|seed| delay(kind, volume, to, seed)).collect();
            delays.sort_by_key(|delay| delay.unwrap_or(i64::MAX));
            println!(
                "{kind:?}, {volume} an hour, 1 % to {to}: median {:?}, 95 of 100 {:?} hours",
                delays[50], delays[95]
            );
        }
    }
}

/// Hours from a rise to its alarm, at most five days.
fn delay(kind: Kind, volume: f64, to: f64, seed: u64) -> Option<i64> {
    let mut traffic = Traffic::new(kind, volume, 0.01, seed);
    // At ten in the morning of a Monday.
    let begins = 21 * DAY + 10;
    let mut hours: Vec<Hour> = (0..begins).map(|hour| traffic.hour(hour)).collect();
    traffic.share = to;
    (begins..begins + 5 * DAY).find_map(|hour| {
        hours.push(traffic.hour(hour));
        matches!(status_rate_rise(&hours, hour, None), Verdict::Opens(_)).then_some(hour + 1 - begins)
    })
}

#[test]
fn a_rise_is_seen_within_hours() {
    for seed in 0..10 {
        for (kind, volume, to, within) in [
            (Kind::Steady, 200.0, 0.1, 4),
            (Kind::Steady, 2000.0, 0.1, 2),
            (Kind::Steady, 2000.0, 0.05, 2),
            (Kind::Steady, 6.0, 0.5, 24),
            (Kind::Diurnal, 200.0, 0.2, 6),
            (Kind::Bursty, 2000.0, 0.9, 12),
        ] {
            let seen = delay(kind, volume, to, seed);
            assert!(seen.is_some_and(|seen| seen <= within), "{kind:?} {volume} {to}: {seen:?}");
        }
    }
}

/// Traffic of one kind of hour after another: (hours, answers, failures, successes).
fn hours(parts: &[(i64, u64, u64, u64)]) -> Vec<Hour> {
    let mut made = Vec::new();
    for (count, answers, failures, successes) in parts {
        for _ in 0..*count {
            let hour = i64::try_from(made.len()).unwrap();
            made.push(Hour { hour, answers: *answers, failures: *failures, successes: *successes });
        }
    }
    made
}

/// What is decided hour by hour, as (hour, what).
fn decided(hours: &[Hour], decide: fn(&[Hour], i64, Option<&Alarm>) -> Verdict) -> Vec<(i64, &'static str)> {
    let mut open = None;
    let mut told = Vec::new();
    for (at, hour) in hours.iter().enumerate() {
        match decide(&hours[..=at], hour.hour, open.as_ref()) {
            Verdict::Opens(alarm) => {
                open = Some(alarm);
                told.push((hour.hour, "opens"));
            }
            Verdict::Closes => {
                open = None;
                told.push((hour.hour, "closes"));
            }
            Verdict::Quiet | Verdict::Stays => {}
        }
    }
    told
}

#[test]
fn a_rise_opens_in_its_second_hour_and_closes_once() {
    let traffic = hours(&[(240, 100, 1, 99), (5, 100, 20, 80), (1, 100, 1, 99), (1, 100, 20, 80), (24, 100, 1, 99)]);
    // Three calm hours are not enough: blocks of 640 answers still reach into it, and would open it again.
    assert_eq!(decided(&traffic, status_rate_rise), [(241, "opens"), (253, "closes")]);
    let Verdict::Opens(alarm) = status_rate_rise(&traffic, 241, None) else { panic!("opens") };
    assert_eq!((alarm.since, alarm.answers, alarm.after), (240, 200, 0.2));
    assert!((alarm.before - 0.01).abs() < 1e-9 && (0.02..0.05).contains(&alarm.elevated_from), "{alarm:?}");
}

#[test]
fn what_is_not_clear_stays_quiet() {
    let quiet = |parts: &[(i64, u64, u64, u64)]| assert_eq!(decided(&hours(parts), status_rate_rise), [], "{parts:?}");
    quiet(&[(240, 100, 1, 99), (1, 100, 50, 50), (24, 100, 1, 99)]);
    quiet(&[(240, 1000, 1, 999), (24, 1000, 15, 985)]);
    quiet(&[(90, 100, 1, 99), (24, 100, 50, 50)]);
    quiet(&[(240, 100, 1, 99), (4, 3, 3, 0), (24, 0, 0, 0)]);
    quiet(&[(240, 0, 0, 0), (24, 100, 50, 50)]);
    quiet(&[(240, 100, 60, 40), (24, 100, 75, 25)]);
    quiet(&[]);
}

#[test]
fn silence_neither_opens_nor_closes() {
    let traffic = hours(&[(240, 100, 1, 99), (2, 100, 20, 80), (200, 0, 0, 0), (1, 100, 20, 80)]);
    assert_eq!(decided(&traffic, status_rate_rise), [(241, "opens")]);
    let old = hours(&[(240, 100, 1, 99), (1, 100, 20, 80), (100, 0, 0, 0)]);
    assert_eq!(status_rate_rise(&old, 340, None), Verdict::Quiet);
}

#[test]
fn an_operation_that_only_answers_404_is_gone_until_it_succeeds_again() {
    let traffic = hours(&[(240, 50, 2, 48), (6, 50, 50, 0), (5, 50, 2, 48)]);
    assert_eq!(decided(&traffic, operation_gone), [(241, "opens"), (248, "closes")]);
    let Verdict::Opens(alarm) = operation_gone(&traffic, 241, None) else { panic!("opens") };
    assert!((alarm.before - 0.96).abs() < 1e-9 && alarm.after == 0.0 && alarm.since == 240, "{alarm:?}");
    // The SDK retries on something else now and then.
    assert_eq!(decided(&hours(&[(240, 50, 2, 48), (6, 50, 46, 0)]), operation_gone), [(241, "opens")]);
}

#[test]
fn an_operation_that_answers_otherwise_or_always_answered_404_is_not_gone() {
    let not_gone = |parts: &[(i64, u64, u64, u64)]| assert_eq!(decided(&hours(parts), operation_gone), [], "{parts:?}");
    not_gone(&[(240, 50, 2, 48), (24, 50, 49, 1)]);
    not_gone(&[(240, 50, 2, 48), (24, 50, 30, 0)]);
    not_gone(&[(240, 50, 2, 48), (1, 50, 50, 0), (24, 50, 2, 48)]);
    not_gone(&[(240, 50, 48, 2), (24, 50, 50, 0)]);
    not_gone(&[(240, 50, 50, 0), (24, 50, 50, 0)]);
    not_gone(&[(72, 50, 2, 48), (24, 50, 50, 0)]);
}

proptest! {
    /// Whatever was counted, in whatever order it comes.
    #[test]
    fn no_counts_are_too_strange(
        counted in prop::collection::vec((0_i64..800, any::<u64>(), any::<u64>(), 0_u64..100), 0..200),
        last in prop::sample::select(vec![i64::MIN, 0, 400, 800, i64::MAX]),
    ) {
        let mut hours: Vec<Hour> = counted
            .iter()
            .map(|(hour, answers, failures, successes)| Hour {
                hour: *hour, answers: *answers, failures: *failures, successes: *successes,
            })
            .collect();
        for _ in 0..2 {
            for decide in [status_rate_rise, operation_gone] {
                let alarm = match decide(&hours, last, None) {
                    Verdict::Opens(alarm) => alarm,
                    verdict => {
                        prop_assert_eq!(verdict, Verdict::Quiet);
                        Alarm { since: 0, before: 0.0, elevated_from: 0.0, after: 1.0, answers: 1, block_answers: 40 }
                    }
                };
                let shares = [alarm.before, alarm.elevated_from, alarm.after];
                prop_assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{alarm:?}");
                prop_assert!(matches!(decide(&hours, last, Some(&alarm)), Verdict::Stays | Verdict::Closes));
            }
            hours.sort_by_key(|hour| hour.hour);
        }
    }
}
