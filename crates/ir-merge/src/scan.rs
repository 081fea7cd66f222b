//! Walks over all code of a program.

use ir::{Block, Call, Callee, Expr, Program, Stmt, visit};

/// Calls `f` with every list of statements of the program that stands in no other.
fn lists(program: &Program, f: &mut dyn FnMut(&[Stmt])) {
    program.functions.iter().for_each(|function| f(&function.body.stmts));
    for parser in &program.parsers {
        f(&parser.locals);
        parser.states.iter().for_each(|state| f(&state.stmts));
    }
    for control in &program.controls {
        f(&control.locals);
        control.actions.iter().for_each(|action| f(&action.body.stmts));
        f(&control.body.stmts);
    }
}

/// Calls `f` with the outermost expressions of `select`s and tables.
fn outside(program: &Program, f: &mut dyn FnMut(&Expr)) {
    let selects =
        program.parsers.iter().flat_map(|p| &p.states).filter_map(|state| match &state.transition {
            ir::Transition::Select(select) => Some(select),
            ir::Transition::Goto(_) => None,
        });
    selects.flat_map(|select| &select.exprs).for_each(&mut *f);
    let tables = || program.controls.iter().flat_map(|control| &control.tables);
    tables().flat_map(|table| &table.keys).for_each(|key| f(&key.expr));
    tables().flat_map(|table| &table.actions).flat_map(|run| &run.args).for_each(f);
}

/// Calls `f` with every statement of the program, nested ones included.
pub fn stmts(program: &Program, f: &mut dyn FnMut(&Stmt)) {
    lists(program, &mut |stmts| {
        for stmt in stmts {
            f(stmt);
            visit::blocks(stmt, &mut |block| visit::stmts(block, f));
        }
    });
}

/// Calls `f` with every expression of the program's code, table keys and `select`s, parts included.
pub fn exprs(program: &Program, f: &mut dyn FnMut(&Expr)) {
    stmts(program, &mut |stmt| visit::exprs(stmt, &mut |e| visit::subexprs(e, f)));
    outside(program, &mut |e| visit::subexprs(e, f));
}

/// Calls `f` with every call of the program.
pub fn calls(program: &Program, f: &mut dyn FnMut(&Call)) {
    lists(program, &mut |stmts| visit::calls(stmts, f));
    outside(program, &mut |e| visit::calls_in(e, f));
}

/// Calls `f` with every call of an extern function of the architecture.
pub fn extern_calls(program: &Program, f: &mut dyn FnMut(&str, &Call)) {
    calls(program, &mut |call| {
        if let Callee::ExternFunction(id) = call.callee
            && let Some(function) = program.extern_functions.get(id.index()).filter(|f| !f.user)
        {
            f(&function.name, call);
        }
    });
}

/// True if a statement in the block, at any depth, is one that `wanted` wants.
pub fn any_stmt(block: &Block, wanted: impl Fn(&Stmt) -> bool) -> bool {
    let mut found = false;
    visit::stmts(block, &mut |stmt| found |= wanted(stmt));
    found
}
