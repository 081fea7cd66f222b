//! The pieces of a program that have variables of their own, one after the other.

use base_diag::Span;
use ir::{
    Annotations, Block, Control, ExprKind, Function, Name, Parser, ParserState, Program, StateId, StateRef,
};
use ir::{Stmt, StmtKind, Transition, Type, Var};

/// A control, parser or function taken out of its program, so that the rest can be looked at while it changes.
pub(crate) enum Unit {
    Control(Control),
    Parser(Parser),
    Function(Function),
}

impl Unit {
    /// All lists of statements, with the unit's variables: bodies, actions, states, but not declarations beside them.
    pub(crate) fn lists_mut(&mut self) -> (&mut Vec<Var>, Vec<&mut Vec<Stmt>>) {
        match self {
            Unit::Control(control) => {
                let actions = control.actions.iter_mut().map(|action| &mut action.body.stmts);
                let lists = actions.chain([&mut control.body.stmts]).collect();
                (&mut control.vars, lists)
            }
            Unit::Parser(parser) => {
                (&mut parser.vars, parser.states.iter_mut().map(|state| &mut state.stmts).collect())
            }
            Unit::Function(function) => (&mut function.vars, vec![&mut function.body.stmts]),
        }
    }
}

/// Calls `f` with every unit of the program, functions first, and with the rest of the program. The unit that is
/// out is hollow in there.
pub(crate) fn each_unit(program: &mut Program, f: &mut dyn FnMut(&Program, &mut Unit)) {
    for at in 0..program.functions.len() {
        let mut unit = Unit::Function(std::mem::replace(&mut program.functions[at], hollow_function()));
        f(program, &mut unit);
        if let Unit::Function(function) = unit {
            program.functions[at] = function;
        }
    }
    for at in 0..program.parsers.len() {
        let mut unit = Unit::Parser(std::mem::replace(&mut program.parsers[at], hollow_parser()));
        f(program, &mut unit);
        if let Unit::Parser(parser) = unit {
            program.parsers[at] = parser;
        }
    }
    each_control(program, &mut |program, control| {
        let mut unit = Unit::Control(std::mem::replace(control, hollow_control()));
        f(program, &mut unit);
        if let Unit::Control(back) = unit {
            *control = back;
        }
    });
}

/// Calls `f` with every control, see [`each_unit`].
pub(crate) fn each_control(program: &mut Program, f: &mut dyn FnMut(&Program, &mut Control)) {
    for at in 0..program.controls.len() {
        let mut control = std::mem::replace(&mut program.controls[at], hollow_control());
        f(program, &mut control);
        program.controls[at] = control;
    }
}

/// A control with nothing in it.
pub(crate) fn hollow_control() -> Control {
    Control {
        name: Name::default(),
        control_plane_name: Name::default(),
        params: vec![],
        vars: vec![],
        locals: vec![],
        instances: vec![],
        actions: vec![],
        tables: vec![],
        body: Block::default(),
        annotations: Annotations::new(),
        span: Span::NONE,
    }
}

/// A parser with nothing in it.
pub(crate) fn hollow_parser() -> Parser {
    Parser {
        name: Name::default(),
        control_plane_name: Name::default(),
        params: vec![],
        vars: vec![],
        locals: vec![],
        instances: vec![],
        value_sets: vec![],
        states: vec![],
        annotations: Annotations::new(),
        span: Span::NONE,
    }
}

fn hollow_function() -> Function {
    Function {
        name: Name::default(),
        returns: Type::Void,
        params: vec![],
        vars: vec![],
        body: Block::default(),
        annotations: Annotations::new(),
        span: Span::NONE,
    }
}

/// Puts `stmts` before everything that a parser does, once, also if its first state is visited again.
pub(crate) fn before_start(parser: &mut Parser, stmts: Vec<Stmt>) {
    if stmts.is_empty() {
        return;
    }
    let again =
        parser.states.iter().any(|state| targets(&state.transition).contains(&StateRef::State(StateId(0))));
    let Some(first) = parser.states.first_mut() else { return };
    if !again {
        first.stmts.splice(0..0, stmts);
        return;
    }
    let moved = StateId::from(parser.states.len());
    let start = ParserState {
        name: "start".into(),
        stmts,
        transition: Transition::Goto(StateRef::State(moved)),
        annotations: vec![],
        span: parser.states[0].span,
    };
    let mut old = std::mem::replace(&mut parser.states[0], start);
    old.name = free_name("start_again", &|name| parser.states.iter().any(|state| state.name == name));
    parser.states.push(old);
    for state in &mut parser.states[1..] {
        each_target_mut(&mut state.transition, &mut |target| {
            if *target == StateRef::State(StateId(0)) {
                *target = StateRef::State(moved);
            }
        });
    }
}

/// States that a transition may go to.
pub(crate) fn targets(transition: &Transition) -> Vec<StateRef> {
    match transition {
        Transition::Goto(next) => vec![*next],
        Transition::Select(select) => select.cases.iter().map(|case| case.next).collect(),
    }
}

/// Calls `f` with every target of a transition.
pub(crate) fn each_target_mut(transition: &mut Transition, f: &mut dyn FnMut(&mut StateRef)) {
    match transition {
        Transition::Goto(next) => f(next),
        Transition::Select(select) => select.cases.iter_mut().for_each(|case| f(&mut case.next)),
    }
}

/// `name`, or `name_2`, `name_3`, ... where that is taken.
pub(crate) fn free_name(name: &str, taken: &dyn Fn(&str) -> bool) -> Name {
    let mut free = name.to_string();
    let mut number = 2u64;
    while taken(&free) {
        free = format!("{name}_{number}");
        number += 1;
    }
    free.into()
}

/// The initial values of declarations beside a body, as assignments; the declarations lose them.
pub(crate) fn take_inits(vars: &[Var], locals: &mut [Stmt]) -> Vec<Stmt> {
    let mut out = vec![];
    for local in locals {
        if let StmtKind::Declare(var, init) = &mut local.kind
            && let Some(value) = init.take()
        {
            let ty = value.ty.clone();
            let place = ir::Expr { kind: ExprKind::Var(*var), ty, span: local.span };
            debug_assert!(vars.get(var.index()).is_some());
            out.push(Stmt { kind: StmtKind::Assign(place, value), span: local.span });
        }
    }
    out
}
