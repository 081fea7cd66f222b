//! A million exact entries and 100,000 prefixes: how long writing them takes, and packets that look up any of them.
//! `cargo bench -p target-native --bench large`.

#[path = "../tests/common/mod.rs"]
mod common;

use base_bits::Bits;
use base_time::{Rng, Time};
use control_writes::Match;
use device::Options;
use std::time::Instant;
use target_native::{Engine, Packet};

const STATIONS: u64 = 1_000_000;
const ROUTES: usize = 100_000;
const BATCH: usize = 64;
const BATCHES: usize = 4096;

#[allow(clippy::disallowed_methods)]
fn main() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/large.p4");
    let mut engine = Engine::compile(&common::program_at(path), Options::default()).expect("it compiles");
    let mut packets: Vec<Packet> = vec![Packet::default(); BATCH];
    engine.process(&mut packets, Time::ZERO);

    let mut rng = Rng::new(1);
    let station = |n: u64| u128::from(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16);
    let started = Instant::now();
    for n in 0..STATIONS {
        let port = [Bits::new(9, u128::from(n % 500))];
        let key = [Match::Exact(Bits::new(48, station(n)))];
        engine.switch().table_add("stations", &key, "forward", &port, None).expect("a station");
    }
    engine.process(&mut packets, Time::ZERO);
    println!("{STATIONS} exact entries: {:.2} s", started.elapsed().as_secs_f64());

    let mut destinations = vec![];
    let started = Instant::now();
    while destinations.len() < ROUTES {
        let length = rng.between(16, 28) as u32;
        let address = rng.between(0, u64::from(u32::MAX)) as u32;
        let prefix = address >> (32 - length) << (32 - length);
        let key = [Match::Lpm { value: Bits::new(32, u128::from(prefix)), prefix_len: length }];
        if engine.switch().table_add("routes", &key, "rewrite", &[Bits::new(48, 7)], None).is_ok() {
            destinations.push(address);
        }
    }
    engine.process(&mut packets, Time::ZERO);
    println!("{ROUTES} prefixes: {:.2} s", started.elapsed().as_secs_f64());

    let mut spent = 0.0;
    for _ in 0..BATCHES {
        for packet in &mut packets {
            let mut frame = [0; 60];
            let to = station(rng.between(0, STATIONS - 1)) as u64;
            frame[..6].copy_from_slice(&to.to_be_bytes()[2..]);
            let route = destinations[rng.between(0, ROUTES as u64 - 1) as usize];
            frame[30..34].copy_from_slice(&route.to_be_bytes());
            packet.receive(1, &frame);
        }
        let started = Instant::now();
        engine.process(&mut packets, Time::ZERO);
        spent += started.elapsed().as_secs_f64();
    }
    let each = spent / (BATCH * BATCHES) as f64;
    println!("{:.1} ns a packet, {:.1} Mpps", each * 1e9, 1e-6 / each);
}
