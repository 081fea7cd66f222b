//! The benchmark programs between cables inside the process, beside the engine alone, in one run: `cargo bench -p dataplane-ports`;
//! `-- MILLISECONDS PROGRAM ...` says how long each turn of five is (200), and which. The ratio is the median of those of the turns.
//!
//! Rates are packets a second of processor time. Of lanes it is the process's but for the thread that offers frames and takes what leaves. Both threads
//! want a processor each: on a busy machine, run the built program by `chrt -f 5`.
//!
//! `added` is the time that a lane adds to a packet, in nanoseconds. Much of it is cache lines that come from the other processor: `passing` is the time in
//! which one passes between two threads. Compare rows only where it is the same. In the first row the program does nothing;
//! such a lane waits for who offers, and falls asleep.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use base_diag::SourceMap;
use base_time::Time;
use bench_load::{HEADERS, Load, PROGRAMS, Shape};
use dataplane_ports::{BATCH, Batch, Cable, Lanes, Path, Sink, Source, cable};
use device::Options;
use ir_fill::Resolver;
use p4_arch::Texts;
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use target_native::{Engine, Fate, Packet, Shared};

/// Frames offered at a time: enough to keep a lane busy.
const OFFERED: usize = 16 * BATCH;

/// Passes of a cache line between two threads, for the time of one.
const PASSES: u64 = 100_000;

/// A program that does nothing else than a lane has to do.
const NOTHING: &str = include_str!("nothing.p4");

/// Turns that engine and lane have.
const TURNS: usize = 5;

/// Frames that wait on a cable.
const WAITING: usize = 1024;

fn compile(source: &'static str) -> Arc<ir::Program> {
    let (texts, options) = ([("program.p4", source), ("headers.p4", HEADERS)], p4_syntax::Options::default());
    Arc::new(ir_elaborate::program("program.p4", &Texts(&texts), &options, &mut SourceMap::new()).unwrap())
}

fn clock(of: ClockId) -> Duration {
    let time = clock_gettime(of);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The load's packets, again and again.
struct Feed<'l> {
    load: &'l Load,
    next: usize,
    packets: Vec<Packet>,
}

impl<'l> Feed<'l> {
    /// A feed that sends `count` frames at a time.
    fn new(load: &'l Load, count: usize) -> Feed<'l> {
        Feed { load, next: 0, packets: vec![Packet::default(); count] }
    }

    fn next(&mut self) -> &mut [Packet] {
        for packet in &mut self.packets {
            let from = &self.load.packets[self.next];
            packet.receive(from.port.into(), &from.bytes);
            self.next = if self.next + 1 == self.load.packets.len() { 0 } else { self.next + 1 };
        }
        &mut self.packets
    }
}

/// The engine alone.
struct Alone<'l> {
    engine: Engine,
    feed: Feed<'l>,
}

impl<'l> Alone<'l> {
    fn new(ir: &Arc<ir::Program>, load: &'l Load) -> Alone<'l> {
        let mut engine = Engine::compile(ir, Options::default()).unwrap();
        Resolver::new(ir).unwrap().fill(&load.entries, engine.switch()).unwrap();
        Alone { engine, feed: Feed::new(load, BATCH) }
    }

    /// The ports by which packets leave, and those by which they come.
    fn ports(&mut self) -> BTreeSet<u32> {
        let load = self.feed.load;
        let mut ports: BTreeSet<u32> = load.packets.iter().map(|packet| packet.port.into()).collect();
        for _ in 0..load.packets.len().div_ceil(BATCH) {
            let packets = self.feed.next();
            ports.extend(self.engine.process(packets, Time::ZERO).into_iter().map(|output| output.port));
            ports.extend(packets.iter().filter_map(|packet| match packet.fate() {
                Fate::Sent(port) => Some(port),
                _ => None,
            }));
            self.engine.switch().take_digests();
        }
        ports
    }

    /// Packets a second.
    fn turn(&mut self, time: Duration) -> f64 {
        let (start, mut count) = (clock(ClockId::ThreadCPUTime), 0);
        loop {
            for _ in 0..32 {
                self.engine.process(self.feed.next(), Time::ZERO);
            }
            self.engine.switch().take_digests();
            count += 32 * BATCH;
            let took = clock(ClockId::ThreadCPUTime) - start;
            if took >= time {
                return count as f64 / took.as_secs_f64();
            }
        }
    }
}

/// A lane between cables.
struct Served<'l> {
    shared: Shared,
    lanes: Lanes,
    /// The other ends, by port.
    outside: BTreeMap<u32, Cable>,
    /// The packets that come by each port.
    which: BTreeMap<u32, Vec<usize>>,
    feed: Feed<'l>,
    batch: Batch,
}

impl<'l> Served<'l> {
    fn new(ir: &Arc<ir::Program>, load: &'l Load, ports: &BTreeSet<u32>) -> Served<'l> {
        let shared = Shared::new(ir, Options::default()).unwrap();
        shared.write(|switch| Resolver::new(ir).unwrap().fill(&load.entries, switch)).unwrap();
        let (inside, outside): (Vec<_>, BTreeMap<u32, Cable>) = ports
            .iter()
            .map(|port| {
                let (inside, outside) = cable(WAITING);
                ((*port, inside), (*port, outside))
            })
            .unzip();
        let lanes = Lanes::open(&[], inside, 1, WAITING, Instant::now()).unwrap();
        lanes.set(Some(&Path::new(shared.clone(), None)), |_| ());
        let which = ports.iter().map(|port| (*port, vec![])).collect();
        Served { shared, lanes, outside, which, feed: Feed::new(load, OFFERED), batch: Batch::default() }
    }

    /// Offers frames, as many on each port as it has of the load, and takes what has left.
    fn offer(&mut self) {
        let packets = self.feed.next();
        for (at, packet) in packets.iter().enumerate() {
            self.which.entry(packet.in_port()).or_default().push(at);
        }
        for (cable, which) in self.outside.values_mut().zip(self.which.values_mut()) {
            // Packets that find no room are offered again later, as other packets.
            cable.sink.send(packets, which, Time::ZERO);
            cable.sink.wake();
            which.clear();
            while {
                self.batch.clear();
                cable.source.receive(0, &mut self.batch).unwrap();
                self.batch.room().is_empty()
            } {}
        }
        self.shared.take_reports();
    }

    fn received(&self) -> u64 {
        self.lanes.counts().values().map(|count| count.received).sum()
    }

    /// Packets a second.
    fn turn(&mut self, time: Duration) -> f64 {
        // Lanes have slept.
        (0..64).for_each(|_| self.offer());
        // Both clocks are coarse on some kernels: differences are never below zero.
        let busy = || {
            let own = clock(ClockId::ThreadCPUTime);
            clock(ClockId::ProcessCPUTime).saturating_sub(own)
        };
        let (start, before) = (busy(), self.received());
        loop {
            (0..8).for_each(|_| self.offer());
            let took = busy().saturating_sub(start);
            if took >= time {
                return (self.received() - before) as f64 / took.as_secs_f64();
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
            while line.load(Ordering::Acquire) != 2 * number + odd {
                std::hint::spin_loop();
            }
            line.store(2 * number + odd + 1, Ordering::Release);
        }
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| pass(1));
        pass(0);
    });
    start.elapsed().as_secs_f64() * 1e9 / (2 * PASSES) as f64
}

/// Measures a program, and prints its row.
fn row(name: &str, source: &'static str, load: &Load, time: Duration) {
    let ir = compile(source);
    let mut alone = Alone::new(&ir, load);
    let mut served = Served::new(&ir, load, &alone.ports());
    let before = passing();
    let turns: Vec<(f64, f64)> = (0..TURNS).map(|_| (alone.turn(time), served.turn(time))).collect();
    let passing = (before + passing()) / 2.0;
    let ratio = median(turns.iter().map(|(alone, served)| served / alone).collect());
    let added = median(turns.iter().map(|(alone, served)| 1e9 / served - 1e9 / alone).collect());
    let (alone, served) = turns.into_iter().unzip();
    let (alone, served) = (median(alone) / 1e6, median(served) / 1e6);
    println!("{name:<12}{alone:>8.2}{served:>8.2}{ratio:>8.2}{added:>8.0}{passing:>9.0}");
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let time = Duration::from_millis(words.iter().find_map(|word| word.parse().ok()).unwrap_or(200));
    let names: Vec<&String> = words.iter().filter(|word| word.parse::<u64>().is_err()).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|word| *word == name);
    println!("{:<12}{:>8}{:>8}{:>8}{:>8}{:>9}", "Mpps", "engine", "lane", "ratio", "added", "passing");
    let shape = Shape::default();
    if is_wanted("nothing") {
        let router = bench_load::program("router").unwrap();
        let load = Load { entries: vec![], ..(router.load)(&shape) };
        row("nothing", NOTHING, &load, time);
    }
    for program in PROGRAMS.iter().filter(|program| is_wanted(program.name)) {
        row(program.name, program.p4, &(program.load)(&shape), time);
    }
}
