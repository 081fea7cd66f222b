//! Renumbering: code moves to a control where its variables, actions and tables have other numbers.

use crate::{
    ActionId, Block, Call, Callee, Expr, ExprKind, InstanceId, Stmt, StmtKind, SwitchOn, Table, TableId,
    VarId, visit,
};

/// The new number of everything that code may name.
pub struct Renumber<'a> {
    /// Variables of the control.
    pub var: &'a dyn Fn(VarId) -> VarId,
    /// Actions of the control.
    pub action: &'a dyn Fn(ActionId) -> ActionId,
    /// Tables of the control.
    pub table: &'a dyn Fn(TableId) -> TableId,
    /// Extern instances of the program.
    pub instance: &'a dyn Fn(InstanceId) -> InstanceId,
}

impl Renumber<'_> {
    /// In a block.
    pub fn block(&self, block: &mut Block) {
        visit::stmts_mut(block, &mut |stmt| self.one_stmt(stmt));
    }

    /// In a table.
    pub fn in_table(&self, table: &mut Table) {
        table.keys.iter_mut().for_each(|key| self.expr(&mut key.expr));
        for run in &mut table.actions {
            run.action = (self.action)(run.action);
            run.args.iter_mut().for_each(|arg| self.expr(arg));
        }
        for instance in
            [&mut table.implementation, &mut table.counters, &mut table.meters].into_iter().flatten()
        {
            *instance = (self.instance)(*instance);
        }
    }

    /// In a statement, nested ones included.
    pub fn stmt(&self, stmt: &mut Stmt) {
        self.one_stmt(stmt);
        visit::blocks_mut(stmt, &mut |block| self.block(block));
    }

    fn one_stmt(&self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Declare(var, _)
            | StmtKind::Extract { packet: var, .. }
            | StmtKind::Advance(var, _)
            | StmtKind::Emit(var, _)
            | StmtKind::ForIn { var, .. } => *var = (self.var)(*var),
            StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) => {
                *table = (self.table)(*table)
            }
            StmtKind::Call(call) => self.call(call),
            StmtKind::For { init, cond, update, .. } => {
                init.iter_mut().chain(update).for_each(|inner| self.one_stmt(inner));
                self.expr(cond);
                return;
            }
            _ => {}
        }
        visit::exprs_mut(stmt, &mut |e| self.expr(e));
    }

    /// In an expression.
    pub fn expr(&self, expr: &mut Expr) {
        visit::subexprs_mut(expr, &mut |e| match &mut e.kind {
            ExprKind::Var(var) | ExprKind::Lookahead(var) | ExprKind::PacketLength(var) => {
                *var = (self.var)(*var)
            }
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => *table = (self.table)(*table),
            ExprKind::Call(call) => self.call(call),
            _ => {}
        });
    }

    fn call(&self, call: &mut Call) {
        match &mut call.callee {
            Callee::Action(action) => *action = (self.action)(*action),
            Callee::Method(instance, _) => *instance = (self.instance)(*instance),
            Callee::ParamMethod(var, _) => *var = (self.var)(*var),
            Callee::Function(_) | Callee::Control(_) | Callee::Parser(_) | Callee::ExternFunction(_) => {}
        }
    }
}
