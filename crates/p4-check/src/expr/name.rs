//! Names as values: `x`, `.x` (P4-16 §6.8).

use base_diag::{Diagnostic, Span};
use p4_syntax::ast;

use crate::codes;
use crate::cx::Checker;
use crate::scope::Def;
use crate::typed::{Expr, ExprKind, Type};

impl Checker {
    pub(crate) fn path(&mut self, path: &ast::Path, span: Span) -> Expr {
        let def = self.lookup(path, "name", |d| !d.is_type());
        let (kind, ty) = match def {
            Def::Error => return Expr::error(span),
            Def::Var(id) => (ExprKind::Var(id), self.program.vars[id].ty.clone()),
            Def::Const(id) => {
                let constant = &self.program.consts[id];
                match constant.value.kind {
                    ExprKind::Error => return Expr::error(span),
                    ref literal if is_literal(literal) => (literal.clone(), constant.ty.clone()),
                    _ => (ExprKind::Const(id), constant.ty.clone()),
                }
            }
            Def::Instance(id) => (ExprKind::Instance(id), self.program.instances[id].ty.clone()),
            Def::ValueSet(id) => {
                (ExprKind::ValueSet(id), Type::Set(self.program.value_sets[id].element.clone().into()))
            }
            Def::EnumMember(id, member) => (ExprKind::EnumMember(id, member), Type::Enum(id)),
            Def::MatchKind(id) => (ExprKind::MatchKind(id), Type::MatchKind),
            other => {
                let label = match &other {
                    Def::Functions(_) | Def::Action(_) => "write `(...)` after it to call it".to_string(),
                    Def::Table(_) => "use `.apply()`".to_string(),
                    _ => "expected a value here".to_string(),
                };
                self.report(
                    Diagnostic::error(
                        codes::NOT_A_VALUE,
                        format!("{} `{}` is not a value", other.noun(), path.name.text),
                    )
                    .at(span, label),
                );
                return Expr::error(span);
            }
        };
        if ty.is_error() {
            return Expr::error(span);
        }
        self.known(kind, ty, span)
    }
}

/// True for a value without parts that needs no evaluation.
pub(crate) fn is_literal(kind: &ExprKind) -> bool {
    matches!(
        kind,
        ExprKind::Int(_)
            | ExprKind::Bool(_)
            | ExprKind::String(_)
            | ExprKind::EnumMember(..)
            | ExprKind::ErrorMember(_)
            | ExprKind::MatchKind(_)
    )
}
