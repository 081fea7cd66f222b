//! Counters, and the bytes that they count.

use super::{Code, Made, PLAIN};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use device::stage::BlockName;
use ir::{Expr, InstanceId};

impl<'a> Code<'a, '_> {
    /// Counts in a cell; `less` bytes do not count.
    pub(crate) fn count(
        &mut self,
        instance: InstanceId,
        index: &'a Expr,
        less: Option<&'a Expr>,
    ) -> Made<bool> {
        let Some(cells) = self.facts.cells.get(&instance).copied() else { return Ok(false) };
        let Some(index) = self.word(index)? else { return Ok(false) };
        let Some(bytes) = self.counted_but(less)? else { return Ok(false) };
        if self.ahead {
            self.prefetch_cell(cells, index);
            return Ok(true);
        }
        let inside = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, cells.size as i64);
        self.branch(
            inside,
            |code| {
                let address = code.cell(cells, index);
                code.count_packet(address, bytes);
                Ok(())
            },
            |_| Ok(()),
        )?;
        Ok(true)
    }

    /// Length for counters and meters of bytes: in ingress and egress the program's own, if it has one, else the length
    /// of the packet on arrival.
    pub(crate) fn counted(&mut self) -> Value {
        let is_said = matches!(self.block, BlockName::Ingress | BlockName::Egress);
        if let Some(index) = self.layout.counted.filter(|_| is_said) {
            let bytes = self.scalar(index);
            return self.resize(bytes, types::I64);
        }
        let registers = self.layout.registers;
        if !self.facts.frame_externs.is_empty() || self.is_tna() {
            return self.scalar(registers.pass_length);
        }
        let (start, end) = (self.scalar(registers.start), self.scalar(registers.end));
        self.b.ins().isub(end, start)
    }

    /// [`counted`](Code::counted) less the number that an argument of a call gives; `None` if code cannot compute it.
    pub(crate) fn counted_but(&mut self, less: Option<&'a Expr>) -> Made<Option<Value>> {
        let less = match less {
            Some(less) => match self.word(less)? {
                Some(less) => Some(less),
                None => return Ok(None),
            },
            None => None,
        };
        Ok(Some(self.counted_less(less)))
    }

    /// [`counted`](Code::counted) less a number, 0 at least.
    pub(crate) fn counted_less(&mut self, less: Option<Value>) -> Value {
        let bytes = self.counted();
        let Some(less) = less else { return bytes };
        let less = self.b.ins().umin(less, bytes);
        self.b.ins().isub(bytes, less)
    }

    /// Counts one packet and its bytes at the address of a counter: a cell of this worker, which no other thread writes.
    pub(crate) fn count_packet(&mut self, counter: Value, bytes: Value) {
        if self.ahead {
            return self.prefetch(counter);
        }
        let one = self.number(types::I64, 1);
        for (at, more) in [(0, one), (8, bytes)] {
            let old = self.b.ins().load(types::I64, PLAIN, counter, at);
            let new = self.b.ins().iadd(old, more);
            self.b.ins().store(PLAIN, new, counter, at);
        }
    }
}
