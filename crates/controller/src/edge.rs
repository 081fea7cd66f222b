//! An edge with spares, and its registers as P4Runtime has them.

use crate::limits::Limits;
use failover::{Allowed, Target, Targets};
use p4runtime_proto::p4::v1::{
    Entity, Index, P4Data, RegisterEntry, Update, entity::Entity as Kind, p4_data::Data, update::Type,
};
use std::collections::BTreeSet;

/// An edge, at the device that sends. Devices are numbered by their place in [`Rollout::parts`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The device that sends.
    pub sender: usize,
    /// The index in its registers.
    pub number: u64,
    /// The regions that it leads to.
    pub regions: Vec<String>,
    /// The preferred device and its spares.
    pub targets: Vec<usize>,
    /// Registers of the sender.
    pub registers: EdgeRegisters,
    /// When a target has failed, and when it is used again.
    pub limits: Limits,
}

/// Ids of registers of an edge (`docs/internals/failover.md`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeRegisters {
    /// `failed`
    pub failed: u32,
    /// `forgiven`
    pub forgiven: u32,
    /// `barred`
    pub barred: u32,
    /// `generations`
    pub generations: u32,
    /// `used`
    pub used: u32,
    /// `down`
    pub down: u32,
    /// `left`
    pub left: u32,
}

/// Registers of an edge in tests.
#[cfg(test)]
pub(crate) const REGISTERS: EdgeRegisters =
    EdgeRegisters { failed: 1, forgiven: 2, barred: 3, generations: 4, used: 5, down: 6, left: 7 };

impl Edge {
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (Target, usize)> {
        (0..).map(Target).zip(self.targets.iter().copied())
    }

    pub(crate) fn target(&self, device: usize) -> Option<Target> {
        self.numbered().find(|(_, at)| *at == device).map(|(target, _)| target)
    }

    pub(crate) fn device(&self, target: Target) -> Option<usize> {
        self.targets.get(usize::from(target.0)).copied()
    }

    /// Bars these devices at the sender; none if the edge leads to none of them, or to no others.
    pub(crate) fn without(&self, out: &BTreeSet<usize>) -> Option<Allowed> {
        let is_out = |(_, device): &(Target, usize)| out.contains(device);
        let has_other = self.numbered().any(|one| !is_out(&one));
        let barred =
            self.numbered().filter(is_out).fold(Targets::NONE, |barred, (target, _)| barred.with(target));
        (has_other && !barred.is_empty()).then_some(Allowed { barred, ..Allowed::default() })
    }

    pub(crate) fn allow(&self, allowed: Allowed) -> [Update; 2] {
        let EdgeRegisters { forgiven, barred, .. } = self.registers;
        [self.write(forgiven, allowed.forgiven.0), self.write(barred, allowed.barred.0)]
    }

    pub(crate) fn write(&self, register: u32, value: u32) -> Update {
        let data = P4Data { data: Some(Data::Bitstring(shortest(value.into()))) };
        Update { r#type: Type::Modify as i32, entity: Some(self.cell(register, Some(data))) }
    }

    pub(crate) fn cell(&self, register: u32, data: Option<P4Data>) -> Entity {
        let index = Some(Index { index: self.number as i64 });
        let cell = RegisterEntry { register_id: register, index, data };
        Entity { entity: Some(Kind::RegisterEntry(cell)) }
    }
}

/// The shortest bytes of a number.
pub fn shortest(value: u64) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(bytes.len() - 1);
    bytes[zeros..].to_vec()
}
