//! The benchmark programs between cables inside the process, beside the engine alone, in one run: `cargo bench -p dataplane-ports`;
//! `-- MILLISECONDS PROGRAM ...` says how long each is measured (500), and which.
//!
//! Rates are packets a second of processor time. Of lanes it is the process's but for the thread that offers frames and takes what leaves.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use base_diag::SourceMap;
use base_time::Time;
use bench_load::{HEADERS, Load, PROGRAMS, Program, Shape};
use dataplane_ports::{BATCH, Batch, Cable, Lanes, Path, Sink, Source, cable};
use device::Options;
use ir_fill::Resolver;
use p4_syntax::{LoadError, Loader};
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use target_native::{Engine, Fate, Packet, Shared};

/// Frames that wait on a cable.
const WAITING: usize = 1024;

struct Built(&'static Program);

impl Loader for Built {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        match path {
            path if path == self.0.name => Ok(self.0.p4.into()),
            path if path.ends_with("headers.p4") => Ok(HEADERS.into()),
            _ => Err(LoadError::NotFound),
        }
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        p4_arch::include(name).map(Arc::from)
    }
}

fn compile(program: &'static Program) -> Arc<ir::Program> {
    let options = p4_syntax::Options::default();
    let parsed = p4_syntax::parse(program.name, &Built(program), &options, &mut SourceMap::new());
    let (typed, _) = p4_check::check(&parsed.program);
    Arc::new(ir_elaborate::elaborate(&typed).0.unwrap())
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
    fn new(load: &'l Load) -> Feed<'l> {
        Feed { load, next: 0, packets: vec![Packet::default(); BATCH] }
    }

    fn batch(&mut self) -> &mut [Packet] {
        for packet in &mut self.packets {
            let from = &self.load.packets[self.next];
            packet.receive(from.port.into(), &from.bytes);
            self.next = (self.next + 1) % self.load.packets.len();
        }
        &mut self.packets
    }
}

/// Packets a second, and the ports by which they leave.
fn engine(ir: &Arc<ir::Program>, load: &Load, time: Duration) -> (f64, BTreeSet<u32>) {
    let mut engine = Engine::compile(ir, Options::default()).unwrap();
    Resolver::new(ir).unwrap().fill(&load.entries, engine.switch()).unwrap();
    let mut feed = Feed::new(load);
    let mut ports = BTreeSet::new();
    for _ in 0..load.packets.len().div_ceil(BATCH) {
        let packets = feed.batch();
        ports.extend(engine.process(packets, Time::ZERO).into_iter().map(|output| output.port));
        ports.extend(packets.iter().filter_map(|packet| match packet.fate() {
            Fate::Sent(port) => Some(port),
            _ => None,
        }));
        engine.switch().take_digests();
    }
    let (start, mut count) = (clock(ClockId::ThreadCPUTime), 0);
    while clock(ClockId::ThreadCPUTime) - start < time {
        for _ in 0..32 {
            engine.process(feed.batch(), Time::ZERO);
        }
        engine.switch().take_digests();
        count += 32 * BATCH;
    }
    (count as f64 / (clock(ClockId::ThreadCPUTime) - start).as_secs_f64(), ports)
}

fn lanes(ir: &Arc<ir::Program>, load: &Load, ports: &BTreeSet<u32>, time: Duration) -> f64 {
    let shared = Shared::new(ir, Options::default()).unwrap();
    shared.write(|switch| Resolver::new(ir).unwrap().fill(&load.entries, switch)).unwrap();
    let (inside, mut outside): (Vec<_>, BTreeMap<u32, Cable>) = ports
        .iter()
        .map(|port| {
            let (inside, outside) = cable(WAITING);
            ((*port, inside), (*port, outside))
        })
        .unzip();
    let lanes = Lanes::open(&[], inside, 1, WAITING, Instant::now()).unwrap();
    lanes.set(Some(&Path::new(shared.clone(), None)), |_| ());
    let (mut feed, mut batch) = (Feed::new(load), Batch::default());
    let received = || lanes.counts().values().map(|count| count.received).sum::<u64>();
    // Both clocks are coarse on some kernels: differences are never below zero.
    let busy = || {
        let own = clock(ClockId::ThreadCPUTime);
        clock(ClockId::ProcessCPUTime).saturating_sub(own)
    };
    let (mut start, mut before, mut warm) = (busy(), received(), false);
    loop {
        for _ in 0..32 {
            let packets = feed.batch();
            for (port, cable) in &mut outside {
                let which: Vec<usize> =
                    (0..packets.len()).filter(|at| packets[*at].in_port() == *port).collect();
                // What finds no room is offered again later, as other packets.
                cable.sink.send(packets, &which, Time::ZERO);
                batch.clear();
                cable.source.receive(0, &mut batch).unwrap();
            }
        }
        shared.take_told();
        if busy().saturating_sub(start) < time {
            continue;
        }
        if warm {
            return (received() - before) as f64 / busy().saturating_sub(start).as_secs_f64();
        }
        (start, before, warm) = (busy(), received(), true);
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let time = Duration::from_millis(words.iter().find_map(|word| word.parse().ok()).unwrap_or(500));
    println!("{:<12}{:>12}{:>12}{:>8}", "Mpps", "engine", "lane", "ratio");
    let names: Vec<&String> = words.iter().filter(|word| word.parse::<u64>().is_err()).collect();
    for program in PROGRAMS.iter().filter(|p| names.is_empty() || names.iter().any(|name| *name == p.name)) {
        let ir = compile(program);
        let load = (program.load)(&Shape::default());
        let (alone, mut ports) = engine(&ir, &load, time);
        ports.extend(load.packets.iter().map(|packet| u32::from(packet.port)));
        let served = lanes(&ir, &load, &ports, time);
        println!("{:<12}{:>12.2}{:>12.2}{:>8.2}", program.name, alone / 1e6, served / 1e6, served / alone);
    }
}
