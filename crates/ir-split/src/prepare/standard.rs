//! Standard metadata that the program writes although the device has set it.

use super::{add_metadata, role_type};
use crate::arch;
use ir::{Callee, Expr, ExprKind, Field, Program, Role, StageKind, Stmt, StmtKind, Type, build, visit};
use p4_arch::{CutCall, Duty, Meaning};

/// True if a control may write this field of the standard metadata.
pub fn writes_standard(program: &Program, meaning: Meaning) -> bool {
    let Some(name) = arch::field(program, meaning) else { return false };
    let Some(standard) = role_type(program, Role::StandardMetadata) else { return false };
    let covers = |place: &Expr| match &place.kind {
        _ if place.ty == standard => true,
        ExprKind::Slice { base, .. } | ExprKind::SlicePlus { base, .. } => {
            is_field(program, base, &standard, name)
        }
        _ => is_field(program, place, &standard, name),
    };
    let mut found = false;
    for control in &program.controls {
        let blocks = std::iter::once(&control.body).chain(control.actions.iter().map(|a| &a.body));
        for block in blocks {
            visit::stmts(block, &mut |stmt| match &stmt.kind {
                StmtKind::Assign(place, _) | StmtKind::AssignOp(_, place, _) => found |= covers(place),
                StmtKind::Call(call) => {
                    // `mark_to_drop` has all standard metadata as its argument, but writes only where the packet goes.
                    let marks = matches!(call.callee, Callee::ExternFunction(f) if arch::call(&program.extern_functions[f.index()]) == Some(CutCall::Drop));
                    found |= !marks && call.args.iter().flatten().any(covers);
                }
                _ => {}
            });
        }
    }
    found
}

fn is_field(program: &Program, place: &Expr, standard: &Type, name: &str) -> bool {
    let ExprKind::Field(base, n) = &place.kind else { return false };
    base.ty == *standard && program.fields(standard).get(*n as usize).is_some_and(|f| f.name == name)
}

/// `keep-port`: the output port in a metadata field of its own, if egress overwrites `egress_port`: such a write does
/// not change the packet's destination.
pub fn keep_port(program: &mut Program, prefix: &str) -> Option<usize> {
    if !writes_standard(program, Meaning::OutPort) {
        return None;
    }
    let stage = arch::stage(program, Duty::Egress)?.clone();
    let StageKind::Control(id) = stage.kind else { return None };
    let of = |program: &Program, role: Role| {
        let position = stage.roles.iter().position(|r| *r == role)?;
        let control = program.control(id);
        let var = *control.params.get(position)?;
        Some(build::var(var, &control.vars[var.index()].ty))
    };
    let standard = of(program, Role::StandardMetadata)?;
    let name = arch::field(program, Meaning::OutPort)?;
    let port = program.fields(&standard.ty).iter().position(|f| f.name == name)?;
    let ty = program.fields(&standard.ty)[port].ty.clone();
    let name = format!("{prefix}_port").into();
    let number = add_metadata(program, Field { name, ty: ty.clone(), annotations: vec![] })?;
    let metadata = of(program, Role::Metadata)?;
    let keep: Stmt =
        build::assign(build::field(metadata, number, ty.clone()), build::field(standard, port, ty));
    program.controls[id.index()].body.stmts.insert(0, keep);
    Some(number)
}
