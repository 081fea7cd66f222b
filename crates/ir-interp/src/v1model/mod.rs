//! v1model as `simple_switch` runs it: parser, checksums, ingress, traffic manager, egress, deparser.

mod calls;
mod device;
mod egress;
mod externs;
mod frames;
mod ingress;
mod layout;
mod packed;
mod packet;
mod stages;
mod tracing;
mod traffic;

pub use traffic::Session;
pub(crate) use traffic::{Group, TrafficManager};

use crate::check;
use crate::environment::{Environment, PassThrough};
use crate::plan::Plan;
use crate::state::State;
use crate::trace::EventKind;
use base_diag::Diagnostic;
use base_time::{Rng, Time};
use dataplane_api::{Counters, DropReason, Registry};
use ir::Program;
use layout::Layout;
use packet::{Life, Packet};
use stages::Stages;
use std::sync::Arc;

/// How a device is set up.
pub struct Options {
    /// The frame externs it offers.
    pub registry: Registry,
    /// Seeds what the program draws by `random`.
    pub seed: u64,
    /// Stands between the device and clock, randomness and queues.
    pub environment: Box<dyn Environment>,
    /// The port that means "drop".
    pub drop_port: u32,
    /// How many passes and copies a received frame and all that comes of it may take.
    pub pass_limit: u32,
    /// How many steps (expressions, statements, values copied) they may take together.
    pub step_limit: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            registry: Registry::default(),
            seed: 0,
            environment: Box::new(PassThrough),
            drop_port: p4_arch::v1model::DROP_PORT,
            pass_limit: 4096,
            step_limit: 4_000_000,
        }
    }
}

/// A device that runs a v1model program.
pub struct Switch {
    pub(crate) program: Arc<Program>,
    plan: Arc<Plan>,
    layout: Arc<Layout>,
    pub(crate) state: State,
    pub(crate) traffic: TrafficManager,
    pub(crate) counters: Counters,
    drop_port: u32,
    pass_limit: u32,
    step_limit: u64,
}

impl Switch {
    /// A device that has received nothing yet. What it cannot run it refuses here, never at packet time.
    pub fn new(program: Arc<Program>, options: Options) -> Result<Switch, Vec<Diagnostic>> {
        check::check(&program)?;
        let layout = Layout::new(&program)?;
        check::check_frame_calls(&program, layout.ingress, &layout.regions)?;
        let (tables, value_sets, objects) = crate::build::build(&program, &options.registry)?;
        let rng = Rng::new(options.seed).split("random");
        Ok(Switch {
            plan: Arc::new(Plan::new(&program)),
            layout: Arc::new(layout),
            state: State::new(tables, value_sets, objects, options.environment, rng),
            traffic: TrafficManager::default(),
            counters: Counters::default(),
            drop_port: options.drop_port,
            pass_limit: options.pass_limit,
            step_limit: options.step_limit,
            program,
        })
    }

    /// What a new frame may take.
    fn new_life(&self) -> Life {
        Life::new(self.pass_limit, self.step_limit)
    }

    /// Does `work` with the stages of the device, on the budget of a packet.
    fn with_stages<T>(&mut self, life: &Life, now: Time, work: impl FnOnce(&mut Stages) -> T) -> T {
        let (program, plan, layout) =
            (Arc::clone(&self.program), Arc::clone(&self.plan), Arc::clone(&self.layout));
        let mut stages = Stages {
            program: &program,
            plan: &plan,
            layout: &layout,
            state: &mut self.state,
            now,
            drop_port: self.drop_port,
            fuel: life.steps(),
        };
        let result = work(&mut stages);
        life.set_steps(stages.fuel);
        result
    }

    fn dropped(&mut self, reason: DropReason) {
        self.state.trace.add(|| EventKind::Drop { reason });
        *self.counters.dropped.entry(reason).or_default() += 1;
    }

    /// How many of `packet`'s kind may go on: counts a new packet, and its end if its life is used up.
    fn created(&mut self, packet: &Packet) -> bool {
        self.counters.created += 1;
        let alive = packet.life.take();
        if !alive {
            self.effect("no copy", "the packet has used up its passes and copies");
            *self.counters.dropped.entry(DropReason::PassLimit).or_default() += 1;
        }
        alive
    }
}
