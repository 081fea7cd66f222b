//! Sizes that a switch program, its mappers and its reducer agree on.

use crate::datagram::AROUND;
use std::fmt;

/// Sizes of a job's part of a switch, and of its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Pairs that a packet has room for: 1 to [`Layout::MOST_LANES`].
    pub lanes: u8,
    /// Bits of a tag: [`Layout::SHORT_TAG`], [`Layout::LONG_TAG`] for whole keys, or [`Layout::NO_TAG`] for arrays.
    pub tag_bits: u8,
    /// Bits of an index: a lane has 2^`index_bits` rows in each bank. At most 16.
    pub index_bits: u8,
    /// Packets that a channel may have in flight: a power of two, at most [`Layout::MOST_WINDOW`].
    pub window: u32,
    /// A pair that meets other keys takes the place of the oldest one, which leaves; otherwise the pair leaves.
    pub evict: bool,
}

/// A layout that no program can have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayoutError(pub String);

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Layout {
    /// Limit on the lanes: bits of the map of valid lanes with its extension.
    pub const MOST_LANES: u8 = 128;
    /// Bytes of the largest UDP payload of IPv4 in an Ethernet frame of 1,500 bytes.
    pub const MOST_PAYLOAD: usize = 1472;
    /// Limit on the window.
    pub const MOST_WINDOW: u32 = 1 << 12;
    /// Bits of a tag that is a part of a hash.
    pub const SHORT_TAG: u8 = 32;
    /// Bits of a tag that is a key.
    pub const LONG_TAG: u8 = 128;

    /// [`Layout::choice_bits`] of a layout with a choice.
    const CHOICE_BITS: u32 = 1;

    /// Arrays: packet `n` of a round is row `n` of the slots, so that pairs are values alone.
    pub const NO_TAG: u8 = 0;

    /// Limit on the rows of arrays: a round has no more packets.
    pub const MOST_ARRAY_ROWS: u32 = 1 << 14;

    /// For a switch pipeline: 24 lanes of 8,192 rows in each of two banks, a register of 64 bits per slot.
    pub const PIPELINE: Layout =
        Layout { lanes: 24, tag_bits: 32, index_bits: 13, window: 256, evict: false };

    /// For software devices: IPv4 packets of up to 1,472 bytes, whole keys of up to 16 bytes, eviction.
    pub const SOFTWARE: Layout =
        Layout { lanes: 64, tag_bits: 128, index_bits: 12, window: 256, evict: true };

    /// For arrays on software devices: 128 values in a packet.
    pub const DENSE: Layout = Layout { lanes: 128, tag_bits: 0, index_bits: 9, window: 256, evict: false };

    /// The reason why there is no such layout, if there is one.
    pub fn check(&self) -> Result<(), LayoutError> {
        let fail = |text: String| Err(LayoutError(text));
        if !(1..=Layout::MOST_LANES).contains(&self.lanes) {
            return fail(format!("a packet has 1 to {} lanes, not {}", Layout::MOST_LANES, self.lanes));
        }
        if ![Layout::NO_TAG, Layout::SHORT_TAG, Layout::LONG_TAG].contains(&self.tag_bits) {
            return fail(format!("a tag has 32 or 128 bits, or 0 for arrays, not {}", self.tag_bits));
        }
        if self.is_dense() && (self.evict || self.rows() > Layout::MOST_ARRAY_ROWS) {
            let most = Layout::MOST_ARRAY_ROWS;
            return fail(format!("arrays have no eviction, and at most {most} rows"));
        }
        if self.index_bits > 16 {
            return fail(format!("an index has at most 16 bits, not {}", self.index_bits));
        }
        if self.rows() < self.ways() {
            return fail(format!(
                "a lane with eviction has at least {} rows, not {}",
                self.ways(),
                self.rows()
            ));
        }
        if !self.window.is_power_of_two() || self.window > Layout::MOST_WINDOW {
            let most = Layout::MOST_WINDOW;
            return fail(format!("a window is a power of two of at most {most}, not {}", self.window));
        }
        Ok(())
    }

    /// Rows of each lane in each bank.
    pub fn rows(&self) -> u32 {
        1 << self.index_bits
    }

    /// Rows in a lane that may hold a key: its bucket, rows that stand side by side. The first one is the key's index.
    pub fn ways(&self) -> u32 {
        if self.evict { 2 } else { 1 }
    }

    /// Bits of a tag, the highest ones, that count the places of a key from 0: a switch that finds another key at a place leaves the pair, and the mapper sends it to
    /// the next place. Without eviction, and if tags have room beside numbers of 32 bits.
    pub fn choice_bits(&self) -> u32 {
        let has_room = u32::from(self.lanes) * self.rows() >= 1 << Layout::CHOICE_BITS;
        let has_choice = self.tag_bits == Layout::SHORT_TAG && !self.evict && has_room;
        if has_choice { Layout::CHOICE_BITS } else { 0 }
    }

    /// Buckets of each lane in each bank, a power of two.
    pub fn buckets(&self) -> u32 {
        self.rows() / self.ways()
    }

    /// The first row of the bucket that has a row, for any number.
    pub fn bucket_of(&self, row: u16) -> u16 {
        (u32::from(row) & (self.rows() - self.ways())) as u16
    }

    /// True for arrays: pairs have no tags.
    pub fn is_dense(&self) -> bool {
        self.tag_bits == Layout::NO_TAG
    }

    /// Elements of an array in a round.
    pub fn elements(&self) -> u64 {
        u64::from(self.lanes) * u64::from(self.rows())
    }

    /// True if packets have an extension of the map of valid lanes.
    pub fn has_extension(&self) -> bool {
        self.lanes > 32
    }

    /// Bytes of a pair in a packet: index, tag, value; of arrays, the value alone.
    pub fn pair_bytes(&self) -> usize {
        if self.is_dense() {
            return 4;
        }
        2 + usize::from(self.tag_bits / 8) + 4
    }

    /// Bytes of the pairs of a full row.
    pub fn row_bytes(&self) -> usize {
        usize::from(self.lanes) * self.pair_bytes()
    }

    /// Bytes of a packet before its pairs.
    pub fn header_bytes(&self) -> usize {
        crate::packet::HEADER + if self.has_extension() { crate::packet::EXTENSION } else { 0 }
    }

    /// Bytes before the pairs of each further block of a packet: its map, a bit for each lane.
    pub fn block_bytes(&self) -> usize {
        usize::from(self.lanes.div_ceil(8))
    }

    /// Bytes of the longest packet, the payload of a UDP datagram: one with all lanes, or one with several blocks.
    pub fn most_bytes(&self) -> usize {
        let all = self.header_bytes() + self.row_bytes();
        all.max(Layout::MOST_PAYLOAD)
    }

    /// Bytes on a link of the fewest packets that hold so many pairs, with the frames around them ([`AROUND`](crate::datagram::AROUND)).
    pub fn plain_bytes(&self, pairs: u64) -> u64 {
        let (lanes, pair) = (usize::from(self.lanes), self.pair_bytes());
        let room = self.most_bytes() - self.header_bytes() + self.block_bytes();
        let block = self.block_bytes() + lanes * pair;
        let rest = (room % block).saturating_sub(self.block_bytes()) / pair;
        let most = (room / block * lanes + rest) as u64;
        let size = |pairs: u64| {
            let more_blocks = pairs.div_ceil(lanes as u64).saturating_sub(1);
            AROUND
                + self.header_bytes() as u64
                + more_blocks * self.block_bytes() as u64
                + pairs * pair as u64
        };
        let (full, last) = (pairs / most, pairs % most);
        full * size(most) + if last > 0 { size(last) } else { 0 }
    }
}
