//! Registers with copies on several devices, beside the agent of one of them: what it has counted, and what it shows of the others'.

use base_bits::Bits;
use base_time::{Duration, Time};
use control_writes::Data;
use flow_control::merge::{Agent, Kind, Push, ToDevice, ToHub, Told};
use p4runtime_server::Target;
use p4runtime_store::{Catalog, Change};
use std::collections::BTreeMap;

/// The copies of the program that runs.
#[derive(Default)]
pub(crate) struct Copies {
    /// Which of the device's programs it is.
    program: u64,
    /// Of the program: larger than at any one before.
    incarnation: u64,
    objects: BTreeMap<u32, Agent<u64>>,
}

impl Copies {
    /// Handles a hub's message to the device that runs its `program`th program. Gives the answer, if one is asked for.
    pub(crate) fn hear<T: Target>(
        &mut self,
        now: Time,
        program: u64,
        (catalog, target): (&Catalog, &mut T),
        frame: &[u8],
    ) -> Option<Vec<u8>> {
        let message = ToDevice::of(frame)?;
        if program != self.program || self.incarnation == 0 {
            let at = now.since(Time::ZERO).as_ps() / Duration::from_us(1).as_ps();
            *self = Copies { program, incarnation: at.max(self.incarnation) + 1, objects: BTreeMap::new() };
        }
        let mut pushes = vec![];
        for (id, operator, told) in message.objects {
            let Some((width, size)) = cells_of(catalog, id) else { continue };
            let kind = Kind { operator, width };
            let copy = self.objects.entry(id).or_insert_with(|| Agent::new(kind, self.incarnation));
            match told {
                Told::Pull { incarnation, seen } => {
                    copy.named(incarnation, seen);
                    pushes.push((id, push(copy, (id, size), target)));
                }
                Told::Merge(merge) => {
                    for (index, change) in copy.merge(&merge) {
                        let Some(shown) = number(target.register(id, index).ok()) else { continue };
                        let to = Data::Bits(Bits::new(width, kind.after(shown, change)));
                        // The cell was read, and it has this width.
                        let _ = target.apply(catalog, &Change::Register { register: id, index, to });
                    }
                }
            }
        }
        (!pushes.is_empty()).then(|| ToHub { round: message.round, objects: pushes }.bytes())
    }

    /// The device's own counts in an object's cells that are not zero.
    pub(crate) fn counted<T: Target>(
        &self,
        id: u32,
        (catalog, target): (&Catalog, &mut T),
    ) -> BTreeMap<u64, u128> {
        let size = cells_of(catalog, id).map_or(0, |(_, size)| size);
        let shown = shown(id, size, target).into_iter();
        match self.objects.get(&id) {
            Some(copy) => shown.map(|(cell, shown)| (cell, copy.counted(&cell, shown))).collect(),
            None => shown.collect(),
        }
    }
}

fn push<T: Target>(copy: &mut Agent<u64>, (id, size): (u32, u64), target: &T) -> Push<u64> {
    copy.push_all(&shown(id, size, target))
}

/// The cells of a register that are not zero.
fn shown<T: Target>(id: u32, size: u64, target: &T) -> BTreeMap<u64, u128> {
    let mut cells = BTreeMap::new();
    let mut note = |cell: u64, data: Data| {
        let value = number(Some(data)).filter(|value| *value != 0);
        cells.extend(value.map(|value| (cell, value)));
    };
    // A program without the register has no cells.
    let _ = target.registers(id, 0..size, &mut note);
    cells
}

/// Width and number of the cells of a register of numbers that can be merged.
pub(crate) fn cells_of(catalog: &Catalog, id: u32) -> Option<(u32, u64)> {
    let register = catalog.register(id).ok()?;
    let Data::Bits(zero) = catalog.register_zero(id).ok()? else { return None };
    let size = u64::try_from(register.size).ok()?;
    (1..=128).contains(&zero.width()).then_some((zero.width(), size))
}

fn number(data: Option<Data>) -> Option<u128> {
    match data? {
        Data::Bits(bits) => bits.to_u128(),
        _ => None,
    }
}
