//! Registers with `@merge`: a packet may only add to a cell, since a copy has not seen the packets of the other place.
//!
//! ```text
//! allowed   seen.read(n, i); n = n + 1; seen.write(i, n);
//! refused   seen.read(n, i); if (n > 10) { mark_to_drop(...); }
//! ```

use base_diag::{Diagnostic, Span, codes::pin as codes};
use ir::{
    Block, Call, Callee, Control, Expr, ExprKind, InstanceId, Program, Stmt, StmtKind, VarId, VarKind, visit,
};

/// Refuses a register whose values do more than to become its next values.
pub fn check(program: &Program, register: InstanceId) -> Result<(), Diagnostic> {
    let name = &program.instance(register).control_plane_name;
    let refuse = |span: Span, label: &str| {
        Diagnostic::error(codes::NOT_PINNED, format!("what packets read from `{name}` shows"))
            .at(span, label)
            .note("a packet at the switch does not see what packets at helpers wrote, until the copies are merged")
            .help("keep the value in a local variable that only becomes the next value of the cell")
            .help("or process all flows of the app at one place: `affinity = \"high\"` or `\"low\"`")
    };
    let in_function = program.functions.iter().any(|function| {
        let mut found = false;
        calls(&function.body, &mut |call| found |= is_of(call, register));
        found
    });
    if in_function {
        return Err(refuse(program.instance(register).span, "a function uses it"));
    }
    for control in &program.controls {
        let mut read: Vec<(VarId, Span)> = vec![];
        let mut wrong = None;
        for block in blocks(control) {
            calls(block, &mut |call| {
                if !is_of(call, register) || method(program, call) != Some("read") {
                    return;
                }
                match call.args.first() {
                    Some(Some(Expr { kind: ExprKind::Var(var), .. }))
                        if control.vars[var.index()].kind == VarKind::Local =>
                    {
                        read.push((*var, call.span))
                    }
                    _ => {
                        wrong = wrong
                            .or(Some((call.span, "it is read into something else than a local variable")))
                    }
                }
            });
        }
        for (var, _) in &read {
            if let Some(span) = shows(program, control, *var, register) {
                wrong = wrong.or(Some((span, "this uses a value of it")));
            }
        }
        if let Some((span, label)) = wrong {
            return Err(refuse(span, label));
        }
    }
    Ok(())
}

/// A use of the variable that is no step towards the next value of a cell.
fn shows(program: &Program, control: &Control, var: VarId, register: InstanceId) -> Option<Span> {
    let is_it = |e: &Expr| matches!(e.kind, ExprKind::Var(v) if v == var);
    let mut found = None;
    let mut note = |e: &Expr| {
        visit::subexprs(e, &mut |part| {
            if is_it(part) {
                found = found.or(Some(part.span));
            }
        });
    };
    for block in blocks(control) {
        visit::stmts(block, &mut |stmt| match &stmt.kind {
            StmtKind::Assign(place, _) | StmtKind::AssignOp(_, place, _) if is_it(place) => {}
            StmtKind::Declare(declared, _) if *declared == var => {}
            StmtKind::Call(call) if is_of(call, register) => {
                // `read(result, index)`, `write(index, value)`
                let index = usize::from(method(program, call) == Some("read"));
                call.args.get(index).into_iter().flatten().for_each(&mut note);
            }
            _ => visit::exprs(stmt, &mut note),
        });
    }
    for table in &control.tables {
        table.keys.iter().for_each(|key| note(&key.expr));
        table.actions.iter().flat_map(|run| &run.args).for_each(&mut note);
    }
    found
}

fn blocks(control: &Control) -> impl Iterator<Item = &Block> {
    control.actions.iter().map(|action| &action.body).chain([&control.body])
}

fn is_of(call: &Call, register: InstanceId) -> bool {
    matches!(call.callee, Callee::Method(instance, _) if instance == register)
}

fn method<'p>(program: &'p Program, call: &Call) -> Option<&'p str> {
    let Callee::Method(instance, method) = call.callee else { return None };
    let object = program.extern_object(program.instance(instance).object);
    Some(object.methods.get(method as usize)?.name.as_str())
}

/// The calls that are statements; methods of registers give no value.
fn calls(block: &Block, f: &mut dyn FnMut(&Call)) {
    visit::stmts(block, &mut |stmt: &Stmt| {
        if let StmtKind::Call(call) = &stmt.kind {
            f(call);
        }
    });
}
