//! Places where packets show what they read from a register: a branch, a key, a header, or anything but the register's own next value.
//!
//! ```text
//! hidden   seen.read(n, i); n = n + 1; seen.write(i, n);
//! shown    seen.read(n, i); if (n > 10) { mark_to_drop(...); }
//! ```

use base_diag::Span;
use ir::{
    BinaryOp, Block, Call, Callee, Control, Expr, ExprKind, InstanceId, Program, Stmt, StmtKind, VarId,
    VarKind, visit,
};
use std::collections::BTreeSet;

/// A place where packets show what they read from a register, and why.
pub fn shown(program: &Program, register: InstanceId) -> Option<(Span, &'static str)> {
    let used = |block: &Block| {
        let mut found = None;
        calls(block, &mut |call| found = found.or(is_of(call, register).then_some(call.span)));
        found
    };
    let in_function = program.functions.iter().find_map(|function| used(&function.body));
    let states = program.parsers.iter().flat_map(|parser| &parser.states);
    let mut of_states = states.map(|state| Block { annotations: vec![], stmts: state.stmts.clone() });
    let in_parser = || of_states.find_map(|block| used(&block)).map(|span| (span, "the parser uses it"));
    in_function
        .map(|span| (span, "a function uses it"))
        .or_else(in_parser)
        .or_else(|| program.controls.iter().find_map(|control| shown_in(program, control, register)))
}

/// A place where a value for a register is worked out with a saturating operator.
pub fn saturates(program: &Program, register: InstanceId) -> Option<Span> {
    program.controls.iter().find_map(|control| {
        let (read, _) = Taken::new(program, control, register);
        let mut found = None;
        let mut look = |e: &Expr| {
            visit::subexprs(e, &mut |part| {
                let is_it = matches!(part.kind, ExprKind::Binary(BinaryOp::AddSat | BinaryOp::SubSat, ..));
                if is_it && read.is_in(part) {
                    found = found.or(Some(part.span));
                }
            });
        };
        blocks(control).for_each(|block| visit::all_exprs(block, &mut look));
        for block in blocks(control) {
            visit::stmts(block, &mut |stmt| {
                if let StmtKind::AssignOp(BinaryOp::AddSat | BinaryOp::SubSat, place, _) = &stmt.kind
                    && read.is_in(place)
                {
                    found = found.or(Some(stmt.span));
                }
            });
        }
        found
    })
}

fn shown_in(program: &Program, control: &Control, register: InstanceId) -> Option<(Span, &'static str)> {
    let (read, elsewhere) = Taken::new(program, control, register);
    if let Some(span) = elsewhere {
        return Some((span, "it is read into something else than a local variable"));
    }
    let mut found = None;
    let mut note = |e: &Expr| {
        visit::subexprs(e, &mut |part| {
            if read.is_it(part) {
                found = found.or(Some(part.span));
            }
        });
    };
    for block in blocks(control) {
        visit::stmts(block, &mut |stmt| match &stmt.kind {
            StmtKind::Assign(place, _) | StmtKind::AssignOp(_, place, _) if read.is_it(place) => {}
            StmtKind::Declare(var, _) if read.vars.contains(var) => {}
            StmtKind::Call(call) if is_of(call, register) => {
                // `read(result, index)`, `write(index, value)`
                let index = usize::from(method(program, call) == Some("read"));
                call.args.get(index).into_iter().flatten().for_each(&mut note);
            }
            _ => visit::exprs(stmt, &mut note),
        });
    }
    for table in &control.tables {
        table.keys.iter().for_each(|key| note(&key.expr));
        table.actions.iter().flat_map(|run| &run.args).for_each(&mut note);
    }
    found.map(|span| (span, "this uses a value of it"))
}

/// The local variables of a control that have what was read, or what was computed from it.
pub(crate) struct Taken {
    pub(crate) vars: BTreeSet<VarId>,
}

impl Taken {
    /// With a place where the register is read into something else.
    pub(crate) fn new(program: &Program, control: &Control, register: InstanceId) -> (Taken, Option<Span>) {
        let is_local = |var: VarId| control.vars.get(var.index()).is_some_and(|v| v.kind == VarKind::Local);
        let mut taken = Taken { vars: BTreeSet::new() };
        let mut elsewhere = None;
        for block in blocks(control) {
            calls(block, &mut |call| {
                if !is_of(call, register) || method(program, call) != Some("read") {
                    return;
                }
                match call.args.first() {
                    Some(Some(Expr { kind: ExprKind::Var(var), .. })) if is_local(*var) => {
                        taken.vars.insert(*var);
                    }
                    _ => elsewhere = elsewhere.or(Some(call.span)),
                }
            });
        }
        // A value may pass through several local variables: repeat until no further variable has one.
        loop {
            let before = taken.vars.len();
            for block in blocks(control) {
                visit::stmts(block, &mut |stmt| {
                    let (var, value) = match &stmt.kind {
                        StmtKind::Assign(Expr { kind: ExprKind::Var(var), .. }, value)
                        | StmtKind::AssignOp(_, Expr { kind: ExprKind::Var(var), .. }, value)
                        | StmtKind::Declare(var, Some(value)) => (*var, value),
                        _ => return,
                    };
                    if is_local(var) && taken.is_in(value) {
                        taken.vars.insert(var);
                    }
                });
            }
            if taken.vars.len() == before {
                return (taken, elsewhere);
            }
        }
    }

    fn is_it(&self, e: &Expr) -> bool {
        matches!(e.kind, ExprKind::Var(var) if self.vars.contains(&var))
    }

    fn is_in(&self, e: &Expr) -> bool {
        let mut found = false;
        visit::subexprs(e, &mut |part| found |= self.is_it(part));
        found
    }
}

fn blocks(control: &Control) -> impl Iterator<Item = &Block> {
    control.actions.iter().map(|action| &action.body).chain([&control.body])
}

pub(crate) fn is_of(call: &Call, register: InstanceId) -> bool {
    matches!(call.callee, Callee::Method(instance, _) if instance == register)
}

pub(crate) fn method<'p>(program: &'p Program, call: &Call) -> Option<&'p str> {
    let Callee::Method(instance, method) = call.callee else { return None };
    let object = program.extern_object(program.instance(instance).object);
    Some(object.methods.get(method as usize)?.name.as_str())
}

/// The calls that are statements; methods of registers give no value.
fn calls(block: &Block, f: &mut dyn FnMut(&Call)) {
    visit::stmts(block, &mut |stmt: &Stmt| {
        if let StmtKind::Call(call) = &stmt.kind {
            f(call);
        }
    });
}
