//! The metadata of ports: a register that ingress reads, because BMv2's parsers cannot.

use crate::context::{Block, Context};
use crate::instances;
use crate::pieces::refused;
use crate::values::{self, member};
use base_diag::Diagnostic;
use ir::{Callee, Expr, ExprKind, Parser, Program, Stmt, Transition, Type, Var, build, visit};

/// The metadata of the port, or the data of a resubmission, where the parser unpacks it.
pub(crate) fn port_metadata(context: &Context<'_>, block: &Block, vars: &mut Vec<Var>) -> Option<Stmt> {
    let program = context.program;
    let (place, id) = (context.port_metadata.as_ref()?, instances::port_metadata(program)?);
    let meta = |name: &str| member(program, &block.meta, name);
    let (data, port, again, unpacked) =
        (meta("resubmitted")?, meta("port")?, meta("again")?, meta("unpacked")?);
    let bits = build::local(vars, "bits", data.ty.clone(), base_diag::Span::NONE);
    let value = build::var(bits, &data.ty);
    let read = ir::Callee::Method(id, context.skeleton.method("register", "read"));
    let read = build::call(read, vec![], vec![value.clone(), build::cast(port, Type::Bit(32))]);
    let mut then = vec![
        build::declare(bits, Some(data)),
        build::if_then(build::equals(again, build::bits(1, 0)), vec![read]),
    ];
    let to = moved(place, &block.meta);
    let slice = |offset: u32, wide: u32| values::from_top(&value, offset, wide);
    values::fill(program, &to, 0, &slice, &mut then)?;
    Some(build::if_then(build::equals(unpacked, build::bits(1, 1)), then))
}

/// The same part of the metadata of another block.
fn moved(place: &Expr, meta: &Expr) -> Expr {
    match &place.kind {
        ExprKind::Field(base, at) => build::field(moved(base, meta), *at as usize, place.ty.clone()),
        _ => meta.clone(),
    }
}

/// A call of `port_metadata_unpack`.
pub(crate) fn is_unpack(program: &Program, value: &Expr) -> bool {
    let ExprKind::Call(call) = &value.kind else { return false };
    let Callee::ExternFunction(id) = call.callee else { return false };
    program.extern_functions.get(id.index()).is_some_and(|function| function.name == "port_metadata_unpack")
}

/// `place` is a field of `whole`, or a field of such a field.
pub(crate) fn is_part(place: &Expr, whole: &Expr) -> bool {
    match &place.kind {
        ExprKind::Field(base, _) => is_same(base, whole) || is_part(base, whole),
        _ => false,
    }
}

/// The same field of the same variable.
pub(crate) fn is_same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Field(a, at), ExprKind::Field(b, other)) => at == other && is_same(a, b),
        (ExprKind::Var(a), ExprKind::Var(b)) => a == b,
        _ => false,
    }
}

/// The metadata of a port is not there yet while the parser runs.
pub(crate) fn check_unread(parser: &Parser, place: &Expr, found: &mut Vec<Diagnostic>) {
    let mut look = |expr: &Expr| {
        visit::subexprs(expr, &mut |expr| {
            if is_same(expr, place) {
                let label = "the parser uses it itself";
                found.push(refused("the metadata of ports cannot be converted", expr.span, label));
            }
        });
    };
    for state in &parser.states {
        let block = build::block(state.stmts.clone());
        visit::all_exprs(&block, &mut look);
        if let Transition::Select(select) = &state.transition {
            select.exprs.iter().for_each(&mut look);
        }
    }
}
