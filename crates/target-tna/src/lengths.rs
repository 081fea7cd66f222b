//! Lengths of packets: the ingress of a Tofino does not have them, but every frame has at least 60 bytes.
//!
//! Before: `if (standard_metadata.packet_length < 60) { ... }`   `select(..., standard_metadata.packet_length) { (0x0800, 34..0xffffffff): ipv4; ... }`
//! After:  `if (false) { ... }`                                   `select(...) { 0x0800: ipv4; ... }`
//!
//! Comparisons that this does not decide are left, and refused.

use crate::original::metadata;
use ir::{BinaryOp, Const, Expr, ExprKind, Keyset, Program, Select, StateRef, Transition, build, visit};

const FIELD: &str = "packet_length";
/// An Ethernet frame without its check sequence (IEEE 802.3, clause 4A.4.2).
const LEAST_BYTES: u64 = 60;
/// More than any frame has.
const MOST_BYTES: u64 = 65_535;

/// Decides comparisons of the length that have the same result for all frames. Returns true if there are any.
pub(crate) fn decide(program: &mut Program) -> bool {
    let old = program.clone();
    let mut found = false;
    let mut change = |stmt: &mut ir::Stmt| {
        visit::exprs_mut(stmt, &mut |expr| {
            visit::subexprs_mut(expr, &mut |expr| {
                if let Some(holds) = decided(&old, expr) {
                    expr.kind = ExprKind::Const(Const::Bool(holds));
                    found = true;
                }
            });
        });
    };
    for control in &mut program.controls {
        visit::stmts_mut(&mut control.body, &mut change);
        control.actions.iter_mut().for_each(|action| visit::stmts_mut(&mut action.body, &mut change));
    }
    for state in program.parsers.iter_mut().flat_map(|parser| &mut parser.states) {
        let Transition::Select(select) = &mut state.transition else { continue };
        while let Some(at) = select.exprs.iter().position(|expr| is_length(&old, expr)) {
            if !select.cases.iter().all(|case| holds_for_all(case.keys.get(at).or(case.keys.last()))) {
                break;
            }
            found = true;
            leave_out(select, at);
        }
        if let Some(next) = only(select) {
            state.transition = Transition::Goto(next);
        }
    }
    found
}

fn is_length(program: &Program, expr: &Expr) -> bool {
    metadata(program, expr) == Some(FIELD)
}

fn number(expr: &Expr) -> Option<u64> {
    match &expr.kind {
        ExprKind::Const(Const::Bits(bits)) => bits.to_u64(),
        _ => None,
    }
}

/// The result of a comparison of the length with a constant.
fn decided(program: &Program, expr: &Expr) -> Option<bool> {
    let ExprKind::Binary(op, left, right) = &expr.kind else { return None };
    let limit = number(right).filter(|_| is_length(program, left))?;
    match op {
        BinaryOp::Lt if limit <= LEAST_BYTES => Some(false),
        BinaryOp::Ge if limit <= LEAST_BYTES => Some(true),
        BinaryOp::Le if limit < LEAST_BYTES => Some(false),
        BinaryOp::Gt if limit < LEAST_BYTES => Some(true),
        _ => None,
    }
}

/// True for keys that every length has.
fn holds_for_all(key: Option<&Keyset>) -> bool {
    match key {
        Some(Keyset::DontCare) => true,
        Some(Keyset::Range(low, high)) => {
            number(low).is_some_and(|low| low <= LEAST_BYTES)
                && number(high).is_some_and(|high| high >= MOST_BYTES)
        }
        _ => false,
    }
}

/// Leaves out the expression at `at`, with its keys.
fn leave_out(select: &mut Select, at: usize) {
    let expressions = select.exprs.len();
    for case in &mut select.cases {
        if case.keys.len() == expressions && expressions > 1 {
            case.keys.remove(at);
        } else if expressions == 1 {
            case.keys = vec![Keyset::DontCare];
        }
    }
    if expressions > 1 {
        select.exprs.remove(at);
    } else {
        select.exprs[at] = build::bits(1, 0);
    }
}

/// The next state of a selection without a choice.
fn only(select: &Select) -> Option<StateRef> {
    let [expr] = &select.exprs[..] else { return None };
    let first = select.cases.first()?;
    (number(expr).is_some() && matches!(first.keys[..], [Keyset::DontCare])).then_some(first.next)
}
