//! Selection of the flows that are worth a place at the switch (ExoPlane, section 6).
//!
//! Once a window, helpers report flows of which they have seen many packets (estimates of a sketch), and the switch
//! counts the packets of its resident flows exactly. A flow comes in if there is room, or in place of the resident flow
//! with the fewest packets if it has clearly more than that one. Where the switch has lost room, flows that are too many go first. The cost of the writes limits the moves in a window,
//! and the threshold of the helpers follows, so that about twice as many flows are reported as may move.
//!
//! ```text
//! comes in:   estimate * 4 > 5 * fewest packets of a resident        (hysteresis of 1.25: no flow goes in and out by noise)
//! budget:     moves together * window / (2 * writes per move * time per write)   (half of the time for writes, one group at least)
//! threshold:  * 2 if reports > 4 * budget, / 2 if reports < budget
//! ```

use base_time::Duration;
use std::collections::BTreeSet;

/// A move that is worth its cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision<F> {
    /// There is room for it.
    Promote(F),
    /// The flow takes the place of another.
    Replace {
        /// The flow that goes to its helper.
        out: F,
        /// Comes to the switch.
        into: F,
    },
    /// Nothing has come of it for the idle time, or there is no room for it any more.
    Demote(F),
}

/// Measurements of one window. Counts are packets in the window.
#[derive(Clone, Debug)]
pub struct Window<F> {
    /// Flows at helpers, with the estimate of each; a flow may be reported by several helpers.
    pub reports: Vec<(F, u64)>,
    /// Flows at the switch, with the exact count of each and the time since its last packet.
    pub residents: Vec<(F, u64, Duration)>,
    /// Flows for which the switch has room.
    pub room: usize,
    /// Flows at the switch that have no room there any more.
    pub over: usize,
}

/// Costs of moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
    /// The length of a window.
    pub window: Duration,
    /// The time of a write to the switch.
    pub write: Duration,
    /// Writes of a move one after the other, on the average.
    pub writes: u32,
    /// Moves whose writes are done together, in the time of one.
    pub together: u32,
    /// A resident flow without a packet for so long is demoted.
    pub idle: Duration,
}

impl Costs {
    /// Moves in a window that take half of the time for writes; at least one group that moves together.
    pub fn budget(&self) -> usize {
        let move_time = u128::from(self.write.as_ps()) * u128::from(self.writes.max(1));
        let groups = u128::from(self.window.as_ps()) / (2 * move_time).max(1);
        let groups = usize::try_from(groups).unwrap_or(usize::MAX).max(1);
        groups.saturating_mul(self.together.max(1) as usize)
    }
}

/// Decides window by window.
#[derive(Clone, Debug)]
pub struct Popularity {
    threshold: u64,
}

impl Popularity {
    /// `threshold`: packets in a window from which helpers report a flow at first.
    pub fn new(threshold: u64) -> Self {
        Self { threshold: threshold.max(1) }
    }

    /// Packets in a window from which helpers report a flow from now on.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// The moves that are worth their cost, the most popular flow first. A demotion costs as any move.
    pub fn decide<F: Clone + Ord>(&mut self, window: Window<F>, costs: &Costs) -> Vec<Decision<F>> {
        let budget = costs.budget();
        let mut reports = window.reports;
        self.follow(reports.len(), budget);
        // The largest estimate of each flow, then the most popular first; equal ones by name, so that it is the same in every run.
        reports.sort_by(|a, b| (&a.0, b.1).cmp(&(&b.0, a.1)));
        reports.dedup_by(|a, b| a.0 == b.0);
        let there: BTreeSet<&F> = window.residents.iter().map(|(flow, ..)| flow).collect();
        reports.retain(|(flow, _)| !there.contains(flow));
        reports.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));

        let (idle, mut busy): (Vec<_>, Vec<_>) =
            window.residents.into_iter().partition(|(.., since)| *since >= costs.idle);
        busy.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        let mut idle = idle.into_iter().map(|(flow, ..)| flow);
        let mut victims = busy.into_iter();
        let mut room = window.room;
        let mut decisions = vec![];
        while decisions.len() < budget.min(window.over)
            && let Some(out) = idle.next().or_else(|| victims.next().map(|(flow, ..)| flow))
        {
            decisions.push(Decision::Demote(out));
        }
        for (flow, estimate) in reports.into_iter().take(budget - decisions.len()) {
            if room > 0 {
                room -= 1;
                decisions.push(Decision::Promote(flow));
            } else if let Some(out) = idle.next() {
                decisions.push(Decision::Replace { out, into: flow });
            } else if let Some((out, count, _)) = victims.next()
                && estimate.saturating_mul(4) > count.saturating_mul(5)
            {
                decisions.push(Decision::Replace { out, into: flow });
            } else {
                break;
            }
        }
        let left = budget - decisions.len();
        decisions.extend(idle.take(left).map(Decision::Demote));
        decisions
    }

    fn follow(&mut self, reports: usize, budget: usize) {
        if reports > budget.saturating_mul(4) {
            self.threshold = self.threshold.saturating_mul(2);
        } else if reports < budget {
            self.threshold = (self.threshold / 2).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Costs, Decision, Popularity, Window};
    use base_time::Duration;

    const BUSY: Duration = Duration::from_ms(1);
    const IDLE: Duration = Duration::from_s(3);
    /// Five moves a window.
    const COSTS: Costs = Costs {
        window: Duration::from_ms(100),
        write: Duration::from_ms(5),
        writes: 2,
        together: 1,
        idle: Duration::from_s(2),
    };

    fn decide(
        reports: &[(char, u64)],
        residents: &[(char, u64, Duration)],
        room: usize,
    ) -> Vec<Decision<char>> {
        let window = Window { reports: reports.to_vec(), residents: residents.to_vec(), room, over: 0 };
        Popularity::new(1).decide(window, &COSTS)
    }

    #[test]
    fn the_most_popular_come_first_and_fill_the_room() {
        let reports = [('a', 10), ('b', 30), ('c', 20), ('b', 5)];
        assert_eq!(decide(&reports, &[], 2), [Decision::Promote('b'), Decision::Promote('c')]);
    }

    #[test]
    fn a_flow_must_be_clearly_more_popular_than_the_one_that_goes() {
        assert_eq!(decide(&[('a', 125)], &[('r', 100, BUSY)], 0), []);
        assert_eq!(
            decide(&[('a', 126)], &[('r', 100, BUSY)], 0),
            [Decision::Replace { out: 'r', into: 'a' }]
        );
    }

    #[test]
    fn idle_flows_go_first_and_without_a_successor_too() {
        let residents = [('r', 1, BUSY), ('s', 0, IDLE), ('t', 0, IDLE)];
        assert_eq!(
            decide(&[('a', 2)], &residents, 0),
            [Decision::Replace { out: 's', into: 'a' }, Decision::Demote('t')]
        );
    }

    #[test]
    fn mice_that_never_idle_give_way_to_an_elephant() {
        let residents: Vec<_> = ('k'..='z').map(|flow| (flow, 1, BUSY)).collect();
        assert_eq!(decide(&[('a', 1000)], &residents, 0), [Decision::Replace { out: 'k', into: 'a' }]);
    }

    #[test]
    fn moves_are_bounded_by_what_writes_cost() {
        let reports: Vec<_> = ('a'..='z').map(|flow| (flow, 9)).collect();
        assert_eq!(COSTS.budget(), 5);
        assert_eq!(decide(&reports, &[], 100).len(), 5);
        let slow = Costs { write: Duration::from_s(9), ..COSTS };
        assert_eq!(slow.budget(), 1, "not none for ever");
        assert_eq!(Costs { together: 4, ..COSTS }.budget(), 20);
        assert_eq!(Costs { together: 4, ..slow }.budget(), 4, "those that go together cost no more than one");
    }

    #[test]
    fn flows_without_room_go_first_the_least_popular_of_them() {
        let window = |over: usize| Window {
            reports: vec![('a', 1000)],
            residents: vec![('r', 30, BUSY), ('s', 10, BUSY), ('t', 40, IDLE), ('u', 20, BUSY)],
            room: 0,
            over,
        };
        let demoted = |flows: &str| flows.chars().map(Decision::Demote).collect::<Vec<_>>();
        let decide = |over: usize| Popularity::new(1).decide(window(over), &COSTS);
        let replaced = Decision::Replace { out: 'r', into: 'a' };
        assert_eq!(decide(3), [demoted("tsu"), vec![replaced]].concat());
        assert_eq!(decide(9), demoted("tsur"));
        let slow = Costs { write: Duration::from_s(9), ..COSTS };
        assert_eq!(Popularity::new(1).decide(window(3), &slow), demoted("t"), "they cost as any move");
    }

    #[test]
    fn a_report_of_a_resident_flow_is_not_a_move() {
        assert_eq!(decide(&[('r', 1000)], &[('r', 1, BUSY), ('s', 1, BUSY)], 1), []);
    }

    #[test]
    fn the_threshold_follows_the_number_of_reports() {
        let mut popularity = Popularity::new(8);
        let many = |n: u32| Window {
            reports: (0..n).map(|i| (i, 9)).collect(),
            residents: vec![],
            room: 0,
            over: 0,
        };
        popularity.decide(many(21), &COSTS);
        assert_eq!(popularity.threshold(), 16);
        popularity.decide(many(10), &COSTS);
        assert_eq!(popularity.threshold(), 16);
        popularity.decide(many(4), &COSTS);
        assert_eq!(popularity.threshold(), 8);
    }
}
