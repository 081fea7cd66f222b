//! Complete contents of a switch's state objects.

use crate::objects::Object;
use crate::objects::meter::{BucketView, Meter};
use crate::switch::Switch;
use crate::trace::{Shown, shown};
use control_writes::Count;
use ir::{InstanceId, Name, Type};

/// A state object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectView {
    /// Control-plane name.
    pub name: Name,
    /// Number of cells; of direct objects, number of entries.
    pub size: u64,
    /// Contents.
    pub cells: Cells,
}

/// The cells of an object that are not as at the start, by index; of direct objects by the entry's handle, and without one
/// that of the default action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cells {
    /// Cells of a register.
    Register(Vec<(u64, Shown)>),
    /// Cells of a counter.
    Counter(Vec<(u64, Count)>),
    /// Cells of a direct counter, with its table.
    DirectCounter(Name, Vec<(Option<u64>, Count)>),
    /// Cells of a meter with set rates, and the state of all other cells if all rates are set.
    Meter(Vec<(u64, MeterView)>, Option<MeterView>),
    /// Cells of a direct meter, with its table.
    DirectMeter(Name, Vec<(Option<u64>, MeterView)>),
}

/// State of a meter whose rates are set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeterView {
    /// Above it packets are yellow.
    pub committed: BucketView,
    /// Above it packets are red.
    pub peak: BucketView,
}

fn meter_view(meter: &Meter) -> Option<MeterView> {
    let [peak, committed] = meter.buckets()?;
    Some(MeterView { committed, peak })
}

impl Switch {
    /// All registers, counters and meters, in the order of the program; then the direct ones, by tables.
    pub fn objects(&self) -> Vec<ObjectView> {
        let program = self.program();
        let mut views = vec![];
        for (instance, object) in program.instances.iter().zip(&self.core.state.objects) {
            let name = instance.control_plane_name.clone();
            match object {
                Object::Register(register) => {
                    let ty = instance.type_args.first().cloned().unwrap_or(Type::Void);
                    let cells =
                        register.cells().iter().map(|(at, v)| (*at, shown(program, &ty, v))).collect();
                    views.push(ObjectView { name, size: register.size, cells: Cells::Register(cells) });
                }
                Object::Counter(counter) => {
                    let cells = Cells::Counter(counter.cells());
                    views.push(ObjectView { name, size: counter.size, cells });
                }
                Object::Meter(meters) => {
                    let set = meters.cells().filter_map(|(at, meter)| Some((at, meter_view(meter)?)));
                    let cells = Cells::Meter(set.collect(), meter_view(meters.others()));
                    views.push(ObjectView { name, size: meters.size, cells });
                }
                _ => {}
            }
        }
        for table in self.core.state.tables.iter() {
            let mut direct = |id: Option<InstanceId>, cells: Cells| {
                if let Some(instance) = id.and_then(|id| program.instances.get(id.index())) {
                    let name = instance.control_plane_name.clone();
                    views.push(ObjectView { name, size: table.entries.len() as u64, cells });
                }
            };
            let of = || table.control_plane_name.clone();
            let entries = table.entries.values().map(|entry| (Some(entry.handle), &entry.direct));
            let all = entries.chain(table.of_default.iter().map(|cells| (None, cells)));
            let counts = all.clone().map(|(handle, cells)| (handle, cells.count.read()));
            let counted = counts.filter(|(_, count)| *count != Count::default());
            direct(table.counters, Cells::DirectCounter(of(), counted.collect()));
            let set = all.filter_map(|(handle, cells)| Some((handle, meter_view(&cells.meter)?)));
            direct(table.meters, Cells::DirectMeter(of(), set.collect()));
        }
        views
    }
}
