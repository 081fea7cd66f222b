//! References of contexts, and headers made whole.

use crate::PORTS;
use crate::block::{ADDRESSES, Block, FIELDS, WIDTHS};
use crate::crc::crc16;
use crate::wire::{AS_IT_WAS, Head, IP_LENGTH, KNOWN, PAYLOAD_LENGTH, REFERENCE, Reader, is_compressed};
use std::collections::BTreeMap;

/// Counters of a decompressor.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counted {
    /// Frames that went on whole.
    pub whole: u64,
    /// Frames dropped because no compressor writes such frames.
    pub malformed: u64,
    /// Frames that ended, since their reference is not known.
    pub unknown: u64,
    /// Frames that ended, since their headers do not have their check.
    pub mismatched: u64,
}

/// Makes headers whole.
#[derive(Clone, Default, Debug)]
pub struct Decompressor {
    pub(crate) contexts: u16,
    pub(crate) ports: BTreeMap<u16, Vec<Context>>,
    pub(crate) counted: Counted,
}

/// The last references of a context, with their generations, the last one first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Context {
    pub(crate) references: [Option<(u8, Block)>; 2],
}

impl Context {
    fn reference(&self, generation: u8) -> Option<Block> {
        let known = self.references.iter().flatten().find(|(known, _)| *known == generation);
        known.map(|(_, block)| *block)
    }

    fn learn(&mut self, generation: u8, block: Block) {
        match &mut self.references {
            [Some((known, reference)), _] if *known == generation => *reference = block,
            [_, Some((known, reference))] if *known == generation => *reference = block,
            [last, before] => {
                *before = last.take();
                *last = Some((generation, block));
            }
        }
    }
}

/// Content after a head.
struct Parts<'a> {
    fields: [Option<&'a [u8]>; FIELDS],
    /// Length of the IP packet, if it does not follow from the payload.
    length: Option<u16>,
    reference: Option<&'a [u8]>,
    payload: &'a [u8],
}

impl<'a> Parts<'a> {
    fn read(head: &Head, mut from: Reader<'a>) -> Option<Parts<'a>> {
        let mut fields = [None; FIELDS];
        for (bit, (field, width)) in fields.iter_mut().zip(WIDTHS).enumerate() {
            if head.has(1 << bit) {
                *field = Some(from.take(width)?);
            }
        }
        let mut number = |bit| if head.has(bit) { from.u16().map(Some) } else { Some(None) };
        let length = number(IP_LENGTH)?;
        let payload = number(PAYLOAD_LENGTH)?;
        let reference = match head.has(REFERENCE) {
            true => {
                let length = from.u8()?;
                Some(from.take(length.into())?)
            }
            false => None,
        };
        let payload = match payload {
            Some(length) => from.take(length.into())?,
            None => from.rest(),
        };
        Some(Parts { fields, length, reference, payload })
    }

    /// `reference` with the fields that came. `None` if it does not have them, or if the lengths cannot be.
    fn filled(&self, reference: Block) -> Option<Block> {
        let mut block = reference;
        for (field, bytes) in self.fields.iter().enumerate() {
            if let Some(bytes) = bytes {
                block.set(reference.field(field)?, bytes);
            }
        }
        let longest = block.length_with(self.payload.len());
        let length = self.length.map_or(longest, usize::from);
        let fits = (block.length_with(0)..=longest).contains(&length) && length <= usize::from(u16::MAX);
        block.derive(length);
        fits.then_some(block)
    }
}

/// Reason why a frame is dropped.
enum Ended {
    Malformed,
    Unknown,
    Mismatched,
}

impl Decompressor {
    /// An empty one.
    pub fn new(contexts: u16) -> Decompressor {
        Decompressor { contexts, ..Decompressor::default() }
    }

    /// Counters so far.
    pub fn counted(&self) -> Counted {
        self.counted
    }

    /// The frame that was compressed; `None` if it ends here.
    pub fn decompress(&mut self, port: u16, frame: &[u8]) -> Option<Vec<u8>> {
        if !is_compressed(frame) {
            return Some(frame.to_vec());
        }
        let whole = self.whole(port, frame);
        let counted = &mut self.counted;
        match whole {
            Ok(_) => counted.whole += 1,
            Err(Ended::Malformed) => counted.malformed += 1,
            Err(Ended::Unknown) => counted.unknown += 1,
            Err(Ended::Mismatched) => counted.mismatched += 1,
        }
        whole.ok()
    }

    fn whole(&mut self, port: u16, frame: &[u8]) -> Result<Vec<u8>, Ended> {
        let (addresses, rest) = frame.split_at(ADDRESSES);
        let mut from = Reader::new(&rest[2..]);
        let head = Head::read(&mut from).ok_or(Ended::Malformed)?;
        if head.has(AS_IT_WAS) {
            let only = head.present == AS_IT_WAS | PAYLOAD_LENGTH;
            let rest = only.then(|| from.u16()).flatten().and_then(|length| from.take(length.into()));
            return rest.map(|rest| [addresses, rest].concat()).ok_or(Ended::Malformed);
        }
        if head.present & !KNOWN != 0 || head.context >= self.contexts {
            return Err(Ended::Malformed);
        }
        let parts = Parts::read(&head, from).ok_or(Ended::Malformed)?;
        let brought = match parts.reference {
            Some(bytes) => Some(Block::of_reference(bytes).ok_or(Ended::Malformed)?),
            None => None,
        };
        let known = || self.ports.get(&port)?[usize::from(head.context)].reference(head.generation);
        let reference = brought.or_else(known).ok_or(Ended::Unknown)?;
        let block = parts.filled(reference).ok_or(Ended::Malformed)?;
        if crc16(block.bytes()) != head.check {
            return Err(Ended::Mismatched);
        }
        // Only a frame whose check is right may replace a reference.
        if let Some(reference) = brought {
            if self.ports.len() == PORTS && !self.ports.contains_key(&port) {
                return Err(Ended::Unknown);
            }
            let count = self.contexts;
            let all = self.ports.entry(port).or_insert_with(|| vec![Context::default(); count.into()]);
            all[usize::from(head.context)].learn(head.generation, reference);
        }
        Ok([addresses, block.bytes(), parts.payload].concat())
    }
}
