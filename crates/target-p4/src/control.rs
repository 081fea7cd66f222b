//! Controls and actions.

use crate::annotation::{annotation, inline, named};
use crate::print::Printer;
use ir::{Action, Callee, Control, ControlId, Program, StageKind};

impl<'p> Printer<'p> {
    pub(crate) fn control(&mut self, id: ControlId, control: &'p Control) {
        let name = self.globals.controls[id.index()].clone();
        let runs = |kind: StageKind| kind == StageKind::Control(id) || kind == StageKind::Deparse(id);
        let is_stage = self.program.stages.iter().any(|s| runs(s.kind));
        let prefix = if is_stage { name.clone() } else { control.control_plane_name.to_string() };
        self.control_names(control, prefix);
        self.blank();
        self.annotations(&control.annotations);
        self.headed(&format!("control {name}"), &control.params, |p| {
            p.instances_and_locals(&control.instances, &control.locals, Self::sub_controls);
            for index in callees_first(control) {
                p.local_action(control, index);
            }
            for index in 0..control.tables.len() {
                p.blank();
                p.table(index);
            }
            p.blank();
            p.block("apply", &control.body);
        });
    }

    fn sub_controls(&mut self) {
        for (id, name) in self.local.controls.clone() {
            if let Some(control) = self.program.controls.get(id.index()) {
                let ty = self.globals.controls[id.index()].clone();
                let notes = named(&vec![], &self.local.prefix, &name, &control.control_plane_name);
                self.line(&format!("{}{ty}() {name};", inline(&notes)));
            }
        }
    }

    fn local_action(&mut self, control: &'p Control, index: usize) {
        let action = &control.actions[index];
        if self.globals.action(self.program, control, action).is_none() {
            let (name, prefix) = (self.local.actions[index].clone(), self.local.prefix.clone());
            self.blank();
            self.action(&name, &prefix, action);
        }
    }

    fn action(&mut self, name: &str, prefix: &str, action: &Action) {
        let notes = named(&action.annotations, prefix, name, &action.control_plane_name);
        notes.iter().for_each(|a| self.line(&annotation(a)));
        let body = inline(&action.body.annotations);
        self.headed(&format!("{body}action {name}"), &action.params, |p| p.stmts(&action.body.stmts));
    }

    /// Actions of the program; each is printed from its first copy.
    pub(crate) fn top_level_actions(&mut self) {
        let program = self.program;
        let mut order: Vec<usize> = (0..self.globals.actions.len()).collect();
        order.sort_by_key(|index| self.globals.actions[*index].copy);
        let mut done = vec![false; order.len()];
        for index in order {
            self.top_level_action(program, index, &mut done);
        }
    }

    fn top_level_action(&mut self, program: &'p Program, index: usize, done: &mut [bool]) {
        if std::mem::replace(&mut done[index], true) {
            return;
        }
        let (c, a) = self.globals.actions[index].copy;
        let control = &program.controls[c];
        let action = &control.actions[a];
        let mut called = vec![];
        crate::calls::note_calls(&action.body.stmts, &mut |callee| {
            if let Callee::Action(id) = callee {
                called.push(id.index());
            }
        });
        for callee in called {
            let name = control.actions.get(callee).map(|a| &a.control_plane_name);
            let top = self.globals.actions.iter().position(|top| Some(&top.control_plane_name) == name);
            if let Some(top) = top {
                self.top_level_action(program, top, done);
            }
        }
        self.control_names(control, String::new());
        let name = self.globals.actions[index].name.clone();
        self.blank();
        self.action(&name, "", action);
    }
}

/// The actions of a control, those that are called before those that call them.
fn callees_first(control: &Control) -> Vec<usize> {
    fn visit(control: &Control, index: usize, order: &mut Vec<usize>, seen: &mut [bool]) {
        if seen.get(index).is_none_or(|seen| *seen) {
            return;
        }
        seen[index] = true;
        crate::calls::note_calls(&control.actions[index].body.stmts, &mut |callee| {
            if let Callee::Action(id) = callee {
                visit(control, id.index(), order, seen);
            }
        });
        order.push(index);
    }
    let mut order = vec![];
    let mut seen = vec![false; control.actions.len()];
    for index in 0..control.actions.len() {
        visit(control, index, &mut order, &mut seen);
    }
    order
}
