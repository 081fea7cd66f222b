//! Nesting is bounded: expressions in expressions, blocks in blocks, calls from calls. The interpreter walks the
//! tree with the machine's stack.

use super::{Unit, calls, parts, units};
use base_diag::codes::run as codes;
use base_diag::{Diagnostic, Span};
use ir::{Block, Call, Callee, Expr, ForRange, Program, Stmt, StmtKind, SwitchOn, visit};
use std::collections::BTreeMap;

/// The most levels of nesting from a stage's body down to the last expression.
const MAX_DEPTH: u32 = 400;

/// Refuses programs that nest too deeply or call themselves.
pub(super) fn check(program: &Program) -> Result<(), Vec<Diagnostic>> {
    let mut own = BTreeMap::new();
    let mut problems = vec![];
    for unit in units(program) {
        match unit_depth(program, unit) {
            Some(depth) => {
                own.insert(unit, depth);
            }
            None => problems.push(too_deep(program, unit, "it nests too deeply")),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    // The second pass follows calls, and may itself recurse: it needs units of bounded depth.
    let mut known = BTreeMap::new();
    for unit in units(program) {
        if total_depth(program, unit, &own, &mut known, MAX_DEPTH).is_none() {
            return Err(vec![too_deep(program, unit, "with the calls in it, it nests too deeply")]);
        }
    }
    Ok(())
}

fn too_deep(program: &Program, unit: Unit, why: &str) -> Diagnostic {
    let span = match unit {
        Unit::Function(at) => program.functions.get(at).map(|f| f.span),
        Unit::Parser(at) => program.parsers.get(at).map(|p| p.span),
        Unit::Control(at) => program.controls.get(at).map(|c| c.span),
        Unit::Action(at, action) => {
            program.controls.get(at).and_then(|c| c.actions.get(action)).map(|a| a.span)
        }
    };
    Diagnostic::error(codes::TOO_DEEP, "nested too deeply to run")
        .at(span.unwrap_or(Span::NONE), why)
        .note(format!("at most {MAX_DEPTH} levels of blocks, expressions and calls"))
}

/// The depth of a unit with all it calls; `None` beyond `left`, and for recursion.
fn total_depth(
    program: &Program,
    unit: Unit,
    own: &BTreeMap<Unit, u32>,
    known: &mut BTreeMap<Unit, u32>,
    left: u32,
) -> Option<u32> {
    if let Some(total) = known.get(&unit) {
        return (*total <= left).then_some(*total);
    }
    let depth = own.get(&unit)?;
    let inner = left.checked_sub(*depth)?;
    let mut deepest = 0;
    for callee in callees(program, unit) {
        deepest = deepest.max(total_depth(program, callee, own, known, inner)?);
    }
    known.insert(unit, depth + deepest);
    Some(depth + deepest)
}

/// Units that a unit may call; for a control also the actions of its tables.
fn callees(program: &Program, unit: Unit) -> Vec<Unit> {
    let mut found = vec![];
    let within = match unit {
        Unit::Control(at) | Unit::Action(at, _) => Some(at),
        _ => None,
    };
    calls(program, unit, &mut |call: &Call| {
        found.extend(match call.callee {
            Callee::Function(id) => Some(Unit::Function(id.index())),
            Callee::Parser(id) => Some(Unit::Parser(id.index())),
            Callee::Control(id) => Some(Unit::Control(id.index())),
            Callee::Action(id) => within.map(|control| Unit::Action(control, id.index())),
            _ => None,
        });
    });
    if let Unit::Control(at) = unit {
        found.extend((0..program.controls[at].actions.len()).map(|action| Unit::Action(at, action)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn unit_depth(program: &Program, unit: Unit) -> Option<u32> {
    let (lists, exprs) = parts(program, unit);
    let statements = lists.into_iter().map(|list| list_depth(list, MAX_DEPTH));
    let depths = statements.chain(exprs.into_iter().map(|e| expr_depth(e, MAX_DEPTH)));
    depths.into_iter().try_fold(0, |most, depth| Some(most.max(depth?))).map(|depth| depth + 1)
}

fn list_depth(stmts: &[Stmt], left: u32) -> Option<u32> {
    stmts.iter().try_fold(0, |most: u32, stmt| Some(most.max(stmt_depth(stmt, left)?)))
}

/// The depth of one statement; `None` beyond `left`.
fn stmt_depth(stmt: &Stmt, left: u32) -> Option<u32> {
    let left = left.checked_sub(1)?;
    let expr = |e: &Expr| expr_depth(e, left);
    let block = |b: &Block| list_depth(&b.stmts, left);
    let inner = match &stmt.kind {
        StmtKind::Declare(_, init) => most(init.iter().map(expr)),
        StmtKind::Assign(a, b) | StmtKind::AssignOp(_, a, b) | StmtKind::Verify(a, b) => {
            most([expr(a), expr(b)].into_iter())
        }
        StmtKind::Call(call) => most(call.args.iter().flatten().map(expr)),
        StmtKind::SetValid(e, _)
        | StmtKind::PushFront(e, _)
        | StmtKind::PopFront(e, _)
        | StmtKind::Advance(_, e)
        | StmtKind::Emit(_, e) => expr(e),
        StmtKind::Extract { header, varbit_bits, .. } => {
            most([expr(header)].into_iter().chain(varbit_bits.iter().map(expr)))
        }
        StmtKind::If(cond, yes, no) => most([expr(cond), block(yes), block(no)].into_iter()),
        StmtKind::Switch(on, cases) => {
            let on = match on {
                SwitchOn::Value(e) => expr(e),
                SwitchOn::ActionRun(_) => Some(0),
            };
            most([on].into_iter().chain(cases.iter().map(|c| block(&c.body))))
        }
        StmtKind::Block(b) => block(b),
        StmtKind::For { init, cond, update, body } => {
            most([list_depth(init, left), expr(cond), list_depth(update, left), block(body)].into_iter())
        }
        StmtKind::ForIn { range, body, .. } => match range {
            ForRange::Range(a, b) => most([expr(a), expr(b), block(body)].into_iter()),
            ForRange::Values(e) => most([expr(e), block(body)].into_iter()),
        },
        StmtKind::Return(value) => most(value.iter().map(expr)),
        StmtKind::Apply(_) | StmtKind::Break | StmtKind::Continue | StmtKind::Exit => Some(0),
    };
    inner.map(|depth| depth + 1)
}

/// The depth of an expression; `None` beyond `left`.
fn expr_depth(expr: &Expr, left: u32) -> Option<u32> {
    let left = left.checked_sub(1)?;
    let mut inner = Some(0);
    visit::parts(expr, &mut |part| inner = most([inner, expr_depth(part, left)].into_iter()));
    inner.map(|depth| depth + 1)
}

fn most(depths: impl Iterator<Item = Option<u32>>) -> Option<u32> {
    depths.into_iter().try_fold(0, |most, depth| Some(most.max(depth?)))
}
