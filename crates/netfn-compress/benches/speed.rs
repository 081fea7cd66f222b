//! Frames of 200 bytes per second and core, compressed and decompressed through the contract that devices use: 64 flows in turn.
//!
//! `cargo bench -p netfn-compress`
#![allow(clippy::disallowed_methods)]

#[path = "../tests/support/mod.rs"]
mod support;

use base_bits::Bits;
use base_time::{Rng, Time};
use dataplane_api::{Emitter, FrameExtern};
use std::hint::black_box;
use std::time::Instant;
use support::{Flow, compressor, decompressor};

const FRAMES: usize = 4096;
const ROUNDS: usize = 200;

/// Millions a second; the best of the rounds.
fn best(function: &mut dyn FrameExtern, frames: &[Vec<u8>]) -> f64 {
    let (args, mut out) = ([Bits::new(16, 1)], Emitter::default());
    let mut seconds = f64::MAX;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        for frame in frames {
            function.call("", &args, frame, Time::ZERO, &mut out);
            black_box(out.take());
        }
        seconds = seconds.min(begun.elapsed().as_secs_f64());
    }
    FRAMES as f64 / seconds / 1e6
}

fn main() {
    println!("million frames a second on one core   compress  decompress  bytes");
    for (name, is_ipv6, is_tcp, options) in [
        ("UDP, IPv4", false, false, 0),
        ("TCP, IPv4, timestamps", false, true, 12),
        ("TCP, IPv6, timestamps", true, true, 12),
    ] {
        let mut rng = Rng::new(1);
        let mut flows: Vec<Flow> = (0..64).map(|n| Flow::new(n, is_ipv6, is_tcp)).collect();
        flows.iter_mut().for_each(|flow| flow.options = options);
        let mut frame = |n: usize| {
            let flow = &mut flows[n % 64];
            flow.clock += 1;
            let payload = 200 - flow.clone().frame(&mut rng, 0, 0).len();
            flow.frame(&mut rng, payload, 0)
        };
        let frames: Vec<Vec<u8>> = (0..FRAMES).map(&mut frame).collect();
        let mut sender = compressor(1024, 0);
        let link: Vec<Vec<u8>> = frames.iter().map(|f| support::call(&mut *sender, 1, f).unwrap()).collect();
        let mut receiver = decompressor(1024);
        link.iter().for_each(|f| drop(support::call(&mut *receiver, 1, f)));
        let behind: Vec<Vec<u8>> =
            frames.iter().map(|f| support::call(&mut *sender, 1, f).unwrap()).collect();
        let (there, back) = (best(&mut *sender, &frames), best(&mut *receiver, &behind));
        println!("{name:<37} {there:9.2} {back:11.2} {:6}", behind[0].len());
    }
}
