//! Functions, parsers and controls.

use super::decl::annotations;
use super::{Scope, Writer};
use crate::text::names::{plain, quoted};
use crate::{
    Action, Control, Direction, Function, InstanceId, MatchKind, Parser, Select, Stmt, Transition, ValueSet,
    VarId, VarKind,
};

impl<'p> Writer<'p> {
    pub(super) fn function(&mut self, function: &'p Function) {
        self.scope = Scope::of_vars(&function.vars);
        let head = format!(
            "{}function {}({}) -> {}",
            annotations(&function.annotations),
            plain(&function.name),
            self.params(&function.params),
            self.ty(&function.returns),
        );
        self.blank();
        self.braces(&head, "", |w| {
            w.vars();
            w.block("body", &function.body);
        });
    }

    pub(super) fn parser(&mut self, parser: &'p Parser) {
        self.scope = Scope::of_parser(parser);
        let head = format!(
            "{}parser {}({}) {}",
            annotations(&parser.annotations),
            plain(&parser.name),
            self.params(&parser.params),
            quoted(&parser.control_plane_name),
        );
        self.blank();
        self.braces(&head, "", |w| {
            w.declarations(&parser.locals, &parser.instances);
            parser.value_sets.iter().for_each(|set| w.value_set(set));
            for state in &parser.states {
                let notes = annotations(&state.annotations);
                w.braces(&format!("{notes}state {}", plain(&state.name)), "", |w| {
                    w.stmts(&state.stmts);
                    w.transition(&state.transition);
                });
            }
        });
    }

    pub(super) fn control(&mut self, control: &'p Control) {
        self.scope = Scope::of_control(control);
        let head = format!(
            "{}control {}({}) {}",
            annotations(&control.annotations),
            plain(&control.name),
            self.params(&control.params),
            quoted(&control.control_plane_name),
        );
        self.blank();
        self.braces(&head, "", |w| {
            w.declarations(&control.locals, &control.instances);
            control.actions.iter().for_each(|action| w.action(action));
            control.tables.iter().for_each(|table| w.table(table));
            w.block("apply", &control.body);
        });
    }

    fn action(&mut self, action: &Action) {
        let top_level = if action.top_level { " top_level" } else { "" };
        let head = format!(
            "{}action {}({}) {}{top_level}",
            annotations(&action.annotations),
            plain(&action.name),
            self.params(&action.params),
            quoted(&action.control_plane_name),
        );
        self.block(&head, &action.body);
    }

    fn params(&self, params: &[VarId]) -> String {
        let name = |id: &VarId| self.scope.var_names.plain(id.index());
        params.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    fn declarations(&mut self, locals: &[Stmt], instances: &[InstanceId]) {
        self.vars();
        if !locals.is_empty() {
            self.braces("locals", "", |w| w.stmts(locals));
        }
        if !instances.is_empty() {
            let name = |id: &InstanceId| self.instances.plain(id.index());
            let names: Vec<String> = instances.iter().map(name).collect();
            self.line(&format!("instances {};", names.join(", ")));
        }
    }

    fn vars(&mut self) {
        let vars = self.scope.vars;
        if vars.is_empty() {
            return;
        }
        self.braces("vars", "", |w| {
            for var in vars {
                let kind = match var.kind {
                    VarKind::Local => "local ",
                    VarKind::Param(Direction::None) => "param ",
                    VarKind::Param(direction) => super::decl::direction(direction),
                };
                let notes = annotations(&var.annotations);
                w.line(&format!("{notes}{kind}{} {};", w.ty(&var.ty), plain(&var.name)));
            }
        });
    }

    fn value_set(&mut self, set: &ValueSet) {
        let kinds: Vec<String> = set.match_kinds.iter().map(match_kind).collect();
        self.line(&format!(
            "{}value_set {}: {} {} match({}) size {};",
            annotations(&set.annotations),
            plain(&set.name),
            self.ty(&set.ty),
            quoted(&set.control_plane_name),
            kinds.join(", "),
            set.size,
        ));
    }

    fn transition(&mut self, transition: &Transition) {
        match transition {
            Transition::Goto(next) => self.line(&format!("goto {};", self.state_ref(*next))),
            Transition::Select(select) => self.select(select),
        }
    }

    fn select(&mut self, select: &Select) {
        let exprs: Vec<String> = select.exprs.iter().map(|e| self.expr(e, 0)).collect();
        self.braces(&format!("select ({})", exprs.join(", ")), "", |w| {
            for case in &select.cases {
                w.line(&format!("({}): {};", w.keysets(&case.keys), w.state_ref(case.next)));
            }
        });
    }
}

/// Declared kinds stand in backquotes.
pub(super) fn match_kind(kind: &MatchKind) -> String {
    match kind {
        MatchKind::Other(name) => crate::text::names::backquoted(name),
        known => known.name().to_string(),
    }
}
