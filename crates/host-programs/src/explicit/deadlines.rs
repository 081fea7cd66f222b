//! Deadlines of transfers.
//!
//! ```toml
//! deadline = "8ms"          # from the beginning of a transfer to its end
//! ```
//!
//! Transfers of a list have random deadlines: half of `deadline` and an exponential draw with a mean of the other half. They depend on the number
//! of the list, on the pair and on `deadline`, and not on the rack's seed.

use crate::kind::{Key, Load};
use base_time::{Duration, Rng};

/// The time that a transfer has; none by default.
pub(super) const DEADLINE: Key = Key::time("deadline", Duration::ZERO);

/// The times that the transfers of a pair have, in order. Without `deadline`, there are none.
#[derive(Clone, Debug)]
pub struct Deadlines {
    span: Duration,
    chance: Option<Rng>,
}

impl Deadlines {
    /// The deadlines of pair `pair`.
    pub fn new(load: &Load, pair: u32) -> Deadlines {
        let number = load.number("list");
        let chance = || Rng::new(number.into()).split("deadlines").split_index(pair.into());
        Deadlines { span: load.time("deadline"), chance: (number > 0).then(chance) }
    }
}

impl Iterator for Deadlines {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        if self.span.is_zero() {
            return None;
        }
        let half = self.span.scaled(1, 2);
        Some(self.chance.as_mut().map_or(self.span, |chance| half + chance.exponential(half)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explicit::{D3, RCP};
    use crate::kind::Value;

    fn load(list: u32, us: u64) -> Load {
        let load = Load::new(&D3, 100, 1000).with("list", Value::Number(list));
        load.with("deadline", Value::Time(Duration::from_us(us)))
    }

    #[test]
    fn deadlines_of_a_list_are_random_and_others_alike() {
        let first = |list, pair| Deadlines::new(&load(list, 8_000), pair).take(10_000).collect::<Vec<_>>();
        let all = first(7, 0);
        assert!(all.iter().all(|after| *after >= Duration::from_ms(4)));
        let mean = all.iter().map(|after| after.as_ns() as f64 / 1e6).sum::<f64>() / 1e4;
        assert!((mean - 8.0).abs() < 0.2, "{mean}");
        assert_eq!(all, first(7, 0));
        assert!(all != first(7, 1) && all != first(8, 0));
        assert_eq!(Deadlines::new(&load(0, 8_000), 3).take(2).collect::<Vec<_>>(), [Duration::from_ms(8); 2]);
        assert_eq!(Deadlines::new(&Load::new(&D3, 100, 1000), 0).next(), None);
        assert_eq!(Deadlines::new(&Load::new(&RCP, 100, 1000), 0).next(), None);
    }
}
