//! Noise and broken frames: nothing panics, a broken memory is refused or works.
//!
//! `P4RACK_FUZZ_CACHE` says how many frames, `P4RACK_FUZZ_SEED` where to begin.
#![allow(clippy::disallowed_methods)]

use crate::support;

use base_time::Rng;
use dataplane_api::FrameExtern;
use features::setting;
use netfn_cache::KvCache;
use support::*;

const WORDS: &[&str] = &[
    "get ",
    "gets ",
    "set ",
    "add ",
    "replace ",
    "cas ",
    "delete ",
    "touch ",
    "gat ",
    "incr ",
    "flush_all ",
    "append ",
    "VALUE ",
    "END",
    "STORED",
    "a",
    "b",
    " ",
    "  ",
    "0 ",
    "1 ",
    "3 ",
    "-1 ",
    "4294967296 ",
    "99999999999999999999 ",
    "noreply",
    "\r\n",
    "\n",
    "\0",
    "x\r\n",
    "foo\r\n",
    "a 0 0 3\r\nfoo\r\n",
    "\u{e9}",
];

#[test]
fn no_text_panics() {
    let first = setting("P4RACK_FUZZ_SEED", 0);
    for seed in first..first + setting("P4RACK_FUZZ_CACHE", 50_000) / 500 {
        let mut rng = Rng::new(seed);
        let mut cache = KvCache::new(rng.between(1, 8) as usize, None);
        for _ in 0..500 {
            let words = rng.below(9);
            let text_of: String = (0..words).map(|_| *rng.pick(WORDS).unwrap()).collect();
            let id = rng.below(20) as u16;
            let mut frame = if rng.chance(1, 2) { request(1, id, &text_of) } else { answer(1, id, &text_of) };
            match rng.below(6) {
                0 => frame.truncate(rng.index(frame.len())),
                1 => {
                    let at = rng.index(frame.len());
                    frame[at] = rng.next_u8();
                }
                // Without a checksum of UDP: everything after it may be broken.
                2 => {
                    let at = 42 + rng.index(frame.len() - 42);
                    frame[at] = rng.next_u8();
                    frame[40..42].copy_from_slice(&[0, 0]);
                }
                _ => {}
            }
            if let Some(answer) = cache.process(&frame, ms(seed)) {
                assert!(text(&answer).ends_with("END\r\n"));
            }
        }
        let bytes = cache.snapshot();
        for _ in 0..10 {
            let mut bytes = bytes.clone();
            let at = rng.index(bytes.len());
            bytes[at] ^= 1 << rng.below(8);
            if cache.restore(&bytes).is_ok() {
                for id in 0..20 {
                    cache.process(&request(1, id, "get a b\r\n"), ms(seed));
                    cache.process(&answer(1, id, "VALUE a 0 1\r\nx\r\nEND\r\n"), ms(seed));
                }
            }
        }
    }
}
