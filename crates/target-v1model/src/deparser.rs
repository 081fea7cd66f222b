//! Deparsers: their code goes to the end of ingress and of egress, their emits to the one deparser of v1model.

use crate::context::{Block, Context};
use crate::pieces::refused;
use base_diag::{Diagnostic, Span};
use device::tna::Half;
use ir::{
    Control, Expr, ExprKind, Parser, Program, StateId, StateRef, Stmt, StmtKind, Transition, Type, VarId,
    build, visit,
};
use ir_merge::Substitution;

/// Splits the body of a deparser into its code and what it emits; refuses emits that depend on anything.
pub(crate) fn split(control: &Control, found: &mut Vec<Diagnostic>) -> (Vec<Stmt>, Vec<Expr>) {
    let (mut code, mut emits) = (vec![], vec![]);
    for stmt in &control.body.stmts {
        if let StmtKind::Emit(_, value) = &stmt.kind {
            emits.push(value.clone());
            continue;
        }
        let mut inner = None;
        visit::blocks(stmt, &mut |block| {
            visit::stmts(block, &mut |stmt| {
                if matches!(stmt.kind, StmtKind::Emit(..)) {
                    inner.get_or_insert(stmt.span);
                }
            });
        });
        if let Some(span) = inner {
            found.push(refused(
                "an `emit` under a condition cannot be converted",
                span,
                "v1model's deparser has no conditions",
            ));
        }
        if !emits.is_empty() {
            let label = "this runs after an `emit`";
            found.push(refused("code between emits cannot be converted", stmt.span, label));
        }
        code.push(stmt.clone());
    }
    if let Some(table) = control.tables.first() {
        found.push(refused("tables of a deparser cannot be converted", table.span, "applied in a deparser"));
    }
    (code, emits)
}

/// The deparser: headers of mirrored packets, then what each half emits, then metadata that its parser left.
pub(crate) fn deparser(context: &mut Context<'_>, emits: &[Vec<Expr>]) -> Control {
    let mut control = context.skeleton.deparser.clone();
    let packet = control.params[0];
    let block = Block::of_deparser(&control.params, &control.vars);
    let mut values: Vec<Expr> = context.mirrors(&block.headers);
    for (half, emits) in [Half::Ingress, Half::Egress].into_iter().zip(emits) {
        let own = context.program.control(context.usage.deparsers[half as usize]);
        let arguments = context.arguments(&block, half, &own.params, &own.vars);
        let mut vars: Vec<Expr> =
            own.vars.iter().enumerate().map(|(at, var)| build::var(VarId::from(at), &var.ty)).collect();
        for (param, argument) in own.params.iter().zip(&arguments) {
            vars[param.index()] = argument.clone();
        }
        let substitution = Substitution { vars, value_sets: 0 };
        for emit in emits {
            let is_header = root(emit).is_some_and(|var| {
                own.params.iter().position(|param| *param == var).is_some_and(|at| {
                    arguments.get(at).is_some_and(|argument| root(argument) == root(&block.headers))
                })
            });
            if !is_header {
                context.found.push(refused(
                    "this `emit` cannot be converted",
                    emit.span,
                    "v1model emits parts of the headers only",
                ));
                continue;
            }
            let mut value = emit.clone();
            substitution.expr(&mut value);
            values.push(value);
        }
        values.extend(context.rests(&block.headers, half));
    }
    control.body.stmts = values.into_iter().map(|value| build::stmt(StmtKind::Emit(packet, value))).collect();
    control
}

fn root(expr: &Expr) -> Option<VarId> {
    match &expr.kind {
        ExprKind::Var(var) => Some(*var),
        ExprKind::Field(base, _) | ExprKind::Index(base, _) | ExprKind::Next(base) | ExprKind::Last(base) => {
            root(base)
        }
        _ => None,
    }
}

/// A copy that ingress mirrors has the bytes that were received: v1model parses and deparses them, so the deparser has to
/// emit what the parser extracts, in that order.
pub(crate) fn check_order(
    program: &Program,
    headers: &Type,
    parser: &Parser,
    entry: StateId,
    emits: &[Expr],
) -> Result<(), Diagnostic> {
    let mut places: Vec<Expr> = vec![];
    emits.iter().for_each(|emit| leaves(program, emit, &mut places));
    let mut seen = std::collections::BTreeSet::new();
    let mut waiting = vec![(entry, 0usize)];
    while let Some((id, mut last)) = waiting.pop() {
        if !seen.insert((id, last)) {
            continue;
        }
        let state = &parser.states[id.index()];
        for stmt in &state.stmts {
            let wrong =
                |span: Span, label: &str| Err(refused("mirrored packets cannot be converted", span, label));
            match &stmt.kind {
                StmtKind::Extract { header, .. } => {
                    let element = match &header.kind {
                        ExprKind::Next(stack) | ExprKind::Index(stack, _) => stack,
                        _ => header,
                    };
                    let is_it = |place: &Expr| same(headers, place, element);
                    match places.iter().position(is_it) {
                        Some(at) if at >= last => last = at,
                        Some(_) => {
                            return wrong(
                                stmt.span,
                                "the deparser emits this before headers that are extracted before it",
                            );
                        }
                        None => return wrong(stmt.span, "the deparser does not emit this as it is"),
                    }
                }
                StmtKind::Advance(..) => return wrong(stmt.span, "these bytes are lost"),
                _ => {}
            }
        }
        let mut follow = |next: &StateRef| {
            if let StateRef::State(next) = next {
                waiting.push((*next, last));
            }
        };
        match &state.transition {
            Transition::Goto(next) => follow(next),
            Transition::Select(select) => select.cases.iter().for_each(|case| follow(&case.next)),
        }
    }
    Ok(())
}

/// Headers and stacks of a value that is emitted.
fn leaves(program: &Program, value: &Expr, out: &mut Vec<Expr>) {
    if !program.is_struct(&value.ty) {
        return out.push(value.clone());
    }
    for (at, field) in program.fields(&value.ty).iter().enumerate() {
        leaves(program, &build::field(value.clone(), at, field.ty.clone()), out);
    }
}

/// The same place in values of the type `whole`.
fn same(whole: &Type, a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        _ if a.ty == *whole || b.ty == *whole => a.ty == b.ty,
        (ExprKind::Field(a, x), ExprKind::Field(b, y)) => x == y && same(whole, a, b),
        _ => false,
    }
}
