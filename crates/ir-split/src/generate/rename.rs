//! Types that move up to make room for others.

use ir::{Block, Expr, ExprKind, Program, Stmt, StmtKind, Table, Type, TypeId, visit};

/// Makes room for `count` type declarations before number `at`: all later ones move up.
pub fn shift_types(program: &mut Program, at: TypeId, count: u32) {
    types(program, &mut |ty| shift(ty, at, count));
}

/// [`shift_types`] in a single statement.
pub fn shift_stmt_types(stmt: &mut Stmt, at: TypeId, count: u32) {
    let mut stmts = vec![stmt.clone()];
    stmts_types(&mut stmts, &mut |ty| shift(ty, at, count));
    *stmt = stmts.swap_remove(0);
}

fn shift(ty: &mut Type, at: TypeId, count: u32) {
    match ty {
        Type::Named(id) if *id >= at => id.0 += count,
        Type::Stack(elem, _) | Type::List(elem) => shift(elem, at, count),
        Type::Tuple(parts) | Type::Extern(_, parts) => {
            parts.iter_mut().for_each(|part| shift(part, at, count))
        }
        _ => {}
    }
}

/// Calls `f` with every type in the program.
fn types(program: &mut Program, f: &mut dyn FnMut(&mut Type)) {
    use ir::TypeKind::{Enum, Header, New, SerEnum, Struct, Union};
    for decl in &mut program.types {
        match &mut decl.kind {
            Header(fields) | Struct(fields) | Union(fields) => {
                fields.iter_mut().for_each(|field| f(&mut field.ty))
            }
            SerEnum { underlying, .. } | New(underlying) => f(underlying),
            Enum(_) => {}
        }
    }
    for object in &mut program.externs {
        object.constructors.iter_mut().flatten().for_each(|p| f(&mut p.ty));
        object.methods.iter_mut().for_each(|m| signature_types(&mut m.signature, f));
    }
    program.extern_functions.iter_mut().for_each(|function| signature_types(&mut function.signature, f));
    for instance in &mut program.instances {
        instance.type_args.iter_mut().for_each(&mut *f);
        instance.args.iter_mut().for_each(|arg| expr_types(arg, f));
    }
    for function in &mut program.functions {
        f(&mut function.returns);
        function.vars.iter_mut().for_each(|v| f(&mut v.ty));
        block_types(&mut function.body, f);
    }
    for parser in &mut program.parsers {
        parser.vars.iter_mut().for_each(|v| f(&mut v.ty));
        parser.value_sets.iter_mut().for_each(|set| f(&mut set.ty));
        stmts_types(&mut parser.locals, f);
        for state in &mut parser.states {
            stmts_types(&mut state.stmts, f);
            if let ir::Transition::Select(select) = &mut state.transition {
                select.exprs.iter_mut().for_each(|e| expr_types(e, f));
                select.cases.iter_mut().flat_map(|c| &mut c.keys).for_each(|k| keyset_types(k, f));
            }
        }
    }
    for control in &mut program.controls {
        control.vars.iter_mut().for_each(|v| f(&mut v.ty));
        stmts_types(&mut control.locals, f);
        control.actions.iter_mut().for_each(|a| block_types(&mut a.body, f));
        control.tables.iter_mut().for_each(|t| table_types(t, f));
        block_types(&mut control.body, f);
    }
}

fn table_types(table: &mut Table, f: &mut dyn FnMut(&mut Type)) {
    table.keys.iter_mut().for_each(|key| expr_types(&mut key.expr, f));
    table.actions.iter_mut().flat_map(|run| &mut run.args).for_each(|arg| expr_types(arg, f));
    table.default_action.args.iter_mut().for_each(|arg| expr_types(arg, f));
    table.properties.iter_mut().for_each(|(_, value)| expr_types(value, f));
    for entry in &mut table.entries {
        entry.keys.iter_mut().for_each(|k| keyset_types(k, f));
        entry.args.iter_mut().for_each(|arg| expr_types(arg, f));
    }
}

fn signature_types(signature: &mut ir::Signature, f: &mut dyn FnMut(&mut Type)) {
    signature.params.iter_mut().for_each(|p| f(&mut p.ty));
    f(&mut signature.returns);
}

fn keyset_types(keyset: &mut ir::Keyset, f: &mut dyn FnMut(&mut Type)) {
    match keyset {
        ir::Keyset::Value(a) => expr_types(a, f),
        ir::Keyset::Mask(a, b) | ir::Keyset::Range(a, b) => {
            expr_types(a, f);
            expr_types(b, f);
        }
        ir::Keyset::DontCare | ir::Keyset::ValueSet(_) => {}
    }
}

fn stmts_types(stmts: &mut Vec<Stmt>, f: &mut dyn FnMut(&mut Type)) {
    let mut block = Block { annotations: vec![], stmts: std::mem::take(stmts) };
    block_types(&mut block, f);
    *stmts = block.stmts;
}

fn block_types(block: &mut Block, f: &mut dyn FnMut(&mut Type)) {
    visit::stmts_mut(block, &mut |stmt| {
        if let StmtKind::Call(call) = &mut stmt.kind {
            call.type_args.iter_mut().for_each(&mut *f);
        }
        visit::exprs_mut(stmt, &mut |e| expr_types(e, f));
    });
}

fn expr_types(expr: &mut Expr, f: &mut dyn FnMut(&mut Type)) {
    visit::subexprs_mut(expr, &mut |e| {
        f(&mut e.ty);
        if let ExprKind::Call(call) = &mut e.kind {
            call.type_args.iter_mut().for_each(&mut *f);
        }
    });
}
