//! Checksums and counters of parsers as variables: BMv2's parsers compute, but call no externs.
//!
//! Before: `sum.add(hdr.ipv4); meta.is_wrong = sum.verify();`
//! After:  `total = (bit<32>)sum + (bit<32>)hdr.ipv4.ttl ++ ...; sum = ((total & 0xffff) + (total >> 16)) ...; meta.is_wrong = sum != 0xffff;`

use crate::pieces::{refused, resize};
use crate::values::{concat, from_top, width, words};
use base_diag::{Diagnostic, Span};
use ir::{
    BinaryOp, Call, Const, Expr, ExprKind, InstanceId, Parser, ParserState, Program, StateRef, Stmt,
    StmtKind, Transition, Type, UnaryOp, Var, build,
};
use std::collections::{BTreeMap, BTreeSet};

/// The variables for the checksums and counters of a parser.
#[derive(Default)]
pub(crate) struct Sums {
    vars: BTreeMap<(InstanceId, &'static str), Expr>,
    /// Declarations of these variables.
    pub(crate) locals: Vec<Stmt>,
    deposits: Vec<Deposit>,
}

/// A sum that lacks everything that is extracted later.
struct Deposit {
    /// 0 before the call, all ones after it.
    mask: Expr,
    sum: Expr,
    to: Expr,
}

impl Sums {
    /// The variable of an instance.
    fn var(&mut self, vars: &mut Vec<Var>, id: InstanceId, name: &'static str, bits: u32) -> Expr {
        let locals = &mut self.locals;
        let new = || {
            let ty = Type::Bit(bits);
            let var = build::local(vars, name, ty.clone(), Span::NONE);
            locals.push(build::declare(var, Some(build::bits(bits, 0))));
            build::var(var, &ty)
        };
        self.vars.entry((id, name)).or_insert_with(new).clone()
    }

    /// A method of a `Checksum` or `ParserCounter`; `None` for other externs.
    pub(crate) fn call(
        &mut self,
        program: &Program,
        vars: &mut Vec<Var>,
        (id, object, name): (InstanceId, &str, &str),
        call: &Call,
        before: &mut Vec<Stmt>,
    ) -> Option<Result<Option<Expr>, Diagnostic>> {
        let bad =
            |label: &str| Some(Err(refused("this call has no counterpart in v1model", call.span, label)));
        let arg = |at: usize| call.args.get(at).cloned().flatten();
        match (object, name, arg(0)) {
            ("Checksum", "add" | "subtract", Some(data)) => {
                let Some(data) = word_list(program, &data) else {
                    return bad("its data are no whole words of 16 bits");
                };
                let sum = self.var(vars, id, "sum", 16);
                let data = data.into_iter().map(|word| if name == "add" { word } else { inverse(word) });
                before.extend(accumulate(vars, &sum, data.collect()));
                Some(Ok(None))
            }
            ("Checksum", "get", _) => Some(Ok(Some(self.var(vars, id, "sum", 16)))),
            ("Checksum", "verify", _) => {
                let sum = self.var(vars, id, "sum", 16);
                Some(Ok(Some(build::differs(sum, build::bits(16, 0xffff)))))
            }
            ("Checksum", "subtract_all_and_deposit", Some(to)) => {
                if to.ty != Type::Bit(16) || self.deposits.iter().any(|known| known.to == to) {
                    return bad("the second deposit to one field, or no field of 16 bits");
                }
                let sum = self.var(vars, id, "sum", 16);
                // Each deposit goes on with a sum of its own.
                let own = build::local(vars, "residual", Type::Bit(16), Span::NONE);
                let mask = build::local(vars, "deposits", Type::Bit(16), Span::NONE);
                let [own, mask] = [own, mask].map(|var| {
                    self.locals.push(build::declare(var, Some(build::bits(16, 0))));
                    build::var(var, &Type::Bit(16))
                });
                before.push(build::assign(own.clone(), sum.clone()));
                before.push(build::assign(mask.clone(), build::bits(16, 0xffff)));
                before.push(build::assign(to.clone(), sum));
                self.deposits.push(Deposit { mask, sum: own, to });
                Some(Ok(None))
            }
            ("ParserCounter", "set", Some(value)) if arg(1).is_none() => {
                let counter = self.var(vars, id, "counter", 8);
                before.push(build::assign(counter, resize(value, 8)));
                Some(Ok(None))
            }
            ("ParserCounter", "set", Some(field)) => {
                let number = |at: usize| match arg(at).map(|arg| arg.kind) {
                    Some(ExprKind::Const(Const::Bits(bits))) => {
                        bits.to_u64().map(|number| (number, bits.width()))
                    }
                    _ => None,
                };
                let (Some((most, _)), Some((rotate, _)), Some((mask, wide)), Some((more, _))) =
                    (number(1), number(2), number(3), number(4))
                else {
                    return bad("an argument is no constant");
                };
                let mask = if wide == 3 { (2u64 << mask) - 1 } else { mask };
                let Some(error) = program.errors.iter().position(|error| error == "CounterRange") else {
                    return bad("`error.CounterRange` is not declared");
                };
                let error = build::expr(ExprKind::Const(Const::Error(error.into())), Type::Error);
                let bits = width(&field).max(8);
                let within = build::binary(
                    BinaryOp::Le,
                    resize(field.clone(), bits),
                    build::bits(bits, most),
                    Type::Bool,
                );
                let byte = resize(field, 8);
                let rotate = rotate as u32 & 7;
                let byte = match rotate {
                    0 => byte,
                    _ => {
                        let [low, high] =
                            [from_top(&byte, 8 - rotate, rotate), from_top(&byte, 0, 8 - rotate)];
                        build::binary(BinaryOp::Concat, low, high, Type::Bit(8))
                    }
                };
                let masked = build::binary(BinaryOp::BitAnd, byte, build::bits(8, mask & 0xff), Type::Bit(8));
                let value = build::add(masked, build::bits(8, more & 0xff));
                let counter = self.var(vars, id, "counter", 8);
                before.push(build::stmt(StmtKind::Verify(within, error)).at(call.span));
                before.push(build::assign(counter, value));
                Some(Ok(None))
            }
            ("ParserCounter", "increment" | "decrement", Some(by)) => {
                let counter = self.var(vars, id, "counter", 8);
                let value = match name {
                    "increment" => build::add(counter.clone(), by),
                    _ => build::subtract(counter.clone(), by),
                };
                before.push(build::assign(counter, value));
                Some(Ok(None))
            }
            ("ParserCounter", "is_zero", _) => {
                Some(Ok(Some(build::equals(self.var(vars, id, "counter", 8), build::bits(8, 0)))))
            }
            ("ParserCounter", "is_negative", _) => {
                let counter = self.var(vars, id, "counter", 8);
                Some(Ok(Some(build::equals(from_top(&counter, 0, 1), build::bits(1, 1)))))
            }
            _ => None,
        }
    }

    /// Takes the headers that are extracted in states from `first` on out of the deposits that were made before.
    pub(crate) fn finish(
        &self,
        program: &Program,
        parser: &mut Parser,
        first: usize,
        found: &mut Vec<Diagnostic>,
    ) {
        if self.deposits.is_empty() {
            return;
        }
        let makes = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Assign(place, _) => self.deposits.iter().any(|deposit| deposit.mask == *place),
            _ => false,
        };
        let after = after(parser, &makes);
        for (at, state) in parser.states.iter_mut().enumerate().skip(first) {
            let mut is_after = after.contains(&at);
            for stmt in std::mem::take(&mut state.stmts) {
                is_after |= makes(&stmt);
                let header = match &stmt.kind {
                    _ if !is_after => None,
                    StmtKind::Extract { header, varbit_bits, .. } => {
                        // An element of a stack is the last one by now.
                        let header = match &header.kind {
                            ExprKind::Next(stack) => {
                                build::expr(ExprKind::Last(stack.clone()), header.ty.clone())
                            }
                            _ => header.clone(),
                        };
                        let data = word_list(program, &header).filter(|_| varbit_bits.is_none());
                        if data.is_none() {
                            found.push(refused(
                                "a residual checksum cannot be converted",
                                stmt.span,
                                "this header is no whole words of 16 bits",
                            ));
                        }
                        data
                    }
                    StmtKind::Advance(..) => {
                        found.push(refused(
                            "a residual checksum cannot be converted",
                            stmt.span,
                            "these bytes may be part of it",
                        ));
                        None
                    }
                    _ => None,
                };
                state.stmts.push(stmt);
                for deposit in &self.deposits {
                    let Some(data) = &header else { continue };
                    let masked = |word: &Expr| both(inverse(word.clone()), deposit.mask.clone());
                    let data = data.iter().map(masked).collect();
                    state.stmts.extend(accumulate(&mut parser.vars, &deposit.sum, data));
                    let kept = both(deposit.to.clone(), inverse(deposit.mask.clone()));
                    let new = both(deposit.sum.clone(), deposit.mask.clone());
                    let value = build::binary(BinaryOp::BitOr, kept, new, Type::Bit(16));
                    state.stmts.push(build::assign(deposit.to.clone(), value));
                }
            }
        }
    }
}

/// States that come after one with a statement of this kind.
fn after(parser: &Parser, is_it: &dyn Fn(&Stmt) -> bool) -> BTreeSet<usize> {
    let has = |state: &ParserState| state.stmts.iter().any(is_it);
    let mut waiting: Vec<usize> = (0..parser.states.len()).filter(|at| has(&parser.states[*at])).collect();
    let mut found = BTreeSet::new();
    while let Some(at) = waiting.pop() {
        let mut follow = |next: &StateRef| {
            if let StateRef::State(next) = next
                && found.insert(next.index())
            {
                waiting.push(next.index());
            }
        };
        match &parser.states[at].transition {
            Transition::Goto(next) => follow(next),
            Transition::Select(select) => select.cases.iter().for_each(|case| follow(&case.next)),
        }
    }
    found
}

/// The value as words of 16 bits.
fn word_list(program: &Program, value: &Expr) -> Option<Vec<Expr>> {
    let parts = words(program, value)?;
    let bits: u32 = parts.iter().map(width).sum();
    if bits == 0 || !bits.is_multiple_of(16) {
        return None;
    }
    let mut found = vec![];
    let mut waiting: Vec<Expr> = vec![];
    for part in parts {
        let mut offset = 0;
        while offset < width(&part) {
            let missing = 16 - waiting.iter().map(width).sum::<u32>();
            let taken = missing.min(width(&part) - offset);
            waiting.push(from_top(&part, offset, taken));
            offset += taken;
            if taken == missing {
                found.extend(concat(std::mem::take(&mut waiting)));
            }
        }
    }
    Some(found)
}

/// Adds words to a ones' complement sum.
fn accumulate(vars: &mut Vec<Var>, sum: &Expr, data: Vec<Expr>) -> Vec<Stmt> {
    let wide = Type::Bit(32);
    let var = build::local(vars, "total", wide.clone(), Span::NONE);
    let total = build::var(var, &wide);
    let words = data.into_iter().map(|word| resize(word, 32));
    let all = words.fold(resize(sum.clone(), 32), build::add);
    let fold = || {
        let low = both(total.clone(), build::bits(32, 0xffff));
        build::assign(total.clone(), build::add(low, build::shift_right(total.clone(), 16)))
    };
    vec![
        build::declare(var, Some(all)),
        fold(),
        fold(),
        build::assign(sum.clone(), resize(total.clone(), 16)),
    ]
}

fn inverse(word: Expr) -> Expr {
    let ty = word.ty.clone();
    build::expr(ExprKind::Unary(UnaryOp::BitNot, Box::new(word)), ty)
}

fn both(a: Expr, b: Expr) -> Expr {
    let ty = a.ty.clone();
    build::binary(BinaryOp::BitAnd, a, b, ty)
}
