//! Packets run ahead, so that the memory that their lookups read is in the caches when they really run.
//!
//! ```text
//! for each packet of the batch    parse, ingress: nothing is stored, far lookups are asked for and taken as misses, far cells are asked for
//! for each packet of the batch    everything
//! ```
//!
//! Cells of small arrays are read, since a program may decide by them which far cells it reads. By itself, a processor overlaps the waits for few
//! cells: much of what it can look ahead is the code between two of them.
//!
//! The same code is generated twice, and only speed depends on the first copy: it writes no packet, no object and no
//! variable in the frame, so its results may be wrong, and it may end anywhere.

use super::table::Applied;
use super::{Code, PLAIN};
use crate::context::{Context, TableRef};
use crate::facts::CellsCode;
use cranelift_codegen::ir::{InstBuilder, InstructionData, Opcode, Value, types};
use std::mem::offset_of;

/// Limit on rounds of loops: the values that a loop waits for may never be stored.
pub(crate) const FUEL: u64 = 16;

impl<'a> Code<'a, '_> {
    /// Ends the packet here; later code is never run.
    pub(crate) fn end_ahead(&mut self) {
        self.b.ins().jump(self.next, &[]);
        let dead = self.b.create_block();
        self.b.seal_block(dead);
        self.b.switch_to_block(dead);
    }

    /// Asks for the line at an address.
    pub(crate) fn prefetch(&mut self, address: Value) {
        self.b.ins().call(self.calls.prefetch, &[address]);
    }

    /// Asks for a cell, if its array is far: once on a path for an index in a variable.
    pub(crate) fn prefetch_cell(&mut self, cells: CellsCode, index: Value) {
        let cell = (cells.index, self.narrow(index));
        if cells.is_far && !self.asked.contains(&cell) {
            self.asked.push(cell);
            let address = self.cell(cells, index);
            self.prefetch(address);
        }
    }

    /// A number before it was widened.
    fn narrow(&self, number: Value) -> Value {
        let made = &self.b.func.dfg;
        match made.value_def(number).inst().map(|inst| made.insts[inst]) {
            Some(InstructionData::Unary { opcode: Opcode::Uextend, arg }) => arg,
            _ => number,
        }
    }

    /// A table that has neither an array nor ternary keys: if it is near it is applied by `near`, else asked for, and nothing fits.
    pub(crate) fn apply_ahead(
        &mut self,
        table: usize,
        key: &[Value],
        near: impl FnOnce(&mut Self) -> super::Made<Applied>,
    ) -> super::Made<Applied> {
        let tables = self.b.ins().load(types::I64, PLAIN, self.context, offset_of!(Context, tables) as i32);
        let at = (table * size_of::<TableRef>()) as i32;
        let far = self.b.ins().load(types::I64, PLAIN, tables, at + offset_of!(TableRef, far) as i32);
        let (hit, action) = (self.b.declare_var(types::I8), self.b.declare_var(types::I32));
        let none = self.nothing_applied();
        self.b.def_var(hit, none.hit);
        self.b.def_var(action, none.action);
        let key = key.to_vec();
        self.branch(
            far,
            |code| {
                let address = code.store_key(&key);
                let offset = at + offset_of!(TableRef, table) as i32;
                let table = code.b.ins().load(types::I64, PLAIN, tables, offset);
                let words = code.number(types::I64, key.len() as u64);
                code.b.ins().call(code.calls.ask, &[code.context, table, address, words]);
                Ok(())
            },
            |code| {
                let applied = near(code)?;
                code.b.def_var(hit, applied.hit);
                code.b.def_var(action, applied.action);
                Ok(())
            },
        )?;
        Ok(Applied { hit: self.b.use_var(hit), action: self.b.use_var(action) })
    }

    /// No entry fits, and no action runs.
    pub(crate) fn nothing_applied(&mut self) -> Applied {
        Applied { hit: self.number(types::I8, 0), action: self.number(types::I32, u64::from(u32::MAX)) }
    }
}
