//! Overflow: the use of items that does not fit into bins, if items may be divided. It is the total size minus the maximum flow from items to
//! bins.

use std::collections::VecDeque;

/// An item: how much room it wants, and the bins that it may go to.
pub struct Item {
    /// Size of the item.
    pub size: i64,
    /// Bins that may hold it.
    pub bins: Vec<usize>,
}

/// Size that does not fit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Overflow {
    /// In all.
    pub size: i64,
    /// Items that want more room than all bins have to which they may go.
    pub items: Vec<usize>,
}

/// `room` is by bin; `i64::MAX` is without end.
pub fn overflow(items: &[Item], room: &[i64]) -> Overflow {
    let mut flow = Flow { items, room: room.to_vec(), put: vec![0; items.len() * room.len()] };
    let mut found = Overflow::default();
    for (at, item) in items.iter().enumerate() {
        let mut left = item.size;
        for bin in &item.bins {
            left -= flow.put(at, *bin, left.min(flow.room[*bin]));
        }
        while left > 0 {
            match flow.push(at, left) {
                Ok(more) => left -= more,
                Err(reached) => {
                    found.size = found.size.saturating_add(left);
                    found.items.extend(reached);
                    break;
                }
            }
        }
    }
    found.items.sort_unstable();
    found.items.dedup();
    found
}

/// Flow so far.
struct Flow<'i> {
    items: &'i [Item],
    /// Free room of each bin.
    room: Vec<i64>,
    /// Flow by item and bin.
    put: Vec<i64>,
}

impl Flow<'_> {
    fn put(&mut self, item: usize, bin: usize, size: i64) -> i64 {
        let bins = self.room.len();
        self.put[item * bins + bin] += size;
        if self.room[bin] < i64::MAX {
            self.room[bin] -= size;
        }
        size
    }

    /// Puts up to `most` more units of an item into bins, moving other items if needed. Returns the units placed. The error lists items whose bins are all full: a certificate.
    fn push(&mut self, first: usize, most: i64) -> Result<i64, Vec<usize>> {
        let bins = self.room.len();
        let mut into: Vec<Option<usize>> = vec![None; bins];
        let mut out_of: Vec<Option<usize>> = vec![None; self.items.len()];
        let mut reached = vec![first];
        let mut queue = VecDeque::from([first]);
        while let Some(item) = queue.pop_front() {
            for &bin in &self.items[item].bins {
                if into[bin].is_some() {
                    continue;
                }
                into[bin] = Some(item);
                if self.room[bin] > 0 {
                    return Ok(self.shift(first, bin, most, &into, &out_of));
                }
                for (other, from) in out_of.iter_mut().enumerate() {
                    if other != first && from.is_none() && self.put[other * bins + bin] > 0 {
                        *from = Some(bin);
                        reached.push(other);
                        queue.push_back(other);
                    }
                }
            }
        }
        Err(reached)
    }

    /// Along the path that ends at a bin with room.
    fn shift(
        &mut self,
        first: usize,
        end: usize,
        most: i64,
        into: &[Option<usize>],
        out_of: &[Option<usize>],
    ) -> i64 {
        let bins = self.room.len();
        let path = |bin: &usize| out_of[into[*bin]?];
        let path: Vec<usize> = std::iter::successors(Some(end), path).collect();
        let moved = |pair: &[usize]| into[pair[0]].map_or(0, |item| self.put[item * bins + pair[1]]);
        let least = path.windows(2).map(moved).min().unwrap_or(i64::MAX);
        let more = most.min(self.room[end]).min(least);
        if self.room[end] < i64::MAX {
            self.room[end] -= more;
        }
        for bin in &path {
            let Some(item) = into[*bin] else { continue };
            self.put[item * bins + bin] += more;
            if let Some(from) = out_of[item].filter(|_| item != first) {
                self.put[item * bins + from] -= more;
            }
        }
        more
    }
}

#[cfg(test)]
mod tests {
    use super::{Item, overflow};
    use base_time::Rng;

    /// Overflow computed from sets of items whose bins are too small for them.
    fn by_sets(items: &[Item], room: &[i64]) -> i64 {
        let over = |set: u32| {
            let of = || (0..items.len()).filter(move |item| set >> item & 1 == 1);
            let size: i64 = of().map(|item| items[item].size).sum();
            let has = |bin: &usize| of().any(|item| items[item].bins.contains(bin));
            size - (0..room.len()).filter(has).map(|bin| room[bin]).sum::<i64>()
        };
        (0..1u32 << items.len()).map(over).max().unwrap_or(0)
    }

    #[test]
    fn what_does_not_fit_is_what_the_worst_set_of_items_has_no_room_for() {
        let mut rng = Rng::new(7);
        let mut all = 0;
        for _ in 0..500 {
            let room: Vec<i64> = (0..rng.between(1, 5)).map(|_| rng.between(0, 9) as i64).collect();
            let item = |rng: &mut Rng| Item {
                size: rng.between(1, 7) as i64,
                bins: (0..room.len()).filter(|_| rng.below(2) == 0).collect(),
            };
            let items: Vec<Item> = (0..rng.between(1, 8)).map(|_| item(&mut rng)).collect();
            let found = overflow(&items, &room);
            assert_eq!(found.size, by_sets(&items, &room));
            let wanting: Vec<Item> = found
                .items
                .iter()
                .map(|at| Item { size: items[*at].size, bins: items[*at].bins.clone() })
                .collect();
            assert_eq!(by_sets(&wanting, &room), found.size, "those are the set");
            all += found.size;
        }
        assert!(all > 500);
    }
}
