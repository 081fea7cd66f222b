//! Requests per second and core, through the contract that devices use: reads by Zipf's law of 10,000 keys of 8 bytes with values of
//! 512, 1,000 entries. Misses go on, and their answers come back through the cache. The peer is a hash map that has all values, and a copy of the
//! one that is asked for after a copy of the request: no protocol, no checksum, no misses.
//!
//! `cargo bench -p netfn-cache`; `-- --once` runs the first row once, to count instructions: those of `timed` are of so many requests as there are.
#![allow(clippy::disallowed_methods)]

#[path = "../tests/support/mod.rs"]
mod support;

use base_time::{Rng, Time, Zipf};
use dataplane_api::{Emitter, FrameExtern};
use netfn_cache::KvCache;
use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;
use support::{answer, request};

const REQUESTS: usize = 100_000;
const KEYS: u32 = 10_000;
const ROUNDS: usize = 10;

fn call(cache: &mut KvCache, frame: &[u8]) -> usize {
    let mut out = Emitter::default();
    cache.call("process", &[], frame, Time::ZERO, &mut out);
    black_box(out.take())[0].frame.len()
}

/// Position of the key in requests.
const KEY: std::ops::Range<usize> = 54..62;

/// Million requests a second by the peer.
fn peer(frames: &[Vec<u8>], keys: u32) -> f64 {
    let all: HashMap<Vec<u8>, Vec<u8>> =
        (0..keys).map(|key| (format!("{key:08}").into(), format!("{key:0512}").into())).collect();
    let requests: Vec<&Vec<u8>> = frames.iter().filter(|frame| frame.len() < 100).collect();
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        for request in &requests {
            let value = all.get(&request[KEY]).map_or(&[][..], Vec::as_slice);
            let mut answer = Vec::with_capacity(request.len() + value.len());
            answer.extend_from_slice(request);
            answer.extend_from_slice(value);
            black_box(answer);
        }
        best = best.min(begun.elapsed().as_secs_f64());
    }
    requests.len() as f64 / best / 1e6
}

/// Frames pass.
#[inline(never)]
fn timed(cache: &mut KvCache, frames: &[Vec<u8>]) {
    for frame in frames {
        call(cache, frame);
    }
}

fn measure(what: &str, entries: usize, keys: u32, rounds: usize) {
    let (zipf, mut rng) = (Zipf::new(keys, 1000), Rng::new(1));
    // Frames in the order in which they come, as a network card has them in memory: which reads are answered does not depend on time.
    let mut cache = KvCache::new(entries, None);
    let mut frames = vec![];
    let mut warm = 0;
    for n in 0..2 * REQUESTS {
        if n == REQUESTS {
            warm = frames.len();
        }
        let key = zipf.draw(&mut rng);
        let hits = cache.counted().hits;
        let ask = request(1, n as u16, &format!("get {key:08}\r\n"));
        call(&mut cache, &ask);
        frames.push(ask);
        if cache.counted().hits == hits {
            let reply = answer(1, n as u16, &format!("VALUE {key:08} 0 512\r\n{key:0512}\r\nEND\r\n"));
            call(&mut cache, &reply);
            frames.push(reply);
        }
    }
    let (mut best, mut share) = (f64::MAX, 0.0);
    for _ in 0..rounds {
        let mut cache = KvCache::new(entries, None);
        for frame in &frames[..warm] {
            call(&mut cache, frame);
        }
        let before = cache.counted().hits;
        let begun = Instant::now();
        timed(&mut cache, &frames[warm..]);
        best = best.min(begun.elapsed().as_secs_f64());
        share = (cache.counted().hits - before) as f64 * 100.0 / REQUESTS as f64;
    }
    let peer = peer(&frames[warm..], keys);
    println!("{what:<36} {:6.2} {share:8.1} {peer:10.2}", REQUESTS as f64 / best / 1e6);
}

fn main() {
    println!("requests on one core                 M/s    hits %   peer M/s");
    if std::env::args().any(|argument| argument == "--once") {
        return measure("1,000 entries, 10,000 keys", 1000, KEYS, 1);
    }
    measure("1,000 entries, 10,000 keys", 1000, KEYS, ROUNDS);
    measure("100,000 entries, all kept", 100_000, KEYS, ROUNDS);
    measure("1,000 entries, 800 keys, all kept", 1000, 800, ROUNDS);
}
