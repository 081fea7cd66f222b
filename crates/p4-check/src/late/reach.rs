//! The bodies that packets can reach: those reachable from `main`, or all if there is no `main`.

use crate::typed::walk::{Visitor, walk_call, walk_expr, walk_locals, walk_state, walk_table};
use crate::typed::{
    ActionId, Arg, Call, Callee, Construct, Constructed, ControlId, Expr, ExprKind, FunctionId, InstanceId,
    Local, ParserId, Program,
};

/// Declarations that are in use.
pub(crate) struct Reach {
    actions: Vec<bool>,
    pub(crate) functions: Vec<bool>,
    pub(crate) parsers: Vec<bool>,
    pub(crate) controls: Vec<bool>,
    instances: Vec<bool>,
}

enum Todo {
    Action(ActionId),
    Function(FunctionId),
    Parser(ParserId),
    Control(ControlId),
    Instance(InstanceId),
}

impl Reach {
    /// Bodies reachable from `main`; all parsers and controls if there is no `main`.
    pub(crate) fn new(program: &Program) -> Reach {
        let mut reach = Reach {
            actions: vec![false; program.actions.len()],
            functions: vec![false; program.functions.len()],
            parsers: vec![false; program.parsers.len()],
            controls: vec![false; program.controls.len()],
            instances: vec![false; program.instances.len()],
        };
        let mut todo: Vec<Todo> = match program.main {
            Some(main) => vec![Todo::Instance(main)],
            None => {
                let parsers = program.parsers.iter().map(|(id, _)| Todo::Parser(id));
                parsers.chain(program.controls.iter().map(|(id, _)| Todo::Control(id))).collect()
            }
        };
        while let Some(next) = todo.pop() {
            let mut finder = Finder { todo: &mut todo };
            reach.visit(program, next, &mut finder);
        }
        reach
    }

    fn visit(&mut self, p: &Program, next: Todo, finder: &mut Finder<'_>) {
        match next {
            Todo::Action(id) if !std::mem::replace(&mut self.actions[id.index()], true) => {
                finder.block(&p.actions[id].body);
            }
            Todo::Function(id) if !std::mem::replace(&mut self.functions[id.index()], true) => {
                p.functions[id].body.iter().for_each(|b| finder.block(b));
            }
            Todo::Parser(id) if !std::mem::replace(&mut self.parsers[id.index()], true) => {
                finder.locals(p, &p.parsers[id].locals);
                p.parsers[id].states.iter().for_each(|s| walk_state(finder, s));
            }
            Todo::Control(id) if !std::mem::replace(&mut self.controls[id.index()], true) => {
                finder.locals(p, &p.controls[id].locals);
                finder.block(&p.controls[id].body);
            }
            Todo::Instance(id) if !std::mem::replace(&mut self.instances[id.index()], true) => {
                let instance = &p.instances[id];
                finder.construct(&instance.construct);
                finder.todo.extend(instance.inner.iter().map(|&i| Todo::Instance(i)));
                finder.todo.extend(instance.implementations.iter().map(|i| Todo::Function(i.function)));
            }
            _ => {}
        }
    }

    /// Visits the bodies in use in the order of their declarations.
    pub(crate) fn visit_bodies(&self, p: &Program, v: &mut dyn Visitor) {
        bodies(p, v, self);
    }
}

/// Visits all bodies in the order of their declarations.
pub(crate) fn all_bodies(p: &Program, v: &mut dyn Visitor) {
    let all = Reach {
        actions: vec![true; p.actions.len()],
        functions: vec![true; p.functions.len()],
        parsers: vec![true; p.parsers.len()],
        controls: vec![true; p.controls.len()],
        instances: vec![true; p.instances.len()],
    };
    bodies(p, v, &all);
}

fn bodies(p: &Program, v: &mut dyn Visitor, reach: &Reach) {
    for (_, f) in p.functions.iter().filter(|(id, _)| reach.functions[id.index()]) {
        f.body.iter().for_each(|b| v.block(b));
    }
    for (_, a) in p.actions.iter().filter(|(id, _)| reach.actions[id.index()]) {
        v.block(&a.body);
    }
    for (_, parser) in p.parsers.iter().filter(|(id, _)| reach.parsers[id.index()]) {
        walk_locals(v, &parser.locals);
        parser.states.iter().for_each(|s| walk_state(v, s));
    }
    for (_, control) in p.controls.iter().filter(|(id, _)| reach.controls[id.index()]) {
        walk_locals(v, &control.locals);
        for local in &control.locals {
            if let Local::Table(t) = local {
                walk_table(v, &p.tables[*t]);
            }
        }
        v.block(&control.body);
    }
}

/// Finds the declarations that a body uses.
struct Finder<'a> {
    todo: &'a mut Vec<Todo>,
}

impl Finder<'_> {
    fn locals(&mut self, p: &Program, locals: &[Local]) {
        walk_locals(self, locals);
        for local in locals {
            match local {
                Local::Instance(id) => self.todo.push(Todo::Instance(*id)),
                Local::Table(id) => {
                    let table = &p.tables[*id];
                    self.todo.extend(table.actions.iter().map(|a| Todo::Action(a.action)));
                    walk_table(self, table);
                }
                _ => {}
            }
        }
    }
}

impl Visitor for Finder<'_> {
    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Instance(id) = expr.kind {
            self.todo.push(Todo::Instance(id));
        }
        walk_expr(self, expr);
    }

    fn call(&mut self, call: &Call) {
        match &call.callee {
            Callee::Function(id) => self.todo.push(Todo::Function(*id)),
            Callee::Action(id) => self.todo.push(Todo::Action(*id)),
            _ => {}
        }
        walk_call(self, call);
    }

    fn construct(&mut self, construct: &Construct) {
        match construct.of {
            Constructed::Parser(id) => self.todo.push(Todo::Parser(id)),
            Constructed::Control(id) => self.todo.push(Todo::Control(id)),
            Constructed::Extern(..) | Constructed::Package(_) => {}
        }
        construct.args.iter().filter_map(Arg::expr).for_each(|e| self.expr(e));
    }
}
