//! Code put in another place, where its names stand for other things.

use crate::walk;
use ir::{
    ActionId, Callee, Const, Expr, ExprKind, Stmt, StmtKind, SwitchOn, Table, TableId, Var, VarId, VarKind,
};
use std::collections::BTreeMap;

/// Replacements of names in a piece of code that is moved; names not listed stay.
#[derive(Clone, Default)]
pub(crate) struct Substitution {
    vars: BTreeMap<VarId, Expr>,
    pub(crate) actions: BTreeMap<ActionId, ActionId>,
    pub(crate) tables: BTreeMap<TableId, TableId>,
}

impl Substitution {
    /// `var` stands for a value or place of the same type.
    pub(crate) fn set(&mut self, var: VarId, value: Expr) {
        self.vars.insert(var, value);
    }

    /// Replacement of `var`, if there is one.
    pub(crate) fn get(&self, var: VarId) -> Option<&Expr> {
        self.vars.get(&var)
    }

    /// True if `var` has a replacement.
    pub(crate) fn has(&self, var: VarId) -> bool {
        self.vars.contains_key(&var)
    }

    /// Both; `other` is said to know other variables.
    pub(crate) fn with(&self, other: &Substitution) -> Substitution {
        let mut both = self.clone();
        both.vars.extend(other.vars.iter().map(|(var, value)| (*var, value.clone())));
        both
    }

    /// Gives `var` of `from` a new variable in `to`, if it has no meaning yet.
    pub(crate) fn renew(&mut self, var: VarId, from: &[Var], to: &mut Vec<Var>) {
        if let (false, Some(old)) = (self.has(var), from.get(var.index())) {
            let span = old.span;
            let ty = old.ty.clone();
            to.push(Var { kind: VarKind::Local, ..old.clone() });
            let new = VarId::from(to.len() - 1);
            self.set(var, Expr { kind: ExprKind::Var(new), ty, span });
        }
    }

    /// Gives `var` a new variable beside it, if it has no meaning yet.
    pub(crate) fn renew_here(&mut self, var: VarId, vars: &mut Vec<Var>) {
        if let (false, Some(old)) = (self.has(var), vars.get(var.index())) {
            let (ty, span) = (old.ty.clone(), old.span);
            vars.push(Var { kind: VarKind::Local, ..old.clone() });
            let new = VarId::from(vars.len() - 1);
            self.set(var, Expr { kind: ExprKind::Var(new), ty, span });
        }
    }

    fn var(&self, var: &mut VarId) {
        if let Some(Expr { kind: ExprKind::Var(new), .. }) = self.vars.get(var) {
            *var = *new;
        }
    }

    fn table_id(&self, table: &mut TableId) {
        *table = self.tables.get(table).copied().unwrap_or(*table);
    }

    /// In statements, nested ones included.
    pub(crate) fn stmts(&self, stmts: &mut [Stmt]) {
        walk::all_stmts_mut(stmts, &mut |stmt| {
            walk::named_vars_mut(stmt, &mut |var| self.var(var));
            match &mut stmt.kind {
                StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) => {
                    self.table_id(table)
                }
                StmtKind::Call(call) => self.callee(&mut call.callee),
                _ => {}
            }
            walk::own_exprs_mut(stmt, &mut |expr| self.expr(expr));
        });
    }

    /// In an expression.
    pub(crate) fn expr(&self, expr: &mut Expr) {
        walk::subexprs_up(expr, &mut |e| match &mut e.kind {
            ExprKind::Var(var) => {
                if let Some(value) = self.vars.get(var) {
                    let span = e.span;
                    *e = value.clone();
                    e.span = span;
                }
            }
            ExprKind::Lookahead(var) | ExprKind::PacketLength(var) => self.var(var),
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => self.table_id(table),
            ExprKind::Call(call) => self.callee(&mut call.callee),
            _ => {}
        });
    }

    fn callee(&self, callee: &mut Callee) {
        match callee {
            Callee::Action(action) => *action = self.actions.get(action).copied().unwrap_or(*action),
            Callee::ParamMethod(var, method) => match self.vars.get(var).map(|value| &value.kind) {
                Some(ExprKind::Var(new)) => *var = *new,
                Some(ExprKind::Const(Const::Instance(instance))) => {
                    *callee = Callee::Method(*instance, *method)
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// In a table's keys, action list and properties.
    pub(crate) fn table(&self, table: &mut Table) {
        table.keys.iter_mut().for_each(|key| self.expr(&mut key.expr));
        for run in &mut table.actions {
            run.action = self.actions.get(&run.action).copied().unwrap_or(run.action);
            run.args.iter_mut().for_each(|arg| self.expr(arg));
        }
        table.properties.iter_mut().for_each(|(_, value)| self.expr(value));
    }
}

/// The variables that statements declare, at any depth.
pub(crate) fn declared_in(stmts: &[Stmt]) -> Vec<VarId> {
    let mut found = vec![];
    walk::all_stmts(stmts, &mut |stmt| match &stmt.kind {
        StmtKind::Declare(var, _) | StmtKind::ForIn { var, .. } => found.push(*var),
        _ => {}
    });
    found
}
