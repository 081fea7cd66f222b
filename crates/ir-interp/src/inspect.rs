//! What the state objects of a switch hold, for those who want to see all of it.

use crate::objects::Object;
use crate::objects::counter::Count;
use crate::switch::Switch;
use crate::trace::{Shown, shown};
use ir::{Name, Type};

/// A state object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectView {
    /// Its control-plane name.
    pub name: Name,
    /// How many cells it has; of direct objects, how many entries.
    pub size: u64,
    /// What it holds.
    pub cells: Cells,
}

/// The cells of an object that are not as at the start, by index; of direct objects by the entry's handle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cells {
    /// Of a register.
    Register(Vec<(u64, Shown)>),
    /// Of a counter.
    Counter(Vec<(u64, Count)>),
    /// Of a direct counter of this table.
    DirectCounter(Name, Vec<(u64, Count)>),
}

impl Switch {
    /// All registers and counters, in the order of the program.
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
                _ => {}
            }
        }
        for table in self.core.state.tables.iter() {
            let Some(instance) = table.counters.and_then(|id| program.instances.get(id.index())) else {
                continue;
            };
            let counted = table.entries.values().filter(|e| e.count != Count::default());
            let cells = counted.map(|e| (e.handle, e.count)).collect();
            views.push(ObjectView {
                name: instance.control_plane_name.clone(),
                size: table.entries.len() as u64,
                cells: Cells::DirectCounter(table.control_plane_name.clone(), cells),
            });
        }
        views
    }
}
