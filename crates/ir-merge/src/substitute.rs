//! Code of a block in another one: variables get other numbers, parameters become their arguments.

use ir::{Block, Callee, Expr, ExprKind, Stmt, StmtKind, Transition, VarId, visit};

/// Expressions and numbers of the new block for those of the old one.
pub struct Substitution {
    /// By old number.
    pub vars: Vec<Expr>,
    /// Added to the numbers of value sets.
    pub value_sets: u32,
}

impl Substitution {
    fn var(&self, var: VarId) -> VarId {
        match self.vars.get(var.index()).map(|e| &e.kind) {
            Some(ExprKind::Var(new)) => *new,
            _ => var,
        }
    }

    /// In an expression.
    pub fn expr(&self, expr: &mut Expr) {
        if let ExprKind::Var(var) = expr.kind
            && let Some(new) = self.vars.get(var.index())
        {
            *expr = new.clone().at(expr.span);
            return;
        }
        match &mut expr.kind {
            ExprKind::Lookahead(var) | ExprKind::PacketLength(var) => *var = self.var(*var),
            ExprKind::Call(call) => self.callee(&mut call.callee),
            _ => {}
        }
        visit::parts_mut(expr, &mut |part| self.expr(part));
    }

    fn callee(&self, callee: &mut Callee) {
        if let Callee::ParamMethod(var, _) = callee {
            *var = self.var(*var);
        }
    }

    /// In statements, nested ones included.
    pub fn stmts(&self, stmts: &mut [Stmt]) {
        stmts.iter_mut().for_each(|stmt| self.stmt(stmt));
    }

    /// In a block.
    pub fn block(&self, block: &mut Block) {
        self.stmts(&mut block.stmts);
    }

    fn stmt(&self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Declare(var, _)
            | StmtKind::Extract { packet: var, .. }
            | StmtKind::Advance(var, _)
            | StmtKind::Emit(var, _)
            | StmtKind::ForIn { var, .. } => *var = self.var(*var),
            StmtKind::Call(call) => self.callee(&mut call.callee),
            StmtKind::For { init, cond, update, body } => {
                self.stmts(init);
                self.expr(cond);
                self.stmts(update);
                self.block(body);
                return;
            }
            _ => {}
        }
        visit::exprs_mut(stmt, &mut |e| self.expr(e));
        visit::blocks_mut(stmt, &mut |block| self.block(block));
    }

    /// In a transition.
    pub fn transition(&self, transition: &mut Transition) {
        if let Transition::Select(select) = transition {
            select.exprs.iter_mut().for_each(|e| self.expr(e));
            for key in select.cases.iter_mut().flat_map(|case| &mut case.keys) {
                match key {
                    ir::Keyset::Value(a) => self.expr(a),
                    ir::Keyset::Mask(a, b) | ir::Keyset::Range(a, b) => {
                        self.expr(a);
                        self.expr(b);
                    }
                    ir::Keyset::ValueSet(id) => id.0 += self.value_sets,
                    ir::Keyset::DontCare => {}
                }
            }
        }
    }
}
