//! The packets, AGG version 3: payloads of UDP datagrams, big-endian.
//!
//! ```text
//! version:4 type:4 op:4 format:4  job:16  generation:32  boot:16  channel:16  seq:32  valid:32  aux:32
//! valid:96                                         lanes 32 to 127, in layouts with more than 32 lanes
//! index:16  tag:32 or 128  value:32                one for each valid lane, in lane order; the index is a row of the key's bucket
//! valid:8 to 128                                   a bit for each lane, in whole bytes: further blocks of READREPLY and of a mapper's OVERFLOW: a map, and its pairs
//! index:16  tag:32 or 128  value:32
//! ```
//!
//! Arrays (format 1): pairs are values alone. The row of a packet is its number in the round; a mapper's OVERFLOW names its first row in the upper half of
//! `aux`, and each block is the next row.

use crate::key::{Place, Slot};
use crate::layout::Layout;
use crate::op::Op;

/// Version in every packet.
pub const VERSION: u8 = 3;

/// Bytes of the header.
pub const HEADER: usize = 24;

/// Place of `valid` in the header.
const VALID: std::ops::Range<usize> = 16..20;

/// Bytes of the extension of `valid`.
pub const EXTENSION: usize = 12;

/// UDP port of all AGG packets, source and destination, unless a job says otherwise.
pub const PORT: u16 = 42_606;

/// Bit of `aux` in an ACK: a packet that it acknowledges met congestion.
pub const CONGESTED: u32 = 1;

/// Bit of `aux` in an ACK of the reducer: the packet is stored, and bit `n` of `valid` acknowledges packet `seq - 1 - n`, too. Such an
/// ACK may have waited for others.
pub const STORED: u32 = 2;

/// Bit of `aux` in an ACK of the reducer: the packet came without its pairs, which a switch had cut off at a full queue ([`Packet::parse_trimmed`]). It
/// acknowledges nothing; the mapper sends the packet again as soon as its window allows.
pub const TRIMMED: u32 = 4;

/// Bits of the number of a packet inside its generation; the attempt stands above them in `seq`.
pub const ROUND_BITS: u32 = 16;

/// The largest attempt of a generation: as many bits as stand above the number of a packet.
pub const MOST_ATTEMPT: u32 = u32::MAX >> ROUND_BITS;

/// Limit on the rows of a READ or CLEAR.
pub const MOST_ROWS: u32 = 256;

/// Bit of `aux` in an OVERFLOW of a mapper: its pairs are folded by no switch.
pub const DIRECT: u32 = 1;

/// In `aux` of an OVERFLOW with [`DIRECT`]: the mapper has sent every packet of the generation, and switches have answered all that they fold. It is an END, too:
/// `boot` is the number of the generation's packets past the switches.
pub const LAST: u32 = 2;

/// In `aux` of an OVERFLOW with [`DIRECT`]: the mapper's window has no room for another one, so its acknowledgement waits for no others.
pub const FULL: u32 = 4;

/// Types of packets, with their numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Mapper to reducer, through the switch: pairs to fold.
    Data = 1,
    /// To the mapper: the packet `seq` is folded, but for the lanes in `valid`, which the mapper sends past the switch; or it is
    /// stored (see [`STORED`]). With eviction, the pairs that left their slots follow. From the mapper: an answer to START, its incarnation in `aux`.
    Ack = 2,
    /// To the reducer: pairs of packet `seq` of the channel that are not folded. A mapper's own have several blocks.
    Overflow = 3,
    /// Mapper to reducer: every packet of the generation is sent, switches have answered all that they fold, and `boot` packets went past them.
    End = 4,
    /// Answer to END, or to the packet that says so ([`LAST`]), once all packets past the switches are stored: they need no other acknowledgement.
    EndAck = 5,
    /// Reducer to switch: accept data of the generation. Without a boot number, it is a question: the answer is [`Kind::Boot`], with the same generation.
    Open = 6,
    /// Answer.
    Opened = 7,
    /// Reducer to switch: accept no more data of the generation.
    Close = 8,
    /// Answer.
    Closed = 9,
    /// Reducer to switch: the content of `aux` rows from `seq` on. `valid`: rows of an answer; there are as many answers as that takes. 0: there is one.
    Read = 10,
    /// Answer: a block for each row that is not empty, the last row first. The lower half of `aux` is the number of rows that it was to have, the upper half that
    /// of rows read; they may be fewer, since the packet is full.
    ReadReply = 11,
    /// Reducer to switch: empty `aux` rows from `seq` on.
    Clear = 12,
    /// Answer.
    Cleared = 13,
    /// Switch to reducer: a packet did not fit the switch's state; `boot` is right, `channel` is the number of the switch. The answer to an OPEN has the last
    /// generation of the bank in `seq`, 0 if there was none.
    Boot = 14,
    /// Reducer to mapper: send round `seq` as this generation, if `aux` is your incarnation; `boot` is the attempt of the round before that
    /// the mapper has not ended, and goes on with, or 0.
    Start = 15,
}

impl Kind {
    /// Every type, by number from 1.
    pub const ALL: [Kind; 15] = [
        Kind::Data,
        Kind::Ack,
        Kind::Overflow,
        Kind::End,
        Kind::EndAck,
        Kind::Open,
        Kind::Opened,
        Kind::Close,
        Kind::Closed,
        Kind::Read,
        Kind::ReadReply,
        Kind::Clear,
        Kind::Cleared,
        Kind::Boot,
        Kind::Start,
    ];

    /// True if packets of this type carry pairs.
    pub fn has_pairs(self) -> bool {
        matches!(self, Kind::Data | Kind::Overflow | Kind::ReadReply)
    }
}

/// A pair in a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pair {
    /// The key.
    pub place: Place,
    /// The value.
    pub value: u32,
}

/// A packet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Packet {
    /// Type.
    pub kind: Kind,
    /// The job's operator.
    pub op: Op,
    /// The job's number.
    pub job: u16,
    /// An attempt at a round: its number in the lower half, and that of the run (a reducer, see [`Config::nonce`]) in the upper half. Its lowest bit is the
    /// bank. The lower half is never 0 in data.
    ///
    /// [`Config::nonce`]: crate::reducer::Config::nonce
    pub generation: u32,
    /// Counts restarts of the switch; of START, the generation before.
    pub boot: u16,
    /// The mapper's channel; of control packets, the number of the switch.
    pub channel: u16,
    /// The packet's number in the channel, or of READ the row: below the attempt (see [`ROUND_BITS`]); of CLEAR, the row; of
    /// START, the round; of BOOT, a generation.
    pub seq: u32,
    /// Depends on the type.
    pub aux: u32,
    /// In an ACK: lanes that are not folded, or packets (see [`STORED`]). In a READ: rows of an answer.
    pub map: u128,
    /// Block after block; in each, in the order of lanes, at most one for each.
    pub pairs: Vec<Pair>,
}

impl Packet {
    /// A packet without pairs, whose other numbers are 0.
    pub fn new(kind: Kind, job: u16, op: Op) -> Packet {
        Packet { kind, op, job, generation: 0, boot: 0, channel: 0, seq: 0, aux: 0, map: 0, pairs: vec![] }
    }

    /// True if `seq` is a number below the attempt of the packet's generation.
    pub(crate) fn is_numbered(&self) -> bool {
        self.seq >> ROUND_BITS == self.generation & MOST_ATTEMPT
    }

    /// The blocks of pairs: in each, every lane comes once, in order. Blocks of READREPLY are rows; of arrays, all are.
    fn blocks(&self, layout: &Layout) -> impl Iterator<Item = &[Pair]> {
        let is_row = self.kind == Kind::ReadReply || layout.is_dense();
        self.pairs.chunk_by(move |one, next| {
            let (one, next) = (one.place.slot, next.place.slot);
            one.lane < next.lane && (!is_row || one.index == next.index)
        })
    }

    /// The payload of a datagram.
    pub fn bytes(&self, layout: &Layout) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(layout.header_bytes() + self.pairs.len() * layout.pair_bytes());
        let mut blocks = self.blocks(layout);
        let first = blocks.next().unwrap_or_default();
        let valid = if first.is_empty() { self.map } else { map_of(first) };
        bytes.push(VERSION << 4 | self.kind as u8);
        bytes.push((self.op as u8) << 4 | format(layout));
        bytes.extend(self.job.to_be_bytes());
        bytes.extend(self.generation.to_be_bytes());
        bytes.extend(self.boot.to_be_bytes());
        bytes.extend(self.channel.to_be_bytes());
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend((valid as u32).to_be_bytes());
        bytes.extend(self.aux.to_be_bytes());
        if layout.has_extension() {
            bytes.extend(&(valid >> 32).to_be_bytes()[4..]);
        }
        write(first, &mut bytes, layout);
        for block in blocks {
            write_map(map_of(block), &mut bytes, layout);
            write(block, &mut bytes, layout);
        }
        bytes
    }

    /// A packet whose pairs a switch has cut off at a full queue, from its first [`HEADER`] bytes: the packet without pairs. None of a whole packet, and of
    /// a type that has no pairs.
    pub fn parse_trimmed(bytes: &[u8], layout: &Layout) -> Option<Packet> {
        if bytes.len() != HEADER || Packet::parse(bytes, layout).is_some() {
            return None;
        }
        // As if it had no valid lanes.
        let mut bytes = bytes.to_vec();
        bytes[VALID].fill(0);
        bytes.resize(layout.header_bytes(), 0);
        let packet = Packet::parse(&bytes, layout)?;
        (packet.kind.has_pairs() || packet.kind == Kind::Ack).then_some(packet)
    }

    /// The packet in a payload; none if it is none of this layout. Bytes after its end do not count, but in packets that may have
    /// several blocks.
    pub fn parse(bytes: &[u8], layout: &Layout) -> Option<Packet> {
        let mut rest = bytes;
        let [first, second] = take(&mut rest)?;
        let kind = *Kind::ALL.get(usize::from(first & 15).checked_sub(1)?)?;
        let op = Op::from_number(second >> 4)?;
        if first >> 4 != VERSION || second & 15 != format(layout) {
            return None;
        }
        let job = u16::from_be_bytes(take(&mut rest)?);
        let generation = u32::from_be_bytes(take(&mut rest)?);
        let boot = u16::from_be_bytes(take(&mut rest)?);
        let channel = u16::from_be_bytes(take(&mut rest)?);
        let seq = u32::from_be_bytes(take(&mut rest)?);
        let mut valid = u128::from(u32::from_be_bytes(take(&mut rest)?));
        let aux = u32::from_be_bytes(take(&mut rest)?);
        if layout.has_extension() {
            let high: [u8; EXTENSION] = take(&mut rest)?;
            valid |= high.iter().fold(0, |map, byte| map << 8 | u128::from(*byte)) << 32;
        }
        let header = Packet { kind, op, job, generation, boot, channel, seq, aux, map: 0, pairs: vec![] };
        let has_pairs = kind.has_pairs() || kind == Kind::Ack && layout.evict && aux & STORED == 0;
        if !has_pairs {
            // Only an ACK has a map without pairs, the lanes that were not folded, and a READ the rows of an answer.
            let is_wrong = valid != 0 && kind != Kind::Ack && kind != Kind::Read;
            return (!is_wrong).then_some(Packet { map: valid, ..header });
        }
        let mut pairs = Vec::with_capacity(valid.count_ones() as usize);
        // The row of an array's block, if it has no index: rows of READREPLY descend.
        let (first, step) = match kind {
            Kind::ReadReply => ((seq as u16).wrapping_add((aux >> 16) as u16).wrapping_sub(1), u16::MAX),
            Kind::Overflow if aux & DIRECT != 0 => ((aux >> 16) as u16, 1),
            _ => (seq as u16, 0),
        };
        let mut row = first;
        read(valid, row, &mut rest, &mut pairs, layout)?;
        let has_blocks = kind == Kind::ReadReply || kind == Kind::Overflow && aux & DIRECT != 0;
        while has_blocks && !rest.is_empty() {
            let map = read_map(&mut rest, layout)?;
            (map != 0).then_some(())?;
            row = row.wrapping_add(step);
            read(map, row, &mut rest, &mut pairs, layout)?;
        }
        Some(Packet { pairs, ..header })
    }
}

fn map_of(block: &[Pair]) -> u128 {
    block.iter().fold(0, |map, pair| map | 1 << (pair.place.slot.lane & 127))
}

/// The map of a further block. Like the header's: the lowest 32 bits, then the others; each as many bytes as there are lanes for.
fn write_map(map: u128, bytes: &mut Vec<u8>, layout: &Layout) {
    let low = layout.block_bytes().min(4);
    bytes.extend(&(map as u32).to_be_bytes()[4 - low..]);
    bytes.extend(&(map >> 32).to_be_bytes()[16 + low - layout.block_bytes()..]);
}

fn read_map(rest: &mut &[u8], layout: &Layout) -> Option<u128> {
    let (map, after) = rest.split_at_checked(layout.block_bytes())?;
    *rest = after;
    let (low, high) = map.split_at(map.len().min(4));
    let number = |bytes: &[u8]| bytes.iter().fold(0, |map, byte| map << 8 | u128::from(*byte));
    Some(number(high) << 32 | number(low))
}

fn write(block: &[Pair], bytes: &mut Vec<u8>, layout: &Layout) {
    for Pair { place, value } in block {
        if layout.is_dense() {
            bytes.extend(value.to_be_bytes());
            continue;
        }
        bytes.extend(place.slot.index.to_be_bytes());
        bytes.extend(&place.tag.to_be_bytes()[16 - usize::from(layout.tag_bits / 8)..]);
        bytes.extend(value.to_be_bytes());
    }
}

/// Takes the pairs of a block. `row`: of an array.
fn read(map: u128, row: u16, rest: &mut &[u8], pairs: &mut Vec<Pair>, layout: &Layout) -> Option<()> {
    (map.checked_shr(layout.lanes.into()).unwrap_or(0) == 0).then_some(())?;
    for lane in (0..layout.lanes).filter(|lane| map >> lane & 1 != 0) {
        if layout.is_dense() {
            let place = Place { tag: 1, slot: Slot { lane, index: row } };
            pairs.push(Pair { place, value: u32::from_be_bytes(take(rest)?) });
            continue;
        }
        let index = u16::from_be_bytes(take(rest)?);
        let (tag, after) = rest.split_at_checked(usize::from(layout.tag_bits / 8))?;
        let tag = tag.iter().fold(0, |tag, byte| tag << 8 | u128::from(*byte));
        *rest = after;
        let value = u32::from_be_bytes(take(rest)?);
        pairs.push(Pair { place: Place { tag, slot: Slot { lane, index } }, value });
    }
    Some(())
}

/// Number of the format of pairs: 0 for short tags, 1 for arrays, 4 for whole keys, 5 for short tags with a choice of places. 3 had one slot for each key, so its
/// indexes meant other places.
pub fn format(layout: &Layout) -> u8 {
    match layout.tag_bits {
        Layout::NO_TAG => 1,
        Layout::SHORT_TAG if layout.choice_bits() > 0 => 5,
        Layout::SHORT_TAG => 0,
        _ => 4,
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(layout: &Layout, lanes: &[u8]) -> Packet {
        let pair = |lane: &u8| {
            let tag = 7 << layout.tag_bits.saturating_sub(4) | u128::from(*lane);
            Pair { place: Place { tag, slot: Slot { lane: *lane, index: 513 } }, value: 0x0102_0304 }
        };
        let pairs = lanes.iter().map(pair).collect();
        Packet {
            generation: 5,
            boot: 2,
            channel: 3,
            seq: 77,
            aux: 9,
            pairs,
            ..Packet::new(Kind::Data, 4, Op::Max)
        }
    }

    #[test]
    fn the_bytes_are_those_of_version_3() {
        let packet = data(&Layout::PIPELINE, &[1]);
        let wanted = "31150004 00000005 0002 0003 0000004d 00000002 00000009 0201 70000001 01020304";
        let hex: String = packet.bytes(&Layout::PIPELINE).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, wanted.replace(' ', ""));
    }

    #[test]
    fn packets_come_back_from_their_bytes_and_nothing_shorter_does() {
        for layout in
            [Layout::PIPELINE, Layout::SOFTWARE, Layout { lanes: 128, ..Layout::PIPELINE }, Layout::DENSE]
        {
            let mut packet = data(&layout, &[0, 5, layout.lanes - 1]);
            if layout.is_dense() {
                let seq = packet.seq as u16;
                packet.pairs.iter_mut().for_each(|pair| (pair.place.tag, pair.place.slot.index) = (1, seq));
            }
            let bytes = packet.bytes(&layout);
            assert_eq!(Packet::parse(&bytes, &layout), Some(packet));
            for length in 0..bytes.len() {
                assert_eq!(Packet::parse(&bytes[..length], &layout), None, "{length} bytes");
            }
        }
    }

    #[test]
    fn trimmed_packets_are_known_by_their_headers() {
        for layout in [Layout::PIPELINE, Layout::SOFTWARE, Layout::DENSE] {
            for kind in [Kind::Data, Kind::Overflow, Kind::ReadReply] {
                let packet = Packet { kind, ..data(&layout, &[3, 20]) };
                let header = Packet { pairs: vec![], ..packet.clone() };
                let bytes = packet.bytes(&layout);
                assert_eq!(Packet::parse_trimmed(&bytes[..HEADER], &layout), Some(header));
                for length in (0..=bytes.len()).filter(|length| *length != HEADER) {
                    assert_eq!(Packet::parse_trimmed(&bytes[..length], &layout), None, "{length} bytes");
                }
            }
            // A packet without pairs is whole, and one of a type without them is not known by a part.
            let end = Packet::new(Kind::End, 4, Op::Max).bytes(&layout);
            assert_eq!(Packet::parse_trimmed(&end[..HEADER], &layout), None);
        }
    }

    #[test]
    fn rows_and_direct_pairs_come_back_from_blocks() {
        for layout in [Layout::PIPELINE, Layout::SOFTWARE] {
            let row = |index: u16, lanes: &[u8]| {
                let mut pairs = data(&layout, lanes).pairs;
                pairs.iter_mut().for_each(|pair| pair.place.slot.index = index);
                pairs
            };
            // The lanes alone do not show where the second row ends.
            let pairs = [row(9, &[3, 4]), row(8, &[0, 2]), row(7, &[3])].concat();
            let reply = Packet { kind: Kind::ReadReply, pairs: pairs.clone(), ..data(&layout, &[]) };
            let direct = Packet { kind: Kind::Overflow, aux: DIRECT, pairs, ..data(&layout, &[]) };
            for packet in [reply, direct] {
                let bytes = packet.bytes(&layout);
                assert_eq!(Packet::parse(&bytes, &layout), Some(packet.clone()));
                let whole = [layout.header_bytes() + 2 * layout.pair_bytes()];
                let whole = [whole[0], whole[0] + layout.block_bytes() + 2 * layout.pair_bytes()];
                for length in (0..bytes.len()).filter(|length| !whole.contains(length)) {
                    assert_eq!(Packet::parse(&bytes[..length], &layout), None, "{length} bytes");
                }
            }
        }
    }

    #[test]
    fn lanes_that_the_layout_does_not_have_are_refused() {
        let wide = Layout { lanes: 25, ..Layout::PIPELINE };
        let bytes = data(&wide, &[24]).bytes(&wide);
        assert_eq!(Packet::parse(&bytes, &Layout::PIPELINE), None);
    }
}
