//! Controls and actions.

use super::Verifier;
use super::scope::{Code, Scope};
use crate::{Action, Control, ControlId, Direction, Type, VarKind};

impl<'p> Verifier<'p> {
    pub(super) fn control(&mut self, id: ControlId, control: &'p Control) {
        self.scope = Scope::new(Code::Control(id), &control.vars);
        self.scope.actions = &control.actions;
        self.scope.tables = &control.tables;
        self.scope.returns = Some(Type::Void);
        self.declare_params(&control.params, control.span);
        self.locals(&control.locals);
        self.unique("actions", control.actions.iter().map(|action| &action.name));
        self.unique("tables", control.tables.iter().map(|table| &table.name));
        for action in &control.actions {
            self.at(format!("action {}", action.name), |v| {
                v.scope.code = Code::Action(id);
                v.scoped(|v| v.action(action));
                v.scope.code = Code::Control(id);
            });
        }
        for table in &control.tables {
            self.at(format!("table {}", table.name), |v| v.table(table));
        }
        self.block(&control.body);
    }

    fn action(&mut self, action: &Action) {
        self.declare_params(&action.params, action.span);
        let mut data = false;
        for id in &action.params {
            let Some(var) = self.scope.vars.get(id.index()) else { continue };
            let directed = var.kind != VarKind::Param(Direction::None);
            self.require(!(data && directed), action.span, |_| {
                format!("parameter `{}` has a direction and follows one without", var.name)
            });
            data |= !directed;
        }
        self.block(&action.body);
    }
}
