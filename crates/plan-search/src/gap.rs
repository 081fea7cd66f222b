//! The optimality gap: how much better the best plans can be than the plans found.
//!
//! ```text
//! plan a is within gap g of plan b if, for each objective i:  cost_i(a) <= cost_i(b) + g |cost_i(b)| / 1000
//! ```
//!
//! Gaps are in thousandths, at most 500.

/// A cost with a gap added.
pub fn raised(cost: i64, gap: i64) -> i64 {
    let more = i128::from(cost).abs() * i128::from(gap) / 1000;
    cost.saturating_add(i64::try_from(more).unwrap_or(i64::MAX))
}

/// The smallest cost that is at least `cost` once the gap is added.
pub fn lowered(cost: i64, gap: i64) -> i64 {
    if gap == 0 {
        return cost;
    }
    // The raised value is monotonic in the original value.
    let (mut low, mut high) =
        (cost.saturating_sub(raised(cost.saturating_abs(), gap)).saturating_sub(1), cost);
    while low < high {
        let middle = low + (high - low) / 2;
        if raised(middle, gap) >= cost {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The smallest gap within which one of `plans` is of the costs `end`; `i64::MAX` if there is none.
pub fn between<'c>(plans: impl Iterator<Item = &'c [i64]>, end: &[i64]) -> i64 {
    let of = |(cost, end): (&i64, &i64)| match cost.saturating_sub(*end) {
        ..=0 => 0,
        _ if *end == 0 || *end == i64::MIN => i64::MAX,
        more => {
            let gap = (i128::from(more) * 1000).div_euclid(i128::from(*end).abs()) + 1;
            i64::try_from(gap).unwrap_or(i64::MAX)
        }
    };
    plans.map(|cost| cost.iter().zip(end).map(of).max().unwrap_or(0)).min().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{between, lowered, raised};

    #[test]
    fn what_is_lowered_and_raised_is_no_less() {
        for cost in (-300..300).chain([1 << 40, -(1 << 40)]) {
            for gap in [0, 1, 50, 500] {
                let low = lowered(cost, gap);
                assert!(raised(low, gap) >= cost && raised(low - 1, gap) < cost, "{cost} {gap}");
            }
        }
    }

    #[test]
    fn a_plan_is_within_the_gap_that_is_found() {
        for cost in 0..60 {
            for end in 1..60 {
                let gap = between([&[cost, 5][..]].into_iter(), &[end, 5]);
                assert!(raised(end, gap) >= cost && (gap == 0 || cost > end), "{cost} {end}: {gap}");
            }
        }
        assert_eq!(between([&[1][..]].into_iter(), &[0]), i64::MAX);
        assert_eq!(between(std::iter::empty(), &[0]), i64::MAX);
    }
}
