//! A stage while it is filled.

use crate::amount::{Amounts, Resource};
use crate::device::Device;
use crate::field::{Access, FieldId};
use crate::layout::{self, Part};
use crate::unit::{Hashed, Kind, Unit, UnitId};
use std::collections::BTreeSet;

/// A stage with its units.
#[derive(Clone, Default, Debug)]
pub struct Stage {
    /// Resources that the stage's units use.
    pub used: Amounts,
    /// Units in the stage, in the order of their logical tables, each with the part of its entries that is in this stage.
    pub parts: Vec<(UnitId, Part)>,
    /// Bytes on the crossbars: tables share them.
    exact: BTreeSet<(FieldId, u32)>,
    ternary: BTreeSet<(FieldId, u32)>,
    /// Hashes of the stage's units.
    hashes: BTreeSet<Hashed>,
    /// State objects and action profiles whose memory is here.
    objects: BTreeSet<String>,
}

impl Stage {
    /// The largest part of the unit that fits into the free space of the stage: `left` entries, or fewer, with the additional amounts that it uses.
    pub fn offer(&self, device: &Device, units: &[Unit], id: UnitId, left: u64) -> Option<Part> {
        let unit = &units[id];
        let free = Amounts::of(&device.stage).less(&self.used);
        let mut base = self.fixed(units, id);
        let shared = |name: &str| self.objects.contains(name);
        if base.beyond(&free).is_some() {
            return None;
        }
        let mut part = match &unit.kind {
            Kind::Table(of) => layout::part(device, unit, of, left, &free.less(&base), &shared)?,
            _ => layout::objects(device, unit, &shared),
        };
        base += part.amounts;
        part.amounts = base;
        let is_small =
            layout::largest_object(device, unit).is_none_or(|(_, rams)| rams <= device.memory.object_rams);
        (is_small && base.beyond(&free).is_none()).then_some(part)
    }

    /// Resources that the unit uses regardless of its number of entries.
    pub fn fixed(&self, units: &[Unit], id: UnitId) -> Amounts {
        let unit = &units[id];
        let mut amounts = Amounts::default();
        amounts[Resource::Gateway] = unit.fixed.gateways;
        amounts[Resource::HashBits] = unit.fixed.hash_bits;
        for hash in unit.hashes.iter().filter(|hash| !self.hashes.contains(hash)) {
            amounts[Resource::HashBits] += hash.bits;
            amounts[Resource::HashUnits] += hash.units;
        }
        amounts[Resource::Vliw] = unit.instructions;
        let (ternary, exact) = (&self.ternary, &self.exact);
        let new = |here: &BTreeSet<(FieldId, u32)>| {
            let bytes: BTreeSet<(FieldId, u32)> =
                bytes(&unit.matches).filter(|b| !here.contains(b)).collect();
            bytes.len() as u32
        };
        let is_ternary = unit.is_ternary();
        if is_ternary {
            amounts[Resource::TernaryCrossbar] = new(ternary);
            amounts[Resource::TernaryTables] = 1;
        } else {
            amounts[Resource::ExactCrossbar] = new(exact);
        }
        if let Kind::Table(of) = &unit.kind {
            amounts[Resource::ActionBytes] = of.data_bits.div_ceil(8);
        }
        amounts[Resource::LogicalTables] = u32::from(!self.rides(units, id));
        amounts
    }

    /// A condition takes no logical table where the first unit that it guards takes one in the same stage: they are joined
    /// when that unit comes.
    fn rides(&self, units: &[Unit], id: UnitId) -> bool {
        let guard = units[id].guards.last();
        guard.is_some_and(|guard| {
            units[*guard].kind == Kind::Gateway
                && self.parts.iter().any(|(u, _)| u == guard)
                && !self.parts.iter().any(|(u, _)| units[*u].guards.last() == Some(guard))
        })
    }

    /// Adds what [`Self::offer`] gave.
    pub fn add(&mut self, units: &[Unit], id: UnitId, part: Part) {
        let unit = &units[id];
        self.used += part.amounts;
        let here = if unit.is_ternary() { &mut self.ternary } else { &mut self.exact };
        here.extend(bytes(&unit.matches));
        self.hashes.extend(unit.hashes.iter().cloned());
        self.objects.extend(unit.side.iter().filter(|s| s.cells.is_some()).map(|s| s.name.clone()));
        self.parts.push((id, part));
    }
}

impl Unit {
    /// True for tables in TCAM.
    pub fn is_ternary(&self) -> bool {
        matches!(&self.kind, Kind::Table(of) if of.ternary)
    }
}

/// The bytes of fields that accesses touch.
fn bytes(accesses: &[Access]) -> impl Iterator<Item = (FieldId, u32)> {
    accesses.iter().flat_map(|a| (a.lo / 8..=a.hi / 8).map(|byte| (a.field, byte)))
}
