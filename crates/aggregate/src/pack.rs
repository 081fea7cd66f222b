//! Pairs to rounds of packets, in hash order.
//!
//! A round is a slice of the hash space, the same at every mapper: fewer keys then compete for the slots at a time. Inside a round
//! each lane has a queue in hash order, and a packet takes the next pair of each lane.
//!
//! Without eviction the first key of a slot keeps it, so a mapper knows which of its own pairs would find another one there: these begin at the second place of their keys, or go past
//! the switch, and no packet takes them to the slot in vain. If the other pair is close before them ([`APART`]), a mapper without that one may be there first: they begin at the first place.
//!
//! With eviction, packet `n` of `m` takes no pair from beyond `n / m` of the round. Otherwise a lane with few pairs would
//! run ahead, by about the square root of their number, and its pairs would not be in the switch together with those of other mappers.

mod dense;

use crate::key::Place;
use crate::layout::Layout;
use crate::packet::{Pair, ROUND_BITS};
use std::fmt;

/// The pairs of a packet, before it is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parcel {
    /// The pairs must not be folded by switches: a value too large for the sum of all mappers, or the tag 0.
    pub is_direct: bool,
    /// In the order of lanes; of direct ones, block after block.
    pub pairs: Vec<Pair>,
}

/// Spare packets of paced rounds: `SPARE / sqrt(rows)` for each pair of a lane, and one at most. With `s` of them in `n` packets, a pair is late by about `n / 2s` packets
/// (a queue that is served at regular times), in which a share of the `rows` of its lane is evicted, and the headers of `s` packets are added: the sum of `a * n / (s * rows)` and
/// `b * s / n` is least for `s` in proportion to `n / sqrt(rows)`.
const SPARE: usize = 5;

/// Pairs of a lane between two of a slot, in roots of the lane's pairs, so that the first one is there first whichever mapper sends it: lanes of mappers that have sent the same share of
/// their packets are about one root apart.
const APART: usize = 2;

/// The packets of a round: those that switches fold, then those past the switches.
pub type Round = Vec<Parcel>;

/// Limit on the packets of a round. As many again, and some more, may carry the pairs that a switch did not fold.
pub const MOST_PARCELS: usize = 3 << (ROUND_BITS - 3);

/// Pairs that cannot be packed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PackError {
    /// Packets of the largest round: more than [`MOST_PARCELS`].
    RoundTooLarge(usize),
    /// A key comes twice: mappers combine their pairs first.
    KeyTwice(Place),
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PackError::RoundTooLarge(parcels) => {
                write!(f, "a round of {parcels} packets; {MOST_PARCELS} are the most: use more rounds")
            }
            PackError::KeyTwice(place) => write!(f, "the key {place:?} comes twice in one mapper's pairs"),
        }
    }
}

/// Packs a mapper's pairs, one for each key, into this many rounds. Values above `most_value` go past the switch; without it, no switch
/// folds pairs, and all do.
pub fn pack(
    mut pairs: Vec<Pair>,
    layout: &Layout,
    rounds: u32,
    most_value: Option<u32>,
) -> Result<Vec<Round>, PackError> {
    if layout.is_dense() {
        return dense::pack(pairs, layout, rounds, most_value);
    }
    pairs.sort_unstable_by_key(|pair| (pair.place.order(), pair.place));
    if let Some(twice) = pairs.windows(2).find(|two| two[0].place == two[1].place) {
        return Err(PackError::KeyTwice(twice[0].place));
    }
    let mut pairs = pairs.into_iter().peekable();
    let mut taken = vec![None; usize::from(layout.lanes) * layout.rows() as usize];
    let of_lane = pairs.len() / rounds.max(1) as usize / usize::from(layout.lanes);
    let apart = APART * of_lane.isqrt();
    let rounds: Vec<Round> = (0..rounds.max(1))
        .map(|round| {
            let mut queues = [vec![vec![]; layout.lanes.into()], vec![vec![]; layout.lanes.into()]];
            taken.fill(None);
            while let Some(pair) = pairs.next_if(|pair| round_of(&pair.place, rounds) <= round) {
                // The tag 0 marks an empty slot.
                let is_direct = pair.place.tag == 0 || most_value.is_none_or(|most| pair.value > most);
                let first = Some(pair.place).filter(|_| !is_direct);
                let free = std::iter::successors(first, |place| place.next(layout)).find(|place| {
                    let lane = usize::from(place.slot.lane);
                    let taken = &mut taken[usize::from(place.slot.index) * usize::from(layout.lanes) + lane];
                    let at = queues[0][lane].len();
                    // With eviction, the last key takes a slot, whoever had it.
                    layout.evict || *taken.get_or_insert(at) + apart >= at
                });
                let pair = Pair { place: free.unwrap_or(pair.place), ..pair };
                queues[usize::from(free.is_none())][usize::from(pair.place.slot.lane)].push(pair);
            }
            let [folded, direct] = queues;
            let paced = |pair: &Pair| (pair.place.order() as u128 * u128::from(rounds.max(1))) as u64;
            let folded = if layout.evict { paced_parcels(folded, layout, paced) } else { parcels(&folded) };
            [folded, direct_parcels(direct.concat(), layout)].concat()
        })
        .collect();
    match rounds.iter().map(Vec::len).max() {
        Some(most) if most > MOST_PARCELS => Err(PackError::RoundTooLarge(most)),
        _ => Ok(rounds),
    }
}

/// The round of a key.
pub fn round_of(place: &Place, rounds: u32) -> u32 {
    ((u128::from(place.order()) * u128::from(rounds.max(1))) >> 64) as u32
}

/// A pair of each lane in each packet.
fn parcels(queues: &[Vec<Pair>]) -> Vec<Parcel> {
    let most = queues.iter().map(Vec::len).max().unwrap_or(0);
    let parcel = |at| Parcel {
        is_direct: false,
        pairs: queues.iter().filter_map(|queue| queue.get(at)).copied().collect(),
    };
    (0..most).map(parcel).collect()
}

/// More packets than a lane has pairs, so that no lane lags behind for long ([`SPARE`]); each with pairs of its part of the round. `position`: of a pair in the round, which is the
/// whole of 2^64.
fn paced_parcels(queues: Vec<Vec<Pair>>, layout: &Layout, position: impl Fn(&Pair) -> u64) -> Vec<Parcel> {
    let pairs: usize = queues.iter().map(Vec::len).sum();
    let lane = pairs.div_ceil(queues.len().max(1)).max(1);
    let spare = SPARE * lane / (layout.rows() as usize).isqrt().max(1);
    let room = (MOST_PARCELS / 16 * 15).saturating_sub(lane);
    let planned = (lane + spare.min(lane).min(room)) as u128;
    let mut queues: Vec<_> = queues.into_iter().map(|queue| queue.into_iter().peekable()).collect();
    let mut parcels = vec![];
    let mut left = pairs;
    for number in 1.. {
        if left == 0 {
            break;
        }
        let is_due = |pair: &Pair| u128::from(position(pair)) * planned < number << 64;
        let next: Vec<Pair> = queues.iter_mut().filter_map(|queue| queue.next_if(is_due)).collect();
        left -= next.len();
        parcels.extend((!next.is_empty()).then_some(Parcel { is_direct: false, pairs: next }));
    }
    parcels
}

/// Packets for pairs that switches may fold, in their order in each lane.
pub(crate) fn folded_parcels(pairs: &[Pair], layout: &Layout) -> Vec<Parcel> {
    let mut queues = vec![vec![]; layout.lanes.into()];
    for pair in pairs {
        if let Some(queue) = queues.get_mut(usize::from(pair.place.slot.lane)) {
            queue.push(*pair);
        }
    }
    parcels(&queues)
}

/// Packets for pairs that no switch folds, as long as packets may be.
pub(crate) fn direct_parcels(pairs: Vec<Pair>, layout: &Layout) -> Vec<Parcel> {
    let mut parcels: Vec<Parcel> = vec![];
    let mut left = 0;
    for pair in folded_parcels(&pairs, layout).into_iter().flat_map(|parcel| parcel.pairs) {
        let pairs = parcels.last_mut().map(|parcel| &mut parcel.pairs);
        // Lanes ascend within a block: a pair of the same or a lower lane begins the next block.
        let begins = pairs
            .as_ref()
            .and_then(|pairs| pairs.last())
            .is_some_and(|last| last.place.slot.lane >= pair.place.slot.lane);
        let bytes = layout.pair_bytes() + if begins { layout.block_bytes() } else { 0 };
        match pairs.filter(|_| bytes <= left) {
            Some(pairs) => {
                pairs.push(pair);
                left -= bytes;
            }
            None => {
                parcels.push(Parcel { is_direct: true, pairs: vec![pair] });
                left = layout.most_bytes() - layout.header_bytes() - layout.pair_bytes();
            }
        }
    }
    parcels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::AROUND;
    use crate::{Kind, Op, Packet, Slot, Switch};
    use std::collections::BTreeSet;

    fn pairs(count: u64, layout: &Layout) -> Vec<Pair> {
        let place = |number| Place::of_number(number, layout).expect("it has a place");
        (0..count).map(|number| Pair { place: place(number), value: number as u32 }).collect()
    }

    #[test]
    fn each_pair_is_in_one_packet_of_its_round_and_packets_are_full() {
        let layout = Layout::PIPELINE;
        let rounds = pack(pairs(24_000, &layout), &layout, 3, Some(23_000)).expect("it packs");
        assert_eq!(rounds.len(), 3);
        let (mut found, mut direct) = (vec![], 0);
        for (round, at) in rounds.iter().zip(0..) {
            for parcel in round {
                let lanes: Vec<u8> = parcel.pairs.iter().map(|pair| pair.place.slot.lane).collect();
                assert!(!lanes.is_empty() && (parcel.is_direct || lanes.is_sorted_by(|a, b| a < b)));
                for pair in &parcel.pairs {
                    let place = pair.place.first(&layout);
                    assert_eq!(round_of(&place, 3), at);
                    assert!(parcel.is_direct || pair.value <= 23_000);
                    direct += u32::from(parcel.is_direct);
                    found.push(place.number(&layout));
                }
            }
        }
        // Large values, and a few keys whose slots are all taken.
        assert!((999..1050).contains(&direct), "{direct}");
        found.sort_unstable();
        assert_eq!(found, (0..24_000).collect::<Vec<_>>());
        let packets: usize = rounds.iter().map(Vec::len).sum();
        assert!(packets < 1300, "{packets} packets for what fits in 1,000");
    }

    /// As the packets are that mappers send when no switch folds.
    #[test]
    fn bytes_of_full_packets_are_about_those_of_direct_parcels() {
        for layout in [Layout::PIPELINE, Layout::SOFTWARE, Layout { lanes: 4, ..Layout::PIPELINE }] {
            for count in [0, 1, 24, 25, 26, 1_000, 24_000] {
                let pair = |number: u64| {
                    let slot = Slot { lane: (number % u64::from(layout.lanes)) as u8, index: 0 };
                    Pair { place: Place { slot, tag: number.into() }, value: 1 }
                };
                let parcels = direct_parcels((0..count).map(pair).collect(), &layout);
                let of_parcel = |parcel: &Parcel| {
                    let packet =
                        Packet { pairs: parcel.pairs.clone(), ..Packet::new(Kind::Data, 1, Op::Add) };
                    AROUND + packet.bytes(&layout).len() as u64
                };
                let bytes: u64 = parcels.iter().map(of_parcel).sum();
                let plain = layout.plain_bytes(count);
                // A packet that begins inside a row of lanes has a block more.
                let blocks = parcels.len() as u64 * layout.block_bytes() as u64;
                assert!(
                    (plain..=plain + blocks).contains(&bytes),
                    "{plain}, {bytes}: {count} pairs, {layout:?}"
                );
            }
        }
    }

    /// The pair with the value 0, too: a packet to be folded would reach nobody.
    #[test]
    fn without_a_switch_no_pair_is_to_be_folded() {
        let layout = Layout::PIPELINE;
        let rounds = pack(pairs(100, &layout), &layout, 1, None).expect("it packs");
        assert!(rounds[0].iter().all(|parcel| parcel.is_direct), "{rounds:?}");
    }

    /// 2,400 keys for 2,048 slots: 986 of them would find their first slots taken.
    #[test]
    fn a_mapper_knows_where_its_own_keys_would_meet() {
        let layout = Layout { lanes: 4, index_bits: 9, ..Layout::PIPELINE };
        let rounds = pack(pairs(2400, &layout), &layout, 1, Some(u32::MAX)).expect("it packs");
        let (direct, folded): (Vec<Parcel>, Vec<Parcel>) =
            rounds.concat().into_iter().partition(|parcel| parcel.is_direct);
        let of =
            |parcels: &[Parcel]| parcels.iter().flat_map(|parcel| parcel.pairs.clone()).collect::<Vec<_>>();
        let taken: BTreeSet<Slot> = of(&folded).iter().map(|pair| pair.place.slot).collect();
        let is_taken = |place: &Place| taken.contains(&place.slot);
        let places = |pair: &Pair| {
            let first = pair.place.first(&layout);
            std::iter::successors(Some(first), |place| place.next(&layout)).collect::<Vec<Place>>()
        };
        assert!(!direct.is_empty());
        for pair in of(&direct) {
            assert!(places(&pair).iter().all(is_taken), "{pair:?}");
        }
        let is_further = |pair: &&Pair| pair.place != pair.place.first(&layout);
        let further = of(&folded).iter().filter(is_further).copied().collect::<Vec<_>>();
        assert!(further.len() > 300, "{}", further.len());
        assert!(further.iter().all(|pair| is_taken(&pair.place.first(&layout))));
        let mut switch = Switch::new(layout, 0, 1, 1, 1);
        switch.handle(Packet { generation: 2, boot: 1, ..Packet::new(Kind::Open, 1, Op::Add) }, false);
        let mut refused = 0;
        for (parcel, number) in folded.into_iter().zip(0..) {
            let (kind, seq) = (Kind::Data, 2 << ROUND_BITS | number);
            let data = Packet { generation: 2, seq, pairs: parcel.pairs, ..Packet::new(kind, 1, Op::Add) };
            let (_, answer) = switch.handle(data, false).pop().expect("an answer");
            assert_eq!(answer.kind, Kind::Ack);
            refused += answer.map.count_ones();
        }
        // Those whose slot has a key close before them.
        assert!((50..250).contains(&refused), "{refused}");
    }

    /// 600 keys of each round for 2,048 slots: nearly all find one of their two.
    #[test]
    fn slots_are_free_again_in_the_next_round() {
        let layout = Layout { lanes: 4, index_bits: 9, ..Layout::PIPELINE };
        let rounds = pack(pairs(2400, &layout), &layout, 4, Some(u32::MAX)).expect("it packs");
        for round in rounds {
            let direct: usize =
                round.iter().filter(|parcel| parcel.is_direct).map(|parcel| parcel.pairs.len()).sum();
            assert!(direct < 40, "{direct} of 600");
        }
    }

    /// 2,000 pairs in each lane of 1,024 rows: 5 / 32 of the packets are spare.
    #[test]
    fn paced_rounds_fold_all_pairs_in_some_packets_more_than_a_lane_has_pairs() {
        let layout = Layout { lanes: 4, index_bits: 10, evict: true, ..Layout::PIPELINE };
        let rounds = pack(pairs(8000, &layout), &layout, 1, Some(u32::MAX)).expect("it packs");
        assert!(rounds[0].iter().all(|parcel| !parcel.is_direct));
        let packets = rounds[0].len();
        assert!((2200..2400).contains(&packets), "{packets}");
    }

    #[test]
    fn a_key_that_comes_twice_is_refused() {
        let layout = Layout::PIPELINE;
        let mut twice = pairs(3, &layout);
        twice.push(twice[1]);
        assert!(matches!(pack(twice, &layout, 1, Some(u32::MAX)), Err(PackError::KeyTwice(_))));
    }
}
