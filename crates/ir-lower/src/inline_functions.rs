//! `inline-functions`: calls of functions become their bodies.
//!
//! Before: `bit<8> twice(in bit<8> a) { return a + a; } ... x = twice(y);`
//! After:  `x = y + y;`
//!
//! Requires `hoist-effects`, `eliminate-returns`. Ensures: no call of a function; only implementations of abstract methods
//! and functions in arguments of table actions are left.
//! Why: values flow in one piece of code.

use crate::bind::{Caller, Target};
use crate::places::{Writes, read_by};
use crate::substitute::{Substitution, declared_in};
use crate::units::each_unit;
use crate::walk::{call_of, value_of_mut};
use crate::{Changed, walk};
use ir::build;
use ir::{Callee, Expr, ExprKind, Function, FunctionId, Program, Stmt, StmtKind, Type, Var, visit};

/// See the head of this file.
pub fn inline_functions(program: &mut Program) -> Changed {
    let mut changed = false;
    for id in callees_first(program) {
        let mut function = program.functions[id.index()].clone();
        changed |= inline_in(program, &mut function.vars, &mut function.body.stmts);
        program.functions[id.index()] = function;
    }
    // Bodies have no calls now, so that one round is enough.
    let functions = program.functions.clone();
    each_unit(program, &mut |program, unit| {
        let (vars, lists) = unit.lists_mut();
        for list in lists {
            changed |= with_functions(program, &functions, vars, list);
        }
    });
    if changed {
        remove_unused(program);
    }
    Changed(changed)
}

fn inline_in(program: &Program, vars: &mut Vec<Var>, stmts: &mut Vec<Stmt>) -> bool {
    with_functions(program, &program.functions, vars, stmts)
}

fn with_functions(
    program: &Program,
    functions: &[Function],
    vars: &mut Vec<Var>,
    stmts: &mut Vec<Stmt>,
) -> bool {
    let mut changed = false;
    for mut stmt in std::mem::take(stmts) {
        visit::blocks_mut(&mut stmt, &mut |inner| {
            changed |= with_functions(program, functions, vars, &mut inner.stmts);
        });
        let function = called(&stmt).and_then(|id| functions.get(id.index()));
        match function {
            Some(function) => {
                changed = true;
                replace(program, function, vars, stmt, stmts);
            }
            None => stmts.push(stmt),
        }
    }
    changed
}

fn called(stmt: &Stmt) -> Option<FunctionId> {
    match call_of(stmt)?.callee {
        Callee::Function(id) => Some(id),
        _ => None,
    }
}

fn replace(program: &Program, function: &Function, vars: &mut Vec<Var>, mut stmt: Stmt, out: &mut Vec<Stmt>) {
    let mut body = function.body.stmts.clone();
    let target = Target::apart(&function.params, &function.vars, &[&body]);
    let args = call_of(&stmt).map(|call| call.args.clone()).unwrap_or_default();
    let mut subst = Substitution::default();
    let mut caller = Caller { program, vars, locals: None, copy_all: false, settled: false };
    let bound = caller.bind(&target, &args, &mut subst);
    for var in declared_in(&body) {
        subst.renew(var, &function.vars, vars);
    }
    subst.stmts(&mut body);
    let result = match body.last() {
        Some(Stmt { kind: StmtKind::Return(_), .. }) => body.pop(),
        _ => None,
    };
    out.extend(bound.before);
    out.extend(body);
    let stores = !matches!(stmt.kind, StmtKind::Call(_));
    if stores {
        let result = match result {
            Some(Stmt { kind: StmtKind::Return(Some(result)), .. }) => result,
            _ => nothing(&function.returns, vars, stmt.span, out),
        };
        // Copies back may change what the result reads.
        let result = if survives(&result, &bound.after) { result } else { kept(result, vars, out) };
        if let Some(value) = value_of_mut(&mut stmt) {
            *value = result;
        }
    }
    out.extend(bound.after);
    if stores {
        out.push(stmt);
    }
}

/// Result of a function that ends without `return`: zero.
fn nothing(ty: &Type, vars: &mut Vec<Var>, span: base_diag::Span, out: &mut Vec<Stmt>) -> Expr {
    let var = build::local(vars, "result", ty.clone(), span);
    out.push(build::declare(var, None).at(span));
    build::var_of(vars, var).at(span)
}

fn kept(value: Expr, vars: &mut Vec<Var>, out: &mut Vec<Stmt>) -> Expr {
    let span = value.span;
    let var = build::local(vars, "result", value.ty.clone(), span);
    out.push(build::declare(var, Some(value)).at(span));
    build::var_of(vars, var).at(span)
}

/// True if copying results back does not change `value`.
fn survives(value: &Expr, after: &[Stmt]) -> bool {
    let mut writes = Writes::default();
    for stmt in after {
        if let StmtKind::Assign(place, _) = &stmt.kind {
            writes.places.extend(crate::places::Place::of(place));
        }
    }
    let mut survives = true;
    read_by(value, &mut |place| survives &= !writes.touches(&place));
    survives
}

/// Functions, each after those it calls.
fn callees_first(program: &Program) -> Vec<FunctionId> {
    let calls: Vec<Vec<usize>> = program
        .functions
        .iter()
        .map(|function| {
            let mut found = vec![];
            functions_in(&function.body.stmts, &mut |id| found.push(id.index()));
            found
        })
        .collect();
    crate::order::callees_first(&calls).into_iter().map(FunctionId::from).collect()
}

/// Calls `f` with every function called in `stmts`.
pub(crate) fn functions_in(stmts: &[Stmt], f: &mut dyn FnMut(FunctionId)) {
    walk::all_stmts(stmts, &mut |stmt| {
        if let StmtKind::Call(call) = &stmt.kind
            && let Callee::Function(id) = call.callee
        {
            f(id);
        }
        walk::own_exprs(stmt, &mut |expr| functions_in_expr(expr, f));
    });
}

fn functions_in_expr(expr: &Expr, f: &mut dyn FnMut(FunctionId)) {
    visit::subexprs(expr, &mut |e| {
        if let ExprKind::Call(call) = &e.kind
            && let Callee::Function(id) = call.callee
        {
            f(id);
        }
    });
}

/// Removes the functions that nothing names any more.
fn remove_unused(program: &mut Program) {
    let mut used = vec![false; program.functions.len()];
    let mut mark = |id: FunctionId| {
        if let Some(used) = used.get_mut(id.index()) {
            *used = true;
        }
    };
    program.instances.iter().flat_map(|i| &i.methods).for_each(|(_, id)| mark(*id));
    each_call_mut(program, &mut |id| mark(*id));
    let mut new = vec![];
    let mut next = 0u32;
    for used in &used {
        new.push(FunctionId(next));
        next += u32::from(*used);
    }
    let mut at = 0;
    program.functions.retain(|_| {
        at += 1;
        used[at - 1]
    });
    let renumber = |id: &mut FunctionId| {
        if let Some(new) = new.get(id.index()) {
            *id = *new;
        }
    };
    program.instances.iter_mut().flat_map(|i| &mut i.methods).for_each(|(_, id)| renumber(id));
    each_call_mut(program, &mut |id| renumber(id));
}

/// Calls `f` with every function that a call names, anywhere in the program.
fn each_call_mut(program: &mut Program, f: &mut dyn FnMut(&mut FunctionId)) {
    let mut in_expr = |expr: &mut Expr| {
        visit::subexprs_mut(expr, &mut |e| {
            if let ExprKind::Call(call) = &mut e.kind
                && let Callee::Function(id) = &mut call.callee
            {
                f(id);
            }
        });
    };
    for control in &mut program.controls {
        for table in &mut control.tables {
            table.keys.iter_mut().for_each(|key| in_expr(&mut key.expr));
            table.actions.iter_mut().flat_map(|run| &mut run.args).for_each(&mut in_expr);
        }
    }
    for parser in &mut program.parsers {
        parser.states.iter_mut().for_each(|s| walk::transition_exprs_mut(&mut s.transition, &mut in_expr));
    }
    each_unit(program, &mut |_, unit| {
        let mut in_list = |list: &mut Vec<Stmt>| {
            walk::all_stmts_mut(list, &mut |stmt| {
                if let StmtKind::Call(call) = &mut stmt.kind
                    && let Callee::Function(id) = &mut call.callee
                {
                    f(id);
                }
                walk::own_exprs_mut(stmt, &mut |expr| {
                    visit::subexprs_mut(expr, &mut |e| {
                        if let ExprKind::Call(call) = &mut e.kind
                            && let Callee::Function(id) = &mut call.callee
                        {
                            f(id);
                        }
                    });
                });
            });
        };
        unit.lists_mut().1.into_iter().for_each(&mut in_list);
        match unit {
            crate::units::Unit::Control(control) => in_list(&mut control.locals),
            crate::units::Unit::Parser(parser) => in_list(&mut parser.locals),
            crate::units::Unit::Function(_) => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    const TWICE: &str = "function twice(a) -> bit<8> { vars { in bit<8> a; } body { return a + a; } } ";
    const SWAP: &str =
        "function swap(a, b) -> void { vars { inout bit<8> a; inout bit<8> b; local bit<8> t; }
        body { var t = a; a = b; b = t; } } ";

    #[test]
    fn a_value() {
        let before =
            TWICE.to_string() + &control("local bit<8> y;", "", "var y = 8w1; x = function twice(y);");
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> y;
              }
              apply {
                var y = 8w0x1;
                x = y + y;
              }
            }
        "#]]
        .assert_eq(&after(&before, inline_functions));
    }

    #[test]
    fn arguments_that_are_one_place_are_copied() {
        let before =
            SWAP.to_string() + &control("", "", "function swap(hdr.h.a, hdr.h.b); function swap(x, x);");
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> t;
                local bit<8> a;
                local bit<8> b;
                local bit<8> t;
              }
              apply {
                var t#2 = hdr.h.a;
                hdr.h.a = hdr.h.b;
                hdr.h.b = t#2;
                var a = x;
                var b = x;
                var t#5 = a;
                a = b;
                b = t#5;
                x = a;
                x = b;
              }
            }
        "#]]
        .assert_eq(&after(&before, inline_functions));
    }

    #[test]
    fn an_index_is_evaluated_once() {
        let before = SWAP.to_string() + &control("", "", "function swap(hdr.s[x].a, x);");
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> `index$`;
                local bit<8> a;
                local bit<8> t;
              }
              apply {
                var `index$` = x;
                var a = hdr.s[`index$`].a;
                var t = a;
                a = x;
                x = t;
                hdr.s[`index$`].a = a;
              }
            }
        "#]]
        .assert_eq(&after(&before, inline_functions));
    }
}
