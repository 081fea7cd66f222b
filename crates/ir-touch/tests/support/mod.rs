//! The example apps with random packets, for tests.

use base_bits::Bits;
use base_diag::SourceMap;
use base_time::Rng;
use device::trace::{Event, EventKind};
use ir::Program;
use ir_keys::{Keys, Source};
use p4_arch::Texts;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

const HEADERS: &str = include_str!("../../../../examples/apps/headers.p4");
const TRANSLATE: &str = include_str!("../../../../examples/apps/translate.p4");
/// Name and source of each app.
pub const APPS: [(&str, &str); 3] = [
    ("acl", include_str!("../../../../examples/apps/acl.p4")),
    ("firewall", include_str!("../../../../examples/apps/firewall.p4")),
    ("nat", include_str!("../../../../examples/apps/nat.p4")),
];

/// The program with this source. A process compiles it once.
pub fn compiled(source: &str) -> Program {
    static KNOWN: Mutex<BTreeMap<String, Program>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(source.to_string()).or_insert_with(|| compile(source)).clone()
}

fn compile(source: &str) -> Program {
    let texts = [("app.p4", source), ("headers.p4", HEADERS), ("translate.p4", TRANSLATE)];
    let options = p4_syntax::Options::default();
    ir_elaborate::program("app.p4", &Texts(&texts), &options, &mut SourceMap::new()).expect("it compiles")
}

pub fn bits(width: u32, value: u64) -> Bits {
    Bits::new(width, u128::from(value))
}

/// Addresses, ports and so on of packets and entries: few, so that they meet.
pub fn small(rng: &mut Rng, width: u32) -> Bits {
    let value = rng.below(4).min((1 << width.min(8)) - 1);
    // Bit 2 of an address, unlike bits 0 and 1, changes the lowest bit of the CRC-32 by which packets go to one of two helpers.
    bits(width, if width == 32 { value & 1 | (value & 2) << 1 } else { value })
}

/// Ethernet, IPv4, TCP or UDP, with all that may be wrong about them.
pub fn packet(rng: &mut Rng) -> Vec<u8> {
    packet_of(rng, &[6, 17, 17, 1], 10)
}

/// The same with one of these protocols; one of `short` packets is cut short.
pub fn packet_of(rng: &mut Rng, protocols: &[u64], short: u64) -> Vec<u8> {
    let mut frame = base_bits::BitWriter::new();
    for _ in 0..2 {
        frame.push(&bits(48, rng.below(3)));
    }
    frame.push(&bits(16, if rng.chance(1, 10) { 0x86dd } else { 0x800 }));
    frame.push(&bits(8, if rng.chance(1, 10) { 0x46 } else { 0x45 }));
    frame.push(&bits(40, rng.below(100)));
    frame.push(&bits(16, if rng.chance(1, 10) { 1 } else { 0 }));
    frame.push(&bits(8, rng.below(4)));
    frame.push(&bits(8, protocols[rng.index(protocols.len())]));
    frame.push(&bits(16, 0));
    for _ in 0..2 {
        frame.push(&small(rng, 32));
    }
    for _ in 0..2 {
        frame.push(&small(rng, 16));
    }
    let mut frame = frame.finish();
    if rng.chance(9, 10) {
        let words = frame[14..34].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum: u32 = words.sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
        frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    }
    frame.resize(64, 0);
    if rng.chance(1, short) {
        frame.truncate(rng.index(64));
    }
    frame
}

/// The union key of a packet, from the headers that the parser has taken off.
pub fn flow(keys: &Keys, port: u32, events: &[Event]) -> Vec<Bits> {
    let mut fields = BTreeMap::new();
    for event in events {
        if let EventKind::Extract { header, fields: of, .. } = &event.kind {
            for (name, shown) in of {
                fields.insert(format!("{header}.{name}"), shown.bits().cloned());
            }
        }
    }
    let part = |part: &ir_keys::Part| match part.source {
        Source::Port => bits(part.width, u64::from(port)),
        Source::Field(_) => {
            let field = fields.get(part.name.as_str()).cloned().flatten();
            field.unwrap_or_else(|| bits(part.width, 0))
        }
    };
    keys.key.parts.iter().map(part).collect()
}
