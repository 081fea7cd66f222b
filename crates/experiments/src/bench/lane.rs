//! Frames between in-process ports, as `p4rack switch` forwards them, beside the engine alone.
//!
//! ```text
//! this thread: the load ──> cables ──> lane, its engine ──> cables ──> this thread
//! ```
//!
//! Rates are packets a second of processor time. Of the lane that is the process's time but for this thread's. Frames come from another
//! core and go to another core: [`passing`](Rates::passing) is the time in which a cache line passes between two
//! threads. Compare rates of lanes only where it is the same.

use super::clock;
use super::contestant::Contestant;
use super::feed::Feed;
use super::native::Native;
use super::source;
use base_time::Time;
use bench_load::wire::Outcome;
use bench_load::{Load, Program};
use dataplane_ports::{BATCH, Batch, Cable, Lanes, Path, Sink, Source, cable};
use device::Options;
use ir_fill::Resolver;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use target_native::Shared;

/// Frames offered at a time.
const OFFERED: usize = 64 * BATCH;

/// Frames that wait on a cable.
const WAITING: usize = 256;

/// Packets of the load whose frames are compared before rates are measured.
const CHECKED: usize = 1000;

/// Turns that engine and lane have.
const TURNS: u64 = 5;

/// Passes of a cache line between two threads, to measure the time of one.
const PASSES: u64 = 20_000;

/// Rates of an engine and of a lane that runs it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rates {
    /// Packets a second of the engine alone, the median turn.
    pub engine: f64,
    /// Packets a second of the lane, the median turn.
    pub lane: f64,
    /// Lane divided by engine, the median of turns that follow each other.
    pub ratio: f64,
    /// Nanoseconds in which a cache line passes from one thread to another.
    pub passing: f64,
}

/// A lane between cables.
struct Served {
    shared: Shared,
    lanes: Lanes,
    /// The other ends, by port.
    outside: BTreeMap<u32, Cable>,
    /// The packets that come by each port, by its number.
    which: Vec<Vec<usize>>,
    feed: Feed,
    batch: Batch,
}

/// Measures a program, for so many milliseconds of processor time each.
pub fn rates(program: &'static Program, load: &Arc<Load>, milliseconds: u64) -> Result<Rates, String> {
    let mut alone = Native::new(program, load)?;
    let outcome = alone.check()?;
    let mut served = Served::new(program, load, &ports(load, &outcome))?;
    served.check(load, &outcome)?;
    let before = passing();
    let turn = milliseconds.div_ceil(TURNS);
    let mut turns = vec![];
    for _ in 0..TURNS {
        turns.push((1e9 / alone.time(turn)?.nanoseconds(), served.turn(Duration::from_millis(turn))));
    }
    let of = |value: fn(&(f64, f64)) -> f64| median(turns.iter().map(value).collect());
    let (engine, lane) = (of(|(engine, _)| *engine), of(|(_, lane)| *lane));
    Ok(Rates { engine, lane, ratio: of(|(engine, lane)| lane / engine), passing: (before + passing()) / 2.0 })
}

/// The ports by which packets come, and those by which they leave.
fn ports(load: &Load, outcome: &Outcome) -> BTreeSet<u32> {
    let came = load.packets.iter().map(|packet| packet.port);
    let left = outcome.sent.iter().flatten().map(|(port, _)| *port);
    came.chain(left).map(u32::from).collect()
}

impl Served {
    fn new(program: &'static Program, load: &Arc<Load>, ports: &BTreeSet<u32>) -> Result<Served, String> {
        let ir = source::compile(program)?;
        let shared = Shared::new(&ir, Options::default()).map_err(source::first)?;
        let mut resolver = Resolver::new(&ir).map_err(source::first)?;
        shared.write(|switch| resolver.fill(&load.entries, switch)).map_err(source::first)?;
        let (mut inside, mut outside) = (vec![], BTreeMap::new());
        for port in ports {
            let (near, far) = cable(WAITING);
            inside.push((*port, near));
            outside.insert(*port, far);
        }
        let lanes = Lanes::open(&[], inside, 1, WAITING, clock::now()).map_err(|error| error.to_string())?;
        lanes.set(Some(&Path::new(shared.clone(), None)), |_| ());
        let which = vec![vec![]; 1 + ports.last().map_or(0, |port| *port as usize)];
        let feed = Feed::of(load, OFFERED);
        Ok(Served { shared, lanes, outside, which, feed, batch: Batch::default() })
    }

    /// Offers frames, as many on each port as it has of the load, and takes what has left.
    fn offer(&mut self) {
        let packets = self.feed.receive(OFFERED);
        for (at, packet) in packets.iter().enumerate() {
            self.which[packet.in_port() as usize].push(at);
        }
        for (port, cable) in &mut self.outside {
            // Packets without room are offered again later, as other packets.
            let which = &mut self.which[*port as usize];
            cable.sink.send(packets, which, Time::ZERO);
            cable.sink.wake();
            which.clear();
            while {
                self.batch.clear();
                cable.source.receive(0, &mut self.batch).is_ok() && self.batch.room().is_empty()
            } {}
        }
        self.shared.take_reports();
    }

    /// Passes the first packets of the load, one after the other, and compares the frames that leave with the engine's.
    fn check(&mut self, load: &Load, outcome: &Outcome) -> Result<(), String> {
        let start = self.received();
        for (number, (packet, sent)) in (1..).zip(load.packets.iter().zip(&outcome.sent)).take(CHECKED) {
            let way_in = self.outside.get_mut(&u32::from(packet.port));
            if !way_in.is_some_and(|cable| cable.send(&packet.bytes)) {
                return Err(format!("packet {number} does not find room on port {}", packet.port));
            }
            // A lane counts a frame after its results have left.
            while self.received() < start + number {
                std::thread::yield_now();
            }
            let left = self.outside.iter_mut().flat_map(|(port, cable)| {
                std::iter::from_fn(|| cable.receive()).map(|frame| (*port as u16, frame))
            });
            if left.collect::<Vec<_>>() != *sent {
                return Err(format!("the lane sends other frames for packet {number} than the engine alone"));
            }
        }
        self.shared.take_reports();
        Ok(())
    }

    fn received(&self) -> u64 {
        self.lanes.counts().values().map(|count| count.received).sum()
    }

    /// Packets a second. A turn lasts longer if no packet has passed yet: on a busy machine the lane may have waited for a processor, and some clocks are coarse.
    fn turn(&mut self, time: Duration) -> f64 {
        // Lanes have slept.
        (0..64).for_each(|_| self.offer());
        // Both clocks are coarse on some kernels: differences are never below zero.
        let busy = || clock::process().saturating_sub(clock::thread());
        let (start, before) = (busy(), self.received());
        loop {
            (0..8).for_each(|_| self.offer());
            let took = busy().saturating_sub(start);
            let passed = self.received() - before;
            if took >= time && passed > 0 {
                return passed as f64 / took.as_secs_f64();
            }
        }
    }
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Nanoseconds in which a cache line passes from one thread to another that waits for it.
fn passing() -> f64 {
    let line = AtomicU64::new(0);
    let pass = |odd: u64| {
        for number in 0..PASSES {
            let mut looks = 0;
            while line.load(Ordering::Acquire) != 2 * number + odd {
                std::hint::spin_loop();
                looks += 1;
                if looks % 1000 == 0 {
                    // The other thread has no processor.
                    std::thread::yield_now();
                }
            }
            line.store(2 * number + odd + 1, Ordering::Release);
        }
    };
    let start = clock::wall();
    std::thread::scope(|scope| {
        scope.spawn(|| pass(1));
        pass(0);
    });
    (clock::wall() - start).as_secs_f64() * 1e9 / (2 * PASSES) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_load::{PROGRAMS, Shape};

    fn load(program: &Program) -> Arc<Load> {
        let skew = program.skew;
        Arc::new((program.load)(&Shape { packets: 300, flows: 200, skew, ..Shape::default() }))
    }

    #[test]
    fn lanes_send_what_the_interpreter_sends() {
        // In the short form, one program of three.
        for program in PROGRAMS.iter().step_by(if features::is_long() { 1 } else { 3 }) {
            let name = program.name;
            let load = load(program);
            let mut outcome = crate::bench::Interp::new(program, &load).and_then(|mut i| i.check()).unwrap();
            let served = |outcome: &Outcome| Served::new(program, &load, &ports(&load, outcome)).unwrap();
            served(&outcome).check(&load, &outcome).unwrap_or_else(|what| panic!("{name}: {what}"));
            // A changed byte and a frame too many are noticed.
            let at = outcome.sent.iter().rposition(|sent| !sent.is_empty()).unwrap();
            outcome.sent[at][0].1[20] ^= 1;
            let other = format!("the lane sends other frames for packet {} than the engine alone", at + 1);
            assert_eq!(served(&outcome).check(&load, &outcome), Err(other.clone()), "{name}");
            outcome.sent[at].clear();
            assert_eq!(served(&outcome).check(&load, &outcome), Err(other), "{name}");
        }
    }

    #[test]
    fn rates_are_of_the_packets_that_passed() {
        let program = &PROGRAMS[0];
        let load = load(program);
        let rates = rates(program, &load, 5).unwrap();
        let Rates { engine, lane, ratio, passing } = rates;
        assert!(
            [engine, lane, ratio, passing].iter().all(|rate| rate.is_finite() && *rate > 0.0),
            "{rates:?}"
        );
        // All frames that were offered and had room have arrived, and all that left have been taken.
        let mut native = Native::new(program, &load).unwrap();
        let mut served = Served::new(program, &load, &ports(&load, &native.check().unwrap())).unwrap();
        served.offer();
        assert!(served.turn(Duration::from_millis(1)) > 0.0);
        let counts = served.lanes.counts();
        assert!(counts.values().map(|count| count.sent).sum::<u64>() <= served.received());
        assert_eq!(served.lanes.lost(), 0);
    }
}
