//! Noise and broken tags: nothing panics, nothing grows without bound, and nothing that was not sent is delivered.
//!
//! `P4RACK_FUZZ_FEC` says how many frames, `P4RACK_FUZZ_SEED` where to begin.

#![allow(clippy::disallowed_methods)] // Settings come from the environment.

use crate::support;

use base_time::{Duration, Rng};
use features::setting;
use support::*;

/// A frame of an encoder's with something wrong, or noise with its EtherType.
fn broken(rng: &mut Rng, sent: &[Vec<u8>]) -> Vec<u8> {
    let mut frame = rng.pick(sent).cloned().unwrap_or_default();
    match rng.below(5) {
        0 => {
            let length = rng.index(80);
            frame = rng.bytes(length);
            if let Some(at) = frame.get_mut(12..15) {
                at.copy_from_slice(&[0x08, 0x1c, 0x10 << rng.below(2)]);
            }
        }
        1 => frame.truncate(rng.index(frame.len())),
        2 => (0..rng.between(1, 4)).for_each(|_| frame[14 + rng.index(12)] = rng.next_u8()),
        3 => frame[16 + rng.index(2)] ^= 1 << rng.below(8),
        _ => frame[25 - rng.index(2)] ^= 1 << rng.below(8),
    }
    frame
}

#[test]
fn no_tag_panics_or_makes_memory_grow() {
    let first = setting("P4RACK_FUZZ_SEED", 0);
    let mut most = 0;
    for seed in first..first + setting("P4RACK_FUZZ_FEC", 40_000) / 1000 {
        let mut rng = Rng::new(seed);
        let (k, h) = (rng.between(1, 12) as u8, rng.below(5) as u8);
        let mut sender = encoder(10);
        let sent: Vec<Vec<u8>> =
            (0..100).flat_map(|n| frames(encode(&mut *sender, &frame(n, 60), k, h, us(n.into())))).collect();
        let mut receiver = decoder(20, rng.below(16) as u8, 100, 1000);
        let mut now = us(0);
        for _ in 0..1000 {
            now += Duration::from_us(rng.below(3));
            let one =
                if rng.chance(1, 2) { rng.pick(&sent).cloned().unwrap() } else { broken(&mut rng, &sent) };
            let emitted = decode(&mut *receiver, &one, now);
            assert!(emitted.iter().filter(|e| e.carries_on).count() <= 1);
            if let Some(due) = receiver.deadline().filter(|due| *due <= now) {
                tick(&mut *receiver, due.max(now));
                assert!(receiver.deadline().is_none_or(|next| next > now));
            }
        }
        let bytes = receiver.snapshot();
        most = most.max(bytes.len());
        // A broken snapshot is refused, or makes a decoder that works.
        for _ in 0..20 {
            let mut bytes = bytes.clone();
            let at = rng.index(bytes.len());
            bytes[at] ^= 1 << rng.below(8);
            if receiver.restore(&bytes).is_ok() {
                sent.iter().take(50).for_each(|one| drop(decode(&mut *receiver, one, now)));
                if let Some(due) = receiver.deadline() {
                    tick(&mut *receiver, due);
                }
            }
        }
    }
    // 16 classes of 16 blocks of 144 frames of 150 bytes each would be 5.5 MB.
    assert!(most < 6_000_000, "{most}");
}
