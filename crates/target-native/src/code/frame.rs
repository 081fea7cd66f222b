//! Stores variables to the stack frame and loads them back, for calls of the interpreter.

use super::place::HeaderAt;
use super::{Code, PLAIN, type_of};
use crate::context::{GONE, Left, REJECTED};
use crate::facts::mentioned;
use crate::layout::{Homes, Kind, Layout, Node};
use crate::notes::Fallback;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use device::stage::BlockName;
use ir::Stmt;

/// Pointers and validities of more headers are only in the frame: most packets have few of them, and code would carry all through each branch.
const MANY: usize = 8;

pub(crate) fn are_many(layout: &Layout) -> bool {
    layout.headers.len() > MANY && layout.half.is_none()
}

impl<'a> Code<'a, '_> {
    /// Leaves a statement to the interpreter.
    pub(crate) fn interpret(&mut self, stmt: &'a Stmt) {
        let control = self.facts.controls.get(&self.block).map(|id| self.program.control(*id));
        let vars = mentioned(control, stmt);
        let nodes: Vec<&'a Node> = vars.iter().filter_map(|var| self.nodes.get(var.index())).collect();
        self.spill_registers();
        self.layout.counted.into_iter().for_each(|index| self.spill_scalar(index));
        nodes.iter().for_each(|node| self.spill(node));
        let is_alone = self.is_tna() && super::is_alone(self.program, self.block, stmt);
        let fallback = Fallback { block: self.block, stmt: stmt.clone(), vars, is_alone };
        let known = self.notes.fallbacks.iter().position(|of| *of == fallback);
        let id = known.unwrap_or_else(|| {
            self.notes.fallbacks.push(fallback);
            self.notes.fallbacks.len() - 1
        });
        let id = self.number(types::I32, id as u64);
        let call = self.b.ins().call(self.calls.statement, &[self.context, id]);
        let code = self.b.inst_results(call)[0];
        self.fill_registers();
        nodes.iter().for_each(|node| self.fill(node));
        self.check(code);
    }

    /// Leaves a whole block to the interpreter. Gives the code of how it ended, which is no error.
    pub(crate) fn interpret_stage(&mut self, block: BlockName) -> Value {
        let roles = &self.layout.roles;
        self.spill_registers();
        roles.iter().for_each(|node| self.spill(node));
        let number = self.number(types::I32, block as u64);
        let call = self.b.ins().call(self.calls.stage, &[self.context, number, self.packet]);
        let code = self.b.inst_results(call)[0];
        self.fill_registers();
        roles.iter().for_each(|node| self.fill(node));
        self.check(code);
        code
    }

    /// Continues if the result of the interpreter call allows it.
    fn check(&mut self, code: Value) {
        let gone = self.gone();
        let is_gone = self.b.ins().icmp_imm_u(IntCC::Equal, code, GONE);
        self.leave_if(is_gone, gone, &[]);
        if let Some(reject) = self.reject {
            let rejected = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, code, REJECTED);
            let error = self.b.ins().iadd_imm_s(code, -REJECTED);
            self.leave_if(rejected, reject, &[error]);
        }
    }

    /// Block that continues after a packet was dropped and counted.
    fn gone(&mut self) -> cranelift_codegen::ir::Block {
        self.next
    }

    /// Leaves the packet, and those after it for later.
    pub(crate) fn finish(&mut self, left: Left) {
        self.keep_touched();
        self.spill_packet();
        let left = self.number(types::I32, left as u64);
        self.b.ins().call(self.calls.finish, &[self.context, self.packet, left]);
        self.b.ins().return_(&[]);
    }

    /// All of the packet is in the frame from now on.
    pub(crate) fn spill_packet(&mut self) {
        self.spill_registers();
        let roles = &self.layout.roles;
        roles.iter().for_each(|node| self.spill(node));
    }

    /// Fills the packet from the frame.
    pub(crate) fn fill_packet(&mut self) {
        self.fill_registers();
        let roles = &self.layout.roles;
        roles.iter().for_each(|node| self.fill(node));
    }

    fn spill_registers(&mut self) {
        (0..self.facts.registers).for_each(|index| self.spill_scalar(index));
    }

    fn fill_registers(&mut self) {
        (0..self.facts.registers).for_each(|index| self.fill_scalar(index));
    }

    pub(crate) fn spill_scalar(&mut self, index: usize) {
        let value = self.scalar(index);
        let home = self.layout.scalars[index].home;
        self.b.ins().store(PLAIN, value, self.frame, home);
    }

    fn fill_scalar(&mut self, index: usize) {
        let scalar = self.layout.scalars[index];
        let value = self.b.ins().load(type_of(scalar.kind), PLAIN, self.frame, scalar.home);
        self.set_scalar(index, value);
    }

    pub(crate) fn spill(&mut self, node: &Node) {
        match node {
            Node::Scalar(index) => self.spill_scalar(*index),
            Node::Header(index) => {
                let header = &self.layout.headers[*index];
                if !self.is_in_frame {
                    let pointer = self.b.use_var(self.pointers[*index]);
                    let valid = self.b.use_var(self.valids[*index]);
                    self.b.ins().store(PLAIN, pointer, self.frame, header.pointer);
                    self.b.ins().store(PLAIN, valid, self.frame, header.valid);
                    if self.has_many_headers() {
                        self.leave_home(*index);
                    }
                }
                header.varbit.into_iter().for_each(|length| self.spill_scalar(length));
            }
            Node::Struct(nodes) | Node::Union(nodes) => nodes.iter().for_each(|node| self.spill(node)),
            Node::Stack(stack) => self.spill_scalar(stack.next),
            Node::Value(_) | Node::Nothing => {}
        }
    }

    pub(crate) fn fill(&mut self, node: &Node) {
        match node {
            Node::Scalar(index) => self.fill_scalar(*index),
            Node::Header(index) => {
                self.moves(*index);
                let header = &self.layout.headers[*index];
                if !self.is_in_frame {
                    let pointer = self.b.ins().load(types::I64, PLAIN, self.frame, header.pointer);
                    let valid = self.b.ins().load(types::I8, PLAIN, self.frame, header.valid);
                    self.b.def_var(self.pointers[*index], pointer);
                    self.b.def_var(self.valids[*index], valid);
                }
                header.varbit.into_iter().for_each(|length| self.fill_scalar(length));
            }
            Node::Struct(nodes) | Node::Union(nodes) => nodes.iter().for_each(|node| self.fill(node)),
            Node::Stack(stack) => self.fill_scalar(stack.next),
            Node::Value(_) | Node::Nothing => {}
        }
    }

    /// Sets everything at `node` to zero: headers invalid and at home.
    pub(crate) fn zero(&mut self, node: &Node) {
        self.clear_homes(node);
        self.reset(node, false);
    }

    /// Sets the roles to zero. In programs of many headers, most of which a packet does not have, homes are cleared only after something was written
    /// at one of them, and pointers are set only if the packet before had the header.
    pub(crate) fn zero_roles(&mut self) {
        let roles = &self.layout.roles;
        if !self.has_many_headers() {
            return roles.iter().for_each(|node| self.zero(node));
        }
        let touched = self.layout.homes.touched;
        if !self.ahead {
            let is_touched = self.b.ins().load(types::I8, PLAIN, self.frame, touched);
            self.when(is_touched, |code| {
                roles.iter().for_each(|node| code.clear_homes(node));
                let no = code.number(types::I8, 0);
                code.b.ins().store(PLAIN, no, code.frame, touched);
            });
        }
        if self.is_in_frame {
            self.headers_home();
        }
        roles.iter().for_each(|node| self.reset(node, self.is_in_frame));
    }

    /// All headers are invalid and at home, in the frame.
    fn headers_home(&mut self) {
        let Homes { valids, at_home, .. } = self.layout.homes;
        let headers = self.layout.headers.len();
        for at in (0..headers as i32).step_by(8) {
            let no = self.number(types::I64, 0);
            self.b.ins().store(PLAIN, no, self.frame, valids + at);
            let are_home = self.b.ins().load(types::I64, PLAIN, self.frame, at_home + at);
            let all = 0x0101_0101_0101_0101_u64;
            let all = self.number(types::I64, all);
            let away = self.b.ins().icmp(IntCC::NotEqual, are_home, all);
            self.when(away, |code| {
                (at as usize..headers.min(at as usize + 8)).for_each(|header| code.go_home(header));
                code.b.ins().store(PLAIN, all, code.frame, at_home + at);
            });
        }
    }

    pub(crate) fn header_pointers(&mut self) -> Vec<Value> {
        (0..self.layout.headers.len()).map(|header| self.header_pointer(header)).collect()
    }

    /// Pointers and validities of headers are only in the frame from now on. `homes` were the pointers when all headers were invalid and at home.
    pub(crate) fn headers_to_frame(&mut self, homes: &[Value]) {
        let pointers = self.header_pointers();
        let valids: Vec<_> = (0..pointers.len()).map(|header| self.header_valid(header)).collect();
        self.is_in_frame = true;
        self.headers_home();
        for (header, (pointer, valid)) in pointers.into_iter().zip(valids).enumerate() {
            if pointer != homes[header] || self.is_known(valid) != Some(false) {
                self.set_header_pointer(header, pointer);
                self.set_header_valid(header, valid);
            }
        }
    }

    /// True if there are so many headers that they are only in the frame, where code is not for a class of packets.
    pub(crate) fn has_many_headers(&self) -> bool {
        are_many(self.layout)
    }

    /// Something may be written at the home of a header from now on.
    pub(crate) fn touch_homes(&mut self) {
        if self.has_many_headers() && !self.ahead {
            let yes = self.number(types::I8, 1);
            match self.touched.filter(|_| !self.is_in_frame) {
                Some(touched) => self.b.def_var(touched, yes),
                None => drop(self.b.ins().store(PLAIN, yes, self.frame, self.layout.homes.touched)),
            }
        }
    }

    /// Before the next packet: the frame knows what was touched.
    pub(crate) fn keep_touched(&mut self) {
        if let Some(touched) = self.touched {
            let touched = self.b.use_var(touched);
            self.when(touched, |code| {
                let yes = code.number(types::I8, 1);
                code.b.ins().store(PLAIN, yes, code.frame, code.layout.homes.touched);
            });
        }
    }

    /// A field is about to be written: at the header's home if it is invalid. Where a valid header is at its home, that was touched before.
    pub(crate) fn touch_home_unless_valid(&mut self, header: usize) {
        if self.has_many_headers() && !self.ahead {
            let touched = self.layout.homes.touched;
            let valid = self.header_valid(header);
            if let Some(is) = self.is_known(valid) {
                if !is {
                    self.touch_homes();
                }
                return;
            }
            let invalid = self.b.ins().bxor_imm_s(valid, 1);
            if let Some(variable) = self.touched.filter(|_| !self.is_in_frame) {
                let before = self.b.use_var(variable);
                let after = self.either(before, invalid);
                return self.b.def_var(variable, after);
            }
            let before = self.b.ins().load(types::I8, PLAIN, self.frame, touched);
            let after = self.b.ins().bor(before, invalid);
            self.b.ins().store(PLAIN, after, self.frame, touched);
        }
    }

    /// True if the bytes of a header are known to be zero: they are its home's, and nothing has been written at a home since the packet began.
    pub(crate) fn is_clear(&mut self, header: usize) -> bool {
        let Some(touched) = self.touched.filter(|_| !self.is_in_frame) else { return false };
        let touched = self.b.use_var(touched);
        let pointer = self.header_pointer(header);
        let home = i64::from(self.layout.headers[header].home);
        self.is_known(touched) == Some(false) && self.distance(self.frame, pointer) == Some(home)
    }

    /// Where the bytes of a header are.
    pub(crate) fn header_pointer(&mut self, header: usize) -> Value {
        match self.is_in_frame {
            true => self.b.ins().load(types::I64, PLAIN, self.frame, self.layout.headers[header].pointer),
            false => self.b.use_var(self.pointers[header]),
        }
    }

    /// The bytes of a header are in the packet from now on.
    pub(crate) fn set_header_pointer(&mut self, header: usize, pointer: Value) {
        if self.is_in_frame {
            self.leave_home(header);
        }
        self.put_pointer(header, pointer);
    }

    /// The pointer of a header in the frame may not be its home.
    fn leave_home(&mut self, header: usize) {
        let no = self.number(types::I8, 0);
        self.b.ins().store(PLAIN, no, self.frame, self.layout.homes.at_home + header as i32);
    }

    fn put_pointer(&mut self, header: usize, pointer: Value) {
        self.moves(header);
        match self.is_in_frame {
            true => {
                let at = self.layout.headers[header].pointer;
                self.b.ins().store(PLAIN, pointer, self.frame, at);
            }
            false => self.b.def_var(self.pointers[header], pointer),
        }
    }

    /// 1 if a header is valid, else 0.
    pub(crate) fn header_valid(&mut self, header: usize) -> Value {
        match self.is_in_frame {
            true => self.b.ins().load(types::I8, PLAIN, self.frame, self.layout.headers[header].valid),
            false => self.b.use_var(self.valids[header]),
        }
    }

    /// Makes a header valid or not.
    pub(crate) fn set_header_valid(&mut self, header: usize, valid: Value) {
        match self.is_in_frame {
            true => {
                let at = self.layout.headers[header].valid;
                self.b.ins().store(PLAIN, valid, self.frame, at);
            }
            false => self.b.def_var(self.valids[header], valid),
        }
    }

    fn clear_homes(&mut self, node: &Node) {
        match node {
            Node::Header(index) => {
                let header = &self.layout.headers[*index];
                // In pieces of 16: after each home there are as many bytes to spare.
                let home = self.at(header.home);
                self.clear(home, header.shape.bytes().next_multiple_of(16));
            }
            Node::Struct(nodes) | Node::Union(nodes) => nodes.iter().for_each(|node| self.clear_homes(node)),
            Node::Scalar(_) | Node::Stack(_) | Node::Value(_) | Node::Nothing => {}
        }
    }

    /// As [`Code::zero`], where homes are zero. `is_set`: headers are invalid and at home already.
    fn reset(&mut self, node: &Node, is_set: bool) {
        match node {
            Node::Scalar(index) => {
                let ty = type_of(self.layout.scalars[*index].kind);
                let zero = self.number(ty, 0);
                self.set_scalar(*index, zero);
            }
            Node::Header(index) => {
                if !is_set {
                    self.go_home(*index);
                    let no = self.number(types::I8, 0);
                    self.set_header_valid(*index, no);
                }
                self.empty_varbit(&HeaderAt::Own(*index));
            }
            Node::Struct(nodes) | Node::Union(nodes) => {
                nodes.iter().for_each(|node| self.reset(node, is_set))
            }
            Node::Stack(stack) => {
                let zero = self.number(type_of(Kind::Bits(32)), 0);
                self.set_scalar(stack.next, zero);
            }
            Node::Value(_) | Node::Nothing => {}
        }
    }

    /// From now on the header's bytes are at its home.
    pub(crate) fn go_home(&mut self, header: usize) {
        let home = self.at(self.layout.headers[header].home);
        self.put_pointer(header, home);
    }
}
