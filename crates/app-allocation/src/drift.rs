//! Whether apps still have the shares of the traffic that a plan reckons with.
//!
//! ```text
//! step        packets of each app in a tenth of `after`, and in more time until there are enough to judge by
//! differs     the share of an app is further than `margin` from the plan's
//! new shares  those since the first step of a row that differ, if the row is as long as `after` and its mean differs, too
//! ```

use base_time::{Duration, Time};

/// All of the traffic: shares are in millionths.
pub const WEIGHT: u64 = 1_000_000;

/// Steps in the time after which a plan is made again.
const STEPS: u64 = 10;

/// Packets without which a step says nothing.
const LEAST: u64 = 100;

/// Compares measured shares with a plan's.
#[derive(Clone, Debug)]
pub struct Drift {
    planned: Vec<u64>,
    margin: u64,
    after: Duration,
    /// The time of the next look.
    next: Time,
    /// The last step's end.
    last: Seen,
    /// The begin of the first of the steps that differ.
    since: Option<Seen>,
}

/// Packets of each app up to a time.
#[derive(Clone, Debug)]
struct Seen {
    at: Time,
    packets: Vec<u64>,
}

impl Drift {
    /// `planned` and `margin` in millionths of the traffic.
    pub fn new(planned: Vec<u64>, margin: u64, after: Duration) -> Drift {
        let last = Seen { at: Time::ZERO, packets: vec![0; planned.len()] };
        let mut drift = Drift { planned, margin, after, next: Time::ZERO, last, since: None };
        drift.next = Time::ZERO + drift.step();
        drift
    }

    /// When [`measured`](Drift::measured) is to be called next.
    pub fn next(&self) -> Time {
        self.next
    }

    fn step(&self) -> Duration {
        Duration::from_ps(self.after.as_ps() / STEPS).max(Duration::from_us(1))
    }

    /// `packets` of each app have come by now. Returns new shares once they have differed from the plan's for long enough, and begins anew.
    pub fn measured(&mut self, now: Time, packets: &[u64]) -> Option<Vec<u64>> {
        let seen = Seen { at: now, packets: packets.to_vec() };
        if now < self.next {
            return None;
        }
        self.next = now + self.step();
        if total(&self.last, &seen) < LEAST {
            return None;
        }
        let before = std::mem::replace(&mut self.last, seen);
        if !self.differs(&shares(&before, &self.last)) {
            self.since = None;
            return None;
        }
        let since = self.since.get_or_insert(before);
        if now.since(since.at) < self.after {
            return None;
        }
        let found = shares(since, &self.last);
        self.since = None;
        self.differs(&found).then_some(found)
    }

    /// Shares of the plan.
    pub fn planned(&self) -> &[u64] {
        &self.planned
    }

    /// Another plan is used from now on.
    pub fn plan(&mut self, planned: Vec<u64>) {
        self.planned = planned;
        self.since = None;
    }

    fn differs(&self, shares: &[u64]) -> bool {
        self.planned.iter().zip(shares).any(|(planned, share)| planned.abs_diff(*share) >= self.margin)
    }
}

fn total(from: &Seen, to: &Seen) -> u64 {
    between(from, to).sum()
}

fn between<'s>(from: &'s Seen, to: &'s Seen) -> impl Iterator<Item = u64> + 's {
    from.packets.iter().zip(&to.packets).map(|(from, to)| to.saturating_sub(*from))
}

/// Shares of the packets between two times.
fn shares(from: &Seen, to: &Seen) -> Vec<u64> {
    let all = u128::from(total(from, to).max(1));
    let share =
        |packets: u64| u64::try_from(u128::from(packets) * u128::from(WEIGHT) / all).unwrap_or(WEIGHT);
    between(from, to).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of two apps in each tenth of a second, from the share of the first in percent; the time and the first share when a plan is to be made again.
    fn found(percent: impl Iterator<Item = u64>, packets: u64) -> Option<(Time, u64)> {
        let mut drift = Drift::new(vec![500_000, 500_000], 100_000, Duration::from_s(1));
        let (mut now, mut counts) = (Time::ZERO, [0; 2]);
        for percent in percent {
            now += Duration::from_ms(100);
            counts[0] += packets * percent / 100;
            counts[1] += packets - packets * percent / 100;
            if let Some(shares) = drift.measured(now, &counts) {
                return Some((now, shares[0]));
            }
        }
        None
    }

    fn after(tenths: u64) -> Time {
        Time::ZERO + Duration::from_ms(100) * tenths
    }

    #[test]
    fn shares_near_the_plan_s_stay() {
        assert_eq!(found([59, 41].into_iter().cycle().take(1000), 1000), None);
    }

    #[test]
    fn what_differs_for_long_enough_is_planned_again() {
        assert_eq!(found([60].into_iter().cycle().take(1000), 1000), Some((after(10), 600_000)));
        let late = [50; 7].into_iter().chain([80; 1000]);
        assert_eq!(found(late, 1000), Some((after(17), 800_000)));
    }

    #[test]
    fn a_step_as_planned_ends_the_row() {
        let row = [[80; 9].as_slice(), &[50]].concat();
        assert_eq!(found(row.into_iter().cycle().take(1000), 1000), None);
    }

    #[test]
    fn steps_that_differ_in_both_directions_have_the_planned_mean() {
        assert_eq!(found([20, 80].into_iter().cycle().take(1000), 1000), None);
    }

    #[test]
    fn few_packets_say_something_when_there_are_enough() {
        assert_eq!(found([100].into_iter().cycle().take(9), 10), None);
        // Steps of a second each: the first that is long enough ends the row.
        assert_eq!(found([100].into_iter().cycle().take(1000), 10), Some((after(10), 1_000_000)));
    }

    #[test]
    fn another_plan_is_compared_with_from_then_on() {
        let mut drift = Drift::new(vec![WEIGHT, 0], 100_000, Duration::from_s(1));
        drift.plan(vec![0, WEIGHT]);
        for second in 1..5 {
            assert_eq!(drift.measured(after(10 * second), &[0, 1000 * second]), None);
        }
        assert_eq!(drift.measured(after(60), &[9000, 4000]), Some(vec![WEIGHT, 0]));
    }
}
