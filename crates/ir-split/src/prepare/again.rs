//! Clones of packets that come to ingress again.
//!
//! `simple_switch` parses a clone of ingress with the port by which the device received the packet. For a packet that
//! was handed over and then recirculated, that is the port of a link, whose frames only the runtime's parser handles:
//! it looks at their first bytes. This makes no difference if the program's parser takes as many bytes at once, or also
//! fails; other programs are refused, except for clones made where `instance_type` shows that the packet is new.

use crate::arch;
use crate::attempt::CutHalves;
use crate::layout::ETHERNET_BITS;
use crate::parser_places::parser_of;
use crate::prepare::called::{calls, request};
use crate::refuse::unsupported;
use base_diag::Diagnostic;
use ir::{
    BinaryOp, Block, Const, ControlId, Expr, ExprKind, Parser, Program, StateRef, StmtKind, Transition, Type,
    visit,
};
use p4_arch::{CutCall, Meaning};

/// Refuses the clones of ingress that a packet may order that has come to ingress before.
pub fn refuse_clones(
    program: &Program,
    [ingress, egress]: [ControlId; 2],
    cut: CutHalves,
) -> Vec<Diagnostic> {
    let comes_again = [ingress, egress].iter().any(|&id| calls(program, id, CutCall::Recirculate))
        || cut.ingress && calls(program, ingress, CutCall::Resubmit);
    if !comes_again || !(cut.ingress || cut.egress) || is_parsed_alike(program) {
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
        if let Some(call) = request(program, stmt, CutCall::Clone) {
            let why = "a packet that is recirculated and then cloned would be parsed with the port of a link";
            let help = "clone where `standard_metadata.instance_type == 0`: these packets are new";
            found.push(unsupported(call.span, why).help(help));
        }
        match &stmt.kind {
            StmtKind::If(condition, _, no) if is_new(program, condition) => refuse(program, no, found),
            _ => visit::blocks(stmt, &mut |inner| refuse(program, inner, found)),
        }
    }
}

/// Whether a condition holds only for packets received on a port.
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
    standard_field(program, expr).is_some_and(|name| arch::field(program, Meaning::Kind) == Some(name))
}

/// The field of the standard metadata that an expression is.
fn standard_field<'p>(program: &'p Program, expr: &Expr) -> Option<&'p str> {
    let ExprKind::Field(base, index) = &expr.kind else { return None };
    let field = program.fields(&base.ty).get(*index as usize)?;
    is_standard(program, &base.ty).then_some(field.name.as_str())
}

fn is_standard(program: &Program, ty: &Type) -> bool {
    let name = p4_arch::v1model::ARCHITECTURE.standard_metadata;
    matches!(ty, Type::Named(id) if Some(program.type_decl(*id).name.as_str()) == name)
}

/// True if the program's parser finds the same headers whatever the port, and also after the runtime's parser: its
/// first step must extract the bytes that the runtime looks at.
fn is_parsed_alike(program: &Program) -> bool {
    let Some((parser, _)) = parser_of(program) else { return false };
    let mut state = parser.states.first();
    // As many steps as there are states: then it is a circle.
    let steps = std::iter::from_fn(|| {
        let here = state?;
        state = match here.transition {
            Transition::Goto(StateRef::State(next)) => parser.states.get(next.index()),
            _ => None,
        };
        Some(here)
    });
    let first = steps.take(parser.states.len()).find_map(|state| state.stmts.first());
    let takes_enough = first.is_some_and(|stmt| match &stmt.kind {
        StmtKind::Extract { header, varbit_bits: None, .. } => {
            program.bits(&header.ty).is_some_and(|bits| bits >= u64::from(ETHERNET_BITS))
        }
        _ => false,
    });
    takes_enough && parser.locals.is_empty() && !reads_port(program, parser)
}

/// The parser reads `ingress_port`, or uses the standard metadata as a whole.
pub fn reads_port(program: &Program, parser: &Parser) -> bool {
    let (mut reads, mut fields, mut uses) = (false, 0, 0);
    let mut look = |expr: &Expr| {
        visit::subexprs(expr, &mut |e| {
            let field = standard_field(program, e);
            reads |= field.is_some() && field == arch::field(program, Meaning::InPort);
            fields += usize::from(field.is_some());
            uses += usize::from(is_standard(program, &e.ty));
        });
    };
    for state in &parser.states {
        let block = Block { annotations: vec![], stmts: state.stmts.clone() };
        visit::stmts(&block, &mut |stmt| visit::exprs(stmt, &mut look));
        if let Transition::Select(select) = &state.transition {
            select.exprs.iter().for_each(&mut look);
        }
    }
    reads || uses > fields
}

fn is_zero(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Const(Const::Bits(bits)) if bits.to_u32() == Some(0))
}
