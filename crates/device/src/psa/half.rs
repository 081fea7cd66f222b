//! The halves of PSA: parser, control and deparser, from bytes to bytes. The packet replication engine and the queues are around them.

use crate::life::Life;
use crate::stage::BlockName;
use dataplane_api::Port;
use ir::Carried;
use ir_value::Value;

/// Ingress or egress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Half {
    Ingress,
    Egress,
}

/// A packet as it comes to a half.
#[derive(Clone, Copy, Debug)]
pub struct HalfStart<'p> {
    /// Which half.
    pub half: Half,
    /// Its bytes.
    pub frame: &'p [u8],
    /// A member of `PSA_PacketPath_t`.
    pub path: u32,
    /// By which port it came in.
    pub ingress_port: Port,
    /// By which port it goes out; egress only.
    pub egress_port: Port,
    /// Of its queue; egress only.
    pub class_of_service: u64,
    /// Which copy it is; egress only.
    pub instance: u16,
    /// What the program sees as the time.
    pub timestamp: u64,
    /// What a deparser gave it along, and for which way.
    pub carried: Option<&'p (Carried, Value)>,
    /// What it may still take.
    pub life: &'p Life,
}

/// What a half made of a packet.
#[derive(Clone, Debug)]
pub struct HalfDone {
    /// What the program asks for: of the type of [`Role::Output`].
    pub output: Value,
    /// What the deparser gave along, for each way.
    pub carried: Vec<(Carried, Value)>,
    /// The deparsed packet.
    pub frame: Vec<u8>,
}

impl HalfDone {
    /// What the deparser gave along for this way.
    pub(super) fn carried(&self, by: Carried) -> Option<(Carried, Value)> {
        self.carried.iter().find(|(way, _)| *way == by).cloned()
    }
}

impl Half {
    /// Its control.
    pub fn control(self) -> BlockName {
        match self {
            Half::Ingress => BlockName::Ingress,
            Half::Egress => BlockName::Egress,
        }
    }
}
