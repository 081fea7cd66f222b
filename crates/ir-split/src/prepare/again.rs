//! Clones of packets that come to ingress again.
//!
//! `simple_switch` parses a clone of ingress with the port by which the device received the packet. Of a packet that was
//! handed over and then sent around that is the port of a link, which the program never saw: such a clone is refused. Where
//! `instance_type` says that the packet is new, it may be made.

use super::orders::{CLONE, CutHalves, RECIRCULATE, RESUBMIT, calls, order};
use crate::check::unsupported;
use base_diag::Diagnostic;
use ir::{BinaryOp, Block, Const, ControlId, Expr, ExprKind, Program, StmtKind, visit};

/// Refuses the clones of ingress that a packet may order that has come to ingress before.
pub fn refuse_clones(
    program: &Program,
    [ingress, egress]: [ControlId; 2],
    cut: CutHalves,
) -> Vec<Diagnostic> {
    let comes_again = [ingress, egress].iter().any(|&id| calls(program, id, &RECIRCULATE))
        || cut.ingress && calls(program, ingress, &RESUBMIT);
    if !comes_again || !(cut.ingress || cut.egress) {
        return vec![];
    }
    let mut found = vec![];
    let control = program.control(ingress);
    refuse(program, &control.body, &mut found);
    control.actions.iter().for_each(|action| refuse(program, &action.body, &mut found));
    found
}

fn refuse(program: &Program, block: &Block, found: &mut Vec<Diagnostic>) {
    for stmt in &block.stmts {
        if let Some(call) = order(program, stmt, &CLONE) {
            let why = "a packet that is sent around and then cloned would be parsed with the port of a link";
            let help = "clone where `standard_metadata.instance_type == 0`: these packets are new";
            found.push(unsupported(call.span, why).help(help));
        }
        match &stmt.kind {
            StmtKind::If(condition, _, no) if is_new(program, condition) => refuse(program, no, found),
            _ => visit::blocks(stmt, &mut |inner| refuse(program, inner, found)),
        }
    }
}

/// Whether a condition holds only for packets that come in by a port.
fn is_new(program: &Program, condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::Binary(BinaryOp::And, a, b) => is_new(program, a) || is_new(program, b),
        ExprKind::Binary(BinaryOp::Eq, a, b) => {
            is_instance_type(program, a) && is_zero(b) || is_zero(a) && is_instance_type(program, b)
        }
        _ => false,
    }
}

fn is_instance_type(program: &Program, expr: &Expr) -> bool {
    let ExprKind::Field(base, index) = &expr.kind else { return false };
    let ir::Type::Named(id) = &base.ty else { return false };
    Some(program.type_decl(*id).name.as_str()) == p4_arch::v1model::ARCHITECTURE.standard_metadata
        && program.fields(&base.ty).get(*index as usize).is_some_and(|f| f.name == "instance_type")
}

fn is_zero(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Const(Const::Bits(bits)) if bits.to_u32() == Some(0))
}
