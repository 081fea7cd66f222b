//! v1model for compiled code: see [`crate::embed`].

use super::ingress::Work;
use super::packet::{Packet as Inner, Stay, Waiting};
use crate::environment::Source;
use crate::host::Host;
use crate::life::Life;
use crate::stage::{Amid, BlockName, Effects, End, Start, Stop};
use crate::switch::{Pipeline, Runners};
use crate::trace::PacketId;
use base_time::Time;
use dataplane_api::{EgressResult, Output, Port, QueueRecord, Queued, QueuedPacket};
use ir::{ErrorId, Stmt};
use ir_value::Value;
use std::collections::VecDeque;

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
    pub effects: Effects,
    /// What is left of its frame's budget; a new one if it has none.
    pub life: Option<Life>,
}

impl Host<'_> {
    /// Runs a statement of a block.
    pub fn statement(&mut self, block: BlockName, stmt: &Stmt, at: &mut Amid, now: Time) -> Result<(), Halt> {
        let block = self.v1().layout.stage(block).block;
        let result = self.stages.statement(self.core, block, stmt, at, now);
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
        let mut frame = vec![];
        let mut switch = self.v1().on(self.core, self.stages);
        let result = match block {
            BlockName::Parser => switch.parse(&mut inner, now),
            BlockName::Deparser => switch.deparse(&mut inner, now).map(|bytes| frame = bytes),
            block => switch.control(block, &mut inner, Start::Begin, now).and_then(|end| match end {
                End::Done => Ok(()),
                End::Called(_) => Err(Stop::Broken("a frame extern in compiled code")),
            }),
        };
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
        let mut again = self.v1().on(self.core, self.stages).manage(packet, now, &mut queued);
        let again = again.pop().map(|work| work.into_packet());
        (queued, again.map(Packet::with_life))
    }

    /// The clone that a packet at the end of egress asks for; it no longer does then.
    pub fn clone_egress(&mut self, packet: &mut Packet) -> Vec<Queued> {
        let Some(order) = packet.effects.clone.take() else { return vec![] };
        let inner = self.inner(packet.clone());
        self.v1().on(self.core, self.stages).clone_egress(&inner, order)
    }

    /// A packet that was deparsed, to `frame`, starts again with what the field list keeps; nothing if its life is used up.
    pub fn recirculate(&mut self, packet: Packet, frame: Vec<u8>, list: u32) -> Option<QueuedPacket> {
        let packet = self.inner(packet);
        let mut result = EgressResult::default();
        self.v1().on(self.core, self.stages).recirculate(packet, frame, list, &mut result);
        result.again.pop()
    }

    /// The interpreter alone, from the parser to the queues, for what starts again.
    pub fn interpret_again(&mut self, packet: Packet, now: Time) -> Vec<Queued> {
        let packet = self.inner(packet);
        self.v1().on(self.core, self.stages).run_ingress(vec![Work::Start(packet)], now)
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
        self.v1().on(self.core, self.stages).end_egress(packet, now)
    }

    /// The interpreter alone, from the start of egress on.
    pub fn interpret_egress(&mut self, packet: Packet, stay: Stay, now: Time) -> EgressResult {
        let mut inner = self.inner(packet);
        self.v1().on(self.core, self.stages).tell_egress(&mut inner, stay);
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
        let mut waiting = VecDeque::from(queued);
        while let Some(packet) = waiting.pop_front() {
            let record = QueueRecord { enqueued: now, ..QueueRecord::default() };
            let result = self.v1().egress(self.core, Runners::of(self.stages), packet, record, now);
            outputs.extend(result.output);
            waiting.extend(result.requeued);
            for again in result.again {
                waiting.extend(self.v1().resume(self.core, Runners::of(self.stages), again, now));
            }
        }
    }

    /// The interpreter alone, up to the queues.
    pub fn interpret_ingress(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Queued> {
        self.v1().ingress(self.core, Runners::of(self.stages), port, frame, now)
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
        Inner {
            headers: packet.headers,
            metadata: packet.metadata,
            standard: packet.standard,
            frame: packet.frame,
            payload: packet.payload,
            ingress_port: packet.ingress_port,
            egress_port: packet.egress_port,
            effects: Effects { checksum_error: false, colours: vec![], ..packet.effects },
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
            effects: Effects::default(),
            life: None,
        }
    }
}

impl Packet {
    pub(super) fn with_life(inner: Inner) -> Packet {
        Packet { life: Some(inner.life.clone()), ..Packet::of(inner) }
    }

    fn of(inner: Inner) -> Packet {
        Packet {
            headers: inner.headers,
            metadata: inner.metadata,
            standard: inner.standard,
            frame: inner.frame,
            payload: inner.payload,
            ingress_port: inner.ingress_port,
            egress_port: inner.egress_port,
            effects: inner.effects,
            life: None,
        }
    }
}
