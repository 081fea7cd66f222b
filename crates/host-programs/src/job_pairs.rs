//! Pairs of a job's mappers, among the captures of a rack: a record for each pair.

use crate::program::Captures;
use aggregate::{Pair, Place, Slot};
use base_time::Duration;

/// Where the pairs of a mapper are, by the name of the job's reducer and the channel.
pub fn key(reducer: &str, channel: usize) -> String {
    format!("{reducer}: pairs of channel {channel}")
}

/// The records of a mapper.
pub fn records(pairs: &[Pair]) -> Vec<(Duration, Vec<u8>)> {
    pairs.iter().map(|pair| (Duration::ZERO, bytes(pair))).collect()
}

/// Takes the pairs of a mapper; none if there are no such records.
pub(crate) fn take(captures: &mut Captures, reducer: &str, channel: usize) -> Option<Vec<Pair>> {
    let records = captures.remove(&key(reducer, channel))?;
    records.iter().map(|(_, record)| pair(record)).collect()
}

/// Lane, index, tag, value.
fn bytes(pair: &Pair) -> Vec<u8> {
    let Pair { place: Place { slot, tag }, value } = pair;
    [&[slot.lane][..], &slot.index.to_be_bytes(), &tag.to_be_bytes(), &value.to_be_bytes()].concat()
}

fn pair(record: &[u8]) -> Option<Pair> {
    let (lane, rest) = record.split_first()?;
    let (index, rest) = rest.split_first_chunk()?;
    let (tag, rest) = rest.split_first_chunk()?;
    let slot = Slot { lane: *lane, index: u16::from_be_bytes(*index) };
    Some(Pair {
        place: Place { slot, tag: u128::from_be_bytes(*tag) },
        value: u32::from_be_bytes(rest.try_into().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_back_once() {
        let slot = Slot { lane: 7, index: 0x1234 };
        let pairs = vec![Pair { place: Place { slot, tag: u128::MAX - 5 }, value: 0x8000_0001 }];
        let mut captures = Captures::from([(key("r", 3), records(&pairs))]);
        assert_eq!(take(&mut captures, "r", 3), Some(pairs));
        assert_eq!(take(&mut captures, "r", 3), None);
    }
}
