//! Numbers of the packets of a generation.
//!
//! Packets of pairs for further places have the last cells of each window alone, so neither they nor the packets of a round,
//! this one or the next, wait for the others' cells. The other numbers are those of the round, the packets to be folded before the others, and then those of pairs
//! that switches have left:
//!
//! ```text
//! round ....... for further places | round, past the switches ....... for further places |
//! ```

use super::{FOLDED, PAST};
use crate::layout::Layout;
use crate::pack::Round;
use crate::packet::ROUND_BITS;

/// Numbers of a generation's packets, by sort and order of sending.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// Packets of the round, and those to be folded among them.
    round: u32,
    pub folded: u32,
    pub window: u32,
    /// Cells of packets for further places; 0 if keys have one place.
    pub kept: u32,
}

impl Numbers {
    pub fn new(round: &Round, layout: &Layout) -> Numbers {
        debug_assert!(round.is_sorted_by_key(|parcel| parcel.is_direct));
        let folded = round.partition_point(|parcel| !parcel.is_direct) as u32;
        let kept = if layout.choice_bits() > 0 { layout.window / 4 } else { 0 };
        Numbers { folded, round: round.len() as u32, window: layout.window, kept }
    }

    /// Packets of a sort in the round.
    pub fn of_round(&self, sort: usize) -> u32 {
        if sort == FOLDED { self.folded } else { self.round - self.folded }
    }

    pub fn has_kept_cell(&self, number: u32) -> bool {
        number % self.window >= self.window - self.kept
    }

    /// The number of a packet of a sort, in the order of sending.
    pub fn number(&self, sort: usize, at: u32) -> u32 {
        let others = self.window - self.kept;
        match at.checked_sub(self.folded) {
            Some(further) if sort == FOLDED => {
                let each = self.kept.max(1);
                further / each * self.window + others + further % each
            }
            _ => {
                let at = if sort == FOLDED { at } else { self.folded + at };
                at / others * self.window + at % others
            }
        }
    }

    /// Sort and place of a packet.
    pub fn find(&self, number: u32) -> (usize, u32) {
        let others = self.window - self.kept;
        let (window, cell) = (number / self.window, number % self.window);
        if let Some(cell) = cell.checked_sub(others) {
            return (FOLDED, self.folded + window * self.kept + cell);
        }
        let at = window * others + cell;
        if at < self.folded { (FOLDED, at) } else { (PAST, at - self.folded) }
    }

    /// Limit on the packets for further places.
    pub fn most_further(&self) -> usize {
        ((1 << ROUND_BITS) / self.window * self.kept) as usize
    }
}
