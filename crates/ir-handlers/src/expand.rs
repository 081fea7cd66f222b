//! `expand`: handlers become value externs.
//!
//! Before: `@remote(handler = "h", ...) extern bool f(in q_t q, out r_t r);` and calls `f(q, r)`
//! After:  `@value_extern("h") @remote(handler = "h", ...) extern f_remote { f_remote(); bool call(in q_t q, out r_t r); }`, an instance
//! `f_remote() f_handler;` at the top level, and calls `f_handler.call(q, r)`
//!
//! `@idempotent` before the function becomes `@soft` before the instance: a spare may answer calls without the memory of the device before
//! it. `@pure` before the function stands before the method.
//!
//! With leased blocks, the constructor takes two numbers: `f_remote(bit<8> server, bit<8> servers)`, at first 0 and 1. Block B is at first of the
//! server B modulo `servers`, until a group leases other blocks to it (`ValueExtern::lease`); a split sets the numbers of each server of a group.
//!
//! Why: a handler has memory, and objects with memory are known everywhere: to engines, cuts, proofs and racks. The function
//! stays declared, without the annotation and without calls.

use crate::handler::{CALL, Handler, PURE};
use crate::hot::hot;
use crate::mirror;
use crate::remote::NAME;
use base_diag::codes::handler as codes;
use base_diag::{Diagnostic, Span};
use ir::{
    Annotation, AnnotationBody, Block, Call, Callee, Direction, Expr, ExprKind, ExternFunctionId, ExternId,
    ExternMethod, ExternObject, Instance, InstanceId, Name, Owner, Program, SignatureParam, Stmt, StmtKind,
    Transition, Type, build, visit,
};
use std::collections::BTreeMap;

/// Expands all handlers. Programs without one stay as they are.
pub fn expand(program: &mut Program) -> Result<(), Vec<Diagnostic>> {
    let mut made: BTreeMap<u32, InstanceId> = BTreeMap::new();
    let mut names: Vec<(String, Span)> = vec![];
    let mut wrong = vec![];
    for at in 0..program.extern_functions.len() {
        let function = program.extern_functions[at].clone();
        let handler =
            Handler::new(program, &function.name, &function.annotations, &function.signature, function.span);
        match handler {
            None => continue,
            Some(Err(problem)) => wrong.push(problem),
            Some(Ok(handler)) => {
                wrong.extend(check_promises(&function, &handler));
                if let Some((_, first)) = names.iter().find(|(name, _)| *name == handler.name) {
                    let title = format!("handler `{}` is declared twice", handler.name);
                    let problem = Diagnostic::error(codes::REMOTE, title)
                        .at(function.span, "again here")
                        .at(*first, "first here")
                        .help("call one function from both places");
                    wrong.push(problem);
                    continue;
                }
                names.push((handler.name.clone(), function.span));
                made.insert(at as u32, declare(program, ExternFunctionId::from(at), &handler));
            }
        }
    }
    wrong.extend(mirror::check(program));
    if !wrong.is_empty() {
        return Err(wrong);
    }
    if !made.is_empty() {
        change_calls(program, &made);
        let left = calls_elsewhere(program, &made);
        if !left.is_empty() {
            return Err(left);
        }
    }
    hot(program).map(drop)
}

/// Annotation of a handler whose calls another device may answer, without the memory of the one before.
const IDEMPOTENT: &str = "idempotent";

fn is_idempotent(annotations: &[Annotation]) -> bool {
    annotations.iter().any(|annotation| annotation.name == IDEMPOTENT)
}

/// A device that gives out numbers of a block has to know which of them are in use.
fn check_promises(function: &ir::ExternFunction, handler: &Handler) -> Option<Diagnostic> {
    handler.block.as_ref()?;
    let promise = function.annotations.iter().find(|a| a.name == IDEMPOTENT || a.name == PURE)?;
    let title = format!("`{}` cannot be `@{}`", handler.name, promise.name);
    let problem = Diagnostic::error(codes::REMOTE, title).at(function.span, "it has leased blocks");
    Some(
        problem
            .note("a device that answers calls without the memory of earlier ones would give out the same numbers again")
            .help(format!("leave out `@{}`, or `block`", promise.name)),
    )
}

/// Bits of a server's number, in the arguments of an instance.
const SHARE_BITS: u32 = 8;

/// A number that a constructor takes.
fn number(name: &str) -> SignatureParam {
    SignatureParam {
        name: name.into(),
        direction: Direction::None,
        ty: Type::Bit(SHARE_BITS),
        optional: false,
    }
}

/// Declares the object and its instance.
fn declare(program: &mut Program, id: ExternFunctionId, handler: &Handler) -> InstanceId {
    let function = program.extern_functions[id.index()].clone();
    let object = ExternId::from(program.externs.len());
    let name = fresh(program, &format!("{}_remote", function.name));
    let method = ExternMethod {
        name: CALL.into(),
        signature: function.signature,
        is_abstract: false,
        annotations: function.annotations.iter().filter(|a| a.name == PURE).cloned().collect(),
        span: function.span,
    };
    let mut annotations = vec![Annotation::string("value_extern", &handler.name)];
    let soft = Annotation { name: "soft".into(), body: AnnotationBody::Empty };
    let of_instance = is_idempotent(&function.annotations).then_some(soft);
    annotations.extend(function.annotations);
    program.externs.push(ExternObject {
        name,
        user: true,
        type_params: vec![],
        constructors: vec![if handler.block.is_some() {
            ["server", "servers"].map(number).into()
        } else {
            vec![]
        }],
        methods: vec![method],
        annotations,
        span: function.span,
    });
    let instance = InstanceId::from(program.instances.len());
    let name = fresh(program, &format!("{}_handler", function.name));
    program.instances.push(Instance {
        control_plane_name: name.clone(),
        name,
        object,
        type_args: vec![],
        args: if handler.block.is_some() {
            vec![build::bits(SHARE_BITS, 0), build::bits(SHARE_BITS, 1)]
        } else {
            vec![]
        },
        owner: Owner::Program,
        methods: vec![],
        annotations: of_instance.into_iter().collect(),
        span: function.span,
    });
    program.extern_functions[id.index()].annotations.retain(|annotation| annotation.name != NAME);
    instance
}

/// A name that nothing at the top level has.
fn fresh(program: &Program, wanted: &str) -> Name {
    let taken = |name: &str| {
        program.types.iter().any(|ty| ty.name == name)
            || program.externs.iter().any(|object| object.name == name)
            || program.extern_functions.iter().any(|function| function.name == name)
            || program.functions.iter().any(|function| function.name == name)
            || program.parsers.iter().any(|parser| parser.name == name)
            || program.controls.iter().any(|control| {
                control.name == name
                    || control.vars.iter().any(|var| var.name == name)
                    || control.tables.iter().any(|table| table.name == name)
                    || control.actions.iter().any(|action| action.name == name)
            })
            || program.instances.iter().any(|i| i.name == name || i.control_plane_name == name)
    };
    let numbered = (2..).map(|n| format!("{wanted}{n}"));
    let name = std::iter::once(wanted.to_string()).chain(numbered).find(|name| !taken(name));
    name.unwrap_or_else(|| wanted.to_string()).into()
}

/// Calls in the bodies of controls, actions and functions.
fn change_calls(program: &mut Program, made: &BTreeMap<u32, InstanceId>) {
    let change = |call: &mut Call| {
        if let Callee::ExternFunction(id) = call.callee
            && let Some(instance) = made.get(&(id.index() as u32))
        {
            call.callee = Callee::Method(*instance, 0);
        }
    };
    let in_block = |block: &mut Block| {
        visit::stmts_mut(block, &mut |stmt| {
            if let StmtKind::Call(call) = &mut stmt.kind {
                change(call);
            }
            visit::exprs_mut(stmt, &mut |expr| {
                visit::subexprs_mut(expr, &mut |expr| {
                    if let ExprKind::Call(call) = &mut expr.kind {
                        change(call);
                    }
                });
            });
        });
    };
    for control in &mut program.controls {
        in_block(&mut control.body);
        control.actions.iter_mut().for_each(|action| in_block(&mut action.body));
    }
    program.functions.iter_mut().for_each(|function| in_block(&mut function.body));
}

/// Errors for calls that stand elsewhere: in parsers, and in the keys of tables.
fn calls_elsewhere(program: &Program, made: &BTreeMap<u32, InstanceId>) -> Vec<Diagnostic> {
    let mut found: Vec<Span> = vec![];
    let mut look = |call: &Call| {
        if let Callee::ExternFunction(id) = call.callee
            && made.contains_key(&(id.index() as u32))
        {
            found.push(call.span);
        }
    };
    for state in program.parsers.iter().flat_map(|parser| &parser.states) {
        state.stmts.iter().for_each(|stmt| calls_of(stmt, &mut look));
        if let Transition::Select(select) = &state.transition {
            select.exprs.iter().for_each(|expr| calls_in(expr, &mut look));
        }
    }
    let tables = program.controls.iter().flat_map(|control| &control.tables);
    tables.flat_map(|table| &table.keys).for_each(|key| calls_in(&key.expr, &mut look));
    let refused = |span| {
        Diagnostic::error(codes::REMOTE, "a handler cannot be called here")
            .at(span, "not in the body of a control, an action or a function")
            .help("call it in ingress or egress")
    };
    found.into_iter().map(refused).collect()
}

/// All calls of a statement, nested ones included.
fn calls_of(stmt: &Stmt, look: &mut dyn FnMut(&Call)) {
    if let StmtKind::Call(call) = &stmt.kind {
        look(call);
    }
    visit::exprs(stmt, &mut |expr| calls_in(expr, look));
    visit::blocks(stmt, &mut |block| block.stmts.iter().for_each(|stmt| calls_of(stmt, look)));
}

fn calls_in(expr: &Expr, look: &mut dyn FnMut(&Call)) {
    visit::subexprs(expr, &mut |expr| {
        if let ExprKind::Call(call) = &expr.kind {
            look(call);
        }
    });
}
