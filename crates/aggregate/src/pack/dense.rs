//! An array to rounds of packets: packet `n` of a round is row `n`, so that neither indexes nor tags travel.

use super::{MOST_PARCELS, PackError, Parcel, Round};
use crate::layout::Layout;
use crate::packet::Pair;

/// As [`pack`](super::pack). Values that no switch may fold follow the rows of their round; a row without others is an empty packet, which keeps
/// its number.
pub(super) fn pack(
    mut pairs: Vec<Pair>,
    layout: &Layout,
    rounds: u32,
    most_value: Option<u32>,
) -> Result<Vec<Round>, PackError> {
    pairs.sort_unstable_by_key(|pair| (pair.place.tag, pair.place.slot.index, pair.place.slot.lane));
    if let Some(twice) = pairs.windows(2).find(|two| two[0].place == two[1].place) {
        return Err(PackError::KeyTwice(twice[0].place));
    }
    let mut packed: Vec<Round> = vec![];
    for number in 1..=u128::from(rounds.max(1)) {
        let from = pairs.partition_point(|pair| pair.place.tag < number);
        let until = pairs.partition_point(|pair| pair.place.tag <= number);
        let (mut round, mut direct) = (Round::new(), Round::new());
        for row in pairs[from..until].chunk_by(|one, next| one.place.slot.index == next.place.slot.index) {
            let index = row.first().map_or(0, |pair| pair.place.slot.index);
            let is_folded = |pair: &&Pair| most_value.is_some_and(|most| pair.value <= most);
            if most_value.is_some() {
                // Rows that this mapper does not have keep their numbers.
                round.resize(index.into(), Parcel { is_direct: false, pairs: vec![] });
                let pairs = row.iter().filter(is_folded).copied().collect();
                round.push(Parcel { is_direct: false, pairs });
            }
            append(&mut direct, row.iter().filter(|pair| !is_folded(pair)).copied().collect(), layout);
        }
        round.extend(direct);
        packed.push(round);
    }
    match packed.iter().map(Vec::len).max() {
        Some(most) if most > MOST_PARCELS => Err(PackError::RoundTooLarge(most)),
        _ => Ok(packed),
    }
}

/// Appends a row to the last packet, if that ends with the row before it and has room.
fn append(direct: &mut Round, row: Vec<Pair>, layout: &Layout) {
    let Some(index) = row.first().map(|pair| pair.place.slot.index) else { return };
    let follows = |parcel: &&mut Parcel| {
        let (first, last) = (parcel.pairs.first(), parcel.pairs.last());
        let (Some(first), Some(last)) = (first, last) else { return false };
        let blocks = usize::from(index - first.place.slot.index);
        let pairs = (parcel.pairs.len() + row.len()) * layout.pair_bytes();
        last.place.slot.index + 1 == index
            && layout.header_bytes() + blocks * layout.block_bytes() + pairs <= layout.most_bytes()
    };
    match direct.last_mut().filter(follows) {
        Some(parcel) => parcel.pairs.extend(row),
        None => direct.push(Parcel { is_direct: true, pairs: row }),
    }
}
