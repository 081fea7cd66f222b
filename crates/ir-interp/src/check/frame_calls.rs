//! Frame externs are called where a packet can leave the program and come back: as statements in the body of
//! ingress, in blocks, `if` and `switch`, each instance once.

use super::{Unit, parts, units};
use base_diag::codes::run as codes;
use base_diag::{Diagnostic, Span};
use device::region::Regions;
use ir::{Block, Call, Callee, InstanceId, Program, Stmt, StmtKind, visit};

/// Refuses calls elsewhere.
pub(crate) fn check_frame_calls(program: &Program) -> Result<(), Vec<Diagnostic>> {
    let Some(ingress) = program.stage_control("ingress") else { return Ok(()) };
    let regions = Regions::of(program.control(ingress));
    let mut problems = vec![];
    let mut seen: Vec<InstanceId> = vec![];
    let body = &program.control(ingress).body;
    allowed(program, body, &mut seen, &mut problems);
    for unit in units(program) {
        let (lists, exprs) = parts(program, unit);
        for list in lists {
            let in_body = unit == Unit::Control(ingress.index()) && std::ptr::eq(list, body.stmts.as_slice());
            if !in_body {
                visit::calls(list, &mut |call| {
                    problems.extend(refuse(program, call, "not in the body of ingress"))
                });
            }
        }
        for expr in exprs {
            visit::calls_in(expr, &mut |call| {
                problems.extend(refuse(program, call, "in the middle of an expression"));
            });
        }
    }
    for instance in seen {
        if !regions.after.contains_key(&instance) {
            problems.push(at(Span::NONE, "the place of the call is not known"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// In a block that can be entered in the middle.
fn allowed(program: &Program, block: &Block, seen: &mut Vec<InstanceId>, problems: &mut Vec<Diagnostic>) {
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Call(call) => {
                if let Some(instance) = frame_extern(program, call) {
                    if seen.contains(&instance) {
                        problems.push(at(call.span, "this instance is called a second time"));
                    }
                    seen.push(instance);
                }
            }
            StmtKind::For { .. } | StmtKind::ForIn { .. } => {
                let stmt: &Stmt = stmt;
                visit::calls(std::slice::from_ref(stmt), &mut |call| {
                    problems.extend(refuse(program, call, "in a loop"));
                });
                continue;
            }
            _ => {}
        }
        visit::exprs(stmt, &mut |expr| {
            visit::calls_in(expr, &mut |call| {
                problems.extend(refuse(program, call, "in the middle of an expression"));
            });
        });
        visit::blocks(stmt, &mut |inner| allowed(program, inner, seen, problems));
    }
}

fn refuse(program: &Program, call: &Call, why: &str) -> Option<Diagnostic> {
    frame_extern(program, call).map(|_| at(call.span, why))
}

fn at(span: Span, why: &str) -> Diagnostic {
    Diagnostic::error(codes::FRAME_CALL, "a frame extern cannot be called here")
        .at(span, why)
        .help("call it as a statement in the `apply` block of ingress")
}

/// The instance, if the call is of a frame extern.
fn frame_extern(program: &Program, call: &Call) -> Option<InstanceId> {
    let Callee::Method(id, _) = call.callee else { return None };
    let instance = program.instances.get(id.index())?;
    let object = program.externs.get(instance.object.index())?;
    object.frame_extern().map(|_| id)
}
