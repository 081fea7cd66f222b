//! The halves of PSA: parser, control and deparser, from bytes to bytes. The packet replication engine and the queues are around them.

use crate::budget::PacketBudget;
use crate::half::Half;
use dataplane_api::Port;
use ir::Carried;
use ir_value::Value;

/// A packet as it comes to a half.
#[derive(Clone, Copy, Debug)]
pub struct HalfStart<'p> {
    /// The half.
    pub half: Half,
    /// The frame.
    pub frame: &'p [u8],
    /// A member of `PSA_PacketPath_t`.
    pub path: u32,
    /// Ingress port.
    pub ingress_port: Port,
    /// Egress port; egress only.
    pub egress_port: Port,
    /// Class of service of the queue; egress only.
    pub class_of_service: u64,
    /// Number of the copy; egress only.
    pub instance: u16,
    /// Timestamp for the program.
    pub timestamp: u64,
    /// Metadata from a deparser, and the path that it travels.
    pub carried: Option<&'p (Carried, Value)>,
    /// The packet's budget.
    pub budget: &'p PacketBudget,
}

/// Result of a half.
#[derive(Clone, Debug)]
pub struct HalfDone {
    /// Requests of the program, of the type of [`Role::Output`].
    pub output: Value,
    /// Metadata from the deparser, by path.
    pub carried: Vec<(Carried, Value)>,
    /// The deparsed packet.
    pub frame: Vec<u8>,
}

impl HalfDone {
    /// Metadata from the deparser for this path.
    pub(super) fn carried(&self, by: Carried) -> Option<(Carried, Value)> {
        self.carried.iter().find(|(way, _)| *way == by).cloned()
    }
}
