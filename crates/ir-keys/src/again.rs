//! Packets that pass more than once: clones, resubmitted and recirculated packets.

use ir::{Callee, ExprKind, Program, StmtKind, visit};

/// Further passes that packets of a program make.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Again {
    /// Some packets enter a stage a second time, with fields and metadata of the first.
    pub any: bool,
    /// Packets may come around with other headers than those they were received with.
    pub other_headers: bool,
}

/// Looks through all code for what makes packets pass again.
pub fn again(program: &Program) -> Again {
    let (mut any, mut recirculates, mut changes) = (false, false, false);
    let mut look = |block: &ir::Block| {
        let mut call = |callee: &Callee| {
            if let Callee::ExternFunction(id) = callee {
                let function = &program.extern_functions[id.index()];
                let name = if function.user { "" } else { function.name.as_str() };
                recirculates |= name.starts_with("recirculate");
                any |= ["clone", "resubmit", "recirculate"].iter().any(|prefix| name.starts_with(prefix));
            }
        };
        visit::stmts(block, &mut |stmt| match &stmt.kind {
            StmtKind::Call(made) => call(&made.callee),
            StmtKind::SetValid(..) | StmtKind::PushFront(..) | StmtKind::PopFront(..) => changes = true,
            // A copy of a header may be that of an invalid one.
            StmtKind::Assign(place, _) if !program.fields(&place.ty).is_empty() => changes = true,
            _ => {}
        });
        visit::all_exprs(block, &mut |e| {
            if let ExprKind::Call(made) = &e.kind {
                call(&made.callee);
            }
        });
    };
    for control in &program.controls {
        look(&control.body);
        control.actions.iter().for_each(|action| look(&action.body));
    }
    program.functions.iter().for_each(|function| look(&function.body));
    Again { any, other_headers: recirculates && changes }
}
