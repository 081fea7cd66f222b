//! `split-structs`: a local struct or tuple becomes a variable for each of its parts.
//!
//! Before: `struct s { bit<8> a; h_t h; } s v; v.a = 1; v.h.setValid();`
//! After:  `bit<8> v_a; h_t v_h; v_a = 1; v_h.setValid();`
//!
//! Requires `expand-structs`. Ensures: local variables are scalars, headers, unions, stacks and arrays; only values
//! that an extern writes or returns as a whole are still structs. Parameters stay. Why: scalars live in registers.

use crate::expand_structs::{is_split, parts_of};
use crate::units::{Unit, each_unit};
use crate::{Changed, walk};
use ir::build;
use ir::{Expr, ExprKind, Program, Stmt, StmtKind, Type, Var, VarId, VarKind};
use std::collections::{BTreeMap, BTreeSet};

/// See the head of this file.
pub fn split_structs(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |program, unit| changed |= one_unit(program, unit));
    Changed(changed)
}

fn one_unit(program: &Program, unit: &mut Unit) -> bool {
    // Variables that something uses as one value, such as an extern that fills it, stay structs.
    let mut whole = BTreeSet::new();
    each_expr(unit, &mut |expr| uses(program, expr, &mut whole));
    for list in unit.lists_mut().1 {
        walk::all_stmts(list, &mut |stmt| {
            if let StmtKind::Declare(var, Some(_)) = stmt.kind {
                whole.insert(var);
            }
        });
    }
    let vars = match unit {
        Unit::Control(control) => &mut control.vars,
        Unit::Parser(parser) => &mut parser.vars,
        Unit::Function(function) => &mut function.vars,
    };
    let mut split = BTreeMap::new();
    for at in 0..vars.len() {
        let id = VarId::from(at);
        let is_local = vars[at].kind == VarKind::Local;
        if is_local && is_struct(program, &vars[at].ty) && !whole.contains(&id) {
            let parts = split_var(program, vars, id);
            split.insert(id, parts);
        }
    }
    if split.is_empty() {
        return false;
    }
    each_expr(unit, &mut |expr| replace(expr, &split));
    let split_list = |stmts: &mut Vec<Stmt>| redeclare(stmts, &split);
    match unit {
        Unit::Control(control) => split_list(&mut control.locals),
        Unit::Parser(parser) => split_list(&mut parser.locals),
        Unit::Function(_) => {}
    }
    unit.lists_mut().1.into_iter().for_each(split_list);
    true
}

fn is_struct(program: &Program, ty: &Type) -> bool {
    is_split(program, ty) && !program.is_union(ty)
}

/// A variable, or the struct that its field is, by the path to it.
enum Part {
    Leaf(VarId),
    Parts(Vec<Part>),
}

fn split_var(program: &Program, vars: &mut Vec<Var>, id: VarId) -> Part {
    let var = vars[id.index()].clone();
    let whole = build::var_of(vars, id).at(var.span);
    parts(program, vars, &var, &whole, &var.name.clone())
}

fn parts(program: &Program, vars: &mut Vec<Var>, of: &Var, whole: &Expr, name: &str) -> Part {
    if !is_struct(program, &whole.ty) {
        return Part::Leaf(build::local(vars, name, whole.ty.clone(), of.span));
    }
    let inner = parts_of(program, whole);
    let named = inner.iter().enumerate().map(|(at, part)| {
        let field = program.fields(&whole.ty).get(at).map_or(at.to_string(), |field| field.name.to_string());
        parts(program, vars, of, part, &format!("{name}_{field}"))
    });
    Part::Parts(named.collect())
}

/// Notes the variables that `expr` uses as a whole, or down to a struct.
fn uses(program: &Program, expr: &mut Expr, whole: &mut BTreeSet<VarId>) {
    if let Some(var) = root(expr) {
        if is_struct(program, &expr.ty) {
            whole.insert(var);
        }
        return;
    }
    walk::children(expr).into_iter().for_each(|child| uses(program, child, whole));
}

/// The variable that `expr` is a field of, fields of fields included.
fn root(expr: &Expr) -> Option<VarId> {
    match &expr.kind {
        ExprKind::Var(var) => Some(*var),
        ExprKind::Field(base, _) => root(base),
        _ => None,
    }
}

fn replace(expr: &mut Expr, split: &BTreeMap<VarId, Part>) {
    if let Some(leaf) = leaf(expr, split) {
        expr.kind = ExprKind::Var(leaf);
        return;
    }
    walk::children(expr).into_iter().for_each(|child| replace(child, split));
}

fn leaf(expr: &Expr, split: &BTreeMap<VarId, Part>) -> Option<VarId> {
    match find(expr, split)? {
        Part::Leaf(var) => Some(*var),
        Part::Parts(_) => None,
    }
}

fn find<'s>(expr: &Expr, split: &'s BTreeMap<VarId, Part>) -> Option<&'s Part> {
    match &expr.kind {
        ExprKind::Var(var) => split.get(var),
        ExprKind::Field(base, index) => match find(base, split)? {
            Part::Parts(parts) => parts.get(*index as usize),
            Part::Leaf(_) => None,
        },
        _ => None,
    }
}

fn redeclare(stmts: &mut Vec<Stmt>, split: &BTreeMap<VarId, Part>) {
    for mut stmt in std::mem::take(stmts) {
        ir::visit::blocks_mut(&mut stmt, &mut |inner| redeclare(&mut inner.stmts, split));
        match stmt.kind {
            StmtKind::Declare(var, None) if split.contains_key(&var) => {
                if let Some(part) = split.get(&var) {
                    declare(part, stmt.span, stmts);
                }
            }
            _ => stmts.push(stmt),
        }
    }
}

fn declare(part: &Part, span: base_diag::Span, out: &mut Vec<Stmt>) {
    match part {
        Part::Leaf(var) => out.push(build::declare(*var, None).at(span)),
        Part::Parts(parts) => parts.iter().for_each(|part| declare(part, span, out)),
    }
}

/// Calls `f` with every outermost expression of the unit.
pub(crate) fn each_expr(unit: &mut Unit, f: &mut dyn FnMut(&mut Expr)) {
    let mut list = |stmts: &mut Vec<Stmt>| {
        walk::all_stmts_mut(stmts, &mut |stmt| walk::own_exprs_mut(stmt, f));
    };
    unit.lists_mut().1.into_iter().for_each(&mut list);
    match unit {
        Unit::Control(control) => {
            list(&mut control.locals);
            for table in &mut control.tables {
                table.keys.iter_mut().for_each(|key| f(&mut key.expr));
                table.actions.iter_mut().flat_map(|run| &mut run.args).for_each(&mut *f);
                table.properties.iter_mut().for_each(|(_, value)| f(value));
            }
        }
        Unit::Parser(parser) => {
            list(&mut parser.locals);
            parser.states.iter_mut().for_each(|s| walk::transition_exprs_mut(&mut s.transition, f));
        }
        Unit::Function(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    #[test]
    fn a_struct_in_a_struct() {
        let vars = "local both_t a; local tuple<bit<8>, h_t> t;";
        let body = "a.pair.first = x; a.on = true; x = a.pair.second; x = t.0; hdr.h = t.1;";
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local both_t a;
                local tuple<bit<8>, h_t> t;
                local bit<8> a_pair_first;
                local bit<8> a_pair_second;
                local bool a_on;
                local bit<8> t_0;
                local h_t t_1;
              }
              locals {
                var a_pair_first;
                var a_pair_second;
                var a_on;
                var t_0;
                var t_1;
              }
              apply {
                a_pair_first = x;
                a_on = true;
                x = a_pair_second;
                x = t_0;
                hdr.h = t_1;
              }
            }
        "#]]
        .assert_eq(&after(&control(vars, "locals { var a; var t; }", body), split_structs));
    }
}
