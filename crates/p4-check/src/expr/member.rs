//! `base.name`: fields, enum members, errors, stack properties, results of `apply` (P4-16 §8.3, §8.16 to §8.19).

use base_diag::{Diagnostic, Span};
use p4_syntax::ast;

use super::name::is_literal;
use crate::codes;
use crate::cx::{Checker, Owner, Place};
use crate::scope::Def;
use crate::typed::{ConstantId, Expr, ExprKind, Type};

impl Checker {
    pub(crate) fn member(&mut self, base: &ast::Expr, name: &ast::Name, span: Span) -> Expr {
        if let Some(ty) = self.as_type(base) {
            return self.member_of_type(&ty, name, span);
        }
        let base = self.expr(base, None);
        self.member_of(base, name, span)
    }

    /// The type that a name or type expression stands for; `None` if it is a value.
    pub(crate) fn as_type(&mut self, base: &ast::Expr) -> Option<Type> {
        match &base.kind {
            ast::ExprKind::Type(ty) => Some(self.resolve_type(ty)),
            ast::ExprKind::Path(path) => {
                let name = &path.name.text;
                let found =
                    if path.absolute { self.scopes.lookup_global(name) } else { self.scopes.lookup(name) };
                let is_type = found.is_some_and(|b| b.def.is_type());
                is_type.then(|| {
                    let ty = ast::Type { kind: ast::TypeKind::Named(path.clone()), span: base.span };
                    self.resolve_open_type(&ty)
                })
            }
            _ => None,
        }
    }

    fn member_of_type(&mut self, ty: &Type, name: &ast::Name, span: Span) -> Expr {
        let ty = self.infer.shallow(ty);
        let found = |owner| self.members.get(&(owner, name.text.clone())).copied();
        let kind = match &ty {
            Type::Error => return Expr::error(span),
            Type::Enum(id) => found(Owner::Enum(*id)).map(|i| ExprKind::EnumMember(*id, i)),
            Type::ErrorCode => {
                found(Owner::Error).map(|i| ExprKind::ErrorMember(ConstantId::from(i as usize)))
            }
            _ => None,
        };
        if let Some(kind) = kind {
            return Expr { kind, ty, span };
        }
        if name.text.is_empty() || ty == Type::ErrorCode && self.unread.contains(&name.text) {
            return Expr::error(span);
        }
        let members: Vec<&str> = match &ty {
            Type::Enum(id) => self.program.enums[*id].members.iter().map(|m| m.name.text.as_str()).collect(),
            Type::ErrorCode => self.program.errors.iter().map(|(_, e)| e.name.text.as_str()).collect(),
            _ => vec![],
        };
        let what = self.program.describe_type(&ty);
        let diagnostic =
            Diagnostic::error(codes::UNKNOWN_MEMBER, format!("{what} has no member `{}`", name.text))
                .at(name.span, "")
                .suggest(&name.text, members);
        self.report(diagnostic);
        Expr::error(span)
    }

    /// A member of a value.
    pub(crate) fn member_of(&mut self, base: Expr, name: &ast::Name, span: Span) -> Expr {
        let ty = self.infer.shallow(&base.ty);
        match &ty {
            Type::Error => Expr::error(span),
            Type::Struct(id, args) => match self.field_index(*id, &name.text) {
                Some(index) => {
                    let field_type = self.field_type(*id, args, index);
                    let kind = ExprKind::Field {
                        base: Box::new(base),
                        index: index as u32,
                        name: name.text.clone(),
                    };
                    if field_type.is_error() {
                        return Expr::error(span);
                    }
                    self.simplify_known(Expr { kind, ty: field_type, span })
                }
                None => {
                    self.unknown_field(*id, &ty, name);
                    Expr::error(span)
                }
            },
            Type::Array(element, size) => {
                let element = (**element).clone();
                self.member_of_array(base, &element, *size, name, span)
            }
            Type::ApplyResult(table) => {
                let table = *table;
                let (kind, ty) = match name.text.as_str() {
                    "hit" => (ExprKind::Hit(table), Type::Bool),
                    "miss" => (ExprKind::Miss(table), Type::Bool),
                    "action_run" => (ExprKind::ActionRun(table), Type::ActionRun(table)),
                    _ => {
                        self.no_member("the result of `apply`", name, &["hit", "miss", "action_run"]);
                        return Expr::error(span);
                    }
                };
                Expr { kind, ty, span }
            }
            _ => {
                let what = self.program.describe_type(&ty);
                self.no_member(&what, name, &[]);
                Expr::error(span)
            }
        }
    }

    pub(crate) fn no_member(&mut self, what: &str, name: &ast::Name, members: &[&str]) {
        if name.text.is_empty() {
            return;
        }
        let diagnostic =
            Diagnostic::error(codes::UNKNOWN_MEMBER, format!("{what} has no member `{}`", name.text))
                .at(name.span, "")
                .suggest(&name.text, members.iter().copied());
        self.report(diagnostic);
    }

    fn member_of_array(
        &mut self,
        base: Expr,
        element: &Type,
        size: u32,
        name: &ast::Name,
        span: Span,
    ) -> Expr {
        let is_stack = self.is_stack(&base.ty);
        let parsing = matches!(self.place, Place::ParserState | Place::ParserLocals);
        let kind: (ExprKind, Type) = match name.text.as_str() {
            "size" => (ExprKind::Int(size.into()), Type::Bit(32)),
            "next" if is_stack => (ExprKind::StackNext(Box::new(base)), element.clone()),
            "last" if is_stack => (ExprKind::StackLast(Box::new(base)), element.clone()),
            "lastIndex" if is_stack => (ExprKind::StackLastIndex(Box::new(base)), Type::Bit(32)),
            _ => {
                let what = if is_stack { "a header stack" } else { "an array" };
                let members: &[&str] =
                    if is_stack { &["size", "next", "last", "lastIndex"] } else { &["size"] };
                self.no_member(what, name, members);
                return Expr::error(span);
            }
        };
        if !parsing && !matches!(kind.0, ExprKind::Int(_)) {
            self.report(
                Diagnostic::error(codes::CALL_PLACE, format!("`{}` outside a parser", name.text))
                    .at(span, "only parsers count how many headers they have extracted"),
            );
            return Expr::error(span);
        }
        Expr { kind: kind.0, ty: kind.1, span }
    }

    /// The literal that a part of a constant is; other expressions stay as they are.
    pub(crate) fn simplify_known(&self, expr: Expr) -> Expr {
        match self.known_value(&expr) {
            Some(value) if is_literal(&value.kind) => {
                Expr { kind: value.kind.clone(), ty: expr.ty.clone(), span: expr.span }
            }
            _ => expr,
        }
    }

    /// The value of an expression made of constants and their parts.
    pub(crate) fn known_value<'a>(&'a self, expr: &'a Expr) -> Option<&'a Expr> {
        match &expr.kind {
            ExprKind::Const(id) => self.known_value(&self.program.consts[*id].value),
            ExprKind::Field { base, index, .. } => match &self.known_value(base)?.kind {
                ExprKind::Struct(fields) => {
                    let field = fields.iter().find(|f| f.index == *index)?;
                    self.known_value(&field.value)
                }
                _ => None,
            },
            ExprKind::TupleIndex { base, index } => match &self.known_value(base)?.kind {
                ExprKind::Tuple(items) => self.known_value(items.get(*index as usize)?),
                _ => None,
            },
            ExprKind::Index { base, index } => match &self.known_value(base)?.kind {
                ExprKind::Array(items) | ExprKind::List(items) => {
                    let index = usize::try_from(self.int_value(index)?).ok()?;
                    self.known_value(items.get(index)?)
                }
                _ => None,
            },
            ExprKind::Struct(_) | ExprKind::Tuple(_) | ExprKind::Array(_) | ExprKind::List(_) => Some(expr),
            kind if is_literal(kind) => Some(expr),
            _ => None,
        }
    }

    /// The meaning of an expression that is a simple name.
    pub(crate) fn def_of(&self, e: &ast::Expr) -> Option<Def> {
        let ast::ExprKind::Path(path) = &e.kind else { return None };
        let name = &path.name.text;
        let found = if path.absolute { self.scopes.lookup_global(name) } else { self.scopes.lookup(name) };
        found.map(|b| b.def.clone())
    }
}
