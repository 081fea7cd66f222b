//! `for` loops (working draft §12.9).

use std::sync::Arc;

use p4_syntax::ast::{self, ForInit, KeysetElementKind};

use crate::codes;
use crate::cx::Checker;
use crate::typed::{Expr, ExprKind, Stmt, StmtKind, Type, VarKind};

impl Checker {
    pub(crate) fn for_stmt(&mut self, f: &ast::ForStmt) -> StmtKind {
        let annotations = self.annotations(&f.annotations);
        self.scopes.enter();
        let init = f
            .init
            .iter()
            .map(|i| match i {
                ForInit::Var(d) => {
                    let (var, init) = self.variable(d);
                    Stmt { kind: StmtKind::Var { var, init }, span: d.span }
                }
                ForInit::Stmt(s) => self.stmt(s),
            })
            .collect();
        let condition = self.condition(&f.condition, "the condition of `for`");
        let update = self.stmts(&f.update);
        self.loops += 1;
        let body = self.stmt_as_block(&f.body);
        self.loops -= 1;
        self.scopes.leave();
        StmtKind::For { annotations, init, condition, update, body }
    }

    pub(crate) fn for_in(
        &mut self,
        annotations: &[ast::Annotation],
        variable: &ast::VarDecl,
        collection: &ast::KeysetElement,
        body: &ast::Stmt,
    ) -> StmtKind {
        let annotations = self.annotations(annotations);
        self.scopes.enter();
        let (var, _) = self.variable(variable);
        self.program.vars[var].kind = VarKind::Loop;
        let element = self.program.vars[var].ty.clone();
        let over = self.collection(collection, &element);
        self.loops += 1;
        let body = self.stmt_as_block(body);
        self.loops -= 1;
        self.scopes.leave();
        StmtKind::ForIn { annotations, var, over, body }
    }

    /// The collection of a loop: a range, a list, an array.
    fn collection(&mut self, collection: &ast::KeysetElement, element: &Type) -> Expr {
        let span = collection.span;
        match &collection.kind {
            KeysetElementKind::Range(lo, hi) => {
                let (lo, hi) = (self.expr_as(lo, element), self.expr_as(hi, element));
                if lo.ty.is_error() || hi.ty.is_error() {
                    return Expr::error(span);
                }
                let ty = Type::Set(Arc::new(element.clone()));
                Expr { kind: ExprKind::Range(Box::new(lo), Box::new(hi)), ty, span }
            }
            KeysetElementKind::Value(e) => {
                let list = Type::List(Arc::new(element.clone()));
                let over = self.expr(e, Some(&list));
                let of = match self.infer.shallow(&over.ty) {
                    Type::Error => return over,
                    Type::List(of) | Type::Array(of, _) => (*of).clone(),
                    _ => {
                        let shown = self.show(&over.ty);
                        let label = format!("this is `{shown}`");
                        self.error(
                            codes::MISMATCH,
                            span,
                            "a loop runs over a list, an array or a range",
                            label,
                        );
                        return Expr::error(span);
                    }
                };
                if !self.unify(&of, element) {
                    let (found, wanted) = (self.show(&of), self.show(element));
                    let title = format!("expected elements of `{wanted}`, found `{found}`");
                    self.error(codes::MISMATCH, span, title, "");
                    return Expr::error(span);
                }
                over
            }
            _ => {
                self.error(codes::BAD_STATEMENT, span, "a loop runs over a list, an array or a range", "");
                Expr::error(span)
            }
        }
    }
}
