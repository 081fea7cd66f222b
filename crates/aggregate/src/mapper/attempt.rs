//! A generation that a mapper works on: packets that are sent, that wait for an answer, and that are packed of pairs which switches have left.

use super::numbers::Numbers;
use super::{FOLDED, LEAST_MOVED, PAST};
use crate::layout::Layout;
use crate::pack::{Parcel, Round, direct_parcels, folded_parcels};
use crate::packet::Pair;
use crate::timer::Timer;
use base_time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Pairs that switches have left are collected for so many packets, so that their lanes are mixed well.
const LEFT_PACKETS: usize = 4;

/// The same for pairs with further places, which have a lane each: `n` packets are full but for about twice the root of `n`.
const MOVED_PACKETS: usize = 64;

/// A generation that a mapper sends.
#[derive(Debug)]
pub struct Attempt {
    pub generation: u32,
    pub round: u32,
    pub numbers: Numbers,
    /// Packets of each sort that were sent.
    pub next: [u32; 2],
    /// Packets of each sort without an answer, by number.
    pub flights: [BTreeMap<u32, Flight>; 2],
    /// Numbers of packets without an answer that a full queue has trimmed: they do not count for the window.
    pub trimmed: [BTreeSet<u32>; 2],
    /// Pairs of packets that switches have answered, and those that they have left; without those at further places.
    pub answered: u64,
    pub refused: u64,
    /// Pairs that the switches have left, by the sort of packets that they wait for, and these packets.
    pub left: [Vec<Pair>; 2],
    pub more: [Vec<Parcel>; 2],
    pub end: Option<Timer>,
    pub is_over: bool,
}

/// A packet without an answer.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    pub timer: Timer,
    pub at: Time,
    pub order: u64,
    pub is_repeated: bool,
    /// The packet ends the generation.
    pub is_last: bool,
    pub overtaken: u32,
}

impl Attempt {
    /// Nothing is sent yet.
    pub fn new(generation: u32, round: u32, numbers: Numbers) -> Attempt {
        Attempt {
            generation,
            round,
            numbers,
            next: [0; 2],
            flights: [BTreeMap::new(), BTreeMap::new()],
            trimmed: [BTreeSet::new(), BTreeSet::new()],
            answered: 0,
            refused: 0,
            left: [vec![], vec![]],
            more: [vec![], vec![]],
            end: None,
            is_over: false,
        }
    }

    /// The reducer has everything.
    pub fn finish(&mut self) {
        self.is_over = true;
        self.flights.iter_mut().for_each(BTreeMap::clear);
        self.trimmed.iter_mut().for_each(BTreeSet::clear);
    }

    /// A packet of a sort, which belongs to the round or was packed since.
    pub fn parcel<'a>(&'a self, round: &'a Round, sort: usize, at: u32) -> Option<&'a Parcel> {
        match at.checked_sub(self.numbers.of_round(sort)) {
            None => round.get((at + if sort == FOLDED { 0 } else { self.numbers.folded }) as usize),
            Some(further) => self.more[sort].get(further as usize),
        }
    }

    /// Packets of a sort that there are so far.
    pub fn end_of(&self, sort: usize) -> u32 {
        self.numbers.of_round(sort) + self.more[sort].len() as u32
    }

    /// True if this generation needs the cell of a packet of the next generation no more.
    pub fn has_left_cell(&self, number: u32) -> bool {
        let is_needed = self.numbers.has_kept_cell(number) && self.awaits_switches();
        let cell = |number: u32| number % self.numbers.window;
        let mut flights = self.flights[FOLDED].keys();
        self.has_sent_round() && !is_needed && flights.all(|other| cell(*other) != cell(number))
    }

    /// True if all packets of the round that switches fold were sent.
    pub fn has_sent_round(&self) -> bool {
        self.next[FOLDED] >= self.numbers.folded
    }

    /// True if a packet that switches fold has no answer or is still to be sent.
    pub fn awaits_switches(&self) -> bool {
        !self.flights[FOLDED].is_empty() || self.next[FOLDED] < self.end_of(FOLDED)
    }

    /// Packs pairs that the switches have left, once they fill some packets or are the last ones.
    pub fn pack_left(&mut self, layout: &Layout) {
        let is_full = self.left[FOLDED].len() >= MOVED_PACKETS * usize::from(layout.lanes);
        if is_full || self.has_sent_round() && self.flights[FOLDED].is_empty() {
            if self.refused * LEAST_MOVED < self.answered {
                let few = std::mem::take(&mut self.left[FOLDED]);
                self.left[PAST].extend(few);
            }
            self.more[FOLDED].extend(folded_parcels(&std::mem::take(&mut self.left[FOLDED]), layout));
            let most = self.numbers.most_further().min(self.more[FOLDED].len());
            let unnumbered = self.more[FOLDED].drain(most..);
            self.left[PAST].extend(unnumbered.flat_map(|parcel| parcel.pairs));
        }
        let full = layout.most_bytes().saturating_sub(layout.header_bytes()) / layout.pair_bytes();
        if !self.awaits_switches() || self.left[PAST].len() >= LEFT_PACKETS * full {
            self.more[PAST].extend(direct_parcels(std::mem::take(&mut self.left[PAST]), layout));
        }
    }

    /// A packet that is to be sent again.
    pub fn due(&self, now: Time) -> Option<u32> {
        self.flights.iter().flatten().find(|(_, flight)| flight.timer.due <= now).map(|(number, _)| *number)
    }
}
