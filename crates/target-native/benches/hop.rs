//! One packet at a time through ingress, a queue and egress, as the emulator drives a device: the router with 1000 routes, 64-byte
//! packets. `cargo bench -p target-native --bench hop`.

#[path = "../tests/common/mod.rs"]
mod common;

use base_time::{Rng, Time};
use dataplane_api::{Device as _, QueueRecord};
use device::Options;
use std::time::Instant;
use target_native::Engine;

/// Packets of a round, and rounds.
const PACKETS: usize = 1 << 14;
const ROUNDS: usize = 60;

#[allow(clippy::disallowed_methods)]
fn main() {
    let program = common::program("router");
    let mut engine = Engine::compile(&program, Options::default()).expect("it compiles");
    let mut rng = Rng::new(1);
    let destinations = common::fill(engine.switch(), 1000, &mut rng);
    let mut switch = engine.into_switch();
    let mut pick = || {
        let at = rng.between(0, destinations.len() as u64 - 1) as usize;
        common::packet(destinations[at], 64, &mut rng)
    };
    let frames: Vec<Vec<u8>> = (0..PACKETS).map(|_| pick()).collect();
    let (mut best, mut sent) = (f64::MAX, 0);
    for _ in 0..ROUNDS {
        let round = frames.clone();
        sent = 0;
        let started = Instant::now();
        for frame in round {
            for queued in switch.ingress(1, frame, Time::ZERO) {
                let result = switch.egress(queued, QueueRecord::default(), Time::ZERO);
                sent += usize::from(result.output.is_some());
            }
        }
        best = f64::min(best, started.elapsed().as_secs_f64() / PACKETS as f64);
    }
    println!("{:.1} ns a hop; {sent} of {PACKETS} sent", best * 1e9);
}
