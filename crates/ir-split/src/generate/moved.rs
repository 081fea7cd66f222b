//! Members of egress in ingress: a helper runs all its sections before its traffic manager.

use super::Generator;
use crate::arch;
use crate::section::Half;
use ir::{ActionId, Owner, Renumber, TableId, VarId};
use p4_arch::Duty;

/// How a variable or member of a whole program's control is numbered in the control under construction.
#[derive(Clone, Copy, Default)]
pub struct Moved {
    pub vars: u32,
    pub actions: u32,
    pub tables: u32,
}

impl Generator<'_> {
    /// The number of a variable of `half` here.
    pub fn moved_var(&self, half: Half, var: VarId, moved: Moved) -> VarId {
        if self.is_origin() || half == Half::Ingress {
            return var;
        }
        let egress = self.cut.program.control(self.cut.egress);
        let stage = arch::stage(self.cut.program, Duty::Egress);
        let position = egress.params.iter().position(|p| *p == var);
        match (position, stage) {
            (Some(position), Some(stage)) => self.sure_role_var(Duty::Ingress, stage.roles[position]),
            _ => VarId(var.0 + moved.vars),
        }
    }

    /// Copies the members of egress into ingress.
    pub fn import_egress(&mut self) -> Moved {
        let (ingress, egress) = (self.cut.ingress, self.cut.egress);
        let source = self.out.control(egress).clone();
        let target = self.out.control(ingress);
        let moved = Moved {
            vars: target.vars.len() as u32,
            actions: target.actions.len() as u32,
            tables: target.tables.len() as u32,
        };
        let var = |v: VarId| self.moved_var(Half::Egress, v, moved);
        let action = |a: ActionId| ActionId(a.0 + moved.actions);
        let table = |t: TableId| TableId(t.0 + moved.tables);
        let renumber = Renumber { var: &var, action: &action, table: &table, instance: &|i| i };
        let mut actions = source.actions;
        let mut tables = source.tables;
        let mut locals = source.locals;
        for action in &mut actions {
            renumber.block(&mut action.body);
            action.params.iter_mut().for_each(|p| p.0 += moved.vars);
        }
        tables.iter_mut().for_each(|t| renumber.in_table(t));
        locals.iter_mut().for_each(|l| renumber.stmt(l));
        for instance in &source.instances {
            self.out.instances[instance.index()].owner = Owner::Control(ingress);
        }
        let target = &mut self.out.controls[ingress.index()];
        for action in &mut actions {
            while target.actions.iter().any(|a| a.name == action.name) {
                action.name = format!("egress_{}", action.name).into();
            }
        }
        for table in &mut tables {
            while target.tables.iter().any(|t| t.name == table.name) {
                table.name = format!("egress_{}", table.name).into();
            }
        }
        target.vars.extend(source.vars);
        target.actions.extend(actions);
        target.tables.extend(tables);
        target.locals.extend(locals);
        target.instances.extend(source.instances);
        let emptied = &mut self.out.controls[egress.index()];
        emptied.actions.clear();
        emptied.tables.clear();
        emptied.instances.clear();
        moved
    }
}
