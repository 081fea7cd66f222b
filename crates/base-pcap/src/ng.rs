//! Files of pcapng, block by block.

use crate::Frame;
use crate::link::{ethernet, without_fcs};
use crate::reader::{BUFFER, LARGEST_BLOCK, ReadError, at};
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{
    Block, EnhancedPacketBlock, InterfaceDescriptionBlock, PcapBlockOwned, PcapError, create_reader,
};
use std::io::Read;

/// The most interfaces that a section may describe.
const MOST_INTERFACES: usize = 1 << 16;

/// A file that is being read.
pub(crate) struct Ng<'r> {
    blocks: Box<dyn PcapReaderIterator + Send + 'r>,
    offset: u64,
    capacity: usize,
    interfaces: Vec<Interface>,
    /// The bytes of the frame that was read last.
    pub(crate) bytes: Vec<u8>,
}

/// An interface of a section.
#[derive(Clone, Copy)]
struct Interface {
    /// Ticks in a second.
    ticks: u64,
    /// Added to all times, in seconds.
    offset: i64,
    /// Bytes kept of a packet; 0 for all.
    snaplen: u32,
    /// Bytes of frame check sequence after each frame.
    fcs: u32,
}

enum Step {
    /// A block of so many bytes, and the time and length on the wire of its frame.
    Block(usize, Option<(u64, u32)>),
    More,
    Grow,
}

impl<'r> Ng<'r> {
    /// Begins to read; a classic file is none.
    pub(crate) fn new(source: impl Read + Send + 'r) -> Result<Ng<'r>, ReadError> {
        let blocks = create_reader(BUFFER, source).map_err(|e| match e {
            PcapError::Eof => at(0, "the file is empty"),
            PcapError::Incomplete(_) => at(0, "the file ends within its header"),
            PcapError::ReadError => at(0, "the file cannot be read"),
            _ => at(0, "this is neither a pcap nor a pcapng file"),
        })?;
        Ok(Ng { blocks, offset: 0, capacity: BUFFER, interfaces: vec![], bytes: vec![] })
    }

    /// Reads the next frame, if there is one: its time and its length on the wire.
    pub(crate) fn advance(&mut self) -> Result<Option<(u64, u32)>, ReadError> {
        loop {
            let (interfaces, bytes, offset) = (&mut self.interfaces, &mut self.bytes, self.offset);
            let step = match self.blocks.next() {
                Ok((length, PcapBlockOwned::NG(block))) => {
                    let frame = take_block(&block, interfaces).map_err(|m| at(offset, m))?;
                    let frame = frame.map(|Frame { nanos, bytes: kept, original }| {
                        bytes.clear();
                        bytes.extend_from_slice(kept);
                        (nanos, original)
                    });
                    Step::Block(length, frame)
                }
                Ok(_) => return Err(at(offset, "this block is of a classic file")),
                Err(PcapError::Eof) => return Ok(None),
                Err(PcapError::Incomplete(_)) => Step::More,
                Err(PcapError::BufferTooSmall) => Step::Grow,
                Err(PcapError::UnexpectedEof) => {
                    return Err(at(offset, "the file ends within a block"));
                }
                Err(PcapError::ReadError) => return Err(at(offset, "the file cannot be read")),
                Err(_) => return Err(at(offset, "this block is malformed")),
            };
            match step {
                Step::Block(length, frame) => {
                    self.blocks.consume(length);
                    self.offset += length as u64;
                    if frame.is_some() {
                        return Ok(frame);
                    }
                }
                Step::More => self.refill()?,
                Step::Grow => self.grow()?,
            }
        }
    }

    fn refill(&mut self) -> Result<(), ReadError> {
        let offset = self.offset;
        self.blocks.refill().map_err(|_| at(offset, "the file cannot be read"))
    }

    /// Makes room for a longer block; a file that is at its end has none.
    fn grow(&mut self) -> Result<(), ReadError> {
        if self.capacity >= LARGEST_BLOCK {
            return Err(at(self.offset, format!("this block is longer than {LARGEST_BLOCK} bytes")));
        }
        let before = self.blocks.data().len();
        self.capacity *= 2;
        self.blocks.grow(self.capacity);
        self.refill()?;
        if self.blocks.data().len() == before {
            return Err(at(self.offset, "the file ends within a block"));
        }
        Ok(())
    }
}

/// Frame of a block, if it has one; descriptions of interfaces are noted.
fn take_block<'b>(block: &'b Block, interfaces: &mut Vec<Interface>) -> Result<Option<Frame<'b>>, String> {
    match block {
        Block::SectionHeader(_) => {
            interfaces.clear();
            Ok(None)
        }
        Block::InterfaceDescription(described) => {
            ethernet(described.linktype.0 as u32)?;
            if interfaces.len() >= MOST_INTERFACES {
                return Err(format!("a section describes more than {MOST_INTERFACES} interfaces"));
            }
            let ticks = ticks(described.if_tsresol).ok_or("this time resolution is out of range")?;
            let fcs = fcs_of_interface(described);
            let (offset, snaplen) = (described.if_tsoffset, described.snaplen);
            interfaces.push(Interface { ticks, offset, snaplen, fcs });
            Ok(None)
        }
        Block::EnhancedPacket(packet) => {
            let known = interfaces.get(packet.if_id as usize).ok_or_else(|| unknown(packet.if_id))?;
            let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(known.ticks);
            let nanos = i128::try_from(nanos).unwrap_or(i128::MAX);
            let nanos = nanos.saturating_add(i128::from(known.offset) * 1_000_000_000);
            let frame = packet.packet_data();
            if frame.len() < packet.caplen as usize {
                return Err("this packet is longer than its block".to_string());
            }
            let fcs = fcs_of_packet(packet).unwrap_or(known.fcs);
            let (bytes, original) = without_fcs(frame, packet.origlen, fcs);
            let nanos = u64::try_from(nanos.max(0)).unwrap_or(u64::MAX);
            Ok(Some(Frame { nanos, bytes, original }))
        }
        // A simple packet names no interface and has no time.
        Block::SimplePacket(packet) => {
            let known = interfaces.first().ok_or_else(|| unknown(0))?;
            let kept = if known.snaplen == 0 { u32::MAX } else { known.snaplen };
            let kept = kept.min(packet.origlen) as usize;
            let frame = packet.data.get(..kept).ok_or("this packet is longer than its block")?;
            let (bytes, original) = without_fcs(frame, packet.origlen, known.fcs);
            Ok(Some(Frame { nanos: 0, bytes, original }))
        }
        _ => Ok(None),
    }
}

fn unknown(interface: u32) -> String {
    format!("this packet is of interface {interface}, which is not described before it")
}

/// `if_fcslen`, in bits.
fn fcs_of_interface(described: &InterfaceDescriptionBlock) -> u32 {
    let option = described.options.iter().find(|option| option.code.0 == 13);
    let bits = option.and_then(|option| option.as_bytes().ok()?.first().copied()).unwrap_or(0);
    u32::from(bits) / 8
}

/// The bits 5 to 8 of `epb_flags`, in bytes; zero says nothing.
fn fcs_of_packet(packet: &EnhancedPacketBlock) -> Option<u32> {
    let option = packet.options.iter().find(|option| option.code.0 == 2)?;
    let bytes: [u8; 4] = option.as_bytes().ok()?.try_into().ok()?;
    let flags = if packet.big_endian() { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
    Some(flags >> 5 & 0xf).filter(|length| *length > 0)
}

/// `if_tsresol`: a power of 10, or of 2 if the highest bit is set.
fn ticks(resolution: u8) -> Option<u64> {
    let exponent = u32::from(resolution & 0x7f);
    let base: u64 = if resolution & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(exponent)
}
