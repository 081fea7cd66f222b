//! Calls of the architecture's functions, by how they bear on a cut.

use crate::arch;
use ir::{Call, Callee, ControlId, Program, Stmt, StmtKind};
use p4_arch::CutCall;

/// Whether a control or one of its actions has a call of this kind.
pub fn calls(program: &Program, control: ControlId, wanted: CutCall) -> bool {
    let control = program.control(control);
    let mut found = false;
    for block in std::iter::once(&control.body).chain(control.actions.iter().map(|a| &a.body)) {
        ir::visit::stmts(block, &mut |stmt| found |= request(program, stmt, wanted).is_some());
    }
    found
}

/// The call of this kind that a statement is.
pub fn request<'s>(program: &Program, stmt: &'s Stmt, wanted: CutCall) -> Option<&'s Call> {
    let StmtKind::Call(call) = &stmt.kind else { return None };
    let Callee::ExternFunction(id) = call.callee else { return None };
    let function = &program.extern_functions[id.index()];
    (arch::call(function) == Some(wanted)).then_some(call)
}
