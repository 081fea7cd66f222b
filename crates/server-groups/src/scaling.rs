//! When a group grows or shrinks by itself: by the mean load of its members, with hysteresis.

use crate::Member;
use std::collections::BTreeMap;

/// Loads are per mille of what a member can do; times are in the caller's unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Members at least.
    pub min: usize,
    /// Members at most.
    pub max: usize,
    /// The group grows when the mean load is above `up` for `up_for`.
    pub up: u32,
    /// See `up`.
    pub up_for: u64,
    /// The group shrinks when the mean load is below `down` for `down_for`, and would not be above `up` without the member that leaves.
    pub down: u32,
    /// See `down`.
    pub down_for: u64,
    /// Nothing changes so long after a change.
    pub cooldown: u64,
}

/// In nanoseconds.
impl Default for Rules {
    fn default() -> Self {
        const SECOND: u64 = 1_000_000_000;
        Rules {
            min: 1,
            max: usize::MAX,
            up: 750,
            up_for: 2 * SECOND,
            down: 300,
            down_for: 30 * SECOND,
            cooldown: 10 * SECOND,
        }
    }
}

/// A change that the load asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// One more member.
    Grow,
    /// This member, the least loaded, leaves.
    Shrink(Member),
}

/// Watches the load.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scaling {
    rules: Rules,
    above_since: Option<u64>,
    below_since: Option<u64>,
    quiet_until: u64,
}

impl Scaling {
    /// Nothing has been seen yet.
    pub fn new(rules: Rules) -> Scaling {
        Scaling { rules, above_since: None, below_since: None, quiet_until: 0 }
    }

    /// The loads of all members that take new flows, at this time.
    pub fn step(&mut self, now: u64, loads: &BTreeMap<Member, u32>) -> Option<Wanted> {
        let Rules { min, max, up, up_for, down, down_for, cooldown } = self.rules;
        let sum: u64 = loads.values().map(|load| u64::from(*load)).sum();
        let count = loads.len() as u64;
        let mean = sum.checked_div(count)?;
        let since = |holds: bool, since: Option<u64>| holds.then(|| since.unwrap_or(now));
        // Hysteresis: with a member fewer the group must not be over its upper bound at once.
        let after = sum.checked_div(count - 1);
        self.above_since = since(mean > up.into(), self.above_since);
        self.below_since =
            since(mean < down.into() && after.is_some_and(|mean| mean <= up.into()), self.below_since);
        if now < self.quiet_until {
            return None;
        }
        let is_over =
            |since: Option<u64>, time: u64| since.is_some_and(|since| now.saturating_sub(since) >= time);
        let least =
            || loads.iter().min_by_key(|(member, load)| (**load, **member)).map(|(member, _)| *member);
        let wanted = match () {
            () if loads.len() < max && is_over(self.above_since, up_for) => Wanted::Grow,
            () if loads.len() > min && is_over(self.below_since, down_for) => Wanted::Shrink(least()?),
            () => return None,
        };
        (self.above_since, self.below_since) = (None, None);
        self.quiet_until = now.saturating_add(cooldown);
        Some(wanted)
    }
}

/// Weights for new flows by inverse load: a member at twice the load gets half as many buckets.
pub fn weights(loads: &BTreeMap<Member, u32>) -> BTreeMap<Member, u32> {
    loads.iter().map(|(member, load)| (*member, 1_000_000 / (*load).clamp(10, 1000))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Rules, Scaling, Wanted, weights};
    use crate::Member;
    use std::collections::BTreeMap;

    const RULES: Rules =
        Rules { min: 2, max: 4, up: 750, up_for: 20, down: 300, down_for: 50, cooldown: 100 };

    fn loads(all: &[u32]) -> BTreeMap<Member, u32> {
        (0..).map(Member).zip(all.iter().copied()).collect()
    }

    #[test]
    fn a_group_grows_after_its_load_has_been_high_for_long_enough() {
        let mut scaling = Scaling::new(RULES);
        let step = |scaling: &mut Scaling, now, all: &[u32]| scaling.step(now, &loads(all));
        assert_eq!(step(&mut scaling, 0, &[800, 900]), None);
        assert_eq!(step(&mut scaling, 10, &[800, 600]), None, "the time starts again");
        assert_eq!(step(&mut scaling, 15, &[800, 900]), None);
        assert_eq!(step(&mut scaling, 34, &[800, 900]), None);
        assert_eq!(step(&mut scaling, 35, &[800, 900]), Some(Wanted::Grow));
        assert_eq!(step(&mut scaling, 134, &[800, 900, 800]), None, "it is quiet after a change");
        assert_eq!(step(&mut scaling, 155, &[800, 900, 800]), Some(Wanted::Grow));
        assert_eq!(step(&mut scaling, 400, &[800; 4]), None, "no more than four");
    }

    #[test]
    fn it_shrinks_by_the_least_loaded_member_if_the_others_can_take_its_load() {
        let mut scaling = Scaling::new(RULES);
        assert_eq!(scaling.step(0, &loads(&[200, 100, 200])), None);
        assert_eq!(scaling.step(50, &loads(&[200, 100, 200])), Some(Wanted::Shrink(Member(1))));
        assert_eq!(scaling.step(500, &loads(&[100, 100])), None);
        assert_eq!(scaling.step(900, &loads(&[100, 100])), None, "no fewer than two");
        let narrow = Rules { up: 310, ..RULES };
        let mut scaling = Scaling::new(narrow);
        for now in [0, 100, 200] {
            assert_eq!(scaling.step(now, &loads(&[290, 290, 290])), None, "it would grow again at once");
        }
    }

    #[test]
    fn nobody_and_no_load_change_nothing() {
        assert_eq!(Scaling::new(RULES).step(5, &loads(&[])), None);
        assert_eq!(weights(&loads(&[0, 500, 1000])).into_values().collect::<Vec<_>>(), [100_000, 2000, 1000]);
    }
}
