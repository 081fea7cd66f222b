//! Several workers of the native engine on one state: each takes the packets of some flows.

use super::contestant::{Contestant, Setup, Timing};
use super::feed::{BATCH, BATCHES, Feed};
use super::interp::reports;
use super::native::note;
use super::{clock, source};
use base_time::Time;
use bench_load::wire::Outcome;
use bench_load::{Load, Program};
use device::Options;
use ir_fill::Resolver;
use std::sync::Arc;
use std::time::Duration;
use target_native::{Shared, Worker, flow};

/// One of the workers.
pub struct Sharing {
    shared: Shared,
    worker: Worker,
    load: Arc<Load>,
    feed: Feed,
    setup: Setup,
}

impl Sharing {
    /// Creates `count` workers of one compiled program with its entries.
    pub fn workers(
        program: &'static Program,
        load: &Arc<Load>,
        count: usize,
    ) -> Result<Vec<Box<dyn Contestant>>, String> {
        let (before, held) = (clock::thread(), clock::memory(0));
        let ir = source::compile(program)?;
        let shared = Shared::compile(&ir, Options::default()).map_err(source::first)?;
        let shared = shared.ok_or_else(|| "the program is not compiled".to_string())?;
        let compiled = clock::thread();
        let mut resolver = Resolver::new(&ir).map_err(source::first)?;
        shared.write(|switch| resolver.fill(&load.entries, switch)).map_err(source::first)?;
        let setup = Setup {
            compile: compiled - before,
            fill: clock::thread() - compiled,
            entries: load.entries.len(),
            memory: clock::memory(0).saturating_sub(held),
        };
        let worker = |number: usize| {
            let feed = Feed::new(load, |frame| flow(frame) % count as u64 == number as u64);
            let (shared, worker, load) = (shared.clone(), shared.worker(), Arc::clone(load));
            Box::new(Sharing { shared, worker, load, feed, setup }) as Box<dyn Contestant>
        };
        Ok((0..count).map(worker).collect())
    }
}

impl Contestant for Sharing {
    fn setup(&self) -> Setup {
        self.setup
    }

    fn check(&mut self) -> Result<Outcome, String> {
        let mut feed = Feed::new(&self.load, |_| true);
        let (mut outcome, mut left) = (Outcome::default(), self.load.packets.len());
        while left > 0 {
            let packets = feed.receive(left.min(BATCH));
            left -= packets.len();
            let others = self.worker.process(packets, Time::ZERO);
            note(&mut outcome, packets, others);
            outcome.reports.extend(reports(&self.shared.take_reports().digests));
        }
        Ok(outcome)
    }

    fn time(&mut self, milliseconds: u64) -> Result<Timing, String> {
        let (start, wall) = (clock::thread(), clock::wall());
        let mut packets = 0;
        loop {
            for _ in 0..BATCHES {
                self.worker.process(self.feed.receive(BATCH), Time::ZERO);
            }
            self.shared.take_reports();
            packets += (BATCHES * BATCH) as u64;
            let cpu = clock::thread() - start;
            if cpu >= Duration::from_millis(milliseconds) {
                return Ok(Timing { packets, cpu, wall: clock::wall() - wall, events: None });
            }
        }
    }
}
