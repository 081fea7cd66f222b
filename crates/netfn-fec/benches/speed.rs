//! Speed of encoding and decoding frames on one core, through the contract that devices use; beside it, the code alone as
//! `reed-solomon-simd` offers it, without tags, order and timers.
//!
//! `cargo bench -p netfn-fec`
#![allow(clippy::disallowed_methods)]

use base_bits::Bits;
use base_time::{Rng, Time};
use dataplane_api::{Emitter, FrameExtern};
use netfn_fec::{Decoder, Encoder, Limits};
use std::hint::black_box;
use std::time::Instant;

const LENGTH: usize = 1000;
const FRAMES: usize = 5000;
const ROUNDS: usize = 15;

/// Gbit/s of user frames; the best of the rounds.
fn best(mut round: impl FnMut()) -> f64 {
    let seconds = (0..ROUNDS).map(|_| {
        let begun = Instant::now();
        round();
        begun.elapsed().as_secs_f64()
    });
    (FRAMES * LENGTH * 8) as f64 / seconds.fold(f64::MAX, f64::min) / 1e9
}

fn main() {
    let mut rng = Rng::new(1);
    let frames: Vec<Vec<u8>> = (0..FRAMES).map(|_| rng.bytes(LENGTH)).collect();
    println!("{LENGTH}-byte frames, Gbit/s of user data on one core");
    println!(
        "  k   h  encode  peer's encode  decode, 1 erasure a block  decode, h erasures  peer's decode, h erasures"
    );
    for (k, h) in [(5, 1), (5, 2), (50, 1), (50, 5)] {
        measure(&frames, k, h);
    }
}

fn measure(frames: &[Vec<u8>], k: usize, h: usize) {
    let args = [Bits::new(16, 1), Bits::new(8, 0), Bits::new(8, k as u128), Bits::new(8, h as u128)];
    let encode = best(|| {
        let mut encoder = Encoder::new(base_time::Duration::from_us(1));
        let mut out = Emitter::default();
        for frame in frames {
            encoder.call("encode", &args, frame, Time::ZERO, &mut out);
            black_box(out.take());
        }
    });
    let mut link = vec![];
    let mut encoder = Encoder::new(base_time::Duration::from_us(1));
    let mut out = Emitter::default();
    for frame in frames {
        encoder.call("encode", &args, frame, Time::ZERO, &mut out);
        link.extend(out.take().into_iter().map(|e| e.frame));
    }
    let decode = |lost: usize| {
        let came: Vec<&Vec<u8>> =
            link.iter().enumerate().filter(|(at, _)| at % (k + h) >= lost).map(|(_, frame)| frame).collect();
        best(|| {
            let mut decoder = Decoder::new(Limits::default());
            let (mut out, mut given) = (Emitter::default(), 0);
            for frame in &came {
                decoder.call("decode", &args[..1], frame, Time::ZERO, &mut out);
                given += black_box(out.take()).len();
            }
            assert_eq!(given, FRAMES);
        })
    };
    let (one, all) = (decode(1), decode(h));
    let peer_encode = best(|| {
        for block in frames.chunks(k) {
            black_box(reed_solomon_simd::encode(k, h, block).unwrap());
        }
    });
    let parity: Vec<Vec<Vec<u8>>> =
        frames.chunks(k).map(|block| reed_solomon_simd::encode(k, h, block).unwrap()).collect();
    let peer_decode = best(|| {
        for (block, parity) in frames.chunks(k).zip(&parity) {
            let original = block.iter().enumerate().skip(h);
            let recovery = parity.iter().enumerate();
            black_box(reed_solomon_simd::decode(k, h, original, recovery).unwrap());
        }
    });
    println!("{k:3} {h:3} {encode:7.1} {peer_encode:14.1} {one:26.1} {all:19.1} {peer_decode:26.1}");
}
