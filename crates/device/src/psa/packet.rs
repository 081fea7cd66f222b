//! A packet inside the device.

use super::half::HalfStart;
use crate::budget::PacketBudget;
use crate::core::Core;
use crate::trace::{Cause, PacketId};
use dataplane_api::Port;
use ir::Carried;
use ir_value::Value;
use p4_arch::psa::packet_path;

/// A packet between the halves: bytes, and the switch's own metadata. Nothing else crosses.
#[derive(Clone)]
pub(super) struct Packet {
    pub(super) frame: Vec<u8>,
    /// Path of the packet to this point: a member of `PSA_PacketPath_t`.
    pub(super) path: u32,
    /// Port of arrival, of the packet or of the packet it was made from.
    pub(super) ingress_port: Port,
    pub(super) egress_port: Port,
    pub(super) class_of_service: u64,
    /// Number of the copy.
    pub(super) instance: u16,
    /// Metadata from a deparser, and the path that it travels.
    pub(super) carried: Option<(Carried, Value)>,
    pub(super) budget: PacketBudget,
    /// Number in the trace.
    pub(super) trace: PacketId,
}

impl Packet {
    /// A received frame.
    pub(super) fn received(core: &mut Core, port: Port, frame: Vec<u8>) -> Packet {
        Packet {
            path: packet_path::NORMAL,
            ingress_port: port,
            egress_port: 0,
            class_of_service: 0,
            instance: 0,
            carried: None,
            budget: core.new_budget(),
            trace: core.begin(PacketId::default(), Cause::Received, Some(port), frame.len() as u64),
            frame,
        }
    }

    /// Packet of a half that code ran; not traced.
    pub(super) fn at(start: HalfStart<'_>) -> Packet {
        Packet {
            frame: start.frame.to_vec(),
            path: start.path,
            ingress_port: start.ingress_port,
            egress_port: start.egress_port,
            class_of_service: start.class_of_service,
            instance: start.instance,
            carried: start.carried.cloned(),
            budget: start.budget.clone(),
            trace: PacketId::default(),
        }
    }
}

/// State of a packet while it is in ingress or in egress.
pub(super) struct Pass {
    pub(super) headers: Value,
    pub(super) metadata: Value,
    /// Requests of the program.
    pub(super) output: Value,
    /// The bytes that the parser left.
    pub(super) payload: Vec<u8>,
    /// Length on arrival, in bytes, for counters and meters.
    pub(super) length: u64,
    /// For the blocks' input metadata: fields by name.
    pub(super) facts: Vec<(&'static str, u128)>,
    /// Metadata from the deparser, by path.
    pub(super) carried: Vec<(Carried, Value)>,
}
