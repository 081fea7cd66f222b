//! The native engine, with which the others are compared.

use super::contestant::{Contestant, Setup, Timing, Updates};
use super::feed::{BATCH, BATCHES, Feed};
use super::interp::reports;
use super::{clock, source};
use base_time::Time;
use bench_load::wire::Outcome;
use bench_load::{Load, Program};
use dataplane_api::Output;
use device::Options;
use ir_fill::Resolver;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use target_native::{Engine, Fate, Packet, Shared};

/// Entries written between two reads of the packets' reports.
const TAKEN: u64 = 64;

/// A compiled program with its entries.
pub struct Native {
    engine: Engine,
    ir: Arc<ir::Program>,
    load: Arc<Load>,
    feed: Feed,
    /// Number of received packets.
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
        let mut resolver = Resolver::new(&ir).map_err(source::first)?;
        resolver.fill(&load.entries, engine.switch()).map_err(source::first)?;
        // Tables are brought into their form with the first packet.
        engine.process(&mut [Packet::default()], Time::ZERO);
        engine.switch().take_digests();
        let setup = Setup {
            compile: compiled - before,
            fill: clock::thread() - compiled,
            entries: load.entries.len(),
            memory: clock::memory(0).saturating_sub(held),
        };
        let feed = Feed::new(load, |_| true);
        Ok(Native { engine, ir, load: Arc::clone(load), feed, received: 0, setup })
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
        let (mut outcome, mut left) = (Outcome::default(), self.load.packets.len());
        self.feed.rewind();
        while left > 0 {
            let packets = self.feed.receive(left.min(BATCH));
            (left, self.received) = (left - packets.len(), self.received + packets.len() as u64);
            let others = self.engine.process(packets, Time::ZERO);
            note(&mut outcome, packets, others);
            outcome.reports.extend(reports(&self.engine.switch().take_digests()));
        }
        Ok(outcome)
    }

    fn updates(&mut self, milliseconds: u64) -> Result<Option<Updates>, String> {
        let shared = Shared::compile(&self.ir, Options::default()).map_err(source::first)?;
        let Some(shared) = shared else { return Ok(None) };
        let (mut worker, mut feed) = (shared.worker(), Feed::new(&self.load, |_| true));
        let is_over = AtomicBool::new(false);
        let forward = || {
            let (mut timing, start, wall) = (Timing::default(), clock::thread(), clock::wall());
            while !is_over.load(Ordering::Relaxed) {
                worker.process(feed.receive(BATCH), Time::ZERO);
                timing.packets += BATCH as u64;
            }
            Timing { cpu: clock::thread() - start, wall: clock::wall() - wall, ..timing }
        };
        std::thread::scope(|scope| {
            let forwarding = scope.spawn(forward);
            let mut updates = Updates::default();
            let mut written = Ok(());
            let mut resolver = Resolver::new(&self.ir).map_err(source::first)?;
            for entry in &self.load.entries {
                let (start, wall) = (clock::thread(), clock::wall());
                written = shared.write(|switch| resolver.fill(std::slice::from_ref(entry), switch));
                updates.entries += 1;
                updates.cpu += clock::thread() - start;
                updates.wall += clock::wall() - wall;
                // Reports that are not taken would fill the memory.
                if updates.entries % TAKEN == 0 {
                    shared.take_reports();
                }
                if written.is_err() || updates.wall >= Duration::from_millis(milliseconds) {
                    break;
                }
            }
            // Before an error is returned: the scope waits for the worker.
            is_over.store(true, Ordering::Relaxed);
            updates.forwarded = forwarding.join().map_err(|_| "a worker panicked".to_string())?;
            written.map_err(source::first)?;
            Ok(Some(updates))
        })
    }

    fn time(&mut self, milliseconds: u64) -> Result<Timing, String> {
        let (start, wall) = (clock::thread(), clock::wall());
        let mut packets = 0;
        loop {
            for _ in 0..BATCHES {
                self.engine.process(self.feed.receive(BATCH), Time::ZERO);
            }
            self.engine.switch().take_digests();
            packets += (BATCHES * BATCH) as u64;
            self.received += (BATCHES * BATCH) as u64;
            let cpu = clock::thread() - start;
            if cpu >= Duration::from_millis(milliseconds) {
                return Ok(Timing { packets, cpu, wall: clock::wall() - wall, events: None });
            }
        }
    }
}

/// Adds the output of a batch.
pub(super) fn note(outcome: &mut Outcome, packets: &[Packet], others: Vec<Output>) {
    let mut others = others.into_iter();
    for packet in packets {
        outcome.sent.push(match packet.fate() {
            Fate::Dropped => vec![],
            Fate::Sent(port) => vec![(port as u16, packet.frame().to_vec())],
            // No load has packets that are copied.
            Fate::Elsewhere => others.next().map(|o| (o.port as u16, o.frame)).into_iter().collect(),
        });
    }
}
