//! No function calls itself, directly or through others (P4-16 §18.2).
//!
//! Names are declared before use, so only functions that call themselves and the methods of one instance can do it.

use base_diag::{Diagnostic, Diagnostics, Span};

use crate::codes;
use crate::typed::walk::{Visitor, walk_call};
use crate::typed::{Call, Callee, ExprKind, FunctionId, FunctionOwner, Program};

pub(crate) fn check_recursion(program: &Program, diags: &mut Diagnostics) {
    let mut calls: Vec<Vec<(FunctionId, Span)>> = vec![vec![]; program.functions.len()];
    for (id, f) in program.functions.iter() {
        let Some(body) = &f.body else { continue };
        let mut finder = Calls { program, owner: f.owner, found: vec![] };
        finder.block(body);
        calls[id.index()] = finder.found;
    }
    let mut state = vec![Mark::New; calls.len()];
    for start in 0..calls.len() {
        visit(program, &calls, &mut state, start, diags);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Depth first with a stack of its own; an edge to an open node closes a cycle.
fn visit(
    program: &Program,
    calls: &[Vec<(FunctionId, Span)>],
    state: &mut [Mark],
    start: usize,
    diags: &mut Diagnostics,
) {
    if state[start] != Mark::New {
        return;
    }
    state[start] = Mark::Open;
    let mut stack = vec![(start, 0)];
    while let Some((node, next)) = stack.pop() {
        let Some(&(to, span)) = calls[node].get(next) else {
            state[node] = Mark::Done;
            continue;
        };
        stack.push((node, next + 1));
        match state[to.index()] {
            Mark::Done => {}
            Mark::Open => {
                let name = &program.functions[to].name;
                diags.push(
                    Diagnostic::error(codes::RECURSION, format!("`{}` calls itself", name.text))
                        .at(span, "P4 has no recursion")
                        .at(name.span, "declared here"),
                );
            }
            Mark::New => {
                state[to.index()] = Mark::Open;
                stack.push((to.index(), 0));
            }
        }
    }
}

struct Calls<'a> {
    program: &'a Program,
    owner: FunctionOwner,
    found: Vec<(FunctionId, Span)>,
}

impl Visitor for Calls<'_> {
    fn call(&mut self, call: &Call) {
        match &call.callee {
            Callee::Function(id) => self.found.push((*id, call.span)),
            Callee::Method { object, method } if matches!(object.kind, ExprKind::This) => {
                if let FunctionOwner::Implementation(instance) = self.owner {
                    let done = &self.program.instances[instance].implementations;
                    let target = done.iter().find(|i| i.method == *method);
                    self.found.extend(target.map(|i| (i.function, call.span)));
                }
            }
            _ => {}
        }
        walk_call(self, call);
    }
}
