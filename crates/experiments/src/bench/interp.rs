//! The reference interpreter: defines the expected output, and is one of the contestants.

use super::contestant::{Contestant, Setup, Timing};
use super::{clock, source};
use base_time::Time;
use bench_load::wire::{Outcome, report_bytes};
use bench_load::{Load, Program};
use device::{Digest, Options, Switch};
use ir_fill::Resolver;
use ir_value::Value;
use std::sync::Arc;
use std::time::Duration;

/// Packets between two looks at the clock.
const CHUNK: usize = 64;

/// The interpreter with a program's entries.
pub struct Interp {
    switch: Switch,
    load: Arc<Load>,
    next: usize,
    setup: Setup,
}

impl Interp {
    /// Compiles the program and fills its tables.
    pub fn new(program: &'static Program, load: &Arc<Load>) -> Result<Interp, String> {
        let (before, held) = (clock::thread(), clock::memory(0));
        let ir = source::compile(program)?;
        let mut switch = ir_interp::switch(Arc::clone(&ir), Options::default()).map_err(source::first)?;
        let compiled = clock::thread();
        Resolver::new(&ir)
            .and_then(|mut resolver| resolver.fill(&load.entries, &mut switch))
            .map_err(source::first)?;
        let setup = Setup {
            compile: compiled - before,
            fill: clock::thread() - compiled,
            entries: load.entries.len(),
            memory: clock::memory(0).saturating_sub(held),
        };
        Ok(Interp { switch, load: Arc::clone(load), next: 0, setup })
    }
}

impl Contestant for Interp {
    fn setup(&self) -> Setup {
        self.setup
    }

    fn check(&mut self) -> Result<Outcome, String> {
        let mut outcome = Outcome::default();
        for packet in &self.load.packets {
            let sent = self.switch.process(packet.port.into(), &packet.bytes, Time::ZERO);
            outcome.sent.push(sent.into_iter().map(|o| (o.port as u16, o.frame)).collect());
            outcome.reports.extend(reports(&self.switch.take_digests()));
        }
        Ok(outcome)
    }

    fn time(&mut self, milliseconds: u64) -> Result<Timing, String> {
        let (start, wall) = (clock::thread(), clock::wall());
        let mut packets = 0;
        loop {
            for _ in 0..CHUNK {
                let packet = &self.load.packets[self.next];
                self.switch.process(packet.port.into(), &packet.bytes, Time::ZERO);
                self.next = (self.next + 1) % self.load.packets.len();
            }
            self.switch.take_digests();
            packets += CHUNK as u64;
            let cpu = clock::thread() - start;
            if cpu >= Duration::from_millis(milliseconds) {
                return Ok(Timing { packets, cpu, wall: clock::wall() - wall, events: None });
            }
        }
    }
}

/// Digests as peers write them.
pub fn reports(digests: &[Digest]) -> impl Iterator<Item = Vec<u8>> {
    digests.iter().map(|digest| report_bytes(values(&digest.data)))
}

/// The scalars of a report.
fn values(data: &Value) -> Vec<(u32, base_bits::num_bigint::BigUint)> {
    match data {
        Value::Struct(fields) => fields.iter().flat_map(values).collect(),
        Value::Bits(bits) => vec![(bits.width(), bits.to_biguint())],
        _ => vec![],
    }
}
