//! The parser: a block for each state.

use super::place::{HeaderAt, Index, Place};
use super::value::Reach;
use super::wire::ones;
use super::{Code, Made, PLAIN, Unable};
use crate::context::Context;
use crate::layout::{Kind, Shape, kind_of};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use dataplane_api::DropReason;
use ir::{Const, Expr, ExprKind, Keyset, Select, SelectCase, StateRef, Transition};
use std::collections::BTreeSet;
use std::mem::offset_of;

/// Errors that core.p4 declares, by their positions.
pub(crate) const PACKET_TOO_SHORT: u64 = 1;
const NO_MATCH: u64 = 2;
const STACK_OUT_OF_BOUNDS: u64 = 3;
pub(crate) const HEADER_TOO_SHORT: u64 = 4;
pub(crate) const INVALID_ARGUMENT: u64 = 6;

/// States in a row that take nothing before the parser counts as stuck.
const IDLE_STATES: i64 = 1024;

/// Numbers of the first key, times cases, of a select that compares its first value once.
const MOST_CASES: usize = 256;

/// Blocks that transitions go to.
pub(crate) struct Targets {
    /// For each state.
    pub(crate) states: Vec<Block>,
    /// The end, with the error as its parameter.
    pub(crate) done: Block,
}

/// Result of an extraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extracted {
    Done,
    /// Nothing was made: it is for the interpreter.
    Not,
}

impl<'a> Code<'a, '_> {
    /// All states; after them the parser is done, and the value is the error.
    pub(crate) fn parser(&mut self) -> Made<Value> {
        let parser = self.program.parser(self.facts.parser);
        let done = self.b.create_block();
        let error = self.b.append_block_param(done, types::I32);
        self.reject = Some(done);
        self.stmts(&parser.locals)?;
        let states: Vec<Block> = parser.states.iter().map(|_| self.b.create_block()).collect();
        // A loop of states is bounded twice: by the packet's budget, and by the number of states in a row that take no byte.
        let cyclic = is_cyclic(parser);
        self.begin_deposits();
        let idle = self.b.declare_var(types::I32);
        let zero = self.number(types::I32, 0);
        self.b.def_var(idle, zero);
        let Some(first) = states.first() else { return Err(Unable("a parser without states")) };
        self.b.ins().jump(*first, &[]);
        let targets = Targets { states, done };
        for (state, block) in parser.states.iter().zip(&targets.states) {
            self.b.switch_to_block(*block);
            let before = self.scalar(self.layout.registers.cursor);
            if cyclic {
                self.burn(1);
            }
            self.stmts(&state.stmts)?;
            if cyclic {
                self.count_idle(idle, before);
            }
            match &state.transition {
                Transition::Goto(next) => self.go(*next, &targets),
                Transition::Select(select) => self.select(select, &targets)?,
            }
        }
        targets.states.iter().for_each(|block| self.b.seal_block(*block));
        self.b.seal_block(done);
        self.b.switch_to_block(done);
        self.reject = None;
        self.end_deposits(error)?;
        Ok(error)
    }

    fn count_idle(&mut self, idle: cranelift_frontend::Variable, before: Value) {
        let now = self.scalar(self.layout.registers.cursor);
        let stands = self.b.ins().icmp(IntCC::Equal, now, before);
        let stands = self.b.ins().uextend(types::I32, stands);
        let count = self.b.use_var(idle);
        let count = self.b.ins().iadd_imm_s(count, 1);
        let count = self.b.ins().imul(count, stands);
        self.b.def_var(idle, count);
        let stuck = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, count, IDLE_STATES);
        let block = self.drop_for(DropReason::ParserLimit);
        self.leave_if(stuck, block, &[]);
    }

    /// The error at the end of a parser: `accept` has none, and `reject` only on TNA.
    fn error_at(&mut self, end: StateRef) -> Value {
        let error = if end == StateRef::Reject { self.error_number(0) } else { 0 };
        self.number(types::I32, error)
    }

    /// Jumps to the target of a transition.
    pub(crate) fn go(&mut self, next: StateRef, targets: &Targets) {
        match next {
            StateRef::State(state) => {
                self.b.ins().jump(targets.states[state.index()], &[]);
            }
            end @ (StateRef::Accept | StateRef::Reject) => {
                let error = self.error_at(end);
                self.b.ins().jump(targets.done, &[error.into()]);
            }
        }
    }

    pub(crate) fn fail_if(&mut self, cond: Value, error: u64) -> Made<()> {
        let reject = self.reject.ok_or(Unable("a failing statement outside of the parser"))?;
        let error = self.number(types::I32, error);
        self.leave_if(cond, reject, &[error]);
        Ok(())
    }

    pub(crate) fn select(&mut self, select: &'a Select, targets: &Targets) -> Made<()> {
        let values = select.exprs.iter().map(|e| self.value(e)).collect::<Made<Vec<_>>>()?;
        let cases: Vec<_> = select.cases.iter().map(|case| (case, 0)).collect();
        let numbers: Vec<_> = select.cases.iter().map(first_number).collect();
        let differ: BTreeSet<u128> = numbers.iter().flatten().copied().collect();
        if differ.len() < 2 || differ.len() * cases.len() > MOST_CASES {
            return self.go_by(&cases, &values, targets);
        }
        // The first value is compared once with each number: from then on, it is known to be that number, or not to be.
        let mut refused = BTreeSet::new();
        for (at, number) in numbers.iter().enumerate() {
            let Some(number) = number else {
                if self.case(cases[at], &values, targets)? {
                    return Ok(());
                }
                continue;
            };
            if !refused.insert(*number) {
                continue;
            }
            let of_number = |at: &usize| numbers[*at].is_none_or(|of| of == *number);
            let checked = |at: usize| (cases[at].0, usize::from(numbers[at].is_some()));
            let rest: Vec<_> = (at..cases.len()).filter(of_number).map(checked).collect();
            let Some(Keyset::Value(want)) = cases[at].0.keys.first() else { continue };
            let want = self.value(want)?;
            let is = self.equal(want, values[0]);
            match self.is_known(is) {
                Some(true) => return self.go_by(&rest, &values, targets),
                Some(false) => continue,
                None => {}
            }
            let [yes, no] = [(); 2].map(|()| self.b.create_block());
            self.b.ins().brif(is, yes, &[], no, &[]);
            [yes, no].into_iter().for_each(|block| self.b.seal_block(block));
            self.b.switch_to_block(yes);
            self.go_by(&rest, &values, targets)?;
            self.b.switch_to_block(no);
        }
        self.no_case(targets);
        Ok(())
    }

    /// Cases in order, each with the number of its first keys that are known to fit.
    fn go_by(&mut self, cases: &[(&'a SelectCase, usize)], values: &[Value], targets: &Targets) -> Made<()> {
        for case in cases {
            if self.case(*case, values, targets)? {
                return Ok(());
            }
        }
        self.no_case(targets);
        Ok(())
    }

    /// Goes on at the target of a case if it fits. Returns whether it always does.
    fn case(
        &mut self,
        (case, known): (&'a SelectCase, usize),
        values: &[Value],
        targets: &Targets,
    ) -> Made<bool> {
        let fits = self.case_fits(&case.keys, known, values)?;
        let Some(fits) = fits.filter(|fits| self.is_known(*fits) != Some(true)) else {
            self.go(case.next, targets);
            return Ok(true);
        };
        match case.next {
            StateRef::State(state) => self.leave_if(fits, targets.states[state.index()], &[]),
            end @ (StateRef::Accept | StateRef::Reject) => {
                let error = self.error_at(end);
                self.leave_if(fits, targets.done, &[error]);
            }
        }
        Ok(false)
    }

    fn no_case(&mut self, targets: &Targets) {
        let error = self.number(types::I32, NO_MATCH);
        self.b.ins().jump(targets.done, &[error.into()]);
    }

    /// True if a case fits whose first keys are known to, `known` of them; `None` if it always does.
    fn case_fits(&mut self, keys: &'a [Keyset], known: usize, values: &[Value]) -> Made<Option<Value>> {
        if matches!(keys, [Keyset::DontCare]) {
            return Ok(None);
        }
        let mut all: Option<Value> = None;
        let (keys, mut at) = (&keys[known..], known);
        for key in keys {
            let (fits, width) = match key {
                Keyset::DontCare => (None, 1),
                Keyset::ValueSet(set) => {
                    let width = self.facts.value_set_width(*set);
                    let fits = self.value_set(*set, &values[at..at + width])?;
                    (Some(fits), width)
                }
                Keyset::Value(want) => {
                    let want = self.value(want)?;
                    (Some(self.equal(want, values[at])), 1)
                }
                Keyset::Mask(want, mask) => {
                    let ty = self.b.func.dfg.value_type(values[at]);
                    let (want, mask) = (self.value(want)?, self.value(mask)?);
                    let (want, mask) = (self.resize(want, ty), self.resize(mask, ty));
                    let differs = self.b.ins().bxor(want, values[at]);
                    let differs = self.b.ins().band(differs, mask);
                    let zero = self.number(ty, 0);
                    (Some(self.b.ins().icmp(IntCC::Equal, differs, zero)), 1)
                }
                Keyset::Range(lo, hi) => (Some(self.range_fits(lo, hi, values[at])?), 1),
            };
            at += width;
            all = match (all, fits) {
                (Some(all), Some(fits)) => Some(self.both(all, fits)),
                (all, fits) => all.or(fits),
            };
        }
        Ok(all)
    }

    fn range_fits(&mut self, lo: &'a Expr, hi: &'a Expr, value: Value) -> Made<Value> {
        let signed = self.places().is_signed(&lo.ty);
        let width =
            kind_of(self.program, &lo.ty).ok_or(Unable("a range of a value that is no number"))?.width();
        let mut bounds = [self.value(lo)?, self.value(hi)?, value];
        if signed {
            bounds = bounds.map(|v| self.extend_sign(v, width));
        }
        let [lo, hi, value] = bounds;
        if !signed && width <= 64 && self.known_number(hi) == Some(ones(width) as u64) {
            return Ok(self.compare(ir::BinaryOp::Le, signed, lo, value));
        }
        let above = self.compare(ir::BinaryOp::Le, signed, lo, value);
        let below = self.compare(ir::BinaryOp::Le, signed, value, hi);
        Ok(self.b.ins().band(above, below))
    }

    fn value_set(&mut self, set: ir::ValueSetId, values: &[Value]) -> Made<Value> {
        if let (Some(bits), [value]) = (self.facts.value_set_bits[set.index()], values) {
            return Ok(self.bit_of_value_set(bits, *value));
        }
        if self.ahead {
            return Ok(self.number(types::I8, 0));
        }
        for (i, value) in values.iter().enumerate() {
            self.store_key_pair(i, *value);
        }
        let set = self.number(types::I32, u64::from(set.0));
        let count = self.number(types::I32, values.len() as u64);
        let call = self.b.ins().call(self.calls.value_set, &[self.context, set, count]);
        let found = self.b.inst_results(call)[0];
        Ok(self.b.ins().ireduce(types::I8, found))
    }

    /// The bit of a value in the bits of a value set.
    fn bit_of_value_set(&mut self, bits: usize, value: Value) -> Value {
        let all = self.b.ins().load(types::I64, PLAIN, self.context, offset_of!(Context, value_sets) as i32);
        let bits = self.b.ins().load(types::I64, PLAIN, all, 8 * bits as i32);
        let value = self.resize(value, types::I64);
        let at = self.b.ins().ushr_imm_u(value, 6);
        let at = self.shift_up(at, 3);
        let at = self.b.ins().iadd(bits, at);
        let word = self.b.ins().load(types::I64, PLAIN, at, 0);
        let word = self.b.ins().ushr(word, value);
        let bit = self.b.ins().band_imm_u(word, 1);
        self.b.ins().ireduce(types::I8, bit)
    }

    /// True if code can do the parser: it stays at whole bytes, and all it selects on can be computed.
    pub(crate) fn can_parse(&self) -> bool {
        let parser = self.program.parser(self.facts.parser);
        let places = self.places();
        let selects = |state: &'a ir::ParserState| match &state.transition {
            Transition::Goto(_) => true,
            Transition::Select(select) => {
                let keys = |key: &'a Keyset| match key {
                    Keyset::DontCare | Keyset::ValueSet(_) => true,
                    Keyset::Value(a) => places.can(a),
                    Keyset::Mask(a, b) | Keyset::Range(a, b) => places.can(a) && places.can(b),
                };
                select.exprs.iter().all(|e| places.can(e))
                    && select.cases.iter().flat_map(|c| &c.keys).all(keys)
            }
        };
        parser.states.iter().all(selects) && self.facts.parses_whole_bytes
    }

    /// `packet.extract(header)` of a header of fixed size.
    pub(crate) fn extract(&mut self, expr: &'a Expr) -> Made<Extracted> {
        let Some((header, shape)) = self.places().header(expr) else { return Ok(Extracted::Not) };
        let fits = shape.is_even() || self.is_tna();
        if !fits || matches!(header, HeaderAt::Element(_, Index::Computed(_))) {
            return Ok(Extracted::Not);
        }
        let bytes = shape.bytes();
        if let HeaderAt::Element(stack, Index::Next) = &header {
            let next = self.scalar(stack.next);
            let full =
                self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, next, i64::from(stack.size));
            self.fail_if(full, STACK_OUT_OF_BOUNDS)?;
        }
        let cursor = self.take(bytes as i64)?;
        self.empty_varbit(&header);
        self.take_header(expr, &header, shape, cursor)?;
        if let HeaderAt::Element(stack, Index::Next) = &header {
            let next = self.scalar(stack.next);
            let next = self.b.ins().iadd_imm_s(next, 1);
            self.set_scalar(stack.next, next);
        }
        Ok(Extracted::Done)
    }

    /// The bytes at `cursor` become those of a header, which becomes valid.
    pub(crate) fn take_header(
        &mut self,
        expr: &'a Expr,
        header: &HeaderAt<'a>,
        shape: &'a Shape,
        cursor: Value,
    ) -> Made<()> {
        match header {
            HeaderAt::Own(index) if !self.facts.copies && shape.is_even() => {
                self.set_header_pointer(*index, cursor)
            }
            HeaderAt::Own(index) => {
                self.go_home(*index);
                self.touch_homes();
                let home = self.pointer(header, Reach::Write)?;
                self.copy_header(home, cursor, header, shape);
                self.clear_filling(home, shape.bits)?;
            }
            HeaderAt::Element(..) => {
                let element = self.pointer(header, Reach::Write)?;
                self.copy(element, cursor, shape.bytes());
                self.clear_filling(element, shape.bits)?;
            }
        }
        let siblings = self.places().siblings(expr);
        let yes = self.number(types::I8, 1);
        self.clear_siblings(siblings, yes);
        self.set_valid(header, yes)
    }

    /// Takes bytes off the packet, or fails. Returns their address.
    fn take(&mut self, bytes: i64) -> Made<Value> {
        let (cursor, behind) = self.need(bytes)?;
        self.set_scalar(self.layout.registers.cursor, behind);
        Ok(cursor)
    }

    /// Fails if the packet has fewer bytes from the cursor on. Returns the cursor, and the address after these bytes.
    fn need(&mut self, bytes: i64) -> Made<(Value, Value)> {
        let registers = self.layout.registers;
        let (cursor, end) = (self.scalar(registers.cursor), self.scalar(registers.end));
        let behind = self.b.ins().iadd_imm_s(cursor, bytes);
        let start = self.scalar(registers.start);
        let needed = self.room.and_then(|_| self.distance(start, behind));
        if needed.is_some_and(|needed| self.room >= Some(needed)) {
            return Ok((cursor, behind));
        }
        let short = self.b.ins().icmp(IntCC::UnsignedGreaterThan, behind, end);
        self.fail_if(short, PACKET_TOO_SHORT)?;
        self.room = needed.or(self.room);
        Ok((cursor, behind))
    }

    /// `packet.advance(bits)`
    pub(crate) fn advance(&mut self, bits: &'a Expr) -> Made<bool> {
        if self.reject.is_none() || !self.places().can(bits) {
            return Ok(false);
        }
        let bits = self.value(bits)?;
        if self.b.func.dfg.value_type(bits) == types::I128 {
            return Err(Unable("a length of more than 64 bits"));
        }
        let bits = self.resize(bits, types::I64);
        let odd = self.b.ins().band_imm_s(bits, 7);
        self.fail_if(odd, INVALID_ARGUMENT)?;
        let registers = self.layout.registers;
        let (cursor, end) = (self.scalar(registers.cursor), self.scalar(registers.end));
        let bytes = self.shift_down(bits, 3);
        let left = self.b.ins().isub(end, cursor);
        let short = self.b.ins().icmp(IntCC::UnsignedGreaterThan, bytes, left);
        self.fail_if(short, PACKET_TOO_SHORT)?;
        let cursor = self.b.ins().iadd(cursor, bytes);
        self.set_scalar(registers.cursor, cursor);
        Ok(true)
    }

    /// `place = packet.lookahead<T>()` of a scalar that begins with its first byte.
    pub(crate) fn lookahead(&mut self, place: &'a Expr, value: &'a Expr) -> Made<bool> {
        let kind = match kind_of(self.program, &value.ty) {
            Some(kind @ Kind::Bits(1..=128)) => kind,
            _ => return self.lookahead_header(place),
        };
        self.look_ahead_at(place, kind, (0, u64::from(kind.width())))
    }

    /// `place = packet.lookahead<T>()[hi:lo]` of a number of any width: only the slice is read.
    pub(crate) fn lookahead_slice(
        &mut self,
        place: &'a Expr,
        value: &'a Expr,
        (whole, hi): (&'a Expr, u32),
    ) -> Made<bool> {
        let (Some(kind @ Kind::Bits(1..=128)), Some(of)) =
            (kind_of(self.program, &value.ty), self.program.bits(&whole.ty))
        else {
            return Ok(false);
        };
        let Some(at) = of.checked_sub(u64::from(hi) + 1).and_then(|at| u32::try_from(at).ok()) else {
            return Ok(false);
        };
        self.look_ahead_at(place, kind, (at, of))
    }

    /// Stores a number that begins `at` bits after the cursor, if the packet has `needed` bits.
    fn look_ahead_at(&mut self, place: &'a Expr, kind: Kind, (at, needed): (u32, u64)) -> Made<bool> {
        let Some((to, of)) = self.places().scalar(place) else { return Ok(false) };
        // A register holds 16 bytes.
        if of != kind || (at + kind.width()).div_ceil(8) - at / 8 > 16 {
            return Ok(false);
        }
        let Ok(bytes) = u32::try_from(needed.div_ceil(8)) else { return Ok(false) };
        let (cursor, _) = self.need(i64::from(bytes))?;
        let value = self.load_field(cursor, at, kind.width(), kind);
        let place: Place<'a> = to;
        self.write(&place, value)?;
        Ok(true)
    }

    /// `header = packet.lookahead<H>()`: the header is a copy at home.
    fn lookahead_header(&mut self, place: &'a Expr) -> Made<bool> {
        let Some((HeaderAt::Own(index), shape)) = self.places().target(place) else { return Ok(false) };
        if !shape.is_even() {
            return Ok(false);
        }
        let (cursor, _) = self.need(shape.bytes() as i64)?;
        self.go_home(index);
        self.touch_homes();
        let header = HeaderAt::Own(index);
        self.empty_varbit(&header);
        let home = self.pointer(&header, Reach::Write)?;
        self.copy(home, cursor, shape.bytes());
        let yes = self.number(types::I8, 1);
        self.clear_siblings(self.places().siblings(place), yes);
        self.set_valid(&header, yes)?;
        Ok(true)
    }

    /// `verify(condition, error)`
    pub(crate) fn verify(&mut self, cond: &'a Expr, error: &'a Expr) -> Made<bool> {
        let Some(reject) = self.reject else { return Ok(false) };
        if !self.places().can(cond) || !self.places().can(error) {
            return Ok(false);
        }
        let holds = self.value(cond)?;
        let mut error = self.value(error)?;
        if self.is_tna() {
            let refused = self.number(types::I32, super::tna::REFUSED);
            let is_none = self.b.ins().icmp_imm_u(IntCC::Equal, error, 0);
            error = self.b.ins().select(is_none, refused, error);
        }
        let fails = self.b.ins().bxor_imm_s(holds, 1);
        self.leave_if(fails, reject, &[error]);
        Ok(true)
    }
}

/// The number that a case wants as the first value.
fn first_number(case: &SelectCase) -> Option<u128> {
    match case.keys.first()? {
        Keyset::Value(Expr { kind: ExprKind::Const(Const::Bits(bits)), .. }) => Some(bits.low_u128()),
        _ => None,
    }
}

/// True if a state can come again.
pub(crate) fn is_cyclic(parser: &ir::Parser) -> bool {
    let next = |state: &ir::ParserState| -> Vec<usize> {
        let refs: Vec<StateRef> = match &state.transition {
            Transition::Goto(next) => vec![*next],
            Transition::Select(select) => select.cases.iter().map(|case| case.next).collect(),
        };
        let of = |r: &StateRef| if let StateRef::State(id) = r { Some(id.index()) } else { None };
        refs.iter().filter_map(of).collect()
    };
    // Removes states without predecessors, one after the other: the rest is on a cycle or after one.
    let mut incoming = vec![0usize; parser.states.len()];
    parser.states.iter().flat_map(next).for_each(|to| incoming[to] += 1);
    let mut free: Vec<usize> = (0..incoming.len()).filter(|at| incoming[*at] == 0).collect();
    let mut taken = 0;
    while let Some(at) = free.pop() {
        taken += 1;
        for to in next(&parser.states[at]) {
            incoming[to] -= 1;
            if incoming[to] == 0 {
                free.push(to);
            }
        }
    }
    taken < parser.states.len()
}
