//! Forgetting where things stand in the source.

use crate::{Block, Expr, Keyset, Package, PackageArg, Program, Stmt, StmtKind, Transition, Var, visit};
use base_diag::Span;

/// Sets every span in `program` to [`Span::NONE`]; the text form contains everything else.
pub fn erase_spans(program: &mut Program) {
    program.types.iter_mut().for_each(|t| t.span = Span::NONE);
    for object in &mut program.externs {
        object.span = Span::NONE;
        object.methods.iter_mut().for_each(|method| method.span = Span::NONE);
    }
    program.extern_functions.iter_mut().for_each(|f| f.span = Span::NONE);
    for instance in &mut program.instances {
        instance.span = Span::NONE;
        instance.args.iter_mut().for_each(erase_expr);
    }
    erase_package(&mut program.main);
    for function in &mut program.functions {
        function.span = Span::NONE;
        erase_vars(&mut function.vars);
        erase_block(&mut function.body);
    }
    program.parsers.iter_mut().for_each(erase_parser);
    program.controls.iter_mut().for_each(erase_control);
}

fn erase_package(package: &mut Package) {
    for (_, arg) in &mut package.args {
        match arg {
            PackageArg::Value(value) => erase_expr(value),
            PackageArg::Package(inner) => erase_package(inner),
            PackageArg::Stage(_) => {}
        }
    }
}

fn erase_parser(parser: &mut crate::Parser) {
    parser.span = Span::NONE;
    erase_vars(&mut parser.vars);
    erase_stmts(&mut parser.locals);
    parser.value_sets.iter_mut().for_each(|v| v.span = Span::NONE);
    for state in &mut parser.states {
        state.span = Span::NONE;
        erase_stmts(&mut state.stmts);
        if let Transition::Select(select) = &mut state.transition {
            select.exprs.iter_mut().for_each(erase_expr);
            for case in &mut select.cases {
                case.span = Span::NONE;
                case.keys.iter_mut().for_each(erase_keyset);
            }
        }
    }
}

fn erase_control(control: &mut crate::Control) {
    control.span = Span::NONE;
    erase_vars(&mut control.vars);
    erase_stmts(&mut control.locals);
    erase_block(&mut control.body);
    for action in &mut control.actions {
        action.span = Span::NONE;
        erase_block(&mut action.body);
    }
    for table in &mut control.tables {
        table.span = Span::NONE;
        table.keys.iter_mut().for_each(|key| erase_expr(&mut key.expr));
        table.actions.iter_mut().flat_map(|a| &mut a.args).for_each(erase_expr);
        table.default_action.args.iter_mut().for_each(erase_expr);
        table.properties.iter_mut().for_each(|(_, value)| erase_expr(value));
        for entry in &mut table.entries {
            entry.span = Span::NONE;
            entry.keys.iter_mut().for_each(erase_keyset);
            entry.args.iter_mut().for_each(erase_expr);
        }
    }
}

fn erase_vars(vars: &mut [Var]) {
    vars.iter_mut().for_each(|var| var.span = Span::NONE);
}

fn erase_block(block: &mut Block) {
    erase_stmts(&mut block.stmts);
}

fn erase_stmts(stmts: &mut [Stmt]) {
    for stmt in stmts {
        erase_stmt(stmt);
        visit::blocks_mut(stmt, &mut erase_block);
    }
}

fn erase_stmt(stmt: &mut Stmt) {
    stmt.span = Span::NONE;
    visit::exprs_mut(stmt, &mut erase_expr);
    match &mut stmt.kind {
        StmtKind::Call(call) => call.span = Span::NONE,
        StmtKind::Switch(_, cases) => cases.iter_mut().for_each(|case| case.span = Span::NONE),
        StmtKind::For { init, update, .. } => {
            erase_stmts(init);
            erase_stmts(update);
        }
        _ => {}
    }
}

fn erase_expr(expr: &mut Expr) {
    visit::subexprs_mut(expr, &mut |e| {
        e.span = Span::NONE;
        if let crate::ExprKind::Call(call) = &mut e.kind {
            call.span = Span::NONE;
        }
    });
}

fn erase_keyset(keyset: &mut Keyset) {
    match keyset {
        Keyset::DontCare | Keyset::ValueSet(_) => {}
        Keyset::Value(value) => erase_expr(value),
        Keyset::Mask(a, b) | Keyset::Range(a, b) => {
            erase_expr(a);
            erase_expr(b);
        }
    }
}
