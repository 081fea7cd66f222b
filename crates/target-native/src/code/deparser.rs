//! The deparser: headers back in front of the payload.
//!
//! ```text
//! only emits     all headers still lie where they are to go      nothing to do
//!                else                                            to the scratch one by one, then to their places
//! anything else  to the scratch as statements run, then to their places
//! ```

use super::place::HeaderAt;
use super::value::Reach;
use super::{Code, Made, PLAIN, Unable};
use crate::context::Context;
use crate::layout::Shape;
use crate::packet::{Packet, SENT};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Variable;
use device::stage::BlockName;
use ir::{Stmt, StmtKind};
use std::mem::offset_of;

/// Headers that are deparsed together.
const GROUP: usize = 4;

/// An emitted header.
struct Emit<'a> {
    header: HeaderAt<'a>,
    shape: &'a Shape,
    /// Place in the scratch memory.
    scratch: i32,
}

/// Execution of the deparser.
enum Deparsing<'a> {
    Emits(Vec<Emit<'a>>),
    /// Compiled statements that emit at most this number of bytes.
    Statements(usize),
    Interpreter,
}

impl<'a> Code<'a, '_> {
    /// Deparses and sends.
    pub(crate) fn deparser(&mut self) -> Made<()> {
        match self.deparsing() {
            Deparsing::Emits(mut emits) => {
                self.notes.emitted = emits.iter().map(|emit| emit.shape.most_bytes()).sum();
                for at in (0..emits.len()).rev() {
                    let valid = self.valid(&emits[at].header)?;
                    if self.is_known(valid) == Some(false) {
                        emits.remove(at);
                    }
                }
                self.emit_all(&emits)
            }
            Deparsing::Statements(bytes) => self.emit_each(bytes),
            Deparsing::Interpreter => {
                self.notes.stages.push(BlockName::Deparser);
                self.deparse_elsewhere();
                Ok(())
            }
        }
    }

    fn deparsing(&self) -> Deparsing<'a> {
        let Some(control) = self.facts.controls.get(&BlockName::Deparser) else {
            return Deparsing::Interpreter;
        };
        let control = self.program.control(*control);
        let mut bytes = 0;
        if !control.body.stmts.iter().all(|stmt| self.can_emit(stmt, &mut bytes)) {
            return Deparsing::Interpreter;
        }
        let mut scratch = self.layout.homes.scratch;
        let emit = |stmt: &'a Stmt| match &stmt.kind {
            StmtKind::Emit(_, header) => {
                let (header, shape) = self.places().target(header)?;
                let next = scratch + shape.most_bytes() as i32;
                Some(Emit { header, shape, scratch: std::mem::replace(&mut scratch, next) })
            }
            _ => None,
        };
        let emits: Option<Vec<_>> = control.body.stmts.iter().map(emit).collect();
        match emits {
            Some(emits) => Deparsing::Emits(emits),
            None if bytes <= self.layout.scratch_bytes => Deparsing::Statements(bytes),
            None => Deparsing::Interpreter,
        }
    }

    /// True if no header in the statement has to be emitted by the interpreter.
    fn can_emit(&self, stmt: &'a Stmt, bytes: &mut usize) -> bool {
        match &stmt.kind {
            StmtKind::Emit(_, header) => self.places().target(header).is_some_and(|(_, shape)| {
                *bytes += shape.most_bytes();
                // TNA fills headers up with zero bits.
                shape.is_even() || self.is_tna()
            }),
            StmtKind::If(cond, yes, no) => {
                let inner = [yes, no];
                let emits = inner.iter().any(|block| emits(&block.stmts));
                !emits
                    || self.places().can(cond)
                        && inner.iter().all(|b| b.stmts.iter().all(|s| self.can_emit(s, bytes)))
            }
            StmtKind::Block(block) => block.stmts.iter().all(|s| self.can_emit(s, bytes)),
            _ => !emits(std::slice::from_ref(stmt)),
        }
    }

    /// The interpreter deparses; it sends frames that do not fit into the packet's buffer.
    fn deparse_elsewhere(&mut self) {
        let code = self.interpret_stage(BlockName::Deparser);
        let away = self.b.ins().icmp_imm_u(IntCC::Equal, code, crate::context::ELSEWHERE);
        self.leave_if(away, self.next, &[]);
        self.send();
    }

    fn emit_all(&mut self, emits: &[Emit<'a>]) -> Made<()> {
        // From the last header to the first: where each one goes, and whether it is there.
        let [target, moved] = [(); 2].map(|()| self.b.declare_var(types::I64));
        let (cursor, zero) = (self.scalar(self.layout.registers.cursor), self.number(types::I64, 0));
        self.b.def_var(target, cursor);
        self.b.def_var(moved, zero);
        let is_long = emits.len() > 2 * GROUP;
        self.each_group(emits.rchunks(GROUP), is_long, |code, group| {
            for Emit { header, shape, .. } in group.iter().rev() {
                let size = code.size_if_valid(header, shape)?;
                let end = code.b.use_var(target);
                let start = match code.known_number(size) {
                    Some(size) => code.b.ins().iadd_imm_s(end, -(size as i64)),
                    None => code.b.ins().isub(end, size),
                };
                code.b.def_var(target, start);
                let pointer = code.pointer(header, Reach::Read)?;
                if code.distance(pointer, start) == Some(0) {
                    continue;
                }
                let distance = code.b.ins().bxor(pointer, start);
                let zero = code.number(types::I64, 0);
                let distance = code.b.ins().select(size, distance, zero);
                let before = code.b.use_var(moved);
                let distance = code.b.ins().bor(before, distance);
                code.b.def_var(moved, distance);
            }
            Ok(())
        })?;
        let first = self.b.use_var(target);
        self.unless_room(first);
        let moved = self.b.use_var(moved);
        self.branch(moved, |code| code.move_headers(emits, first), |_| Ok(()))?;
        self.set_scalar(self.layout.registers.start, first);
        self.send();
        Ok(())
    }

    /// Copies all headers to the scratch memory and then to their targets, because targets and sources may overlap.
    fn move_headers(&mut self, emits: &[Emit<'a>], first: Value) -> Made<()> {
        let is_long = emits.len() > 2 * GROUP;
        self.each_group(emits.chunks(GROUP), is_long, |code, group| {
            for Emit { header, shape, scratch } in group {
                let pointer = code.pointer(header, Reach::Read)?;
                let scratch = code.at(*scratch);
                code.copy_header(scratch, pointer, header, shape);
            }
            Ok(())
        })?;
        let target = self.b.declare_var(types::I64);
        self.b.def_var(target, first);
        self.each_group(emits.chunks(GROUP), is_long, |code, group| {
            for Emit { header, shape, scratch } in group {
                let valid = code.valid(header)?;
                let to = code.b.use_var(target);
                code.branch(
                    valid,
                    |code| {
                        let scratch = code.at(*scratch);
                        code.copy_header(to, scratch, header, shape);
                        Ok(())
                    },
                    |_| Ok(()),
                )?;
                let size = code.size_if_valid(header, shape)?;
                let to = code.b.ins().iadd(to, size);
                code.b.def_var(target, to);
            }
            Ok(())
        })
    }

    /// Bytes that a header adds to a packet.
    fn size_if_valid(&mut self, header: &HeaderAt<'a>, shape: &Shape) -> Made<Value> {
        let valid = self.valid(header)?;
        let valid = self.resize(valid, types::I64);
        if self.known_number(valid) == Some(1) {
            return Ok(self.size(header, shape));
        }
        Ok(match self.variable_size(header, shape) {
            Some(size) => self.b.ins().imul(valid, size),
            None => self.b.ins().imul_imm_s(valid, shape.bytes() as i64),
        })
    }

    /// Code for each group of headers. Where there are many (`is_long`), it runs only for groups with a valid header: programs of several apps declare many headers,
    /// and a packet has few.
    fn each_group<'g>(
        &mut self,
        groups: impl Iterator<Item = &'g [Emit<'a>]>,
        is_long: bool,
        mut code: impl FnMut(&mut Self, &[Emit<'a>]) -> Made<()>,
    ) -> Made<()>
    where
        'a: 'g,
    {
        for group in groups {
            if !is_long {
                code(self, group)?;
                continue;
            }
            let mut any = self.number(types::I8, 0);
            for emit in group {
                let valid = self.valid(&emit.header)?;
                any = self.either(any, valid);
            }
            self.branch(any, |this| code(this, group), |_| Ok(()))?;
        }
        Ok(())
    }

    fn emit_each(&mut self, most: usize) -> Made<()> {
        let control = self.program.control(self.facts.controls[&BlockName::Deparser]);
        let registers = self.layout.registers;
        let cursor = self.scalar(registers.cursor);
        self.notes.emitted = most;
        // Asked before any statement runs: none may run twice.
        let lowest = self.b.ins().iadd_imm_s(cursor, -(most as i64));
        self.unless_room(lowest);
        let out = self.b.declare_var(types::I64);
        let scratch = self.at(self.layout.homes.scratch);
        self.b.def_var(out, scratch);
        self.emit_stmts(&control.body.stmts, out)?;
        let (end, cursor) = (self.b.use_var(out), self.scalar(registers.cursor));
        let scratch = self.at(self.layout.homes.scratch);
        let bytes = self.b.ins().isub(end, scratch);
        let first = self.b.ins().isub(cursor, bytes);
        self.b.ins().call(self.calls.copy, &[first, scratch, bytes]);
        self.set_scalar(registers.start, first);
        self.send();
        Ok(())
    }

    /// The interpreter deparses if `first` is outside of the packet's buffer.
    fn unless_room(&mut self, first: Value) {
        if self.layout.half.is_some() {
            // Whoever runs a half has made room.
            return;
        }
        let start = self.scalar(self.layout.registers.start);
        if self.distance(start, first).is_some_and(|further| further >= 0) {
            return;
        }
        let room = self.buffer();
        let short = self.b.ins().icmp(IntCC::UnsignedLessThan, first, room);
        let [elsewhere, here] = [(); 2].map(|()| self.b.create_block());
        self.b.set_cold_block(elsewhere);
        self.b.ins().brif(short, elsewhere, &[], here, &[]);
        self.b.seal_block(elsewhere);
        self.b.seal_block(here);
        self.b.switch_to_block(elsewhere);
        self.deparse_elsewhere();
        self.b.switch_to_block(here);
    }

    fn emit_stmts(&mut self, stmts: &'a [Stmt], out: Variable) -> Made<()> {
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::Emit(_, header) => {
                    let (header, shape) = self.places().target(header).ok_or(Unable("an emitted header"))?;
                    let valid = self.valid(&header)?;
                    self.branch(
                        valid,
                        |code| {
                            let pointer = code.pointer(&header, Reach::Read)?;
                            let at = code.b.use_var(out);
                            code.copy_header(at, pointer, &header, shape);
                            let size = code.size(&header, shape);
                            let at = code.b.ins().iadd(at, size);
                            code.b.def_var(out, at);
                            Ok(())
                        },
                        |_| Ok(()),
                    )?;
                }
                StmtKind::If(cond, yes, no) if emits(&yes.stmts) || emits(&no.stmts) => {
                    let cond = self.value(cond)?;
                    self.branch(
                        cond,
                        |code| code.emit_stmts(&yes.stmts, out),
                        |code| code.emit_stmts(&no.stmts, out),
                    )?;
                }
                StmtKind::Block(block) => self.emit_stmts(&block.stmts, out)?,
                _ => self.stmts(std::slice::from_ref(stmt))?,
            }
        }
        Ok(())
    }

    /// The first byte of the packet's buffer.
    fn buffer(&mut self) -> Value {
        self.b.ins().load(types::I64, PLAIN, self.packet, offset_of!(Packet, buffer) as i32)
    }

    /// The packet's bytes are those from `start` to `end`, truncated if requested.
    fn set_bounds(&mut self, start: Value, end: Value) {
        let mut length = self.b.ins().isub(end, start);
        if self.facts.truncates {
            let most = self.scalar(self.layout.registers.truncate);
            length = self.b.ins().umin(length, most);
        }
        let buffer = self.buffer();
        let first = self.b.ins().isub(start, buffer);
        let [first, length] = [first, length].map(|value| self.b.ins().ireduce(types::I32, value));
        for (value, offset) in [(first, offset_of!(Packet, start)), (length, offset_of!(Packet, length))] {
            self.b.ins().store(PLAIN, value, self.packet, offset as i32);
        }
    }

    /// Sends the packet from `start` to `end`, truncated if requested.
    fn send(&mut self) {
        let registers = self.layout.registers;
        let (start, end) = (self.scalar(registers.start), self.scalar(registers.end));
        let is_as_received = self.received.is_some_and(|[first, last]| {
            self.distance(first, start) == Some(0) && self.distance(last, end) == Some(0)
        });
        if !is_as_received || self.facts.truncates {
            self.set_bounds(start, end);
        }
        if self.layout.half.is_some() {
            return self.end_half();
        }
        let port = self.scalar(registers.egress_port);
        let fate = self.number(types::I32, u64::from(SENT));
        for (value, offset) in [(port, offset_of!(Packet, out_port)), (fate, offset_of!(Packet, fate))] {
            self.b.ins().store(PLAIN, value, self.packet, offset as i32);
        }
        let at = offset_of!(Context, sent) as i32;
        let sent = self.b.ins().load(types::I64, PLAIN, self.context, at);
        let sent = self.b.ins().iadd_imm_s(sent, 1);
        self.b.ins().store(PLAIN, sent, self.context, at);
        self.b.ins().jump(self.next, &[]);
    }
}

/// True if a statement emits.
fn emits(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| {
        let mut found = matches!(stmt.kind, StmtKind::Emit(..));
        ir::visit::blocks(stmt, &mut |block| found |= emits(&block.stmts));
        found
    })
}
