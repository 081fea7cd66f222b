//! Packets a second of the router on one core: 1000 routes, 60-byte packets. `cargo bench -p target-native`.

#[path = "../tests/common/mod.rs"]
mod common;

use base_time::{Rng, Time};
use device::Options;
use std::time::Instant;
use target_native::{Engine, Fate, Packet};

/// Packets of a batch, and batches of a measurement.
const BATCH: usize = 64;
const BATCHES: usize = 256;
const ROUNDS: usize = 60;

#[allow(clippy::disallowed_methods)]
fn main() {
    let program = common::program("router");
    let started = Instant::now();
    let mut engine = Engine::compile(&program, Options::default()).expect("it compiles");
    println!("compiled in {:.1} ms: {:?}", started.elapsed().as_secs_f64() * 1e3, engine.report());
    let mut rng = Rng::new(1);
    let destinations = common::fill(engine.switch(), 1000, &mut rng);
    let mut pick = || {
        let at = rng.between(0, destinations.len() as u64 - 1) as usize;
        common::packet(destinations[at], 64, &mut rng)
    };
    let frames: Vec<Vec<u8>> = (0..BATCH * BATCHES).map(|_| pick()).collect();
    let mut packets: Vec<Packet> = vec![Packet::default(); BATCH];
    let (mut best, mut sent) = (f64::MAX, 0);
    for _ in 0..ROUNDS {
        let mut spent = 0.0;
        sent = 0;
        for batch in frames.chunks(BATCH) {
            for (packet, frame) in packets.iter_mut().zip(batch) {
                packet.receive(1, frame);
            }
            let started = Instant::now();
            engine.process(&mut packets, Time::ZERO);
            spent += started.elapsed().as_secs_f64();
            sent += packets.iter().filter(|p| matches!(p.fate(), Fate::Sent(_))).count();
        }
        best = f64::min(best, spent / frames.len() as f64);
    }
    println!("{:.1} ns a packet, {:.1} Mpps; {sent} of {} sent", best * 1e9, 1e-6 / best, frames.len());
}
