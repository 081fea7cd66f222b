//! A generator of code that misreads its program: it takes each expression, statement or table of one form for another.
//!
//! The lowered program is changed and compiled as it then stands, so that nothing in the generator knows of mistakes. Whatever
//! compares machine code with the interpreter has to notice each.

use super::made::{each_list, each_transition};
use base_bits::Bits;
use base_diag::Span;
use ir::{
    BinaryOp, Block, Call, Callee, Const, Control, Expr, ExprKind, Keyset, Program, SelectCase, StateRef,
    Stmt, StmtKind, SwitchLabel, Table, Transition, Type, TypeKind, UnaryOp, VarId, visit,
};
use std::fmt;

/// One construct mistaken for another.
#[derive(Clone, Copy)]
pub struct Misreading {
    says: &'static str,
    edit: Edit,
}

#[derive(Clone, Copy)]
enum Edit {
    Expr(fn(&Program, &mut Expr) -> bool),
    Stmts(fn(&Program, &mut Vec<Stmt>) -> bool),
    Transition(fn(&mut Transition) -> bool),
    Table(fn(&Program, &mut Table) -> bool),
    Control(fn(&mut Control) -> bool),
}

impl fmt::Display for Misreading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.says)
    }
}

/// All of them.
pub const MISREADINGS: [Misreading; 35] = [
    expr("a sum is saturated", |_, e| replace_op(e, BinaryOp::Add, BinaryOp::AddSat)),
    expr("a saturating sum wraps around", |_, e| replace_op(e, BinaryOp::AddSat, BinaryOp::Add)),
    expr("a saturating difference wraps around", |_, e| replace_op(e, BinaryOp::SubSat, BinaryOp::Sub)),
    expr("`a - b` is `b - a`", |_, e| match &mut e.kind {
        ExprKind::Binary(BinaryOp::Sub, a, b) => {
            std::mem::swap(a, b);
            true
        }
        _ => false,
    }),
    expr("a shift by the width or more leaves something", far_shift),
    expr("a right shift of a signed number fills with zeros", shift_unsigned),
    expr("signed numbers are ordered as unsigned ones", order_unsigned),
    expr("`a < b` is `a <= b`", |_, e| {
        replace_op(e, BinaryOp::Lt, BinaryOp::Le) || replace_op(e, BinaryOp::Gt, BinaryOp::Ge)
    }),
    expr("the first half of `a ++ b` is lost", |program, e| match &mut e.kind {
        ExprKind::Binary(BinaryOp::Concat, a, _) => set_zero(program, a),
        _ => false,
    }),
    expr("a wider `int` is filled with zeros", sign_lost),
    expr("a negation is left out", |_, e| without_op(e, UnaryOp::Not)),
    expr("a complement is left out", |_, e| without_op(e, UnaryOp::BitNot)),
    expr("a minus is left out", |_, e| without_op(e, UnaryOp::Neg)),
    expr("a slice is taken one bit lower", |_, e| match &mut e.kind {
        ExprKind::Slice { hi, lo, .. } if *lo > 0 => {
            (*hi, *lo) = (*hi - 1, *lo - 1);
            true
        }
        _ => false,
    }),
    expr("an index out of range is the first", first_element),
    expr("`stack.next` is the first element", |_, e| match &mut e.kind {
        ExprKind::Next(stack) => {
            e.kind = ExprKind::Index(stack.clone(), Box::new(number(Type::Bit(32), 0)));
            true
        }
        _ => false,
    }),
    expr("`hit` is `miss`", |_, e| match e.kind {
        ExprKind::ApplyHit(table) => {
            e.kind = ExprKind::ApplyMiss(table);
            true
        }
        ExprKind::ApplyMiss(table) => {
            e.kind = ExprKind::ApplyHit(table);
            true
        }
        _ => false,
    }),
    stmts("a header that becomes valid does not", |_, stmts| {
        lose(stmts, |stmt| matches!(stmt.kind, StmtKind::SetValid(_, true)))
    }),
    stmts("a header that becomes invalid does not", |_, stmts| {
        lose(stmts, |stmt| matches!(stmt.kind, StmtKind::SetValid(_, false)))
    }),
    stmts("an `else` does not run", |_, stmts| {
        change(stmts, |stmt| match &mut stmt.kind {
            StmtKind::If(_, _, no) => !std::mem::take(&mut no.stmts).is_empty(),
            _ => false,
        })
    }),
    stmts("the `default` of a switch does not run", |_, stmts| {
        change(stmts, |stmt| match &mut stmt.kind {
            StmtKind::Switch(_, cases) => cases.iter_mut().fold(false, |changed, case| {
                let is_default = case.labels.contains(&SwitchLabel::Default);
                changed | (is_default && !std::mem::take(&mut case.body.stmts).is_empty())
            }),
            _ => false,
        })
    }),
    stmts("`mark_to_drop` does nothing", |program, stmts| {
        lose(stmts, |stmt| calls(program, stmt, "mark_to_drop"))
    }),
    stmts("the last header is not emitted", |_, stmts| {
        let last = stmts.iter().rposition(|stmt| matches!(stmt.kind, StmtKind::Emit(..)));
        last.map(|at| stmts.remove(at)).is_some()
    }),
    stmts("what a value extern gives is lost", |program, stmts| {
        change(stmts, |stmt| result_lost(program, stmt))
    }),
    stmts("a register gives its first cell", |program, stmts| {
        change(stmts, |stmt| first_cell(program, stmt))
    }),
    stmts("a checksum is another", |program, stmts| change(stmts, |stmt| other_checksum(program, stmt))),
    stmts("a packet is cut one byte later", |program, stmts| {
        change(stmts, |stmt| match &mut stmt.kind {
            StmtKind::Call(call) if is_function(program, call.callee.clone(), "truncate") => {
                call.args.first_mut().and_then(Option::as_mut).is_some_and(|length| {
                    *length = binary(BinaryOp::Add, length.clone(), number(length.ty.clone(), 1));
                    true
                })
            }
            _ => false,
        })
    }),
    stmts("a field that shares a byte clears the next", neighbour_cleared),
    stmts("a varbit is one byte longer", |_, stmts| {
        change(stmts, |stmt| match &mut stmt.kind {
            StmtKind::Extract { varbit_bits: Some(bits), .. } => {
                *bits = binary(BinaryOp::Add, bits.clone(), number(bits.ty.clone(), 8));
                true
            }
            _ => false,
        })
    }),
    stmts("a stack is shifted the other way", |_, stmts| {
        change(stmts, |stmt| match stmt.kind.clone() {
            StmtKind::PushFront(stack, count) => {
                stmt.kind = StmtKind::PopFront(stack, count);
                true
            }
            StmtKind::PopFront(stack, count) => {
                stmt.kind = StmtKind::PushFront(stack, count);
                true
            }
            _ => false,
        })
    }),
    Misreading {
        says: "a select without a case that fits is no error",
        edit: Edit::Transition(no_match_fine),
    },
    Misreading {
        says: "a select compares all bits, whatever the mask",
        edit: Edit::Transition(mask_ignored),
    },
    Misreading { says: "the lowest bit of a key is always zero", edit: Edit::Table(key_bit_lost) },
    Misreading { says: "of the entries the last that fits is hit", edit: Edit::Table(entries_turned) },
    Misreading { says: "every parameter has the first one's data", edit: Edit::Control(data_repeated) },
];

const fn expr(says: &'static str, edit: fn(&Program, &mut Expr) -> bool) -> Misreading {
    Misreading { says, edit: Edit::Expr(edit) }
}

const fn stmts(says: &'static str, edit: fn(&Program, &mut Vec<Stmt>) -> bool) -> Misreading {
    Misreading { says, edit: Edit::Stmts(edit) }
}

impl Misreading {
    /// The lowered program as it is read; none if nothing of this form is in it, or the result is not well formed.
    pub(super) fn read(&self, program: &Program) -> Option<Program> {
        let whole = ir_lower::lower(program).ok()?;
        let mut read = whole.clone();
        let mut changed = false;
        match self.edit {
            Edit::Expr(edit) => each_expr(&mut read, &mut |expr| changed |= edit(&whole, expr)),
            Edit::Stmts(edit) => each_list(&mut read, &mut |_, stmts| changed |= edit(&whole, stmts)),
            Edit::Transition(edit) => each_transition(&mut read, &mut |_, next| changed |= edit(next)),
            Edit::Table(edit) => {
                let tables = read.controls.iter_mut().flat_map(|control| &mut control.tables);
                tables.for_each(|table| changed |= edit(&whole, table));
            }
            Edit::Control(edit) => read.controls.iter_mut().for_each(|control| changed |= edit(control)),
        }
        (changed && ir::verify::verify(&read).is_ok()).then_some(read)
    }
}

/// Calls `f` with every expression of every statement, and of the keys of selects and tables.
fn each_expr(program: &mut Program, f: &mut dyn FnMut(&mut Expr)) {
    let mut whole = |expr: &mut Expr| visit::subexprs_mut(expr, f);
    each_list(program, &mut |_, stmts| {
        stmts.iter_mut().for_each(|stmt| visit::exprs_mut(stmt, &mut whole));
    });
    each_transition(program, &mut |_, transition| {
        if let Transition::Select(select) = transition {
            select.exprs.iter_mut().for_each(&mut whole);
        }
    });
    let tables = program.controls.iter_mut().flat_map(|control| &mut control.tables);
    tables.flat_map(|table| &mut table.keys).for_each(|key| whole(&mut key.expr));
}

fn change(stmts: &mut [Stmt], change: impl Fn(&mut Stmt) -> bool) -> bool {
    stmts.iter_mut().fold(false, |changed, stmt| changed | change(stmt))
}

fn lose(stmts: &mut Vec<Stmt>, is_lost: impl Fn(&Stmt) -> bool) -> bool {
    let before = stmts.len();
    stmts.retain(|stmt| !is_lost(stmt));
    stmts.len() != before
}

fn number(ty: Type, value: u128) -> Expr {
    let width = if let Type::Bit(width) | Type::Int(width) = ty { width } else { 32 };
    Expr { kind: ExprKind::Const(Const::Bits(Bits::new(width, value))), ty, span: Span::NONE }
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let ty = a.ty.clone();
    Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span: Span::NONE }
}

fn cast(ty: Type, expr: Expr) -> Expr {
    Expr { kind: ExprKind::Cast(Box::new(expr)), ty, span: Span::NONE }
}

fn replace_op(expr: &mut Expr, from: BinaryOp, to: BinaryOp) -> bool {
    match &mut expr.kind {
        ExprKind::Binary(op, ..) if *op == from => {
            *op = to;
            true
        }
        _ => false,
    }
}

fn without_op(expr: &mut Expr, op: UnaryOp) -> bool {
    match &expr.kind {
        ExprKind::Unary(found, operand) if *found == op => {
            *expr = operand.as_ref().clone();
            true
        }
        _ => false,
    }
}

fn set_zero(program: &Program, expr: &mut Expr) -> bool {
    match program.representation(&expr.ty) {
        Type::Bit(width) | Type::Int(width) => {
            expr.kind = ExprKind::Const(Const::Bits(Bits::zero(*width)));
            true
        }
        _ => false,
    }
}

fn far_shift(_: &Program, expr: &mut Expr) -> bool {
    let (Type::Bit(width) | Type::Int(width)) = expr.ty else { return false };
    match &mut expr.kind {
        ExprKind::Binary(BinaryOp::Shl | BinaryOp::Shr, _, by)
            if !matches!(by.kind, ExprKind::Const(_))
                && matches!(by.ty, Type::Bit(n) if n >= 32 || width < 1 << n) =>
        {
            **by = binary(BinaryOp::Mod, by.as_ref().clone(), number(by.ty.clone(), width.into()));
            true
        }
        _ => false,
    }
}

fn shift_unsigned(_: &Program, expr: &mut Expr) -> bool {
    let Type::Int(width) = expr.ty else { return false };
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Shr, value, by) => {
            let bits = cast(Type::Bit(width), value.as_ref().clone());
            expr.kind = ExprKind::Cast(Box::new(binary(BinaryOp::Shr, bits, by.as_ref().clone())));
            true
        }
        _ => false,
    }
}

fn order_unsigned(_: &Program, expr: &mut Expr) -> bool {
    match &mut expr.kind {
        ExprKind::Binary(BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge, a, b) => {
            let Type::Int(width) = a.ty else { return false };
            for side in [a, b] {
                **side = cast(Type::Bit(width), side.as_ref().clone());
            }
            true
        }
        _ => false,
    }
}

fn sign_lost(_: &Program, expr: &mut Expr) -> bool {
    match (&expr.kind, &expr.ty) {
        (ExprKind::Cast(inner), Type::Int(to)) => match inner.ty {
            Type::Int(from) if from < *to => {
                let bits = cast(Type::Bit(from), inner.as_ref().clone());
                expr.kind = ExprKind::Cast(Box::new(cast(Type::Bit(*to), bits)));
                true
            }
            _ => false,
        },
        _ => false,
    }
}

fn first_element(_: &Program, expr: &mut Expr) -> bool {
    match &mut expr.kind {
        ExprKind::Index(stack, index) if !matches!(index.kind, ExprKind::Const(_)) => {
            let (Type::Stack(_, size), Type::Bit(width)) = (&stack.ty, &index.ty) else { return false };
            if *width < 32 && *size >= 1 << width {
                return false;
            }
            let within = Expr {
                ty: Type::Bool,
                ..binary(BinaryOp::Lt, index.as_ref().clone(), number(index.ty.clone(), (*size).into()))
            };
            let zero = number(index.ty.clone(), 0);
            let ty = index.ty.clone();
            let kind = ExprKind::Ternary(Box::new(within), index.clone(), Box::new(zero));
            **index = Expr { kind, ty, span: Span::NONE };
            true
        }
        _ => false,
    }
}

fn is_function(program: &Program, callee: Callee, name: &str) -> bool {
    let Callee::ExternFunction(id) = callee else { return false };
    program.extern_functions.get(id.index()).is_some_and(|function| function.name == name)
}

fn calls(program: &Program, stmt: &Stmt, name: &str) -> bool {
    matches!(&stmt.kind, StmtKind::Call(call) if is_function(program, call.callee.clone(), name))
}

/// A call of a value extern stands alone.
fn result_lost(program: &Program, stmt: &mut Stmt) -> bool {
    let StmtKind::Assign(_, Expr { kind: ExprKind::Call(call), .. }) = &stmt.kind else { return false };
    let lost = device::ValueCallee::of(program, &call.callee).is_some();
    if lost {
        stmt.kind = StmtKind::Call(Call::clone(call));
    }
    lost
}

fn first_cell(program: &Program, stmt: &mut Stmt) -> bool {
    let StmtKind::Call(call) = &mut stmt.kind else { return false };
    let Callee::Method(instance, method) = call.callee else { return false };
    let object = program.extern_object(program.instance(instance).object);
    let reads = object.methods.get(method as usize).is_some_and(|method| method.name == "read");
    match call.args.get_mut(1).and_then(Option::as_mut) {
        Some(index) if reads && object.name == "register" => set_zero(program, index),
        _ => false,
    }
}

fn other_checksum(program: &Program, stmt: &mut Stmt) -> bool {
    let StmtKind::Call(call) = &mut stmt.kind else { return false };
    let Some(Some(algorithm)) = call.args.get_mut(3) else { return false };
    let Type::Named(id) = &algorithm.ty else { return false };
    let TypeKind::Enum(members) = &program.type_decl(*id).kind else { return false };
    let other = members.iter().position(|member| member == "xor16");
    let is_sum = |at: u32| members.get(at as usize).is_some_and(|member| member == "csum16");
    match (&algorithm.kind, other) {
        (ExprKind::Const(Const::Enum(at)), Some(other)) if is_sum(*at) => {
            algorithm.kind = ExprKind::Const(Const::Enum(other as u32));
            true
        }
        _ => false,
    }
}

fn neighbour_cleared(program: &Program, stmts: &mut Vec<Stmt>) -> bool {
    let before = stmts.len();
    let cleared = |stmt: &Stmt| {
        let StmtKind::Assign(Expr { kind: ExprKind::Field(header, at), ty, .. }, _) = &stmt.kind else {
            return None;
        };
        let next = program.fields(&header.ty).get(*at as usize + 1)?;
        let shares = matches!(ty, Type::Bit(width) if width % 8 != 0);
        let Type::Bit(width) = next.ty else { return None };
        let place =
            Expr { kind: ExprKind::Field(header.clone(), at + 1), ty: next.ty.clone(), span: Span::NONE };
        let kind = StmtKind::Assign(place, number(Type::Bit(width), 0));
        shares.then(|| Stmt { kind, ..stmt.clone() })
    };
    let read = std::mem::take(stmts);
    for stmt in read {
        let more = cleared(&stmt);
        stmts.push(stmt);
        stmts.extend(more);
    }
    stmts.len() != before
}

fn no_match_fine(transition: &mut Transition) -> bool {
    let Transition::Select(select) = transition else { return false };
    let all = |case: &SelectCase| case.keys.iter().all(|key| *key == Keyset::DontCare);
    if select.cases.iter().any(all) {
        return false;
    }
    select.cases.push(SelectCase { keys: vec![Keyset::DontCare], next: StateRef::Accept, span: Span::NONE });
    true
}

fn mask_ignored(transition: &mut Transition) -> bool {
    let Transition::Select(select) = transition else { return false };
    let keys = select.cases.iter_mut().flat_map(|case| &mut case.keys);
    keys.fold(false, |changed, key| match key {
        Keyset::Mask(value, _) => {
            *key = Keyset::Value(value.clone());
            true
        }
        _ => changed,
    })
}

fn key_bit_lost(program: &Program, table: &mut Table) -> bool {
    table.keys.iter_mut().fold(false, |changed, key| match *program.representation(&key.expr.ty) {
        Type::Bit(width) if key.expr.ty == Type::Bit(width) => {
            let mask = Expr {
                kind: ExprKind::Const(Const::Bits(Bits::new(width, 1).not())),
                ..number(Type::Bit(width), 0)
            };
            key.expr = binary(BinaryOp::BitAnd, key.expr.clone(), mask);
            true
        }
        _ => changed,
    })
}

fn entries_turned(_: &Program, table: &mut Table) -> bool {
    if table.entries.len() < 2 {
        return false;
    }
    table.largest_priority_wins ^= true;
    table.entries.reverse();
    true
}

fn data_repeated(control: &mut Control) -> bool {
    let mut changed = false;
    let Control { actions, vars, .. } = control;
    for action in actions {
        let Some((first, others)) = action.params.split_first() else { continue };
        let ty = |var: &VarId| vars.get(var.index()).map(|var| &var.ty);
        let same: Vec<VarId> = others.iter().filter(|var| ty(var) == ty(first)).copied().collect();
        in_block(&mut action.body, &mut |expr| match expr.kind {
            ExprKind::Var(var) if same.contains(&var) => {
                expr.kind = ExprKind::Var(*first);
                changed = true;
            }
            _ => {}
        });
    }
    changed
}

fn in_block(block: &mut Block, f: &mut dyn FnMut(&mut Expr)) {
    for stmt in &mut block.stmts {
        visit::exprs_mut(stmt, &mut |expr| visit::subexprs_mut(expr, f));
        visit::blocks_mut(stmt, &mut |inner| in_block(inner, f));
    }
}
