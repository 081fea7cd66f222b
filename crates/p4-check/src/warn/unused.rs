//! `unused`: local variables and action data that nothing reads, local actions, tables, instances and value sets that nothing
//! uses, and parsers and controls that `main` does not lead to.
//!
//! Constants, types and functions of the program are not looked at: included files declare more than a program needs.

use base_diag::{Code, Diagnostic, Diagnostics};

use super::silenced;
use crate::codes;
use crate::late::Reach;
use crate::typed::walk::{Visitor, walk_call, walk_expr, walk_locals, walk_state, walk_stmt, walk_table};
use crate::typed::{
    Annotations, Arg, Call, Callee, Construct, Direction, Expr, ExprKind, KeySet, Local, Name, Program, Stmt,
    StmtKind, Transition, Type, VarKind,
};

const CODE: Code = codes::UNUSED;

pub(crate) fn warn_unused(program: &Program, diags: &mut Diagnostics) {
    let uses = Uses::of(program);
    for (id, var) in program.vars.iter() {
        let local = matches!(var.kind, VarKind::Local);
        if local && !uses.vars[id.index()] && !matches!(var.ty, Type::Error) {
            let label = if uses.written[id.index()] { "written and never read" } else { "never used" };
            warn(diags, "variable", &var.name, &var.annotations, label);
        }
    }
    // An action without a body ignores its data on purpose, as `NoAction` does.
    for (_, action) in program.actions.iter().filter(|(_, a)| !a.body.stmts.is_empty()) {
        let data = action.params.iter().filter(|p| program.vars[**p].kind == VarKind::Param(Direction::None));
        for param in data.filter(|p| !uses.vars[p.index()]) {
            let var = &program.vars[*param];
            let silent = silenced(&action.annotations, "unused");
            if !silent {
                warn(
                    diags,
                    "action data",
                    &var.name,
                    &var.annotations,
                    "every entry has to give it, and nothing reads it",
                );
            }
        }
    }
    // A file without `main` is a library: everything in it may be used elsewhere.
    if program.main.is_some() {
        warn_unreached(program, diags);
    }
    let locals = program.controls.iter().flat_map(|(_, c)| &c.locals);
    for local in locals.chain(program.parsers.iter().flat_map(|(_, p)| &p.locals)) {
        match local {
            Local::Action(id) if !uses.actions[id.index()] => {
                let action = &program.actions[*id];
                warn(
                    diags,
                    "action",
                    &action.name,
                    &action.annotations,
                    "neither listed in a table nor called",
                );
            }
            Local::Table(id) if !uses.tables[id.index()] => {
                let table = &program.tables[*id];
                warn(diags, "table", &table.name, &table.annotations, "never applied");
            }
            Local::Instance(id) if !uses.instances[id.index()] => {
                let instance = &program.instances[*id];
                warn(diags, "instance", &instance.name, &instance.annotations, "never used");
            }
            Local::ValueSet(id) if !uses.value_sets[id.index()] => {
                let set = &program.value_sets[*id];
                warn(diags, "value set", &set.name, &set.annotations, "no `select` uses it");
            }
            _ => {}
        }
    }
}

/// Parsers and controls that `main` does not lead to.
fn warn_unreached(program: &Program, diags: &mut Diagnostics) {
    let reach = Reach::new(program);
    let label = "`main` does not lead to it";
    for (_, p) in program.parsers.iter().filter(|(id, _)| !reach.parsers[id.index()]) {
        warn(diags, "parser", &p.name, &p.annotations, label);
    }
    for (_, c) in program.controls.iter().filter(|(id, _)| !reach.controls[id.index()]) {
        warn(diags, "control", &c.name, &c.annotations, label);
    }
}

fn warn(diags: &mut Diagnostics, noun: &str, name: &Name, annotations: &Annotations, label: &str) {
    if !name.text.starts_with('_') && !silenced(annotations, "unused") {
        let title = format!("{noun} `{}` is unused", name.text);
        diags.push(Diagnostic::warning(CODE, "unused", title).at(name.span, label));
    }
}

/// Names that are used somewhere.
struct Uses {
    vars: Vec<bool>,
    /// Variables that are assigned to.
    written: Vec<bool>,
    actions: Vec<bool>,
    tables: Vec<bool>,
    instances: Vec<bool>,
    value_sets: Vec<bool>,
}

impl Uses {
    fn of(p: &Program) -> Uses {
        let mut uses = Uses {
            vars: vec![false; p.vars.len()],
            written: vec![false; p.vars.len()],
            actions: vec![false; p.actions.len()],
            tables: vec![false; p.tables.len()],
            instances: vec![false; p.instances.len()],
            value_sets: vec![false; p.value_sets.len()],
        };
        p.functions.iter().filter_map(|(_, f)| f.body.as_ref()).for_each(|b| uses.block(b));
        p.actions.iter().for_each(|(_, a)| uses.block(&a.body));
        for (_, parser) in p.parsers.iter() {
            walk_locals(&mut uses, &parser.locals);
            for state in &parser.states {
                walk_state(&mut uses, state);
                uses.sets(&state.transition);
            }
        }
        for (_, control) in p.controls.iter() {
            walk_locals(&mut uses, &control.locals);
            uses.block(&control.body);
        }
        for (_, table) in p.tables.iter() {
            walk_table(&mut uses, table);
            table.actions.iter().for_each(|a| uses.actions[a.action.index()] = true);
        }
        for (id, instance) in p.instances.iter() {
            uses.construct(&instance.construct);
            uses.instances[id.index()] |= instance.direct || !instance.implementations.is_empty();
        }
        uses
    }

    fn sets(&mut self, transition: &Transition) {
        let Transition::Select { cases, .. } = transition else { return };
        for set in cases.iter().flat_map(|c| &c.sets) {
            if let KeySet::ValueSet(id, _) = set {
                self.value_sets[id.index()] = true;
            }
        }
    }

    /// The variable that a plain assignment writes: writing is no use of it.
    fn target(&mut self, target: &Expr) {
        match &target.kind {
            ExprKind::Var(id) => self.written[id.index()] = true,
            ExprKind::Field { base, .. }
            | ExprKind::Slice { base, .. }
            | ExprKind::TupleIndex { base, .. } => {
                self.target(base);
            }
            ExprKind::Index { base, index } | ExprKind::SliceAt { base, lo: index } => {
                self.target(base);
                self.expr(index);
            }
            _ => self.expr(target),
        }
    }
}

impl Visitor for Uses {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign { target, op: None, value } => {
                self.target(target);
                self.expr(value);
            }
            StmtKind::ForIn { var, .. } => {
                self.vars[var.index()] = true;
                walk_stmt(self, stmt);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Var(id) => self.vars[id.index()] = true,
            ExprKind::Instance(id) => self.instances[id.index()] = true,
            ExprKind::Table(id) | ExprKind::Hit(id) | ExprKind::Miss(id) | ExprKind::ActionRun(id) => {
                self.tables[id.index()] = true;
            }
            ExprKind::ValueSet(id) => self.value_sets[id.index()] = true,
            _ => walk_expr(self, expr),
        }
    }

    fn call(&mut self, call: &Call) {
        match &call.callee {
            Callee::Action(id) => self.actions[id.index()] = true,
            Callee::TableApply(id) => self.tables[id.index()] = true,
            _ => {}
        }
        walk_call(self, call);
    }

    fn construct(&mut self, construct: &Construct) {
        construct.args.iter().filter_map(Arg::expr).for_each(|e| self.expr(e));
    }
}
