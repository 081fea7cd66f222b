//! `wrap-whole-structs`: the headers and metadata structs inside structs of the runtime's.
//!
//! Before: `saved = meta; meta.x = 1;`
//! After:  `saved = meta.program; meta.program.x = 1;`
//!
//! Why: the runtime adds its fields to these structs, and so does `name-flows`. A program that uses one of them as one value would see them, or
//! overwrite them. Programs that name only the fields stay as they are.

use super::role_type;
use crate::generate::shift_types;
use ir::{
    Expr, ExprKind, Field, Name, Program, Role, StageKind, Stmt, Type, TypeDecl, TypeId, TypeKind, VarId,
    visit,
};

/// Wraps the structs that are used as one value.
pub fn wrap_whole_structs(program: &mut Program, prefix: &str) {
    for (role, name) in [(Role::Headers, "headers"), (Role::Metadata, "metadata")] {
        wrap_whole(program, role, &format!("{prefix}_{name}").into());
    }
}

/// Wraps the struct of a role if it is used as one value; `name` is that of the new struct.
pub fn wrap_whole(program: &mut Program, role: Role, name: &Name) {
    if is_used_whole(program, role) {
        wrap(program, role, name);
    }
}

fn is_used_whole(program: &Program, role: Role) -> bool {
    let Some(ty) = role_type(program, role) else { return false };
    let is_value = |e: &Expr| e.ty == ty && !matches!(e.kind, ExprKind::Var(_));
    // A function may create such a struct.
    let mut found = false;
    for function in &program.functions {
        visit::all_exprs(&function.body, &mut |e| found |= e.ty == ty);
    }
    let mut program = program.clone();
    each_stage_var(&mut program, role, &mut |_, var, walk| {
        let (mut all, mut fields) = (0usize, 0usize);
        walk(&mut |e| {
            // Locals of the type may be compared with each other.
            let is_it = |e: &Expr| matches!(e.kind, ExprKind::Var(v) if v == var || e.ty == ty);
            visit::subexprs(e, &mut |e| {
                all += usize::from(is_it(e));
                fields += usize::from(matches!(&e.kind, ExprKind::Field(base, _) if is_it(base)));
                found |= is_value(e);
            });
        });
        found |= all > fields;
    });
    found
}

fn wrap(program: &mut Program, role: Role, name: &Name) {
    let Some(inner) = role_type(program, role) else { return };
    // Behind the struct itself, in front of all that may use the new one.
    let Type::Named(id) = inner else { return };
    let at = TypeId(id.0 + 1);
    shift_types(program, at, 1);
    let field = Field { name: "program".into(), ty: inner.clone(), annotations: vec![] };
    let kind = TypeKind::Struct(vec![field]);
    let decl =
        TypeDecl { name: name.clone(), kind, annotations: vec![], span: program.types[id.index()].span };
    program.types.insert(at.index(), decl);
    let outer = Type::Named(at);
    each_stage_var(program, role, &mut |declared, var, walk| {
        *declared = outer.clone();
        walk(&mut |e| descend(e, var, &inner, &outer));
    });
}

/// Every use of the variable becomes one of its field.
fn descend(expr: &mut Expr, var: VarId, inner: &Type, outer: &Type) {
    visit::subexprs_mut(expr, &mut |e| {
        if matches!(e.kind, ExprKind::Var(v) if v == var) && e.ty == *inner {
            let whole = Expr { kind: ExprKind::Var(var), ty: outer.clone(), span: e.span };
            e.kind = ExprKind::Field(Box::new(whole), 0);
        }
    });
}

/// Walks over the outermost expressions of a block.
type Walk<'w> = &'w mut dyn FnMut(&mut dyn FnMut(&mut Expr));

/// Calls `f` for each stage in which something plays `role`: the variable's type, its number, and a walk over all
/// expressions of the block.
fn each_stage_var(program: &mut Program, role: Role, f: &mut dyn FnMut(&mut Type, VarId, Walk)) {
    for stage in program.stages.clone() {
        let Some(position) = stage.roles.iter().position(|r| *r == role) else { continue };
        match stage.kind {
            StageKind::Parse(id) => {
                let parser = &mut program.parsers[id.index()];
                let var = parser.params[position];
                let mut ty = parser.vars[var.index()].ty.clone();
                f(&mut ty, var, &mut |g| parser_exprs(parser, g));
                parser.vars[var.index()].ty = ty;
            }
            StageKind::Control(id) | StageKind::Deparse(id) => {
                let control = &mut program.controls[id.index()];
                let var = control.params[position];
                let mut ty = control.vars[var.index()].ty.clone();
                f(&mut ty, var, &mut |g| control_exprs(control, g));
                control.vars[var.index()].ty = ty;
            }
            StageKind::TrafficManager => {}
        }
    }
}

fn parser_exprs(parser: &mut ir::Parser, f: &mut dyn FnMut(&mut Expr)) {
    for stmt in &mut parser.locals {
        stmt_exprs(stmt, f);
    }
    for state in &mut parser.states {
        for stmt in &mut state.stmts {
            stmt_exprs(stmt, f);
        }
        if let ir::Transition::Select(select) = &mut state.transition {
            select.exprs.iter_mut().for_each(&mut *f);
            for key in select.cases.iter_mut().flat_map(|c| &mut c.keys) {
                keyset_exprs(key, f);
            }
        }
    }
}

fn control_exprs(control: &mut ir::Control, f: &mut dyn FnMut(&mut Expr)) {
    control.locals.iter_mut().for_each(|stmt| stmt_exprs(stmt, f));
    control.body.stmts.iter_mut().for_each(|stmt| stmt_exprs(stmt, f));
    for action in &mut control.actions {
        action.body.stmts.iter_mut().for_each(|stmt| stmt_exprs(stmt, f));
    }
    for table in &mut control.tables {
        table.keys.iter_mut().for_each(|key| f(&mut key.expr));
        table.actions.iter_mut().flat_map(|run| &mut run.args).for_each(&mut *f);
        table.default_action.args.iter_mut().for_each(&mut *f);
        for entry in &mut table.entries {
            entry.args.iter_mut().for_each(&mut *f);
        }
    }
}

fn keyset_exprs(key: &mut ir::Keyset, f: &mut dyn FnMut(&mut Expr)) {
    match key {
        ir::Keyset::Value(a) => f(a),
        ir::Keyset::Mask(a, b) | ir::Keyset::Range(a, b) => {
            f(a);
            f(b);
        }
        ir::Keyset::DontCare | ir::Keyset::ValueSet(_) => {}
    }
}

/// The expressions of a statement and of those nested in it; the head of a `for` too.
fn stmt_exprs(stmt: &mut Stmt, f: &mut dyn FnMut(&mut Expr)) {
    visit::exprs_mut(stmt, f);
    visit::blocks_mut(stmt, &mut |block| block.stmts.iter_mut().for_each(|s| stmt_exprs(s, f)));
}
