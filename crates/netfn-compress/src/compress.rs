//! Contexts of flows, and frames without the fields that equal their reference.

use crate::PORTS;
use crate::block::{ADDRESSES, Block, FIELDS};
use crate::crc::crc16;
use crate::wire::{AS_IT_WAS, HEAD, Head, IP_LENGTH, PAYLOAD_LENGTH, REFERENCE, SHORT, is_compressed};
use base_time::Time;
use std::collections::BTreeMap;

/// Counters of a compressor.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counted {
    /// Frames that went on as they were.
    pub plain: u64,
    /// Frames with their reference.
    pub references: u64,
    /// Frames without.
    pub compressed: u64,
    /// Bytes that came, of all frames.
    pub bytes_in: u64,
    /// Bytes that went on.
    pub bytes_out: u64,
}

/// Associativity: number of contexts that may hold a flow.
pub(crate) const WAYS: usize = 4;
/// Number of frames that carry a new reference.
const SHOWN: u8 = 3;
/// After so many frames in a row that do not fit it a flow gets another reference.
const MISFITS: u8 = 4;

/// Makes headers short.
#[derive(Clone, Default, Debug)]
pub struct Compressor {
    pub(crate) contexts: u16,
    pub(crate) refresh: u16,
    pub(crate) ports: BTreeMap<u16, Vec<Context>>,
    /// Counts frames, to know which context was used last.
    pub(crate) clock: u64,
    pub(crate) counted: Counted,
}

/// State of a flow, and its generation, which goes on when another flow replaces it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Context {
    pub(crate) flow: Option<Flow>,
    pub(crate) generation: u8,
    pub(crate) used: u64,
}

impl Context {
    /// The first generation comes of the time: a compressor that restarts is not taken for the one before.
    fn beginning(now: Time) -> Context {
        let scattered = now.as_ps().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Context { generation: (scattered >> 56) as u8, ..Context::default() }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Flow {
    pub(crate) reference: Block,
    /// Fields that every frame of the flow must have.
    pub(crate) kept: Block,
    /// Frames that have carried the reference, as far as that matters.
    pub(crate) shown: u8,
    /// Frames since one did.
    pub(crate) since: u16,
    pub(crate) misfits: u8,
}

impl Compressor {
    /// An empty one.
    pub fn new(contexts: u16, refresh: u16) -> Compressor {
        Compressor { contexts, refresh, ..Compressor::default() }
    }

    /// Counters so far.
    pub fn counted(&self) -> Counted {
        self.counted
    }

    /// The frame as it goes out by `port`.
    pub fn compress(&mut self, port: u16, frame: &[u8], now: Time) -> Vec<u8> {
        let out = match Block::of_frame(frame) {
            Some(parts) => self.with_context((port, now), frame, parts),
            None if is_compressed(frame) => Some(as_it_was(frame)),
            None => None,
        };
        let out = out.unwrap_or_else(|| {
            self.counted.plain += 1;
            frame.to_vec()
        });
        self.counted.bytes_in += frame.len() as u64;
        self.counted.bytes_out += out.len() as u64;
        out
    }

    fn with_context(
        &mut self,
        (port, time): (u16, Time),
        frame: &[u8],
        (block, length, payload): (Block, usize, &[u8]),
    ) -> Option<Vec<u8>> {
        if self.ports.len() == PORTS && !self.ports.contains_key(&port) {
            return None;
        }
        self.clock += 1;
        let (count, refresh, now) = (self.contexts, self.refresh, self.clock);
        let contexts = self.ports.entry(port).or_insert_with(|| vec![Context::beginning(time); count.into()]);
        let number = choose(contexts, &block);
        let context = &mut contexts[number];
        context.used = now;
        let kept = block.kept();
        // A frame with other values in the fields that a flow keeps is sent as it is; only several in a row replace the reference.
        match &mut context.flow {
            Some(flow) if flow.kept == kept => flow.misfits = 0,
            Some(flow) if flow.kept.flow() == kept.flow() && flow.misfits + 1 < MISFITS => {
                flow.misfits += 1;
                return None;
            }
            flow => {
                context.generation = context.generation.wrapping_add(1);
                *flow = Some(Flow { reference: block, kept, shown: 0, since: 0, misfits: 0 });
            }
        }
        let generation = context.generation;
        let flow = context.flow.as_mut()?;
        let shows = flow.shown < SHOWN || refresh > 0 && flow.since >= refresh;
        (flow.shown, flow.since) = match shows {
            true => (flow.shown.saturating_add(1).min(SHOWN), 1),
            false => (flow.shown, flow.since.saturating_add(1)),
        };
        match shows {
            true => self.counted.references += 1,
            false => self.counted.compressed += 1,
        }
        let head = Head { context: number as u16, generation, present: 0, check: crc16(block.bytes()) };
        Some(written(head, frame, (&block, &flow.reference), shows, length, payload))
    }
}

/// The context of a flow: its own, an empty one, or the one of four that was not used for longest.
fn choose(contexts: &[Context], block: &Block) -> usize {
    let flow = block.flow();
    let sets = contexts.len() / WAYS;
    let first = (hash(&flow) as usize & (sets - 1)) * WAYS;
    let ways = first..first + WAYS;
    let own = |at: &usize| contexts[*at].flow.as_ref().is_some_and(|known| known.kept.flow() == flow);
    let oldest = ways.clone().min_by_key(|at| (contexts[*at].flow.is_some(), contexts[*at].used));
    ways.clone().find(own).or(oldest).unwrap_or(first)
}

fn hash(flow: &[u8; 37]) -> u64 {
    let (words, rest) = flow.as_chunks::<8>();
    let start = rest.iter().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
    let all = words.iter().fold(start, |hash, word| {
        let product = u128::from(hash ^ u64::from_le_bytes(*word)) * 0x9e37_79b9_7f4a_7c15_u128;
        product as u64 ^ (product >> 64) as u64
    });
    all ^ all >> 32
}

fn written(
    mut head: Head,
    frame: &[u8],
    (block, reference): (&Block, &Block),
    shows: bool,
    length: usize,
    payload: &[u8],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(frame.len() + SHORT);
    out.extend_from_slice(&frame[..ADDRESSES]);
    out.extend_from_slice(&[0; HEAD]);
    for field in 0..FIELDS {
        if let Some(at) = block.field(field) {
            let bytes = block.get(at.clone());
            if bytes != reference.get(at) {
                head.present |= 1 << field;
                out.extend_from_slice(bytes);
            }
        }
    }
    if length != block.length_with(payload.len()) {
        head.present |= IP_LENGTH;
        out.extend_from_slice(&(length as u16).to_be_bytes());
    }
    // The link may pad so short a frame.
    if out.len() + payload.len() <= SHORT {
        head.present |= PAYLOAD_LENGTH;
        out.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    }
    if shows {
        head.present |= REFERENCE;
        out.push(reference.bytes().len() as u8);
        out.extend_from_slice(reference.bytes());
    }
    out[ADDRESSES..ADDRESSES + HEAD].copy_from_slice(&head.bytes());
    out.extend_from_slice(payload);
    out
}

/// A frame that looks as if it were compressed.
fn as_it_was(frame: &[u8]) -> Vec<u8> {
    let (addresses, rest) = frame.split_at(ADDRESSES);
    let head = Head { context: 0, generation: 0, present: PAYLOAD_LENGTH | AS_IT_WAS, check: 0 };
    let length = (rest.len() as u16).to_be_bytes();
    [addresses, &head.bytes(), &length, rest].concat()
}
