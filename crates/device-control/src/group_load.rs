//! The load of a group's members, by the packets that each has handled, and the changes that it asks for (`server_groups::scaling`).

use crate::group_control::us;
use base_time::{Duration, Time};
use ir_split::ScaleRules;
use server_groups::Member;
use server_groups::scaling::{Rules, Scaling, Wanted, weights};
use std::collections::BTreeMap;

/// Looks in the time that a load has to last.
const LOOKS: u64 = 8;

/// Loads in thousandths by which members may differ without new weights.
const ALIKE: u32 = 250;

/// See the module.
pub(crate) struct GroupLoad {
    rules: ScaleRules,
    scaling: Scaling,
    /// Packets handled at the last look.
    before: BTreeMap<Member, u64>,
    last: Option<Time>,
    /// No new weights before.
    quiet_until: Time,
}

impl GroupLoad {
    pub(crate) fn new(rules: ScaleRules) -> GroupLoad {
        let scaling = Scaling::new(Rules {
            min: rules.min as usize,
            max: rules.max as usize,
            up: rules.up,
            up_for: us(rules.up_for_us).as_ps(),
            down: rules.down,
            down_for: us(rules.down_for_us).as_ps(),
            cooldown: us(rules.cooldown_us).as_ps(),
        });
        GroupLoad { rules, scaling, before: BTreeMap::new(), last: None, quiet_until: Time::ZERO }
    }

    /// The loads of members that take new flows; none if it is too early for a look.
    pub(crate) fn loads(
        &mut self,
        handled: &BTreeMap<Member, u64>,
        takes: impl Fn(&Member) -> bool,
        now: Time,
    ) -> Option<BTreeMap<Member, u32>> {
        let every = us((self.rules.up_for_us.min(self.rules.down_for_us) / LOOKS).max(1));
        let last = *self.last.get_or_insert(now);
        let span = now.since(last);
        if span < every {
            return None;
        }
        self.last = Some(now);
        let before = std::mem::replace(&mut self.before, handled.clone());
        let load = |(member, count): (&Member, &u64)| {
            // A server that restarted counts from 0; one that is new has no count before.
            let calls = count.saturating_sub(*before.get(member).unwrap_or(count));
            (*member, load_of(calls, span, self.rules.capacity))
        };
        Some(handled.iter().filter(|(member, _)| takes(member)).map(load).collect())
    }

    pub(crate) fn step(&mut self, loads: &BTreeMap<Member, u32>, now: Time) -> Option<Wanted> {
        self.scaling.step(now.as_ps(), loads)
    }

    /// New weights, if loads differ much and the last ones have had their time.
    pub(crate) fn weights(&mut self, loads: &BTreeMap<Member, u32>, now: Time) -> BTreeMap<Member, u32> {
        let (least, most) = (loads.values().min(), loads.values().max());
        let differ = least.zip(most).is_some_and(|(least, most)| most - least > ALIKE);
        if !self.rules.weighs || !differ || now < self.quiet_until {
            return BTreeMap::new();
        }
        self.quiet_until = now + us(self.rules.cooldown_us);
        weights(loads)
    }
}

/// Calls in a time as thousandths of `capacity` calls a second.
fn load_of(calls: u64, span: Duration, capacity: u64) -> u32 {
    const SECOND: u128 = 1_000_000_000_000;
    let load =
        u128::from(calls) * 1000 * SECOND / (u128::from(capacity) * u128::from(span.as_ps()).max(1)).max(1);
    u32::try_from(load).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: ScaleRules = ScaleRules {
        capacity: 1000,
        up: 750,
        up_for_us: 8_000,
        down: 300,
        down_for_us: 80_000,
        cooldown_us: 20_000,
        min: 1,
        max: 3,
        weighs: true,
    };

    /// Looks each millisecond at members that handle so many packets in each; what is wanted first, and when.
    fn wanted(rates: &[u64]) -> Option<(u64, Wanted)> {
        let mut load = GroupLoad::new(RULES);
        (0..200).find_map(|ms| {
            let now = Time::ZERO + Duration::from_ms(ms);
            let handled = (0..).map(Member).zip(rates.iter().map(|rate| rate * ms)).collect();
            let loads = load.loads(&handled, |_| true, now)?;
            Some((ms, load.step(&loads, now)?))
        })
    }

    #[test]
    fn loads_are_calls_of_the_capacity() {
        // One call each millisecond is all of the capacity. The look after 1 ms has no count before.
        assert_eq!(wanted(&[1]), Some((10, Wanted::Grow)));
        assert_eq!(wanted(&[1, 0]), None, "half is between the bounds");
        assert_eq!(wanted(&[0, 0]), Some((81, Wanted::Shrink(Member(0)))));
        assert_eq!(load_of(u64::MAX, Duration::from_ps(1), 1), u32::MAX);
        assert_eq!(load_of(5, Duration::from_ms(10), 1000), 500);
    }

    #[test]
    fn weights_are_for_members_that_differ_and_have_their_time() {
        let mut load = GroupLoad::new(RULES);
        let at = |ms| Time::ZERO + Duration::from_ms(ms);
        let loads = |all: [u32; 2]| (0..).map(Member).zip(all).collect::<BTreeMap<_, _>>();
        assert!(load.weights(&loads([400, 600]), at(30)).is_empty());
        let weights = load.weights(&loads([100, 800]), at(30));
        assert!(weights[&Member(0)] > 7 * weights[&Member(1)], "{weights:?}");
        assert!(load.weights(&loads([100, 800]), at(49)).is_empty());
        assert!(!load.weights(&loads([100, 800]), at(50)).is_empty());
    }
}
