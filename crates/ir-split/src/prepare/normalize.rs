//! `normalize`: jumps, calls of controls and of functions with effects become structure, where a cut program has them.
//!
//! A cut lies in the structure of a body, and control passes over it by the number of a section, so exits from within
//! the body, and code outside of it, must become part of that structure. Other programs do not change.

use crate::arch;
use crate::arch::{Effect, function_effect};
use base_diag::Diagnostic;
use ir::{Block, Callee, ExprKind, Program, Stmt, StmtKind, visit};
use p4_arch::{CutCall, Duty};

/// Runs the lowering passes that are needed.
pub fn normalize(program: &mut Program) -> Result<(), Vec<Diagnostic>> {
    let halves = [Duty::Ingress, Duty::Egress];
    let (mut exits, mut returns, mut calls) = (false, false, false);
    for id in halves.into_iter().filter_map(|stage| arch::control(program, stage)) {
        let control = program.control(id);
        any_stmt(&control.body, &mut |stmt| {
            returns |= matches!(stmt.kind, StmtKind::Return(_));
            calls |= is_call(stmt, &|callee| matches!(callee, Callee::Control(_)));
        });
    }
    for control in &program.controls {
        let blocks = std::iter::once(&control.body).chain(control.actions.iter().map(|a| &a.body));
        blocks.for_each(|b| any_stmt(b, &mut |stmt| exits |= matches!(stmt.kind, StmtKind::Exit)));
    }
    let functions = program.functions.iter().any(|f| has_effects(program, &f.body));
    if !(exits || returns || calls || functions) {
        return Ok(());
    }
    ir_lower::check_inlining(program)?;
    // In the order of ir-lower's pipeline: each pass requires those before it.
    let _ = ir_lower::hoist_effects(program);
    if exits || calls {
        let _ = ir_lower::eliminate_exits(program);
    }
    let _ = ir_lower::eliminate_returns(program);
    if functions {
        let _ = ir_lower::inline_functions(program);
    }
    if calls {
        let _ = ir_lower::inline_controls(program);
    }
    Ok(())
}

fn any_stmt(block: &Block, f: &mut dyn FnMut(&Stmt)) {
    visit::stmts(block, f);
}

fn is_call(stmt: &Stmt, wanted: &dyn Fn(&Callee) -> bool) -> bool {
    let mut found = matches!(&stmt.kind, StmtKind::Call(call) if wanted(&call.callee));
    visit::exprs(stmt, &mut |e| {
        visit::subexprs(e, &mut |e| {
            found |= matches!(&e.kind, ExprKind::Call(call) if wanted(&call.callee));
        });
    });
    found
}

/// True if the block requests an effect, or uses a state object.
fn has_effects(program: &Program, block: &Block) -> bool {
    let effect = |callee: &Callee| match callee {
        Callee::Method(..) => true,
        Callee::ExternFunction(id) => {
            let function = &program.extern_functions[id.index()];
            arch::call(function) == Some(CutCall::Digest)
                || !matches!(function_effect(function), Effect::Pure | Effect::Drop)
        }
        _ => false,
    };
    let mut found = false;
    any_stmt(block, &mut |stmt| found |= is_call(stmt, &effect));
    found
}
