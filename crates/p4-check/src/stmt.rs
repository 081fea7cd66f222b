//! Statements (P4-16 §12).

mod flow;
mod loops;
mod state;
mod switch;

use base_diag::Span;
use p4_syntax::ast::{self, StmtKind as Ast};

use crate::codes;
use crate::cx::{Checker, Place};
use crate::typed::{BinaryOp, Block, Expr, ExprKind, Stmt, StmtKind};

impl Checker {
    /// `{ ... }`, a scope of its own.
    pub(crate) fn block(&mut self, b: &ast::Block) -> Block {
        let annotations = self.annotations(&b.annotations);
        self.scopes.enter();
        let stmts = self.stmts(&b.stmts);
        self.scopes.leave();
        Block { annotations, stmts, span: b.span }
    }

    pub(crate) fn stmts(&mut self, stmts: &[ast::Stmt]) -> Vec<Stmt> {
        stmts.iter().map(|s| self.stmt(s)).collect()
    }

    /// A statement where a block may stand.
    pub(crate) fn stmt_as_block(&mut self, s: &ast::Stmt) -> Block {
        if let Ast::Block(b) = &s.kind {
            return self.block(b);
        }
        self.scopes.enter();
        let stmt = self.stmt(s);
        self.scopes.leave();
        Block { annotations: Default::default(), stmts: vec![stmt], span: s.span }
    }

    pub(crate) fn stmt(&mut self, s: &ast::Stmt) -> Stmt {
        self.infer.clear();
        let span = s.span;
        let kind = match &s.kind {
            Ast::Empty => StmtKind::Empty,
            Ast::Block(b) => StmtKind::Block(self.block(b)),
            Ast::Assign { target, op, op_span, value } => self.assign(target, *op, *op_span, value, span),
            Ast::Call(e) => self.call_stmt(e),
            Ast::If { condition, then, otherwise } => {
                let condition = self.condition(condition, "the condition of `if`");
                let then = self.stmt_as_block(then);
                let otherwise = otherwise.as_ref().map(|s| self.stmt_as_block(s));
                StmtKind::If { condition, then, otherwise }
            }
            Ast::Return(value) => self.return_stmt(value.as_ref(), span),
            Ast::Exit => self.exit_stmt(span),
            Ast::Break => self.loop_exit(StmtKind::Break, "break", span),
            Ast::Continue => self.loop_exit(StmtKind::Continue, "continue", span),
            Ast::Switch { subject, cases } => self.switch(subject, cases, span),
            Ast::For(f) => self.for_stmt(f),
            Ast::ForIn { annotations, variable, collection, body } => {
                self.for_in(annotations, variable, collection, body)
            }
            Ast::Var(d) => {
                let (var, init) = self.variable(d);
                StmtKind::Var { var, init }
            }
            Ast::Const(d) => self.constant(d).map_or(StmtKind::Empty, StmtKind::Const),
            Ast::Instance(d) => {
                let place = match self.place {
                    Place::ParserState => "a parser state",
                    Place::Function | Place::Method => "a function",
                    Place::Action => "an action",
                    _ => "an `apply` block",
                };
                let title = format!("instance `{}` declared in {place}", d.name.text);
                self.error(
                    codes::BAD_DECLARATION,
                    d.name.span,
                    title,
                    "declare it outside, before the statements",
                );
                self.bind(&d.name, crate::scope::Def::Error);
                StmtKind::Empty
            }
        };
        Stmt { kind, span }
    }

    fn assign(
        &mut self,
        target: &ast::Expr,
        op: Option<ast::BinaryOp>,
        op_span: Span,
        value: &ast::Expr,
        span: Span,
    ) -> StmtKind {
        let target = self.lvalue(target);
        let ty = target.ty.clone();
        let Some(op) = op else {
            let value = self.expr_as(value, &ty);
            return StmtKind::Assign { target, op: None, value };
        };
        let op = crate::expr::operator(op);
        let value = self.expr(value, Some(&ty));
        let result = self.binary_of(op, op_span, target.clone(), value, span);
        let result = self.convert(result, &ty);
        match right_operand(result, op) {
            Some(value) => StmtKind::Assign { target, op: Some(op), value },
            None => StmtKind::Empty,
        }
    }

    fn call_stmt(&mut self, e: &ast::Expr) -> StmtKind {
        let checked = self.expr(e, None);
        match checked.kind {
            ExprKind::Call(call) => StmtKind::Call(*call),
            ExprKind::Error => StmtKind::Empty,
            _ if matches!(e.kind, ast::ExprKind::Call { .. })
                && !matches!(checked.kind, ExprKind::New(_)) =>
            {
                StmtKind::Empty
            }
            _ => {
                self.error(codes::BAD_STATEMENT, e.span, "this is not a statement", "its value is not used");
                StmtKind::Empty
            }
        }
    }
}

/// The right operand of a checked operation.
fn right_operand(result: Expr, op: BinaryOp) -> Option<Expr> {
    match result.kind {
        ExprKind::Binary(found, _, right) if found == op => Some(*right),
        ExprKind::Cast { operand, .. } => right_operand(*operand, op),
        _ => None,
    }
}
