//! The switch as a device that a driver runs.

use crate::architecture::{Architecture, objects};
use crate::at_work::AtWork;
use crate::blueprint::{Blocks, Blueprint};
use crate::core::Core;
use crate::environment::{Environment, PassThrough};
use crate::one_shots::OneShots;
use crate::ports::PortNumbers;
use crate::queue_depths::QueueDepths;
use crate::replication::Replication;
use crate::runner::StageRunner;
use crate::state::State;
use crate::ticks::Ticks;
use crate::tna::Generator;
use base_bits::Bits;
use base_diag::Diagnostic;
use base_time::{Duration, Rng, Time};
use dataplane_api::{
    Became, Counters, Departed, Device, EgressResult, EntryError, Leased, Output, Port, QueueRecord, Queued,
    QueuedPacket, Registry,
};
use ir::Program;
use ir_value::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Settings of a device.
pub struct Options {
    /// The externs of the user's own that it offers.
    pub registry: Registry,
    /// Seed of the program's `random`.
    pub seed: u64,
    /// Stands between the device and clock, randomness and queues.
    pub environment: Box<dyn Environment>,
    /// Queues behind the ports, for frames that run to their ends at once.
    pub queue_depths: Arc<QueueDepths>,
    /// The port that means "drop", where a port means it.
    pub drop_port: u32,
    /// Maximum number of passes and copies that result from one received frame.
    pub pass_limit: u32,
    /// Maximum number of steps (expressions, statements, values copied) of these passes and copies together.
    pub step_limit: u64,
    /// Whether the program's ticks come.
    pub has_ticks: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            registry: Registry::default(),
            seed: 0,
            environment: Box::new(PassThrough),
            queue_depths: Arc::default(),
            drop_port: p4_arch::v1model::DROP_PORT,
            pass_limit: 4096,
            step_limit: 4_000_000,
            has_ticks: true,
        }
    }
}

/// A device that runs a program for v1model, PSA, TNA or T2NA.
pub struct Switch {
    pub(crate) core: Core,
    blueprint: Blueprint,
    runner: Box<dyn StageRunner>,
}

impl Switch {
    /// A new device whose program `runner` runs. Errors: reasons why it cannot be run; nothing is refused at packet
    /// time.
    pub fn new(
        program: Arc<Program>,
        options: Options,
        runner: Box<dyn StageRunner>,
    ) -> Result<Switch, Vec<Diagnostic>> {
        let numbers = PortNumbers::of(&program, options.drop_port);
        let objects = objects(&program)?;
        let ticks = if options.has_ticks { Ticks::of(&program, numbers)? } else { Ticks::default() };
        let blueprint = Blueprint::new(Arc::clone(&program), options.drop_port)?;
        let (tables, value_sets, objects, functions) =
            crate::build::build(&program, &options.registry, objects)?;
        let crcs = crate::crc_annotations::custom_crcs(&program)?;
        let rng = Rng::new(options.seed).split("random");
        let mut core = Core {
            state: State::new(tables, value_sets, objects, functions, options.environment, rng),
            queue_depths: options.queue_depths,
            replication: Replication::default(),
            counters: Counters::default(),
            one_shots: OneShots::default(),
            ticks,
            generator: Generator::of(&program),
            numbers,
            pass_limit: options.pass_limit,
            step_limit: options.step_limit,
            program,
        };
        core.state.crcs = crcs;
        Ok(Switch { core, blueprint, runner })
    }

    /// Runs a frame and all resulting packets to their ends, at one time.
    pub fn process(&mut self, port: Port, frame: &[u8], now: Time) -> Vec<Output> {
        if self.core.is_unwatched() {
            let AtWork { core, blocks, runner } = self.at_work();
            if let Some(outputs) = runner.whole(core, blocks, port, frame, now) {
                return outputs;
            }
        }
        let queued = self.ingress(port, frame.to_vec(), now);
        self.drain(queued, now)
    }

    /// State of the device, and its program's blocks.
    pub fn parts(&mut self) -> (&mut Core, Blocks<'_>) {
        (&mut self.core, self.blueprint.blocks())
    }

    /// From now on its program is run by `runner`.
    pub fn run_by(&mut self, runner: Box<dyn StageRunner>) {
        self.runner = runner;
    }

    /// When a timer of an extern runs out next: [`Device::deadline`] without the program's ticks and the packet generator's
    /// periodic timers, which never end.
    pub fn timer(&self) -> Option<Time> {
        let frames = match self.blueprint.blocks().architecture() {
            Architecture::V1Model(_) => crate::v1model::deadline(&self.core.state),
            Architecture::Tna(_) => self.core.generator.last_deadline(),
            Architecture::Psa(_) => None,
        };
        frames.into_iter().chain(self.core.state.values_deadline()).min()
    }

    /// True if the program has ticks, or may set up the packet generator.
    pub fn has_ticks(&self) -> bool {
        self.core.ticks.deadline().is_some() || self.core.generator.exists()
    }

    fn at_work(&mut self) -> AtWork<'_> {
        AtWork { core: &mut self.core, blocks: self.blueprint.blocks(), runner: self.runner.as_mut() }
    }

    /// Reads one cell of a register, whatever its type.
    pub fn register_value(&self, name: &str, index: u64) -> Result<Value, EntryError> {
        self.core.register_cell(name, index)
    }
}

impl Device for Switch {
    fn ingress(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Queued> {
        self.core.counters.received += 1;
        self.at_work().ingress(port, frame, now)
    }

    fn admit(&mut self, port: Port, frame: Vec<u8>, _waited: Duration, now: Time) -> Became {
        self.core.counters.received += 1;
        self.at_work().admit(port, frame, now)
    }

    fn egress(&mut self, packet: Queued, queue: QueueRecord, now: Time) -> EgressResult {
        self.depart(packet, queue, now).into_result()
    }

    fn depart(&mut self, packet: Queued, queue: QueueRecord, now: Time) -> Departed {
        self.at_work().depart(packet, queue, now, now)
    }

    fn resume(&mut self, packet: QueuedPacket, now: Time) -> Vec<Queued> {
        self.at_work().resume(packet, now)
    }

    fn drain(&mut self, queued: Vec<Queued>, now: Time) -> Vec<Output> {
        self.at_work().drain(EgressResult::default(), queued, now)
    }

    fn may_have_timers(&self) -> bool {
        self.core.state.timed_objects().next().is_some() || self.has_ticks()
    }

    fn deadline(&self) -> Option<Time> {
        let Core { ticks, generator, .. } = &self.core;
        self.timer().into_iter().chain(ticks.deadline()).chain(generator.deadline()).min()
    }

    fn tick(&mut self, now: Time) -> Vec<Queued> {
        self.at_work().run_timers(now)
    }

    fn lease(&mut self, blocks: Option<&[u8]>) -> Leased {
        self.core.state.lease(blocks)
    }

    fn link(&mut self, port: Port, is_up: bool) {
        self.port_set(port, is_up);
    }

    #[inline]
    fn counters(&self) -> &Counters {
        &self.core.counters
    }

    fn register_read(&self, name: &str, index: u64) -> Result<Bits, EntryError> {
        self.register_value(name, index)?.to_key().ok_or_else(|| EntryError {
            message: format!("the cells of register `{name}` are not numbers"),
            help: None,
        })
    }

    fn state(&self) -> BTreeMap<String, Vec<u8>> {
        crate::snapshot::snapshot(&self.core.program, &self.core.state)
    }
}
