//! `return`, `exit`, `break`, `continue` (P4-16 §12.4, §12.5, §12.8).

use base_diag::Span;
use p4_syntax::ast;

use crate::codes;
use crate::cx::{Checker, Place};
use crate::typed::{StmtKind, Type};

impl Checker {
    pub(crate) fn return_stmt(&mut self, value: Option<&ast::Expr>, span: Span) -> StmtKind {
        if self.place == Place::ParserState {
            self.error(codes::BAD_STATEMENT, span, "`return` in a parser", "a state ends with `transition`");
            return StmtKind::Empty;
        }
        match (self.returns.clone(), value) {
            (None | Some(Type::Void), Some(value)) => {
                self.expr(value, None);
                self.error(
                    codes::BAD_STATEMENT,
                    value.span,
                    "`return` with a value",
                    "nothing is returned here",
                );
                StmtKind::Return(None)
            }
            (None | Some(Type::Void), None) => StmtKind::Return(None),
            (Some(ty), Some(value)) => StmtKind::Return(Some(self.expr_as(value, &ty))),
            (Some(ty), None) => {
                if !ty.is_error() {
                    let shown = self.show(&ty);
                    let label = format!("a `{shown}` is to be returned");
                    self.error(codes::BAD_STATEMENT, span, "`return` without a value", label);
                }
                StmtKind::Empty
            }
        }
    }

    pub(crate) fn exit_stmt(&mut self, span: Span) -> StmtKind {
        match self.place {
            Place::ParserState => {
                self.error(codes::BAD_STATEMENT, span, "`exit` in a parser", "use `transition reject`");
                StmtKind::Empty
            }
            Place::Function | Place::Method => {
                self.error(codes::BAD_STATEMENT, span, "`exit` in a function", "use `return`");
                StmtKind::Empty
            }
            _ => StmtKind::Exit,
        }
    }

    pub(crate) fn loop_exit(&mut self, kind: StmtKind, word: &str, span: Span) -> StmtKind {
        if self.loops == 0 {
            self.error(codes::BAD_STATEMENT, span, format!("`{word}` outside a loop"), "");
            return StmtKind::Empty;
        }
        kind
    }
}
