//! State of a device of any architecture.

use crate::budget::PacketBudget;
use crate::one_shots::OneShots;
use crate::ports::PortNumbers;
use crate::queue_depths::QueueDepths;
use crate::replication::Replication;
use crate::stage::Stop;
use crate::state::State;
use crate::ticks::Ticks;
use crate::tna::Generator;
use crate::trace::{Cause, EventKind, PacketId};
use base_diag::Span;
use dataplane_api::{Counters, DropReason, Port};
use ir::{Name, Program};
use std::sync::Arc;

/// State of a device that all architectures have.
pub struct Core {
    /// The program.
    pub program: Arc<Program>,
    /// State that packets can change.
    pub state: State,
    /// Queues behind the ports.
    pub queue_depths: Arc<QueueDepths>,
    pub(crate) replication: Replication,
    pub(crate) counters: Counters,
    pub(crate) one_shots: OneShots,
    pub(crate) ticks: Ticks,
    pub(crate) generator: Generator,
    pub(crate) numbers: PortNumbers,
    pub(crate) pass_limit: u32,
    pub(crate) step_limit: u64,
}

impl Core {
    /// The port that means "drop", where a port means it.
    pub fn drop_port(&self) -> Option<Port> {
        self.numbers.drop_port()
    }

    /// True if nothing observes the steps of packets: no trace, no log of accesses.
    pub fn is_unobserved(&self) -> bool {
        !self.state.trace.on() && !self.state.accesses.on
    }

    /// True if, moreover, clock and randomness are as they are.
    pub fn is_unwatched(&self) -> bool {
        self.is_unobserved() && self.state.is_transparent
    }

    /// Packet budget of a new frame.
    pub fn new_budget(&self) -> PacketBudget {
        PacketBudget::new(self.pass_limit, self.step_limit)
    }

    /// A stage begins (`enter`) or ends.
    pub(crate) fn trace_stage(&mut self, stage: &Name, enter: bool) {
        self.state.trace.stand_at(Span::NONE);
        self.state.trace.add(|| EventKind::Stage { stage: stage.clone(), enter });
    }

    /// A packet ended inside.
    pub(crate) fn dropped(&mut self, reason: DropReason) {
        self.state.trace.add(|| EventKind::Drop { reason });
        *self.counters.dropped.entry(reason).or_default() += 1;
    }

    /// Counts a new packet; false if its budget is used up, and then its end is counted too.
    pub(crate) fn created(&mut self, budget: &PacketBudget) -> bool {
        self.counters.created += 1;
        let alive = budget.take();
        if !alive {
            self.effect("no copy", "the packet budget is used up");
            *self.counters.dropped.entry(DropReason::PassLimit).or_default() += 1;
        }
        alive
    }

    /// Counts a packet that stopped early. A violated rule of the IR is also written to the log.
    pub fn stopped(&mut self, stop: &Stop) {
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

    /// Starts the trace of a packet of `bytes` bytes, made from `from`. `port` is the ingress port or, for a copy,
    /// the egress port. Returns the packet's number in the trace.
    pub(crate) fn begin(&mut self, from: PacketId, cause: Cause, port: Option<Port>, bytes: u64) -> PacketId {
        let trace = &mut self.state.trace;
        let packet = trace.new_packet();
        let before = trace.turn_to(packet);
        trace.add(|| EventKind::Begin { from, cause, port, bytes });
        trace.turn_to(before);
        packet
    }

    /// Reports an action of the traffic manager or a frame extern on the traced packet.
    pub(crate) fn effect(&mut self, effect: &'static str, target: impl ToString) {
        self.state.trace.add(|| EventKind::Effect { effect, target: target.to_string() });
    }
}
