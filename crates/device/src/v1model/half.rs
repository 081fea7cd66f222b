//! Inputs and results of v1model's halves, ingress and egress: see
//! [`StageRunner::v1model_ingress`](crate::StageRunner::v1model_ingress).
//!
//! ```text
//! Work ──> ingress ──> Ingress ─┬─ Waits ──────────────────> queue ──> egress ──> Egress ─┬─ Sent
//!   ^                           ├─ Ended: traffic manager ──>  │                          └─ Ended: clone, out, send
//!   │                           ├─ Called: frame extern ──┐    │
//!   └───────────────────────────┴─────────────────────────┴────┴─ starts again
//! ```

use super::packet::Packet;
use crate::budget::PacketBudget;
use base_bits::Bits;
use dataplane_api::{Output, Port, Queued, QueuedPacket};
use ir::{InstanceId, Name};
use ir_value::Value;

/// A packet at the start of ingress.
pub enum Work {
    /// A received frame.
    Received(Received),
    /// From the parser on: a packet that starts again.
    Again(Box<Packet>),
    /// Out of a frame extern, not parsed yet, with no variables. Where, among [`Blocks::resumes`](crate::Blocks::resumes).
    Fresh(Box<Packet>, usize),
    /// Out of a frame extern, as the packet that called.
    Carried(Box<Carried>),
}

/// A received frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// Port of arrival.
    pub port: Port,
    /// The frame.
    pub frame: Vec<u8>,
    /// Timestamp for the program, in microseconds.
    pub timestamp: u64,
}

/// A packet that called a frame extern, and the returned frame.
pub struct Carried {
    /// State of the packet at the call.
    pub kept: Kept,
    /// The current frame.
    pub frame: Vec<u8>,
    /// Position at which the frame continues, in [`Blocks::resumes`](crate::Blocks::resumes).
    pub at: usize,
}

/// A packet while a frame extern has its bytes.
pub enum Kept {
    /// With the control's variables at the call.
    Values(Box<Packet>, Vec<Value>),
    /// In a form of the runner's own.
    Own(QueuedPacket),
}

/// End of a packet in ingress.
pub enum Ingress {
    /// The packet goes to one port and waits for egress; nothing else was requested.
    Waits(Queued),
    /// At the end, for the traffic manager.
    Ended(Box<Packet>),
    /// In the call of a frame extern.
    Called(Box<Called>),
    /// The packet has ended, and is counted.
    Gone,
}

/// The call of a frame extern.
pub struct Called {
    /// Instance whose method is called.
    pub instance: InstanceId,
    /// The method's name.
    pub method: Name,
    /// The arguments.
    pub args: Vec<Bits>,
    /// The deparsed packet.
    pub frame: Vec<u8>,
    /// State of the packet that is kept.
    pub kept: Kept,
    /// The packet's budget.
    pub budget: PacketBudget,
}

/// End of a packet in egress.
pub enum Egress {
    /// All is done and counted: it was sent, or dropped.
    Sent(Option<Output>),
    /// At the end, before its checksums.
    Ended(Box<Packet>),
}
