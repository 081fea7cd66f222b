//! TNA's registers whose cells are structs, and those of entries: the parts of a cell lie one after the other in one number
//! (`ir_value::numbers::packed`).

use super::place::Place;
use super::wire::{int, ones};
use super::{Code, Made, PLAIN, Unable, type_of};
use crate::facts::CellsCode;
use crate::layout::{Kind, Node, kind_of};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ir::{Call, Callee, Expr, ExprKind, InstanceId, Type};

/// Widths of the numbers in a value of this type, and their sum; `None` if it is no number, nor a struct of numbers, or if it has
/// more than 128 bits.
pub(crate) fn packed_widths(program: &ir::Program, ty: &Type) -> Option<(u32, Vec<u32>)> {
    let mut widths = vec![];
    if !ir_value::numbers::widths(program, ty, &mut widths) || has_enum(program, ty) {
        return None;
    }
    let all: u64 = widths.iter().map(|width| u64::from(*width)).sum();
    (all <= 128).then_some((all as u32, widths))
}

fn has_enum(program: &ir::Program, ty: &Type) -> bool {
    match kind_of(program, ty) {
        Some(kind) => kind == Kind::Enum,
        None => program.fields(program.representation(ty)).iter().any(|field| has_enum(program, &field.ty)),
    }
}

impl<'a> Code<'a, '_> {
    /// The widths of the parts of a register's cell, and their sum.
    pub(crate) fn packed_type(&self, register: InstanceId) -> Option<(u32, Vec<u32>)> {
        packed_widths(self.program, self.program.instance(register).type_args.first()?)
    }

    /// A call whose result is a struct.
    pub(crate) fn answer_struct(&mut self, to: &'a Expr, call: &'a Call) -> Made<bool> {
        let args: Vec<&'a Expr> = call.args.iter().flatten().collect();
        let (instance, method) = match call.callee {
            Callee::ExternFunction(id) => {
                let name = self.program.extern_functions[id.index()].name.as_str();
                return if name == "port_metadata_unpack" { self.port_metadata(to) } else { Ok(false) };
            }
            Callee::Method(instance, method) => (instance, method),
            _ => return Ok(false),
        };
        let object = self.program.extern_object(self.program.instance(instance).object);
        let Some(method) = object.methods.get(method as usize) else { return Ok(false) };
        let Some(parts) = self.parts(to) else { return Ok(false) };
        let Some((width, widths)) = self.packed_type(instance) else { return Ok(false) };
        if parts.len() != widths.len() {
            return Ok(false);
        }
        let cell = match (object.name.as_str(), method.name.as_str(), args.as_slice()) {
            ("Register", "read", [index]) => self.read_register(instance, index)?,
            ("RegisterParam", "read", []) => {
                let first = self.number(types::I64, 0);
                self.read_cell(instance, first)?
            }
            ("DirectRegister", "read", []) => self.read_direct(instance, width)?,
            _ => None,
        };
        let Some(cell) = cell else { return Ok(false) };
        // The first field has the highest bits of the cell.
        let mut below = width;
        for (index, part) in parts.into_iter().zip(widths) {
            below -= part;
            let value = self.part(cell, below);
            let kind = self.layout.scalars[index].kind;
            let value = self.resize(value, type_of(kind));
            let value = self.keep_low(value, kind.width());
            self.set_scalar(index, value);
        }
        Ok(true)
    }

    /// `value >> below`, zero where all bits go.
    fn part(&mut self, value: Value, below: u32) -> Value {
        let ty = self.b.func.dfg.value_type(value);
        if below >= ty.bits() { self.number(ty, 0) } else { self.shift_down(value, below) }
    }

    /// The scalars of a struct in order; `None` if it has anything else.
    fn parts(&self, place: &'a Expr) -> Option<Vec<usize>> {
        fn collect(node: &Node, found: &mut Vec<usize>) -> bool {
            match node {
                Node::Scalar(index) => {
                    found.push(*index);
                    true
                }
                Node::Struct(nodes) => nodes.iter().all(|node| collect(node, found)),
                _ => false,
            }
        }
        let mut found = vec![];
        match self.places().find(place)? {
            Place::Node(node) => collect(node, &mut found).then_some(found),
            _ => None,
        }
    }

    /// A value as the number of its parts, of this type.
    fn packed_value(&mut self, value: &'a Expr, register: InstanceId) -> Made<Option<Value>> {
        let Some((width, widths)) = self.packed_type(register) else { return Ok(None) };
        let ty = int(width.div_ceil(8).max(1).next_power_of_two());
        let mut exprs = vec![];
        let mut values: Vec<Value> = if kind_of(self.program, &value.ty).is_some() {
            exprs.push(value);
            vec![]
        } else if let Some(parts) = self.parts(value) {
            parts.into_iter().map(|index| self.scalar(index)).collect()
        } else {
            listed(value, &mut exprs);
            vec![]
        };
        if !exprs.iter().all(|expr| self.places().can(expr)) {
            return Ok(None);
        }
        for expr in exprs {
            values.push(self.value(expr)?);
        }
        if values.len() != widths.len() {
            return Ok(None);
        }
        let mut number = self.number(types::I128, 0);
        for (value, width) in values.into_iter().zip(widths) {
            let value = self.resize(value, types::I128);
            number = if width >= 128 { value } else { self.shift_up(number, width) };
            if width < 128 {
                number = self.b.ins().bor(number, value);
            }
        }
        Ok(Some(self.resize(number, ty)))
    }

    /// The cell of a register as a number; `None` if code does not share it. Out of range it is zero.
    pub(crate) fn read_cell(&mut self, register: InstanceId, index: Value) -> Made<Option<Value>> {
        let Some(cells) = self.shared_cells(register) else { return Ok(None) };
        let inside = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, cells.size as i64);
        let zero = self.number(types::I64, 0);
        let index = self.b.ins().select(inside, index, zero);
        let address = self.cell(cells, index);
        let value = self.b.ins().load(int(cells.bytes), PLAIN, address, 0);
        let value = self.resize(value, type_of(cells.kind));
        let zero = self.number(type_of(cells.kind), 0);
        Ok(Some(self.b.ins().select(inside, value, zero)))
    }

    pub(crate) fn shared_cells(&self, register: InstanceId) -> Option<CellsCode> {
        self.facts.cells.get(&register).copied().filter(|cells| cells.size > 0)
    }

    /// Out of range nothing happens.
    pub(crate) fn write_cell(
        &mut self,
        register: InstanceId,
        index: &'a Expr,
        value: &'a Expr,
    ) -> Made<bool> {
        if kind_of(self.program, &value.ty).is_some() {
            return self.register_write(register, index, value);
        }
        let Some(cells) = self.shared_cells(register) else { return Ok(false) };
        let Some(index) = self.word(index)? else { return Ok(false) };
        let Some(value) = self.packed_value(value, register)? else { return Ok(false) };
        let inside = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, cells.size as i64);
        self.branch(
            inside,
            |code| {
                let address = code.cell(cells, index);
                code.b.ins().store(PLAIN, value, address, 0);
                Ok(())
            },
            |_| Ok(()),
        )?;
        Ok(true)
    }

    /// The cell of the entry that was hit, in an action of its table.
    pub(crate) fn read_direct(&mut self, register: InstanceId, width: u32) -> Made<Option<Value>> {
        if self.current.is_none() || self.packed_type(register).is_none() {
            return Ok(None);
        }
        let id = self.number(types::I32, u64::from(register.0));
        self.b.ins().call(self.calls.direct_read, &[self.context, id]);
        let ty = type_of(Kind::Bits(width));
        Ok(Some(self.b.ins().load(ty, PLAIN, self.frame, self.layout.homes.keys)))
    }

    /// Writes that cell.
    pub(crate) fn write_direct(&mut self, register: InstanceId, value: &'a Expr) -> Made<bool> {
        if self.current.is_none() {
            return Ok(false);
        }
        let Some(value) = self.packed_value(value, register)? else { return Ok(false) };
        self.store_key_pair(0, value);
        let id = self.number(types::I32, u64::from(register.0));
        self.b.ins().call(self.calls.direct_write, &[self.context, id]);
        Ok(true)
    }

    /// `to = port_metadata_unpack<T>(packet)`: T's bytes, of all of the port's metadata that is taken.
    fn port_metadata(&mut self, to: &'a Expr) -> Made<bool> {
        let Some(bits) = self.program.bits(&to.ty).filter(|bits| *bits <= 512) else { return Ok(false) };
        let registers = self.layout.registers;
        let header = self.places().target(to).filter(|(_, shape)| shape.is_even());
        let parts = self.parts(to);
        if header.is_none() && parts.is_none() || self.reject.is_none() {
            return Ok(false);
        }
        let (cursor, end) = (self.scalar(registers.cursor), self.scalar(registers.end));
        let least = self.b.ins().iadd_imm_s(cursor, bits.div_ceil(8) as i64);
        let short = self.b.ins().icmp(IntCC::UnsignedGreaterThan, least, end);
        self.fail_if(short, super::parser::PACKET_TOO_SHORT)?;
        if let Some((header, shape)) = header {
            self.take_header(to, &header, shape, cursor)?;
        } else if let Some(parts) = parts {
            let mut at = 0;
            for index in parts {
                let kind = self.layout.scalars[index].kind;
                let value = self.load_field(cursor, at, kind.width(), kind);
                let value = self.resize(value, type_of(kind));
                self.set_scalar(index, value);
                at += kind.width();
            }
        }
        // The metadata of the port has a fixed size on each chip; T may be smaller.
        let room = p4_arch::tna::port_metadata_bits(device::tna::generation(self.program));
        let behind = self.b.ins().iadd_imm_s(cursor, bits.max(room.into()).div_ceil(8) as i64);
        let behind = self.b.ins().umin(behind, end);
        self.set_scalar(registers.cursor, behind);
        Ok(true)
    }

    /// Masks of the bits that fill up a header's last byte.
    pub(crate) fn clear_filling(&mut self, home: Value, bits: u32) -> Made<()> {
        if bits.is_multiple_of(8) {
            return Ok(());
        }
        let last = i32::try_from(bits / 8).map_err(|_| Unable("a header that is too long"))?;
        let byte = self.b.ins().load(types::I8, PLAIN, home, last);
        let kept = ones(bits % 8) << (8 - bits % 8);
        let mask = self.number(types::I8, kept as u64);
        let byte = self.b.ins().band(byte, mask);
        self.b.ins().store(PLAIN, byte, home, last);
        Ok(())
    }
}

/// The scalars of a list.
fn listed<'a>(value: &'a Expr, found: &mut Vec<&'a Expr>) {
    match &value.kind {
        ExprKind::Aggregate(parts) => parts.iter().for_each(|part| listed(part, found)),
        _ => found.push(value),
    }
}
