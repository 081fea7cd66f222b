//! Value externs: instances, and the functions of a program.

use crate::table::{Run, Tables};
use base_bits::Bits;
use base_time::Time;
use dataplane_api::{ExternError, Mirrored, Mirrors, ValueExtern};
use ir::{CallEffect, ControlId, ExternFunctionId, InstanceId, Name, Program, Signature, TableId};
use ir_value::numbers;
use smallvec::SmallVec;

/// A value extern with its declaration in the program.
pub(crate) struct ValueObject {
    pub(crate) object: Box<dyn ValueExtern>,
    /// For each method of the declaration; a function has one. In place, since a call waits for each pointer that it follows.
    pub(crate) methods: SmallVec<[ValueMethod; 1]>,
    /// Tables that it may look up, by their control-plane names.
    pub(crate) mirrored: Vec<(Name, ControlId, TableId)>,
    /// Number of calls, timers and writes of which the device knows.
    pub(crate) changes: u64,
}

/// The tables of a program that a value extern may look up.
pub(crate) fn mirrored(program: &Program, value_extern: &str) -> Vec<(Name, ControlId, TableId)> {
    let controls = program.controls.iter().enumerate().map(|(at, control)| (ControlId::from(at), control));
    let tables = controls.flat_map(|(id, control)| {
        control.tables.iter().enumerate().map(move |(at, table)| (id, TableId::from(at), table))
    });
    let named = |table: &ir::Table| {
        table.annotations.iter().any(|a| a.name == "mirror" && a.as_str() == Some(value_extern))
    };
    let own = tables.filter(|(.., table)| named(table));
    own.map(|(control, id, table)| (table.control_plane_name.clone(), control, id)).collect()
}

/// Tables of a device as a value extern sees them.
struct Seen<'s> {
    tables: &'s Tables,
    mirrored: &'s [(Name, ControlId, TableId)],
}

impl Mirrors for Seen<'_> {
    fn look_up(&self, table: &str, key: &[Bits]) -> Option<Mirrored> {
        let (_, control, id) = self.mirrored.iter().find(|(name, ..)| name.as_str() == table)?;
        let table = self.tables.get(*control, *id).filter(|table| table.keys.len() == key.len())?;
        let found = table.lookup(key).and_then(|at| table.entries.get_index(at));
        let (action, values) = match found.map(|(_, entry)| &entry.run) {
            Some(Run::Action(action, values)) => (*action, values),
            // Mirrored tables have no action profile.
            _ => (table.default.0, &table.default.1),
        };
        let mut data = vec![];
        values.iter().for_each(|value| numbers::flatten(value, &mut data));
        Some(Mirrored { hit: found.is_some(), action: action as usize, data })
    }
}

/// A method of the declaration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueMethod {
    /// Index of the method in the extern's offer.
    pub(crate) number: usize,
    pub(crate) effect: CallEffect,
}

impl ValueObject {
    /// True if results depend on more than the arguments.
    pub(crate) fn has_memory(&self) -> bool {
        self.methods.iter().any(|method| method.effect != CallEffect::Pure)
    }

    /// The whole memory; empty without one.
    pub(crate) fn memory(&self) -> Vec<u8> {
        if self.has_memory() { self.object.snapshot() } else { vec![] }
    }

    /// Replaces the memory.
    pub(crate) fn restore(&mut self, memory: &[u8]) -> Result<(), ExternError> {
        self.changes += 1;
        self.object.restore(memory)
    }

    /// See [`Switch::memory_version`](crate::Switch::memory_version).
    pub(crate) fn version(&self) -> Option<u64> {
        // Calls of several threads at once pass the device by.
        self.object.shared().is_none().then_some(self.changes)
    }

    /// Calls a method of the declaration. Outputs keep the widths of the given slots.
    pub(crate) fn call(
        &mut self,
        method: ValueMethod,
        inputs: &[Bits],
        outputs: &mut [Bits],
        tables: &Tables,
        now: Time,
    ) {
        let widths: SmallVec<[u32; 8]> = outputs.iter().map(Bits::width).collect();
        let seen = Seen { tables, mirrored: &self.mirrored };
        self.changes += 1;
        self.object.call_with(method.number, inputs, outputs, &seen, now);
        for (output, width) in outputs.iter_mut().zip(widths) {
            if output.width() != width {
                *output = output.resize(width);
            }
        }
    }
}

impl ValueObject {
    /// See [`ValueExtern::call_packed`].
    #[inline]
    pub(crate) fn call_packed(
        &mut self,
        method: ValueMethod,
        inputs: &[u8],
        outputs: &mut [u8],
        tables: &Tables,
        now: Time,
    ) -> bool {
        let seen = Seen { tables, mirrored: &self.mirrored };
        self.changes += 1;
        self.object.call_packed(method.number, inputs, outputs, &seen, now)
    }

    /// Runs its timer.
    pub(crate) fn tick(&mut self, tables: &Tables, now: Time) {
        self.changes += 1;
        self.object.tick_with(&Seen { tables, mirrored: &self.mirrored }, now);
    }
}

/// Callee of a value extern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueCallee {
    /// A method of an instance.
    Method(InstanceId, u32),
    /// A function.
    Function(ExternFunctionId),
}

impl ValueCallee {
    /// Value extern that a call invokes; `None` for other calls.
    pub fn of(program: &Program, callee: &ir::Callee) -> Option<ValueCallee> {
        match callee {
            ir::Callee::ExternFunction(id) => {
                program.extern_functions.get(id.index())?.value_extern()?;
                Some(ValueCallee::Function(*id))
            }
            ir::Callee::Method(id, method) => {
                program.extern_object(program.instances.get(id.index())?.object).value_extern()?;
                Some(ValueCallee::Method(*id, *method))
            }
            _ => None,
        }
    }

    /// Declaration of the function or method.
    pub fn signature(self, program: &Program) -> Option<&Signature> {
        match self {
            ValueCallee::Function(id) => Some(&program.extern_functions.get(id.index())?.signature),
            ValueCallee::Method(id, method) => {
                let object = program.extern_object(program.instances.get(id.index())?.object);
                Some(&object.methods.get(method as usize)?.signature)
            }
        }
    }
}
