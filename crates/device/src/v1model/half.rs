//! The halves of v1model, ingress and egress, with what goes in and what comes out: see
//! [`StageRunner::v1model_ingress`](crate::StageRunner::v1model_ingress).
//!
//! ```text
//! Work ──> ingress ──> Ingress ─┬─ Waits ──────────────────> queue ──> egress ──> Egress ─┬─ Sent
//!   ^                           ├─ Ended: traffic manager ──>  │                          └─ Ended: clone, out, send
//!   │                           ├─ Called: frame extern ──┐    │
//!   └───────────────────────────┴─────────────────────────┴────┴─ starts again
//! ```

use super::packet::Packet;
use crate::life::Life;
use base_bits::Bits;
use dataplane_api::{Output, Port, Queued, QueuedPacket};
use ir::{InstanceId, Name};
use ir_value::Value;

/// A packet that is to run in ingress.
pub enum Work {
    /// A frame came in.
    Received(Received),
    /// From the parser on: a packet that starts again.
    Again(Box<Packet>),
    /// Out of a frame extern, not parsed yet, with no variables. Where, among [`Blocks::resumes`](crate::Blocks::resumes).
    Fresh(Box<Packet>, usize),
    /// Out of a frame extern, as the packet that called.
    Carried(Box<Carried>),
}

/// A frame as it came in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// By which port.
    pub port: Port,
    /// Its bytes.
    pub frame: Vec<u8>,
    /// What the program sees as the time, in microseconds.
    pub timestamp: u64,
}

/// A packet that called a frame extern, and what came back.
pub struct Carried {
    /// The packet as it was at the call.
    pub kept: Kept,
    /// Its bytes now.
    pub frame: Vec<u8>,
    /// Where it runs on, among [`Blocks::resumes`](crate::Blocks::resumes).
    pub at: usize,
}

/// A packet while a frame extern has its bytes.
pub enum Kept {
    /// With the control's variables at the call.
    Values(Box<Packet>, Vec<Value>),
    /// In a form of the runner's own.
    Own(QueuedPacket),
}

/// How a packet ended in ingress.
pub enum Ingress {
    /// It goes to one port and nowhere else, and waits for egress.
    Waits(Queued),
    /// At the end, for the traffic manager.
    Ended(Box<Packet>),
    /// In the call of a frame extern.
    Called(Box<Called>),
    /// It came to its end, and is counted.
    Gone,
}

/// The call of a frame extern.
pub struct Called {
    /// Whose method is called.
    pub instance: InstanceId,
    /// The method's name.
    pub method: Name,
    /// The arguments.
    pub args: Vec<Bits>,
    /// The deparsed packet.
    pub frame: Vec<u8>,
    /// What is kept of it.
    pub kept: Kept,
    /// What it may still take.
    pub life: Life,
}

/// How a packet ended in egress.
pub enum Egress {
    /// All is done and counted: it was sent, or dropped.
    Sent(Option<Output>),
    /// At the end, before its checksums.
    Ended(Box<Packet>),
}
