//! Number of rounds of a job, if the first key keeps a slot: few keys for each slot against packets for each round.

use crate::layout::Layout;
use crate::mapper::LEAST_MOVED;
use crate::pack::MOST_PARCELS;
use crate::packet::{HEADER, MOST_ROWS};

/// A job, as far as it is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Mappers.
    pub mappers: u32,
    /// Pairs of all mappers.
    pub pairs: u64,
    /// Distinct keys of all mappers.
    pub distinct: u64,
    /// Switches whose rows another switch folds on their way to the reducer: each row is an answer of its own, which reaches the reducer even if nothing is left of it.
    pub children: u32,
}

/// [`Estimate::children`] of so many switches, the last of which are `parents`: they fold what the others have left.
pub fn children(switches: usize, parents: u16) -> u32 {
    if parents == 0 { 0 } else { switches.saturating_sub(parents.into()) as u32 }
}

/// Packets of a round that carry no pairs: for each mapper START and ENDACK, and half a packet past the switches, which its last one is not full by; OPEN, CLOSE and
/// CLEAR with their answers.
const OF_A_MAPPER: f64 = 2.5;
const OF_A_SWITCH: f64 = 6.0;

/// Answers to a READ: half of what a request may have, because a round has few rows.
const OF_A_REQUEST: f64 = 8.0;

/// The fewest rounds of a mapper with so many pairs. A round has at most [`MOST_PARCELS`] packets, two thirds of which are counted, because lanes have not quite the same number
/// of pairs, and rounds with eviction have spare packets.
pub fn fewest_rounds(pairs: u64, layout: &Layout) -> u32 {
    let room = u64::from(layout.lanes) * MOST_PARCELS as u64 * 2 / 3;
    pairs.div_ceil(room).clamp(1, u32::MAX.into()) as u32
}

/// Rows for an answer to READ, if `rows` rows had `pairs` pairs: as many as nearly always have room, since each pair is in its slot by chance. A row is read as long as
/// there is room for a full one. Without rows that are known: as many full ones as have room.
pub fn rows_of_answer(layout: &Layout, (pairs, rows): (u64, u64)) -> u32 {
    let (pair, block) = (layout.pair_bytes() as f64, layout.block_bytes() as f64);
    let lanes = f64::from(layout.lanes);
    let share = if rows == 0 { 1.0 } else { (pairs as f64 / rows as f64 / lanes).min(1.0) };
    // The first map is in the header.
    let room = (layout.most_bytes() - layout.header_bytes()) as f64 - lanes * pair;
    // Two standard deviations more than the mean.
    let has_room = |before: &u32| {
        let slots = f64::from(*before) * lanes;
        let pairs = slots * share + 2.0 * (slots * share * (1.0 - share)).sqrt();
        pairs * pair + f64::from(*before) * block <= room
    };
    (1..MOST_ROWS).take_while(has_room).last().unwrap_or(0) + 1
}

/// A job may take longer by this share for fewer bytes on the reducer's link.
const LONGER: f64 = 0.01;

/// Bytes on the links of a job, as shares of the bytes of the pairs alone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// On the reducer's link.
    pub reducer: f64,
    /// On the link of each mapper.
    pub mapper: f64,
}

impl Load {
    /// On the busier link, which bounds the job's time.
    pub fn most(&self) -> f64 {
        self.reducer.max(self.mapper)
    }
}

impl Estimate {
    /// Bytes on the links with so many rounds. Those of a mapper matter if pairs for second places make its link the busier one.
    pub fn load(&self, layout: &Layout, rounds: u32) -> Load {
        let (rounds, distinct) = (f64::from(rounds.max(1)), self.distinct.max(1) as f64);
        let slots = f64::from(layout.lanes) * f64::from(layout.rows());
        // Keys fall on slots at random: a slot is empty with probability e^-load.
        let load = distinct / rounds / slots;
        let mut full = 1.0 - (-load).exp();
        let (pairs, mappers) = (self.pairs as f64, f64::from(self.mappers.max(1)));
        // A mapper knows which of its pairs find its own keys: the others of those that find no slot are sent in vain.
        let known = (pairs / mappers / distinct).min(1.0);
        let vain = pairs * (1.0 - full / load) * (1.0 - known);
        // They go to their second places, if they are many.
        let has_choice = layout.choice_bits() > 0;
        let moves = has_choice && vain * LEAST_MOVED as f64 >= pairs;
        if has_choice {
            full += (1.0 - full) * (1.0 - (full - load).exp()) * if moves { 1.0 } else { known };
        }
        let held = distinct * full / load;
        let left = pairs * (1.0 - held / distinct);
        let pair = layout.pair_bytes() as f64;
        let header = crate::datagram::AROUND as f64 + HEADER as f64;
        let body = (layout.most_bytes() - layout.header_bytes()) as f64;
        let most = f64::from(layout.lanes) * pair;
        // A map for each row that is not empty, and a request for several packets, which have no room for the last row.
        let row = layout.block_bytes() as f64 / (most / pair * held / rounds / slots).max(1.0);
        let read = (pair + row) * (1.0 + (1.0 + 1.0 / OF_A_REQUEST) * header / (body - most / 2.0).max(most));
        let rows = f64::from(self.children) * f64::from(layout.rows());
        let empty = rounds * (OF_A_MAPPER * mappers + OF_A_SWITCH + rows) * header;
        let past = left * pair * (1.0 + header / body);
        let reducer = held * read + past + empty;
        let folded = (pairs - left * known + if moves { vain } else { 0.0 }) * pair * (1.0 + header / most);
        let all = self.pairs.max(1) as f64 * pair;
        Load { reducer: reducer / all, mapper: (folded + past) / mappers / all }
    }

    /// The number of rounds with the fewest bytes on the reducer's link, among those that take about the least time: if the mappers' links bound the time, more rounds
    /// save bytes on the reducer's for nearly nothing.
    pub fn rounds(&self, layout: &Layout) -> u32 {
        let steps = (0..100).map(|step: i32| 1.12_f64.powi(step) as u32);
        let loads: Vec<(u32, Load)> = steps.map(|rounds| (rounds, self.load(layout, rounds))).collect();
        let least = loads.iter().map(|(_, load)| load.most()).fold(f64::INFINITY, f64::min);
        let is_least = |(_, load): &&(u32, Load)| load.most() <= least * (1.0 + LONGER);
        let fewest = loads.iter().filter(is_least).min_by(|(_, a), (_, b)| a.reducer.total_cmp(&b.reducer));
        fewest.map_or(1, |(rounds, _)| *rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::pack;
    use crate::{Pair, Place};

    #[test]
    fn rounds_follow_the_keys_and_the_slots() {
        let job = Estimate { mappers: 6, pairs: 2_000_000, distinct: 1_000_000, children: 0 };
        let rounds = |job: Estimate, index_bits| job.rounds(&Layout { index_bits, ..Layout::PIPELINE });
        let few = rounds(job, 8);
        assert!((60..600).contains(&few), "{few}");
        assert!(rounds(job, 10) < few);
        assert!(rounds(Estimate { distinct: 4_000_000, pairs: 8_000_000, ..job }, 8) > few);
        assert_eq!(rounds(Estimate { distinct: 100, pairs: 300, ..job }, 8), 1);
        // Each round has a packet for each row of a switch behind another one.
        let behind = rounds(Estimate { children: 1, ..job }, 8);
        assert!(behind * 2 < few && rounds(Estimate { children: 3, ..job }, 8) < behind, "{behind}");
    }

    /// All mappers have the same keys, for a third of the slots: their links are the busier ones, whatever the rounds. With one round, one of their pairs in twenty finds no slot.
    #[test]
    fn more_rounds_save_bytes_where_the_mappers_links_are_the_busier_ones() {
        let layout = Layout::PIPELINE;
        let job = Estimate { mappers: 6, pairs: 6 * 65_536, distinct: 65_536, children: 0 };
        let (one, best) = (job.load(&layout, 1), job.load(&layout, job.rounds(&layout)));
        assert!(one.most() == one.mapper && best.most() == best.mapper);
        assert!(best.most() < one.most() * 1.01 && best.reducer < one.reducer * 0.95, "{one:?}, {best:?}");
        // Fewest bytes at the reducer are not worth 2 % on the mappers' links.
        let job = Estimate { mappers: 3, pairs: 2_400_000, distinct: 800_000, children: 0 };
        let (best, more) = (job.load(&layout, job.rounds(&layout)), job.load(&layout, 21));
        assert!(more.reducer < best.reducer && more.most() > best.most() * 1.005, "{best:?}, {more:?}");
    }

    /// A full row has 244 bytes of a packet's 1,448 for pairs, and half a row 124 on average.
    #[test]
    fn an_answer_has_rows_that_nearly_always_have_room() {
        let layout = Layout::PIPELINE;
        assert_eq!(rows_of_answer(&layout, (0, 0)), 5);
        assert_eq!(rows_of_answer(&layout, (24_000, 1_000)), 5);
        let half = rows_of_answer(&layout, (12_000, 1_000));
        assert!((8..=10).contains(&half), "{half}");
        assert!(rows_of_answer(&layout, (0, 1_000)) > 200);
        assert_eq!(rows_of_answer(&Layout::DENSE, (128_000, 1_000)), 2);
        assert_eq!(rows_of_answer(&Layout::SOFTWARE, (64_000, 1_000)), 1);
        // The switch has room for them.
        let room = layout.most_bytes() - 24 * layout.pair_bytes();
        let before = layout.header_bytes() + 4 * (24 * layout.pair_bytes() + layout.block_bytes());
        assert!(before <= room);
    }

    #[test]
    fn the_fewest_rounds_have_room_for_uneven_lanes() {
        let layout = Layout::PIPELINE;
        let round = 24 * 16_384;
        for (pairs, rounds) in [(0, 1), (1, 1), (round, 1), (round + 1, 2), (10 * round, 10)] {
            assert_eq!(fewest_rounds(pairs, &layout), rounds, "{pairs} pairs");
        }
        for layout in [layout, Layout { evict: true, index_bits: 4, ..layout }] {
            let place = |number| Place::of_number(number, &layout).expect("it has a place");
            let pairs = (0..round).map(|number| Pair { place: place(number), value: 1 }).collect();
            assert!(pack(pairs, &layout, 1, Some(1)).is_ok(), "{layout:?}");
        }
    }

    /// A mapper knows which of its pairs meet keys of its own: it sends each pair once, to the first place, to the second one or past the switch.
    #[test]
    fn pairs_that_meet_keys_of_their_own_mapper_are_sent_once() {
        let layout = Layout::PIPELINE;
        let slots = u64::from(layout.lanes) * u64::from(layout.rows());
        let cost = |mappers: u32, pairs: u64, layout: &Layout| {
            Estimate { mappers, pairs, distinct: slots, children: 0 }.load(layout, 1).most()
        };
        // A mapper's link is the busy one: bytes of full packets to be folded, with their headers, or less.
        let header = (crate::datagram::AROUND as usize + HEADER) as f64;
        let full = 1.0 + header / (f64::from(layout.lanes) * layout.pair_bytes() as f64);
        let alone = cost(1, slots, &layout);
        assert!(alone < full && alone > 0.9 * full, "{alone}, {full}");
        // With the same keys at all mappers the reducer's link is: second places take pairs from it.
        let evicting = Layout { evict: true, ..layout };
        assert_eq!(evicting.choice_bits(), 0);
        let (one, two) = (cost(12, 12 * slots, &evicting), cost(12, 12 * slots, &layout));
        assert!(two < 0.8 * one, "{two}, {one}");
    }

    /// Each key is that of one mapper of a hundred, so mappers know hardly any refusal before. Rows that are read cost more than pairs past the switch.
    #[test]
    fn unknown_refusals_go_to_second_places_if_they_are_many() {
        let layout = Layout::PIPELINE;
        let slots = u64::from(layout.lanes) * u64::from(layout.rows());
        let more = |pairs: u64| {
            let job = Estimate { mappers: 100, pairs, distinct: pairs, children: 0 };
            job.load(&layout, 1).most() / job.load(&Layout { evict: true, ..layout }, 1).most() - 1.0
        };
        let (few, many) = (more(slots / 5), more(slots));
        assert!(few.abs() < 0.0001 && many > 0.001, "{few}, {many}");
    }
}
