//! v1model for compiled code: see [`crate::embed`].

use super::V1Model;
use super::externs::V1;
use super::ingress::Work;
use super::layout::StageName;
use super::packet::{CloneOrder, Orders, Packet as Inner, Stay, Waiting};
use super::stages::{Ended, Start};
use crate::embed::{News, SharedCells, TableAt, TableFacts};
use crate::environment::Source;
use crate::life::Life;
use crate::machine::{Frame, Machine, Scope, Stop};
use crate::objects::Object;
use crate::packet_in::Input;
use crate::psa::{Half, Psa};
use crate::switch::Core;
use crate::trace::PacketId;
use crate::value::Value;
use base_bits::BitWriter;
use base_time::Time;
use dataplane_api::{DropReason, EgressResult, Output, Port, QueueRecord, Queued, QueuedPacket};
use ir::{ControlId, ErrorId, InstanceId, ParserId, Program, Role, Stmt, Type};
use std::collections::VecDeque;

/// A switch while compiled code works on it.
pub struct Host<'s> {
    pub(crate) core: &'s mut Core,
    pub(crate) model: Model<'s>,
}

/// Whose blocks they are.
#[derive(Clone, Copy)]
pub(crate) enum Model<'s> {
    V1(&'s V1Model),
    Psa(&'s Psa, Half),
}

/// A block of v1model, or of half of PSA: [`Parser`](BlockName::Parser), [`Ingress`](BlockName::Ingress) or
/// [`Egress`](BlockName::Egress), [`Deparser`](BlockName::Deparser).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum BlockName {
    Parser,
    Verify,
    Ingress,
    Egress,
    Compute,
    Deparser,
}

/// Why a packet ended, or the parser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// The parser failed, with this error.
    Reject(ErrorId),
    /// The packet is dropped; it is counted already.
    Dropped,
}

/// Where compiled code left a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// At the end of ingress.
    Ingress,
    /// At the end of egress, before the deparser.
    Egress,
}

/// A packet as values.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Of the type of the headers.
    pub headers: Value,
    /// Of the type of the user's metadata.
    pub metadata: Value,
    /// Of the type `standard_metadata_t`.
    pub standard: Value,
    /// As it entered this pass.
    pub frame: Vec<u8>,
    /// The bytes that the parser left.
    pub payload: Vec<u8>,
    /// By which port it came in.
    pub ingress_port: Port,
    /// By which port it goes out; egress only.
    pub egress_port: Port,
    /// What else belongs to it.
    pub side: Side,
    /// What is left of its frame's budget; a new one if it has none.
    pub life: Option<Life>,
}

/// What belongs to a packet beside its headers and metadata.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Side {
    /// Of the pass, in bytes.
    pub ingress_length: u64,
    /// What `packet_length` will be in egress.
    pub length: i64,
    /// Cut what is sent to this many bytes.
    pub truncate: Option<u32>,
    /// A clone that was asked for: its session, and the index of the field list.
    pub clone: Option<(u32, Option<u32>)>,
    /// Resubmit with this field list.
    pub resubmit: Option<u32>,
    /// Recirculate with this field list.
    pub recirculate: Option<u32>,
    /// A checksum was wrong.
    pub checksum_error: bool,
    /// What direct meters answered in this stage.
    pub colours: Vec<(InstanceId, u8)>,
}

impl BlockName {
    /// All, in the order in which they run.
    pub const ALL: [BlockName; 6] = [
        BlockName::Parser,
        BlockName::Verify,
        BlockName::Ingress,
        BlockName::Egress,
        BlockName::Compute,
        BlockName::Deparser,
    ];

    fn stage(self) -> StageName {
        match self {
            BlockName::Parser => StageName::Parser,
            BlockName::Verify => StageName::Verify,
            BlockName::Ingress => StageName::Ingress,
            BlockName::Egress => StageName::Egress,
            BlockName::Compute => StageName::Compute,
            BlockName::Deparser => StageName::Deparser,
        }
    }
}

impl<'s> Host<'s> {
    /// Itself, for a while.
    pub fn again(&mut self) -> Host<'_> {
        Host { core: self.core, model: self.model }
    }

    /// v1model's part. What asks for it is for its programs only.
    pub(super) fn v1(&self) -> &'s V1Model {
        match self.model {
            Model::V1(model) => model,
            Model::Psa(..) => unreachable!("half of PSA has no such blocks"),
        }
    }

    /// What it runs.
    pub fn program(&self) -> &std::sync::Arc<Program> {
        &self.core.program
    }

    /// The parser.
    pub fn parser(&self) -> ParserId {
        match self.model {
            Model::V1(model) => model.layout.parser,
            Model::Psa(psa, half) => psa.parser(half),
        }
    }

    /// The control of a block that is none of the parser's.
    pub fn control(&self, block: BlockName) -> Option<ControlId> {
        let layout = match self.model {
            Model::V1(model) => &model.layout,
            Model::Psa(psa, half) => return psa.control(half, block),
        };
        Some(match block {
            BlockName::Parser => return None,
            BlockName::Verify => layout.verify,
            BlockName::Ingress => layout.ingress,
            BlockName::Egress => layout.egress,
            BlockName::Compute => layout.compute,
            BlockName::Deparser => layout.deparser,
        })
    }

    /// What each parameter of a block is.
    pub fn roles(&self, block: BlockName) -> Vec<Role> {
        match self.model {
            Model::V1(model) => model.layout.roles(block.stage()).to_vec(),
            Model::Psa(psa, half) => psa.roles(half, block),
        }
    }

    /// The types of the headers, of the user's metadata and of the standard metadata; of half of PSA, of what it asks of the
    /// architecture in the place of the last.
    pub fn types(&self) -> [Type; 3] {
        match self.model {
            Model::V1(V1Model { layout, .. }) => {
                [&layout.headers, &layout.metadata, &layout.standard].map(Clone::clone)
            }
            Model::Psa(psa, half) => psa.types(half),
        }
    }

    /// Which half of PSA it is, if it is one.
    pub fn half(&self) -> Option<Half> {
        match self.model {
            Model::V1(_) => None,
            Model::Psa(_, half) => Some(half),
        }
    }

    /// The port that means "drop"; PSA has none.
    pub fn drop_port(&self) -> u32 {
        match self.model {
            Model::V1(model) => model.drop_port,
            Model::Psa(..) => 0,
        }
    }

    /// True if nobody wants to know what packets do: no trace, no log of accesses, clock and randomness as they are.
    pub fn is_unwatched(&self) -> bool {
        self.is_untold() && self.core.state.environment.is_transparent()
    }

    /// True if nobody wants to know what packets do in ingress or egress: no trace, no log of accesses.
    pub fn is_untold(&self) -> bool {
        self.core.is_untold()
    }

    /// The field of the metadata that says in ingress and egress what is counted: that with `@counted_length`.
    pub fn counted_length(&self) -> Option<usize> {
        match self.model {
            Model::V1(model) => model.layout.counted_length.map(|field| field as usize),
            Model::Psa(..) => None,
        }
    }

    /// What is to be known of a table.
    pub fn table(&self, (control, table): TableAt) -> Option<TableFacts> {
        Some(self.core.state.tables.get(control, table)?.facts())
    }

    /// What was written to a table since it was last asked; `None` if that is nothing.
    pub fn table_news(&mut self, (control, table): TableAt) -> Option<News> {
        self.core.state.tables.get_mut(control, table)?.news()
    }

    /// How often tables were written to; equal numbers mean that there is no news.
    pub fn table_writes(&self) -> u64 {
        self.core.state.tables.writes()
    }

    /// The cells of a register of numbers up to 128 bits, if they are `most` at most, how many there are, and the bytes of one: 1, 2, 4, 8 or 16.
    pub fn register_cells(&mut self, register: InstanceId, most: u64) -> Option<(SharedCells, u64, u32)> {
        match self.core.state.objects.get_mut(register.index())? {
            Object::Register(register) => {
                Some((register.flatten(most)?, register.size, register.cell_bytes()))
            }
            _ => None,
        }
    }

    /// The counts of a counter, two words each, packets and bytes, if they are `most` at most.
    pub fn counter_cells(&mut self, counter: InstanceId, most: u64) -> Option<SharedCells> {
        match self.core.state.objects.get_mut(counter.index())? {
            Object::Counter(counter) => counter.flatten(most),
            _ => None,
        }
    }

    /// What a frame that comes in may take.
    pub fn new_life(&self) -> Life {
        self.core.new_life()
    }

    /// Frames were received.
    pub fn received(&mut self, frames: u64) {
        self.core.counters.received += frames;
    }

    /// Frames were sent.
    pub fn sent(&mut self, frames: u64) {
        self.core.counters.sent += frames;
    }

    /// Packets were dropped.
    pub fn dropped(&mut self, reason: DropReason, packets: u64) {
        if packets > 0 {
            *self.core.counters.dropped.entry(reason).or_default() += packets;
        }
    }

    /// Runs a statement of a block on the values of the block's variables. `frame` is what a parser reads, `position` the number
    /// of bits that it has taken; `payload` is what it left, for the other blocks.
    #[allow(clippy::too_many_arguments)]
    pub fn statement(
        &mut self,
        block: BlockName,
        stmt: &Stmt,
        vars: &mut Vec<Value>,
        frame: &mut Vec<u8>,
        position: &mut u64,
        payload: &mut Vec<u8>,
        side: &mut Side,
        now: Time,
    ) -> Result<(), Halt> {
        let mut input = Input::at(std::mem::take(frame), *position);
        let mut values = std::mem::take(vars);
        let result = self.with_input(block, &mut values, &mut input, payload, side, now, |machine| {
            machine.run(std::slice::from_ref(stmt)).map(drop)
        });
        *vars = values;
        (*frame, *position) = input.into_parts();
        result
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn with_machine(
        &mut self,
        block: BlockName,
        mut vars: Vec<Value>,
        frame: &mut Vec<u8>,
        position: u64,
        payload: &mut Vec<u8>,
        side: &mut Side,
        now: Time,
        work: impl FnOnce(&mut Machine<'_, V1<'_>>) -> Result<(), Stop>,
    ) -> Result<(), Halt> {
        let mut input = Input::at(std::mem::take(frame), position);
        self.with_input(block, &mut vars, &mut input, payload, side, now, work)
    }

    #[allow(clippy::too_many_arguments)]
    fn with_input(
        &mut self,
        block: BlockName,
        vars: &mut Vec<Value>,
        input: &mut Input,
        payload: &mut Vec<u8>,
        side: &mut Side,
        now: Time,
        work: impl FnOnce(&mut Machine<'_, V1<'_>>) -> Result<(), Stop>,
    ) -> Result<(), Halt> {
        let program = std::sync::Arc::clone(&self.core.program);
        let plan = std::sync::Arc::clone(&self.core.plan);
        let scope = match self.control(block) {
            Some(id) => Scope::Control(id, program.control(id)),
            None => Scope::Parser(self.parser(), program.parser(self.parser())),
        };
        let life = self.core.new_life();
        let mut machine = Machine {
            program: &program,
            plan: &plan,
            arch: side.lend(self.v1(), std::mem::take(payload), now),
            state: &mut self.core.state,
            frame: Frame { scope, vars: std::mem::take(vars) },
            input: std::mem::take(input),
            output: BitWriter::new(),
            fuel: life.steps(),
        };
        let result = work(&mut machine);
        *vars = machine.frame.vars;
        *input = machine.input;
        *payload = side.take_back(machine.arch);
        result.or_else(|stop| self.halted(stop))
    }

    fn halted(&mut self, stop: Stop) -> Result<(), Halt> {
        match stop {
            Stop::Exit => Ok(()),
            Stop::Reject(error) => Err(Halt::Reject(error)),
            stop => {
                self.core.stopped(&stop);
                Err(Halt::Dropped)
            }
        }
    }

    /// Runs a whole block; the deparser gives the frame.
    pub fn stage(&mut self, block: BlockName, packet: &mut Packet, now: Time) -> Result<Vec<u8>, Halt> {
        let mut inner = self.inner(std::mem::take(packet));
        let life = inner.life.clone();
        let mut frame = vec![];
        let result = self.v1().on(self.core).with_stages(&life, now, |stages| match block {
            BlockName::Parser => stages.parse(&mut inner),
            BlockName::Deparser => stages.deparse(&mut inner).map(|bytes| frame = bytes),
            block => match stages.control(block.stage(), &mut inner, Start::Begin)? {
                Ended::Done => Ok(()),
                Ended::Called(_) => Err(Stop::Broken("a frame extern in compiled code")),
            },
        });
        *packet = Packet::of(inner);
        match result {
            Ok(()) => Ok(frame),
            Err(stop) => self.halted(stop).map(|()| frame),
        }
    }

    /// The traffic manager's work on a packet at the end of ingress: what waits for egress, and what is resubmitted.
    pub fn manage(&mut self, packet: Packet, now: Time) -> (Vec<Queued>, Option<Packet>) {
        let packet = self.inner(packet);
        let mut queued = vec![];
        let mut again = self.v1().on(self.core).manage(packet, now, &mut queued);
        let again = again.pop().map(|work| work.into_packet());
        (queued, again.map(Packet::with_life))
    }

    /// The clone that a packet at the end of egress asks for; it no longer does then.
    pub fn clone_egress(&mut self, packet: &mut Packet) -> Vec<Queued> {
        let Some((session, field_list)) = packet.side.clone.take() else { return vec![] };
        let inner = self.inner(packet.clone());
        self.v1().on(self.core).clone_egress(&inner, CloneOrder { session, field_list })
    }

    /// A packet that was deparsed, to `frame`, starts again with what the field list keeps; nothing if its life is used up.
    pub fn recirculate(&mut self, packet: Packet, frame: Vec<u8>, list: u32) -> Option<QueuedPacket> {
        let packet = self.inner(packet);
        let mut result = EgressResult::default();
        self.v1().on(self.core).recirculate(packet, frame, list, &mut result);
        result.again.pop()
    }

    /// The interpreter alone, from the parser to the queues, for what starts again.
    pub fn interpret_again(&mut self, packet: Packet, now: Time) -> Vec<Queued> {
        let packet = self.inner(packet);
        self.v1().on(self.core).run_ingress(vec![Work::Start(packet)], now)
    }

    /// A packet that waits, as what compiled code starts from; `None` if it is none of v1model's.
    pub fn dequeue(&mut self, packet: QueuedPacket) -> Option<Packet> {
        Some(Packet::with_life(packet.downcast::<Waiting>().ok()?.packet))
    }

    /// The opposite of [`dequeue`](Host::dequeue): a packet as the interpreter lets it wait for egress.
    pub fn waiting(&self, packet: Packet) -> QueuedPacket {
        Box::new(Waiting { packet: self.inner(packet) })
    }

    /// What egress is to be told of a packet's stay in its queue, which ends now.
    pub fn stay(&mut self, queue: QueueRecord, now: Time) -> Stay {
        Stay::read(&mut self.core.state, queue, now)
    }

    /// What follows the program's egress.
    pub fn end_egress(&mut self, packet: Packet, now: Time) -> EgressResult {
        let packet = self.inner(packet);
        self.v1().on(self.core).end_egress(packet, now)
    }

    /// The interpreter alone, from the start of egress on.
    pub fn interpret_egress(&mut self, packet: Packet, stay: Stay, now: Time) -> EgressResult {
        let mut inner = self.inner(packet);
        self.v1().on(self.core).tell_egress(&mut inner, stay);
        let life = inner.life.clone();
        let mut packet = Packet { life: Some(life.clone()), ..Packet::of(inner) };
        match self.stage(BlockName::Egress, &mut packet, now) {
            Ok(_) => self.end_egress(Packet { life: Some(life), ..packet }, now),
            Err(_) => EgressResult::default(),
        }
    }

    /// What the program sees as the time at which a packet comes in, in microseconds.
    pub fn ingress_time(&mut self, now: Time) -> u64 {
        self.core.state.read_environment(&Source::IngressTimestamp, now.as_us())
    }

    /// The interpreter alone, from the queues on: see [`Device::drain`](dataplane_api::Device::drain).
    fn drain(&mut self, queued: Vec<Queued>, outputs: &mut Vec<Output>, now: Time) {
        use crate::switch::Pipeline;
        let mut waiting = VecDeque::from(queued);
        while let Some(packet) = waiting.pop_front() {
            let record = QueueRecord { enqueued: now, ..QueueRecord::default() };
            let result = self.v1().egress(self.core, None, packet, record, now);
            outputs.extend(result.output);
            waiting.extend(result.requeued);
            for again in result.again {
                waiting.extend(self.v1().resume(self.core, None, again, now));
            }
        }
    }

    /// The interpreter alone, up to the queues.
    pub fn interpret_ingress(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Queued> {
        use crate::switch::Pipeline;
        self.v1().ingress(self.core, None, port, frame, now)
    }

    /// The interpreter alone: a frame and all that comes of it.
    pub fn interpret(&mut self, port: Port, frame: &[u8], now: Time) -> Vec<Output> {
        self.received(1);
        let queued = self.interpret_ingress(port, frame.to_vec(), now);
        let mut outputs = vec![];
        self.drain(queued, &mut outputs, now);
        outputs
    }

    pub(super) fn inner(&self, packet: Packet) -> Inner {
        let Side { ingress_length, length, truncate, clone, resubmit, recirculate, .. } = packet.side;
        let clone = clone.map(|(session, field_list)| CloneOrder { session, field_list });
        Inner {
            headers: packet.headers,
            metadata: packet.metadata,
            standard: packet.standard,
            frame: packet.frame,
            payload: packet.payload,
            ingress_port: packet.ingress_port,
            ingress_length,
            length,
            egress_port: packet.egress_port,
            truncate,
            orders: Orders { clone, resubmit, recirculate },
            life: packet.life.unwrap_or_else(|| self.core.new_life()),
            trace: PacketId::default(),
        }
    }
}

impl Default for Packet {
    fn default() -> Packet {
        Packet {
            headers: Value::Void,
            metadata: Value::Void,
            standard: Value::Void,
            frame: vec![],
            payload: vec![],
            ingress_port: 0,
            egress_port: 0,
            side: Side::default(),
            life: None,
        }
    }
}

impl Packet {
    pub(super) fn with_life(inner: Inner) -> Packet {
        Packet { life: Some(inner.life.clone()), ..Packet::of(inner) }
    }

    fn of(inner: Inner) -> Packet {
        let Orders { clone, resubmit, recirculate } = inner.orders;
        Packet {
            headers: inner.headers,
            metadata: inner.metadata,
            standard: inner.standard,
            frame: inner.frame,
            payload: inner.payload,
            ingress_port: inner.ingress_port,
            egress_port: inner.egress_port,
            side: Side {
                ingress_length: inner.ingress_length,
                length: inner.length,
                truncate: inner.truncate,
                clone: clone.map(|order| (order.session, order.field_list)),
                resubmit,
                recirculate,
                ..Side::default()
            },
            life: None,
        }
    }
}

impl Side {
    fn lend<'a>(&mut self, model: &'a V1Model, payload: Vec<u8>, now: Time) -> V1<'a> {
        V1 {
            layout: &model.layout,
            now,
            drop_port: model.drop_port,
            orders: Orders {
                clone: self.clone.map(|(session, field_list)| CloneOrder { session, field_list }),
                resubmit: self.resubmit,
                recirculate: self.recirculate,
            },
            truncate: self.truncate,
            length: self.length,
            payload,
            ingress_length: self.ingress_length,
            metadata: None,
            checksum_error: self.checksum_error,
            colours: std::mem::take(&mut self.colours),
            frame_call: None,
        }
    }

    fn take_back(&mut self, arch: V1<'_>) -> Vec<u8> {
        self.clone = arch.orders.clone.map(|order| (order.session, order.field_list));
        self.resubmit = arch.orders.resubmit;
        self.recirculate = arch.orders.recirculate;
        self.truncate = arch.truncate;
        self.length = arch.length;
        self.checksum_error = arch.checksum_error;
        self.colours = arch.colours;
        arch.payload
    }
}
