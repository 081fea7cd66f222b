//! The switch as a device that a driver runs: what every architecture has, and the pipeline that makes the
//! difference.

use crate::blueprint::{Blocks, Blueprint};
use crate::embed::Accelerator;
use crate::environment::{Environment, PassThrough};
use crate::host::Host;
use crate::life::Life;
use crate::ports::PortNumbers;
use crate::replication::Replication;
use crate::stage::{StageRunner, Stop};
use crate::state::State;
use crate::trace::{Cause, EventKind, PacketId};
use crate::write::OneShots;
use base_bits::Bits;
use base_diag::Diagnostic;
use base_diag::codes::elaborate::ARCHITECTURE;
use base_time::{Rng, Time};
use dataplane_api::{
    Counters, Device, DropReason, EgressResult, EntryError, Output, Port, QueueRecord, Queued, QueuedPacket,
    Registry,
};
use ir::{Arch, Program};
use ir_value::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a device is set up.
pub struct Options {
    /// The externs of the user's own that it offers.
    pub registry: Registry,
    /// Seeds what the program draws by `random`.
    pub seed: u64,
    /// Stands between the device and clock, randomness and queues.
    pub environment: Box<dyn Environment>,
    /// The port that means "drop", where a port means it.
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

/// A device that runs a program for v1model or PSA.
pub struct Switch {
    pub(crate) core: Core,
    blueprint: Blueprint,
    stages: Box<dyn StageRunner>,
    accelerator: Option<Box<dyn Accelerator>>,
}

/// Who runs packets.
pub(crate) struct Runners<'r> {
    /// Stage by stage.
    pub(crate) stages: &'r mut (dyn StageRunner + 'static),
    /// Half by half, of PSA, by the program's blocks.
    pub(crate) halves: Option<(&'r mut (dyn Accelerator + 'static), Blocks<'r>)>,
}

impl<'r> Runners<'r> {
    /// Stage by stage alone.
    pub(crate) fn of(stages: &'r mut (dyn StageRunner + 'static)) -> Runners<'r> {
        Runners { stages, halves: None }
    }
}

/// What a device of any architecture keeps.
pub struct Core {
    /// What it runs.
    pub program: Arc<Program>,
    /// What packets can change.
    pub state: State,
    pub(crate) replication: Replication,
    pub(crate) counters: Counters,
    pub(crate) one_shots: OneShots,
    pub(crate) numbers: PortNumbers,
    pass_limit: u32,
    step_limit: u64,
}

/// The way of a packet through an architecture. What it keeps is in the [`Core`].
pub(crate) trait Pipeline: Send {
    /// A frame came in by a port: see [`Device::ingress`].
    fn ingress(&self, core: &mut Core, by: Runners<'_>, port: Port, frame: Vec<u8>, now: Time)
    -> Vec<Queued>;

    /// See [`Device::egress`].
    fn egress(
        &self,
        core: &mut Core,
        by: Runners<'_>,
        packet: Queued,
        queue: QueueRecord,
        now: Time,
    ) -> EgressResult;

    /// See [`Device::resume`].
    fn resume(&self, core: &mut Core, by: Runners<'_>, packet: QueuedPacket, now: Time) -> Vec<Queued>;

    /// See [`Device::deadline`].
    fn deadline(&self, core: &Core) -> Option<Time>;

    /// See [`Device::tick`].
    fn tick(&self, core: &mut Core, by: Runners<'_>, now: Time) -> Vec<Queued>;
}

/// Makes the objects of a program's architecture; `None` of one that cannot be run.
pub(crate) fn objects(program: &Program) -> Option<crate::build::MakeObject> {
    match program.arch {
        Arch::V1Model(_) => Some(crate::v1model::object),
        Arch::Psa { .. } => Some(crate::psa::object),
        _ => None,
    }
}

impl Switch {
    /// A device that has received nothing yet, whose stages `stages` runs. What it cannot run it refuses here, never at packet time.
    pub fn new(
        program: Arc<Program>,
        options: Options,
        stages: Box<dyn StageRunner>,
    ) -> Result<Switch, Vec<Diagnostic>> {
        let numbers = PortNumbers::of(&program, options.drop_port);
        let Some(objects) = objects(&program) else { return Err(vec![not_run(&program)]) };
        let blueprint = Blueprint::new(Arc::clone(&program), options.drop_port)?;
        let (tables, value_sets, objects, functions) =
            crate::build::build(&program, &options.registry, objects)?;
        let crcs = crate::hash::custom_crcs(&program)?;
        let rng = Rng::new(options.seed).split("random");
        let mut core = Core {
            state: State::new(tables, value_sets, objects, functions, options.environment, rng),
            replication: Replication::default(),
            counters: Counters::default(),
            one_shots: OneShots::default(),
            numbers,
            pass_limit: options.pass_limit,
            step_limit: options.step_limit,
            program,
        };
        core.state.crcs = crcs;
        Ok(Switch { core, blueprint, stages, accelerator: None })
    }

    /// Runs a frame and all that comes of it to the end at one moment.
    pub fn process(&mut self, port: Port, frame: &[u8], now: Time) -> Vec<Output> {
        if let Some(accelerator) = &mut self.accelerator {
            let host =
                Host { core: &mut self.core, blocks: self.blueprint.blocks(), stages: self.stages.as_mut() };
            if host.is_unwatched() {
                return accelerator.process(host, port, frame, now);
            }
        }
        let queued = self.ingress(port, frame.to_vec(), now);
        self.drain(queued, now)
    }

    /// What compiled code works on; of PSA it is at ingress, and [`turns`](Host::turn_to) from half to half.
    pub fn host(&mut self) -> Host<'_> {
        Host { core: &mut self.core, blocks: self.blueprint.blocks(), stages: self.stages.as_mut() }
    }

    /// From now on [`process`](Switch::process), ingress and egress are done by `accelerator`, as long as nobody watches how.
    pub fn accelerate(&mut self, accelerator: Box<dyn Accelerator>) {
        self.accelerator = Some(accelerator);
    }

    /// Reads one cell of a register, whatever its type.
    pub fn register_value(&self, name: &str, index: u64) -> Result<Value, EntryError> {
        crate::control_plane::register_cell(&self.core.program, &self.core.state, name, index)
    }
}

/// Who runs packets: halves only if nobody wants to know what packets do there.
fn runners<'r>(
    stages: &'r mut Box<dyn StageRunner>,
    accelerator: &'r mut Option<Box<dyn Accelerator>>,
    blueprint: &'r Blueprint,
    core: &Core,
) -> Runners<'r> {
    let halves = match accelerator {
        Some(halves) if core.is_untold() => Some((halves.as_mut(), blueprint.blocks())),
        _ => None,
    };
    Runners { stages: stages.as_mut(), halves }
}

/// Whether programs of this architecture can be run; `P4R0303` if not.
pub fn check_architecture(program: &Program) -> Result<(), Diagnostic> {
    match program.arch {
        Arch::V1Model(_) | Arch::Psa { .. } => Ok(()),
        _ => Err(not_run(program)),
    }
}

pub(crate) fn not_run(program: &Program) -> Diagnostic {
    let what = format!("programs for `{}` cannot be run yet", program.main.name);
    Diagnostic::error(ARCHITECTURE, what).note("what runs is v1model's `V1Switch` and PSA's `PSA_Switch`")
}

impl Device for Switch {
    fn ingress(&mut self, port: Port, mut frame: Vec<u8>, now: Time) -> Vec<Queued> {
        self.core.counters.received += 1;
        if let Some(accelerator) = &mut self.accelerator {
            let host =
                Host { core: &mut self.core, blocks: self.blueprint.blocks(), stages: self.stages.as_mut() };
            if host.is_untold() {
                match accelerator.ingress(host, port, frame, now) {
                    Ok(queued) => return queued,
                    Err(back) => frame = back,
                }
            }
        }
        let by = runners(&mut self.stages, &mut self.accelerator, &self.blueprint, &self.core);
        self.blueprint.architecture.pipeline().ingress(&mut self.core, by, port, frame, now)
    }

    fn egress(&mut self, mut packet: Queued, queue: QueueRecord, now: Time) -> EgressResult {
        if let Some(accelerator) = &mut self.accelerator {
            let host =
                Host { core: &mut self.core, blocks: self.blueprint.blocks(), stages: self.stages.as_mut() };
            if host.is_untold() {
                match accelerator.egress(host, packet, queue, now) {
                    Ok(result) => return result,
                    Err(back) => packet = back,
                }
            } else {
                packet.packet = accelerator.hand_back(host, packet.packet);
            }
        }
        let by = runners(&mut self.stages, &mut self.accelerator, &self.blueprint, &self.core);
        self.blueprint.architecture.pipeline().egress(&mut self.core, by, packet, queue, now)
    }

    fn resume(&mut self, mut packet: QueuedPacket, now: Time) -> Vec<Queued> {
        if let Some(accelerator) = &mut self.accelerator {
            let host =
                Host { core: &mut self.core, blocks: self.blueprint.blocks(), stages: self.stages.as_mut() };
            if host.is_untold() {
                match accelerator.resume(host, packet, now) {
                    Ok(queued) => return queued,
                    Err(back) => packet = back,
                }
            }
        }
        let by = runners(&mut self.stages, &mut self.accelerator, &self.blueprint, &self.core);
        self.blueprint.architecture.pipeline().resume(&mut self.core, by, packet, now)
    }

    fn deadline(&self) -> Option<Time> {
        let pipeline = self.blueprint.architecture.pipeline().deadline(&self.core);
        pipeline.into_iter().chain(self.core.state.values_deadline()).min()
    }

    fn tick(&mut self, now: Time) -> Vec<Queued> {
        self.core.state.tick_values(&self.core.program, now);
        if let Some(accelerator) = &mut self.accelerator {
            let host =
                Host { core: &mut self.core, blocks: self.blueprint.blocks(), stages: self.stages.as_mut() };
            if host.is_untold()
                && let Some(queued) = accelerator.tick(host, now)
            {
                return queued;
            }
        }
        let by = runners(&mut self.stages, &mut self.accelerator, &self.blueprint, &self.core);
        self.blueprint.architecture.pipeline().tick(&mut self.core, by, now)
    }

    fn counters(&self) -> &Counters {
        &self.core.counters
    }

    fn register_read(&self, name: &str, index: u64) -> Result<Bits, EntryError> {
        self.register_value(name, index)?.to_key().ok_or_else(|| EntryError {
            message: format!("the cells of register `{name}` are no numbers"),
            help: None,
        })
    }

    fn state(&self) -> BTreeMap<String, Vec<u8>> {
        crate::snapshot::snapshot(&self.core.program, &self.core.state)
    }
}

impl Core {
    /// The port that means "drop", where a port means it.
    pub fn drop_port(&self) -> Option<Port> {
        self.numbers.drop_port()
    }

    /// True if nobody wants to know what packets do on the way: no trace, no log of accesses.
    pub(crate) fn is_untold(&self) -> bool {
        !self.state.trace.on() && !self.state.accesses.on
    }

    /// What a new frame may take.
    pub fn new_life(&self) -> Life {
        Life::new(self.pass_limit, self.step_limit)
    }

    /// A packet ended inside.
    pub(crate) fn dropped(&mut self, reason: DropReason) {
        self.state.trace.add(|| EventKind::Drop { reason });
        *self.counters.dropped.entry(reason).or_default() += 1;
    }

    /// Counts a new packet; false if its life is used up, and then its end is counted too.
    pub(crate) fn created(&mut self, life: &Life) -> bool {
        self.counters.created += 1;
        let alive = life.take();
        if !alive {
            self.effect("no copy", "the packet has used up its passes and copies");
            *self.counters.dropped.entry(DropReason::PassLimit).or_default() += 1;
        }
        alive
    }

    /// Counts a packet that ended before it was done. What breaks a rule of the IR is written to the log too.
    pub(crate) fn stopped(&mut self, stop: &Stop) {
        let reason = match stop {
            Stop::ParserLoop => DropReason::ParserLimit,
            Stop::OutOfFuel => DropReason::StepLimit,
            Stop::AssertFailed => DropReason::AssertFailed,
            Stop::Exit | Stop::Reject(_) | Stop::FrameCall(_) | Stop::Broken(_) => DropReason::Internal,
        };
        if let Stop::Broken(what) = stop {
            self.state.log(format!("internal: {what}"));
        }
        self.dropped(reason);
    }

    /// A packet of `bytes` comes into being, made of `from`; `port` is that by which it came in or, for a copy,
    /// will go out. Gives its number in the trace.
    pub(crate) fn begin(&mut self, from: PacketId, cause: Cause, port: Option<Port>, bytes: u64) -> PacketId {
        let trace = &mut self.state.trace;
        let packet = trace.new_packet();
        let before = trace.turn_to(packet);
        trace.add(|| EventKind::Begin { from, cause, port, bytes });
        trace.turn_to(before);
        packet
    }

    /// The traffic manager or a frame extern does something with the packet whose steps are being told.
    pub(crate) fn effect(&mut self, effect: &'static str, target: impl ToString) {
        self.state.trace.add(|| EventKind::Effect { effect, target: target.to_string() });
    }
}
