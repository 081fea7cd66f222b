//! A packet inside the device.

use crate::budget::PacketBudget;
use crate::core::Core;
use crate::trace::{Cause, PacketId};
use dataplane_api::Port;
use ir::Type;
use ir_value::Value;

/// A packet before ingress, or between the halves: bytes, and what the traffic manager knows of it.
#[derive(Clone)]
pub(super) struct Packet {
    pub(super) frame: Vec<u8>,
    pub(super) ingress_port: Port,
    pub(super) egress_port: Port,
    /// Goes from the queue to its port.
    pub(super) bypasses_egress: bool,
    pub(super) queue: u64,
    pub(super) class: u64,
    /// Replica id of a multicast copy, and whether it is the first of the packet.
    pub(super) replica: (u16, bool),
    /// Data that takes the place of the port's metadata: the packet is resubmitted.
    pub(super) resubmitted: Option<Vec<u8>>,
    pub(super) budget: PacketBudget,
    /// Number in the trace.
    pub(super) trace: PacketId,
}

impl Packet {
    /// A received frame.
    pub(super) fn received(core: &mut Core, port: Port, frame: Vec<u8>) -> Packet {
        Packet {
            ingress_port: port,
            egress_port: 0,
            bypasses_egress: false,
            queue: 0,
            class: 0,
            replica: (0, false),
            resubmitted: None,
            budget: core.new_budget(),
            trace: core.begin(PacketId::default(), Cause::Received, Some(port), frame.len() as u64),
            frame,
        }
    }
}

/// State of a packet while it is in ingress or in egress.
pub(super) struct Pass {
    pub(super) headers: Value,
    pub(super) metadata: Value,
    /// The intrinsic metadata, each by its type.
    pub(super) intrinsic: Vec<(Type, Value)>,
    /// The bytes that the parser left.
    pub(super) payload: Vec<u8>,
    /// Length of the frame in bytes, for counters and meters.
    pub(super) length: u64,
}
