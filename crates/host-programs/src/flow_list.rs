//! When the transfers of a pair begin, and how long each is.
//!
//! ```toml
//! list = 7                  # transfers of list 7: random gaps of `interval` on average, random lengths of `size` on average
//! tail = 1.2                # exponent of the lengths' Pareto distribution; larger: more alike
//! largest = 1000000         # no transfer is longer
//! ```
//!
//! A list depends on its number, these keys and the pair, and not on the kind of workload or the rack's seed: every protocol can be tried on
//! the same transfers. Without `list`, transfers begin evenly and all have `size` bytes.

use crate::kind::{Key, Load, Wanted};
use base_time::{Duration, Rng, Time};

/// Limit on the length of a transfer, in bytes.
pub const MOST_BYTES: u32 = 1 << 30;

/// The time between the beginnings of two transfers.
pub(crate) const INTERVAL: Key = Key::time("interval", Duration::from_ms(1));
/// The number of the list; 0: none.
pub(crate) const LIST: Key = Key::new("list", Wanted::Number { least: 0, most: u32::MAX, default: Some(0) });
/// The exponent of lengths.
pub(crate) const TAIL: Key = Key::new("tail", Wanted::Thousandths(1200));
/// The longest transfer.
pub(crate) const LARGEST: Key =
    Key::new("largest", Wanted::Number { least: 1, most: MOST_BYTES, default: Some(MOST_BYTES) });

/// A transfer of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// When it begins.
    pub at: Time,
    /// Bytes, at least 1.
    pub bytes: u32,
}

/// The transfers of a pair, in order.
#[derive(Clone, Debug)]
pub struct FlowList {
    next: Flow,
    gap: Duration,
    left: u64,
    random: Option<Random>,
}

#[derive(Clone, Debug)]
struct Random {
    gaps: Rng,
    lengths: Rng,
    mean: u32,
    /// The exponent, in thousandths.
    tail: u32,
    largest: u32,
}

impl FlowList {
    /// The list of pair `pair`, of a kind that has the keys above.
    pub fn new(load: &Load, pair: u32) -> FlowList {
        let start = load.start + load.stagger * u64::from(pair);
        let (gap, left) = (load.time("interval"), load.count);
        let first = Flow { at: start, bytes: load.size.max(1) };
        let mut list = FlowList { next: first, gap, left, random: None };
        let number = load.number("list");
        if number > 0 {
            let rng = Rng::new(number.into()).split("transfers").split_index(pair.into());
            let mut random = Random {
                gaps: rng.split("gaps"),
                lengths: rng.split("lengths"),
                mean: load.size,
                tail: load.number("tail"),
                largest: load.number("largest").max(1),
            };
            let at = start + random.gaps.exponential(gap);
            list.next = Flow { at, bytes: random.length() };
            list.random = Some(random);
        }
        list
    }

    /// The transfer that begins next, if any is left.
    pub fn peek(&self) -> Option<Flow> {
        (self.left > 0).then_some(self.next)
    }
}

impl Iterator for FlowList {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let flow = self.peek()?;
        self.left -= 1;
        self.next = match &mut self.random {
            None => Flow { at: flow.at + self.gap, ..flow },
            Some(random) => Flow { at: flow.at + random.gaps.exponential(self.gap), bytes: random.length() },
        };
        Some(flow)
    }
}

impl Random {
    /// A draw of Pareto's distribution: least * e^(E / tail) for an exponential draw E of mean 1, and least = mean * (tail - 1) / tail. A tail
    /// of at most 1 has no mean: then `mean` is the least.
    fn length(&mut self) -> u32 {
        let draw = self.lengths.exponential(Duration::from_ps(1 << 32)).as_ps();
        let (mean, tail) = (u64::from(self.mean), u64::from(self.tail.max(1)));
        // 24 bits after the point.
        let least = if tail > 1000 { (mean << 24) * (tail - 1000) / tail } else { mean << 24 };
        // log2(e) with 32 bits after the point.
        const LOG2_E: u128 = 6_196_328_018;
        let exponent = (((u128::from(draw) * LOG2_E) >> 32) * 1000 / u128::from(tail)) as u64;
        let (whole, part) = ((exponent >> 32) as u32, exponent as u32);
        if whole > 31 {
            return self.largest;
        }
        let scaled = (((u128::from(least) * u128::from(power(part))) >> 62) << whole) >> 24;
        u32::try_from(scaled).unwrap_or(u32::MAX).clamp(1, self.largest)
    }
}

const ONE: u128 = 1 << 62;

/// 2^(1/2), 2^(1/4), ... with 62 bits after the point: each is the root of the one before.
const ROOTS: [u128; 32] = {
    let mut roots = [0; 32];
    let mut root = 2 * ONE;
    let mut at = 0;
    while at < 32 {
        root = (root << 62).isqrt();
        roots[at] = root;
        at += 1;
    }
    roots
};

/// 2^(part / 2^32) with 62 bits after the point.
fn power(part: u32) -> u64 {
    let used = (0..32).rev().zip(ROOTS).filter(|(bit, _)| part >> bit & 1 == 1);
    used.fold(ONE, |value, (_, root)| (value * root) >> 62) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explicit::RCP;
    use crate::kind::Value;
    use crate::tcp::TCP;

    fn list(kind: &'static crate::Kind, number: u32, tail: u32, pair: u32) -> Vec<Flow> {
        let load = Load::new(kind, 200_000, 36_500)
            .with("interval", Value::Time(Duration::from_us(100)))
            .with("list", Value::Number(number))
            .with("tail", Value::Number(tail));
        FlowList::new(&load, pair).collect()
    }

    #[test]
    fn a_list_is_the_same_for_every_kind_and_differs_by_number_and_pair() {
        assert_eq!(list(&RCP, 7, 1200, 0), list(&TCP, 7, 1200, 0));
        assert_ne!(list(&RCP, 7, 1200, 0), list(&RCP, 8, 1200, 0));
        assert_ne!(list(&RCP, 7, 1200, 0), list(&RCP, 7, 1200, 1));
    }

    #[test]
    fn lengths_are_those_of_pareto_and_gaps_exponential() {
        let flows = list(&RCP, 7, 1200, 0);
        // P(X > x) = (least / x)^1.2, least = 36500 / 6.
        let least = 36_500.0 / 6.0;
        for factor in [1.5f64, 2.0, 10.0, 100.0] {
            let above = flows.iter().filter(|flow| f64::from(flow.bytes) > least * factor).count() as f64;
            let wanted = factor.powf(-1.2) * flows.len() as f64;
            assert!((above - wanted).abs() < 4.0 * wanted.sqrt(), "{factor}: {above}, {wanted}");
        }
        assert!(flows.iter().all(|flow| f64::from(flow.bytes) >= least - 1.0));
        let last = flows.last().unwrap().at.as_us() as f64;
        assert!((last / (100.0 * flows.len() as f64) - 1.0).abs() < 0.01, "{last}");
        // With a thin tail the mean converges, and it is `size`.
        let thin = list(&RCP, 7, 4000, 0);
        let mean = thin.iter().map(|flow| f64::from(flow.bytes)).sum::<f64>() / thin.len() as f64;
        assert!((mean / 36_500.0 - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn without_a_number_all_are_alike() {
        assert!(Load::new(&RCP, 3, 1000).is_in_bounds() && Load::new(&TCP, 3, 1000).is_in_bounds());
        let mut load = Load::new(&RCP, 3, 1000).with("interval", Value::Time(Duration::from_us(5)));
        load.stagger = Duration::from_us(1);
        let flows: Vec<_> = FlowList::new(&load, 2).map(|flow| (flow.at.as_us(), flow.bytes)).collect();
        assert_eq!(flows, [(2, 1000), (7, 1000), (12, 1000)]);
    }
}
