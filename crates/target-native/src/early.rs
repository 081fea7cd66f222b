//! Lookups that are made before their packets run, for a group of packets at once.
//!
//! ```text
//! packets   0 ... 15 | 16 ... 31 |       before packet 0 runs, the keys of 0 to 15 are looked up; the answers lie in a list
//! packet 3           its key is that of answer 3: the answer's entry. Else it is looked up.
//! ```
//!
//! A lookup is a chain of reads, each of which waits for the one before. A packet's code is so long that a processor hardly overlaps the chains of two packets;
//! those of a group it does. Only for keys whose fields lie at places of the frame that are known for the longest way through the parser
//! ([`code`](crate::code)). A packet with other headers has another key.

use crate::context::TableRef;
use crate::packet::Packet;

/// Packets of a group.
const GROUP: usize = 16;

/// Lookups of a program that are made early, at most.
pub(crate) const MOST: usize = 2;

/// Words of the longest key that is looked up early.
pub(crate) const MOST_WORDS: usize = 3;

/// Result for a packet. As long as a [`Packet`], so that an answer is as far from its packet as all others of its group.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Answer {
    pub(crate) key: [u64; MOST_WORDS],
    /// The entry's number.
    pub(crate) found: u64,
}

const _: () = assert!(size_of::<Answer>() == size_of::<Packet>());

/// Room for the answers of a group.
#[derive(Default)]
pub(crate) struct Early([[Answer; GROUP]; MOST]);

impl Early {
    /// Whether lookups in these tables are made early: not for few packets, or where no table is so large that lookups wait.
    pub(crate) fn is_worth(tables: &[usize], refs: &[TableRef], packets: usize) -> bool {
        packets >= GROUP / 2 && tables.iter().any(|table| waits(refs, *table))
    }

    /// A group begins with a packet, one of `left`. Gives the bytes from a packet to its answer for each of the tables, or 0 where there are none, and the number of
    /// packets.
    pub(crate) fn begin(
        &mut self,
        tables: &[usize],
        refs: &[TableRef],
        first: *const Packet,
        left: usize,
    ) -> ([u64; MOST], usize) {
        let mut distances = [0; MOST];
        for ((table, answers), distance) in tables.iter().zip(&mut self.0).zip(&mut distances) {
            if waits(refs, *table) {
                *distance =
                    (answers.as_mut_ptr().expose_provenance() as u64).wrapping_sub(first.addr() as u64);
            }
        }
        (distances, left.min(GROUP))
    }
}

/// Whether lookups in a table wait for memory.
fn waits(refs: &[TableRef], table: usize) -> bool {
    refs.get(table).is_some_and(|table| table.waits != 0)
}
