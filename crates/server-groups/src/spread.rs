//! Assignment of buckets to members: shares by weight, with as few moves as possible.

use crate::Member;
use std::collections::BTreeMap;

/// The number of buckets for each member: by weight, remainders to the largest fractions, then to the first.
pub fn shares(buckets: usize, weights: &BTreeMap<Member, u32>) -> BTreeMap<Member, usize> {
    let all: u64 = weights.values().map(|weight| u64::from(*weight)).sum();
    if all == 0 {
        return BTreeMap::new();
    }
    let of = |weight: u32| buckets as u64 * u64::from(weight);
    let mut shares: BTreeMap<Member, usize> =
        weights.iter().map(|(member, weight)| (*member, (of(*weight) / all) as usize)).collect();
    let mut by_fraction: Vec<_> =
        weights.iter().map(|(member, weight)| (of(*weight) % all, *member)).collect();
    by_fraction.sort_by_key(|(fraction, member)| (std::cmp::Reverse(*fraction), *member));
    let left = buckets - shares.values().sum::<usize>();
    for (_, member) in by_fraction.into_iter().take(left) {
        *shares.entry(member).or_default() += 1;
    }
    shares
}

/// Gives every bucket a member so that each has its share; a bucket moves only if its member has too many or is none of `weights`.
pub fn spread(places: &mut [Member], weights: &BTreeMap<Member, u32>) {
    let mut left = shares(places.len(), weights);
    if left.is_empty() {
        return;
    }
    let mut to_move = vec![];
    for (bucket, member) in places.iter().enumerate() {
        match left.get_mut(member).filter(|left| **left > 0) {
            Some(left) => *left -= 1,
            None => to_move.push(bucket),
        }
    }
    let mut free = left.into_iter().flat_map(|(member, count)| std::iter::repeat_n(member, count));
    for bucket in to_move {
        if let Some(member) = free.next() {
            places[bucket] = member;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{shares, spread};
    use crate::Member;
    use std::collections::BTreeMap;

    fn weights(all: &[(u16, u32)]) -> BTreeMap<Member, u32> {
        all.iter().map(|(member, weight)| (Member(*member), *weight)).collect()
    }

    #[test]
    fn a_fourth_server_takes_a_quarter_and_nothing_else_moves() {
        let mut places = vec![Member(0); 1024];
        spread(&mut places, &weights(&[(0, 1), (1, 1), (2, 1)]));
        let before = places.clone();
        spread(&mut places, &weights(&[(0, 1), (1, 1), (2, 1), (3, 1)]));
        let moved = before.iter().zip(&places).filter(|(a, b)| a != b).count();
        assert_eq!(moved, 256);
        assert!(before.iter().zip(&places).all(|(a, b)| a == b || *b == Member(3)));
    }

    #[test]
    fn shares_follow_weights_and_add_up() {
        let shares = shares(100, &weights(&[(0, 1), (1, 2), (2, 4)]));
        assert_eq!(shares.into_values().collect::<Vec<_>>(), [14, 29, 57]);
    }

    #[test]
    fn nobody_to_spread_over_changes_nothing() {
        let mut places = vec![Member(3); 4];
        spread(&mut places, &weights(&[(1, 0)]));
        assert_eq!(places, [Member(3); 4]);
    }
}
