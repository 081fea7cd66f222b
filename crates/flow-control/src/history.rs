//! Histories of one value: when it was written and read, and whether one order of all writes and reads explains what the reads saw
//! (linearizability).
//!
//! ```text
//! write 1   |--------|
//! read 1        |--|               saw the write
//! read 2              |--|         saw what was there before: no order has it after read 1, and before the write
//! ```
//!
//! The order of the writes is known, as where one client makes them. So the check takes the reads in the order of their beginnings and gives each the earliest place
//! among the writes that is not before that of a read that had ended: later places would only forbid more.

use base_time::Time;

/// All writes of a value, in their order.
#[derive(Clone, Debug)]
pub struct Writes<V> {
    all: Vec<Write<V>>,
}

#[derive(Clone, Debug)]
struct Write<V> {
    value: V,
    begin: Time,
    /// None while nobody knows that it has ended.
    end: Option<Time>,
}

/// A write of a [`Writes`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(usize);

/// A read: it took place at some time from `begin` to `end`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Read<V> {
    /// The value that it saw.
    pub value: V,
    /// Time of the request.
    pub begin: Time,
    /// Time of the answer.
    pub end: Time,
}

/// A read that no order explains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation<V> {
    /// The read.
    pub read: Read<V>,
    /// Values that it could have seen.
    pub allowed: Vec<V>,
}

impl<V: Clone + PartialEq> Writes<V> {
    /// The value before all writes.
    pub fn new(first: V) -> Self {
        Self { all: vec![Write { value: first, begin: Time::ZERO, end: Some(Time::ZERO) }] }
    }

    /// A write begins, after all others in their order. Writes come in the order of their beginnings.
    pub fn begin(&mut self, value: V, at: Time) -> Place {
        self.all.push(Write { value, begin: at, end: None });
        Place(self.all.len() - 1)
    }

    /// The write has ended: reads from now on see it, or a later one.
    pub fn end(&mut self, write: Place, at: Time) {
        if let Some(write) = self.all.get_mut(write.0) {
            write.end = Some(at);
        }
    }

    /// The number of writes.
    pub fn len(&self) -> usize {
        self.all.len() - 1
    }

    /// True if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first read, by its beginning, that no order explains.
    pub fn check(&self, reads: &[Read<V>]) -> Result<(), Violation<V>> {
        let mut ended: Vec<(Time, usize)> =
            self.all.iter().enumerate().filter_map(|(at, write)| Some((write.end?, at))).collect();
        ended.sort_unstable();
        let mut by_begin: Vec<&Read<V>> = reads.iter().collect();
        by_begin.sort_by_key(|read| (read.begin, read.end));
        // Places of the reads so far, by their ends.
        let mut open: Vec<(Time, usize)> = vec![];
        let (mut next, mut least) = (0, 0);
        for read in by_begin {
            while let Some((_, at)) = ended.get(next).filter(|(end, _)| *end < read.begin) {
                least = least.max(*at);
                next += 1;
            }
            open.retain(|(end, place)| {
                let is_over = *end < read.begin;
                least = if is_over { least.max(*place) } else { least };
                !is_over
            });
            let allowed =
                self.all.iter().enumerate().skip(least).take_while(|(_, write)| write.begin <= read.end);
            match allowed.clone().find(|(_, write)| write.value == read.value) {
                Some((place, _)) => open.push((read.end, place)),
                None => {
                    let allowed = allowed.map(|(_, write)| write.value.clone()).collect();
                    return Err(Violation { read: read.clone(), allowed });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_time::{Duration, Rng};

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn read(value: u64, begin: u64, end: u64) -> Read<u64> {
        Read { value, begin: at(begin), end: at(end) }
    }

    /// Writes of these values, with begin and end.
    fn writes(all: &[(u64, u64, Option<u64>)]) -> Writes<u64> {
        let mut writes = Writes::new(0);
        for (value, begin, end) in all {
            let place = writes.begin(*value, at(*begin));
            if let Some(end) = end {
                writes.end(place, at(*end));
            }
        }
        writes
    }

    #[test]
    fn a_read_during_a_write_sees_either_value_and_later_ones_do_not_go_back() {
        let one = writes(&[(1, 10, Some(20))]);
        assert_eq!(one.check(&[read(0, 11, 12), read(1, 13, 14), read(1, 21, 22)]), Ok(()));
        assert_eq!(one.check(&[read(1, 11, 14), read(0, 13, 15)]), Ok(()), "they overlap");
        let back = one.check(&[read(1, 11, 12), read(0, 13, 14)]);
        assert_eq!(back, Err(Violation { read: read(0, 13, 14), allowed: vec![1] }));
    }

    #[test]
    fn a_read_sees_writes_that_had_ended_and_none_that_had_not_begun() {
        let one = writes(&[(1, 10, Some(20))]);
        assert!(one.check(&[read(0, 21, 22)]).is_err());
        assert!(one.check(&[read(1, 5, 9)]).is_err());
        assert!(one.check(&[read(2, 11, 12)]).is_err(), "nobody wrote it");
        assert_eq!(writes(&[(1, 10, None)]).check(&[read(0, 30, 31)]), Ok(()), "it may never take place");
    }

    #[test]
    fn a_value_that_is_written_again_is_another_one() {
        let again = writes(&[(1, 10, Some(20)), (0, 30, Some(40))]);
        assert_eq!(again.check(&[read(1, 21, 35), read(0, 31, 32), read(0, 41, 42)]), Ok(()));
        assert!(again.check(&[read(0, 31, 32), read(1, 33, 34)]).is_err());
    }

    /// True if some order of all explains the reads: tries each.
    fn explained(writes: &Writes<u64>, reads: &[Read<u64>], written: usize, done: u32) -> bool {
        let is_open = |at: usize| done & 1 << at == 0;
        let mut open = reads.iter().enumerate().filter(|(at, _)| is_open(*at)).map(|(_, read)| read.end);
        let first_end = open.clone().min();
        if open.next().is_none() {
            return true;
        }
        let first_written = writes.all.iter().skip(written + 1).filter_map(|write| write.end).min();
        let is_next = |begin: Time| [first_end, first_written].into_iter().flatten().all(|end| end >= begin);
        let value = writes.all[written].value;
        let by_read = reads.iter().enumerate().any(|(at, read)| {
            is_open(at)
                && is_next(read.begin)
                && read.value == value
                && explained(writes, reads, written, done | 1 << at)
        });
        let next = writes.all.get(written + 1);
        by_read || next.is_some_and(|next| is_next(next.begin) && explained(writes, reads, written + 1, done))
    }

    /// The same as trying all orders, for small histories, right and wrong.
    #[test]
    fn the_check_agrees_with_all_orders() {
        let mut rng = Rng::new(1);
        let mut right = 0;
        for _ in 0..4000 {
            let mut all = vec![];
            let mut begin = 0;
            for _ in 0..rng.below(4) {
                begin += rng.below(6);
                let end = (rng.below(4) > 0).then(|| begin + rng.below(9));
                all.push((rng.below(3), begin, end));
            }
            let writes = writes(&all);
            let reads: Vec<_> = (0..1 + rng.below(5))
                .map(|_| {
                    let begin = rng.below(16);
                    read(rng.below(3), begin, begin + rng.below(6))
                })
                .collect();
            let expected = explained(&writes, &reads, 0, 0);
            assert_eq!(writes.check(&reads).is_ok(), expected, "{writes:?} {reads:?}");
            right += u32::from(expected);
        }
        assert!((400..3600).contains(&right), "{right}");
    }
}
