//! The native engine: what the others are compared with.

use super::contestant::{Contestant, Setup, Timing, Updates};
use super::interp::reports;
use super::{clock, source};
use crate::run::fill::fill;
use base_time::Time;
use bench_load::wire::Outcome;
use bench_load::{Load, Program};
use ir_interp::Options;
use std::sync::Arc;
use std::time::Duration;
use target_native::{Engine, Fate, Packet};

/// Packets in a batch.
const BATCH: usize = 64;

/// Batches between two looks at the clock.
const BATCHES: usize = 32;

/// The load's frames one behind the other, as the peers have them.
struct Frames {
    bytes: Vec<u8>,
    /// The port, and where the frame ends.
    ends: Vec<(u32, usize)>,
}

impl Frames {
    fn new(load: &Load) -> Frames {
        let mut frames = Frames { bytes: vec![], ends: vec![] };
        for packet in &load.packets {
            frames.bytes.extend(&packet.bytes);
            frames.ends.push((packet.port.into(), frames.bytes.len()));
        }
        frames
    }

    fn get(&self, at: usize) -> (u32, &[u8]) {
        let (port, end) = self.ends[at];
        let start = if at == 0 { 0 } else { self.ends[at - 1].1 };
        (port, &self.bytes[start..end])
    }
}

/// A compiled program with its entries.
pub struct Native {
    engine: Engine,
    ir: Arc<ir::Program>,
    load: Arc<Load>,
    frames: Frames,
    packets: Vec<Packet>,
    next: usize,
    /// How many were received.
    received: u64,
    setup: Setup,
}

impl Native {
    /// Compiles the program and fills its tables.
    pub fn new(program: &'static Program, load: &Arc<Load>) -> Result<Native, String> {
        let (before, held) = (clock::thread(), clock::memory(0));
        let ir = source::compile(program)?;
        let mut engine = Engine::compile(&ir, Options::default()).map_err(source::first)?;
        let compiled = clock::thread();
        fill(&load.entries, &ir, engine.switch()).map_err(source::first)?;
        // Tables are brought into their form with the first packet.
        engine.process(&mut [Packet::default()], Time::ZERO);
        engine.switch().take_digests();
        let setup = Setup {
            compile: compiled - before,
            fill: clock::thread() - compiled,
            entries: load.entries.len(),
            memory: clock::memory(0).saturating_sub(held),
        };
        let packets = vec![Packet::default(); BATCH];
        let frames = Frames::new(load);
        Ok(Native { engine, ir, load: Arc::clone(load), frames, packets, next: 0, received: 0, setup })
    }

    /// The next packets into their buffers.
    fn receive(&mut self, count: usize) {
        self.received += count as u64;
        for packet in &mut self.packets[..count] {
            let (port, frame) = self.frames.get(self.next);
            packet.receive(port, frame);
            self.next = if self.next + 1 == self.frames.ends.len() { 0 } else { self.next + 1 };
        }
    }
}

impl Contestant for Native {
    fn setup(&self) -> Setup {
        self.setup
    }

    fn left(&self) -> Option<(usize, f64)> {
        let calls = self.engine.interpreted() as f64 / self.received.max(1) as f64;
        Some((self.engine.report().fallbacks.len(), calls))
    }

    fn check(&mut self) -> Result<Outcome, String> {
        let mut outcome = Outcome::default();
        let mut left = self.load.packets.len();
        self.next = 0;
        while left > 0 {
            let count = left.min(BATCH);
            self.receive(count);
            let mut others = self.engine.process(&mut self.packets[..count], Time::ZERO).into_iter();
            for packet in &self.packets[..count] {
                outcome.sent.push(match packet.fate() {
                    Fate::Dropped => vec![],
                    Fate::Sent(port) => vec![(port as u16, packet.frame().to_vec())],
                    // No load has packets that are copied.
                    Fate::Elsewhere => others.next().map(|o| (o.port as u16, o.frame)).into_iter().collect(),
                });
            }
            outcome.reports.extend(reports(self.engine.switch()));
            left -= count;
        }
        Ok(outcome)
    }

    fn updates(&mut self, milliseconds: u64) -> Result<Option<Updates>, String> {
        let mut engine = Engine::compile(&self.ir, Options::default()).map_err(source::first)?;
        let load = Arc::clone(&self.load);
        let (mut updates, start) = (Updates::default(), clock::thread());
        for entries in load.entries.chunks(BATCHES) {
            let before = clock::thread();
            for entry in entries {
                fill(std::slice::from_ref(entry), &self.ir, engine.switch()).map_err(source::first)?;
                self.receive(BATCH);
                engine.process(&mut self.packets, Time::ZERO);
            }
            let between = clock::thread();
            for _ in entries {
                self.receive(BATCH);
                engine.process(&mut self.packets, Time::ZERO);
            }
            let now = clock::thread();
            updates.entries += entries.len() as u64;
            updates.cpu += between - before;
            updates.without += now - between;
            engine.switch().take_digests();
            if now - start >= Duration::from_millis(milliseconds) {
                break;
            }
        }
        Ok(Some(updates))
    }

    fn time(&mut self, milliseconds: u64) -> Result<Timing, String> {
        let (start, wall) = (clock::thread(), clock::wall());
        let mut packets = 0;
        loop {
            for _ in 0..BATCHES {
                self.receive(BATCH);
                self.engine.process(&mut self.packets, Time::ZERO);
            }
            self.engine.switch().take_digests();
            packets += (BATCHES * BATCH) as u64;
            let cpu = clock::thread() - start;
            if cpu >= Duration::from_millis(milliseconds) {
                return Ok(Timing { packets, cpu, wall: clock::wall() - wall });
            }
        }
    }
}
