//! Random flows over links that lose, reorder, double and pad: whatever comes out is what went in. Beside it, a model that reads the format
//! as its description says.
//!
//! `P4RACK_FUZZ_COMPRESS` says how many links, `P4RACK_FUZZ_SEED` where to begin.
#![allow(clippy::disallowed_methods)]

use crate::support;

use base_time::Rng;
use features::setting;
use std::collections::BTreeMap;
use support::*;

/// A decompressor that knows every reference that was ever sent.
#[derive(Default)]
struct Model {
    references: BTreeMap<(u16, u8), Vec<u8>>,
}

impl Model {
    fn whole(&mut self, link: &[u8]) -> Vec<u8> {
        if link[12..14] != [0x12, 0x34] {
            return link.to_vec();
        }
        let mut rest = &link[14..];
        let mut take = |count: usize| {
            let (head, tail) = rest.split_at(count);
            rest = tail;
            head
        };
        let number = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | usize::from(*byte));
        let (context, generation, present) = (number(take(2)) as u16, take(1)[0], number(take(2)));
        take(2);
        let widths = [1, 2, 1, 2, 4, 4, 1, 2, 2, 8, 2, 2, 2];
        let fields: Vec<Option<&[u8]>> =
            (0..13).map(|bit| (present >> bit & 1 == 1).then(|| take(widths[bit]))).collect();
        if present >> 13 & 1 == 1 {
            let length = number(take(1));
            self.references.insert((context, generation), take(length).to_vec());
        }
        let payload = fields[12].map_or(rest, |length| &rest[..number(length)]);
        let mut block = self.references[&(context, generation)].clone();
        let is_ipv6 = block[0] == 0x86;
        let transport = if is_ipv6 { 42 } else { 2 + usize::from(block[2] & 15) * 4 };
        let is_tcp = block[if is_ipv6 { 8 } else { 11 }] == 6;
        let check = transport + if is_tcp { 16 } else { 6 };
        let ttl = if is_ipv6 { 9 } else { 10 };
        let places = [
            3,
            2,
            ttl,
            6,
            transport + 4,
            transport + 8,
            transport + 13,
            transport + 14,
            transport + 18,
            transport + 24,
            check,
        ];
        for (field, at) in fields.iter().zip(places) {
            if let Some(bytes) = field {
                block[at..at + bytes.len()].copy_from_slice(bytes);
            }
        }
        let length = fields[11].map_or(block.len() - 2 + payload.len(), number);
        let be = |n: usize| (n as u16).to_be_bytes();
        if is_ipv6 {
            block[6..8].copy_from_slice(&be(length - 40));
        } else {
            block[4..6].copy_from_slice(&be(length));
            block[12..14].copy_from_slice(&[0, 0]);
            let sum: usize = block[2..transport].chunks(2).map(number).sum();
            let once = (sum & 0xffff) + (sum >> 16);
            block[12..14].copy_from_slice(&be(0xffff - ((once & 0xffff) + (once >> 16))));
        }
        if !is_tcp {
            block[transport + 4..transport + 6].copy_from_slice(&be(length + 2 - transport));
        }
        [&link[..12], &block, payload].concat()
    }
}

/// Frames of a few flows, changed on the way, on one port, with what goes over the link.
fn link(rng: &mut Rng, contexts: u16, refresh: u16, count: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let flows = rng.between(1, 12) as u16;
    let mut flows: Vec<Flow> = (0..flows).map(|n| Flow::random(rng, n)).collect();
    let mut sender = compressor(contexts, refresh);
    let mut sent = vec![];
    for _ in 0..count {
        let flow = rng.index(flows.len());
        flows[flow].change(rng);
        let (payload, trailer) = (rng.index(80), if rng.chance(1, 5) { rng.index(9) } else { 0 });
        let frame = flows[flow].frame(rng, payload, trailer);
        let bytes = call(&mut *sender, 5, &frame).unwrap();
        sent.push((frame, bytes));
        if rng.chance(1, 30) {
            let bytes = sender.snapshot();
            sender = compressor(contexts, refresh);
            sender.restore(&bytes).unwrap();
            assert_eq!(sender.snapshot(), bytes);
        }
    }
    sent
}

/// Links fill short frames up.
fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.len() < 60 {
        bytes.resize(60, 0);
    }
    bytes
}

#[test]
fn every_frame_comes_back_as_the_format_says() {
    let mut short = 0;
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let contexts = 4 << rng.below(4);
        let refresh = rng.below(20) as u16;
        let (mut receiver, mut model) = (decompressor(contexts), Model::default());
        for (frame, bytes) in link(&mut rng, contexts, refresh, 200) {
            short += usize::from(bytes.len() < frame.len());
            // Uncompressed frames carry no length.
            let bytes = if bytes[12..14] == [0x12, 0x34] { padded(&bytes) } else { bytes };
            assert_eq!(model.whole(&bytes), frame, "seed {seed}");
            assert_eq!(call(&mut *receiver, 5, &bytes).as_ref(), Some(&frame), "seed {seed}");
            if rng.chance(1, 30) {
                let bytes = receiver.snapshot();
                receiver = decompressor(contexts);
                receiver.restore(&bytes).unwrap();
                assert_eq!(receiver.snapshot(), bytes);
            }
        }
    }
    assert!(short > 15_000, "{short} of 40,000");
}

#[test]
fn nothing_wrong_comes_out_of_a_bad_link() {
    let first = setting("P4RACK_FUZZ_SEED", 0);
    let (mut whole, mut ended) = (0u64, 0u64);
    for seed in first..first + setting("P4RACK_FUZZ_COMPRESS", 300) {
        let mut rng = Rng::new(seed);
        let contexts = 4 << rng.below(3);
        let refresh = rng.between(5, 30) as u16;
        let sent = link(&mut rng, contexts, refresh, 400);
        let mut receiver = decompressor(contexts);
        let (loss, far) = (rng.below(70), 1 + rng.below(12));
        let mut arriving: Vec<(u64, usize)> = vec![];
        for at in 0..sent.len() {
            // In bursts, so that all frames with a reference may be gone.
            let is_burst = at / 40 % 3 == 2 && rng.chance(9, 10);
            let copies = if is_burst || rng.chance(loss, 100) { 0 } else { 1 + u64::from(rng.chance(1, 10)) };
            (0..copies).for_each(|_| arriving.push((at as u64 + rng.below(far), at)));
        }
        arriving.sort_unstable();
        for (_, at) in arriving {
            let (frame, bytes) = &sent[at];
            match call(&mut *receiver, 5, bytes) {
                Some(got) => {
                    assert_eq!(got, *frame, "seed {seed}");
                    whole += 1;
                }
                None => ended += 1,
            }
        }
    }
    assert!(whole > 10 * ended && ended > 100, "{whole} whole, {ended} ended");
}

#[test]
fn noise_does_no_harm() {
    let first = setting("P4RACK_FUZZ_SEED", 0);
    for seed in first..first + setting("P4RACK_FUZZ_COMPRESS", 300) {
        let mut rng = Rng::new(seed);
        let sent = link(&mut rng, 8, 5, 60);
        let (mut sender, mut receiver) = (compressor(8, 3), decompressor(8));
        for _ in 0..200 {
            let (frame, bytes) = rng.pick(&sent).unwrap();
            let mut bytes = bytes.clone();
            call(&mut *receiver, 1, &bytes);
            match rng.below(4) {
                0 => bytes.truncate(rng.index(bytes.len())),
                1 => bytes = [&[0; 12][..], &[0x12, 0x34], &rng.bytes(40)].concat(),
                _ => (0..rng.between(1, 3)).for_each(|_| {
                    let at = 12 + rng.index(30.min(bytes.len() - 12));
                    bytes[at] = rng.next_u8();
                }),
            }
            if let Some(frame) = call(&mut *receiver, 1, &bytes) {
                // Whatever comes out is a frame that can be sent on.
                call(&mut *sender, 1, &frame);
            }
            let mut frame = frame.clone();
            let at = rng.index(frame.len());
            frame[at] = rng.next_u8();
            let link = call(&mut *sender, 2, &frame).unwrap();
            let mut other = decompressor(8);
            let whole = call(&mut *other, 2, &link);
            assert!(whole.is_none_or(|whole| whole == frame));
        }
        for function in [&mut sender, &mut receiver] {
            let bytes = function.snapshot();
            for _ in 0..20 {
                let mut bytes = bytes.clone();
                let at = rng.index(bytes.len());
                bytes[at] ^= 1 << rng.below(8);
                if function.restore(&bytes).is_ok() {
                    sent.iter().take(9).for_each(|(_, bytes)| drop(call(&mut **function, 1, bytes)));
                }
            }
        }
    }
}
