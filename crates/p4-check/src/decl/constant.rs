//! `const T x = e;` and the type rules of variables (P4-16 §11.1, §11.2).

use base_diag::{Diagnostic, Span};
use p4_syntax::ast;

use crate::codes;
use crate::cx::{Checker, Place, name};
use crate::scope::Def;
use crate::typed::walk::{Visitor, walk_expr};
use crate::typed::{Const, ConstId, Expr, ExprKind, Type, Var, VarId, VarKind};

impl Checker {
    /// A constant of any scope.
    pub(crate) fn constant(&mut self, d: &ast::ConstDecl) -> Option<ConstId> {
        let annotations = self.annotations(&d.annotations);
        let ty = self.resolve_type(&d.ty);
        let ty = if self.is_object(&ty) || ty == Type::Void {
            let what = self.program.describe_type(&ty);
            self.error(codes::BAD_DECLARATION, d.name.span, format!("a constant cannot be {what}"), "");
            Type::Error
        } else {
            ty
        };
        let mut value = self.expr_as(&d.value, &ty);
        if !value.ty.is_error() && (!self.is_known(&value) || self.needs_a_call(&value)) {
            self.report(
                Diagnostic::error(codes::NOT_CONSTANT, format!("`{}` is not constant", d.name.text))
                    .at(d.value.span, "its value is not known at compile time"),
            );
            value = Expr::error(d.value.span);
        }
        if ty.is_error() {
            value.kind = ExprKind::Error;
        }
        let id =
            self.program.consts.push(Const { name: name(&d.name), ty, value, annotations, span: d.span });
        self.bind_local(&d.name, Def::Const(id));
        Some(id)
    }

    /// True for a value that depends on a parameter of the enclosing action or function: it is known in each call
    /// only.
    fn needs_a_call(&self, value: &Expr) -> bool {
        struct Finder<'a>(&'a Checker, bool);
        impl Visitor for Finder<'_> {
            fn expr(&mut self, e: &Expr) {
                if let ExprKind::Var(id) = e.kind {
                    self.1 |= matches!(self.0.program.vars[id].kind, VarKind::Param(_));
                }
                walk_expr(self, e);
            }
        }
        let mut finder = Finder(self, false);
        finder.expr(value);
        finder.1
    }

    /// A local variable; its initializer is checked before its name is known.
    pub(crate) fn variable(&mut self, d: &ast::VarDecl) -> (VarId, Option<Expr>) {
        let annotations = self.annotations(&d.annotations);
        let ty = self.resolve_type(&d.ty);
        let ty = self.check_variable_type(ty, &d.name.text, d.name.span);
        let init = d.init.as_ref().map(|e| self.expr_as(e, &ty));
        let var = Var {
            name: name(&d.name),
            ty,
            kind: VarKind::Local,
            default: None,
            optional: false,
            annotations,
            span: d.span,
        };
        let id = self.program.vars.push(var);
        if self.hides_parameter(&d.name) {
            self.bind(&d.name, Def::Var(id));
        } else {
            self.bind_local(&d.name, Def::Var(id));
        }
        (id, init)
    }

    /// Reports a variable of an `apply` block or state that hides a parameter of its control or parser.
    fn hides_parameter(&mut self, name: &ast::Name) -> bool {
        if !matches!(self.place, Place::ControlApply | Place::ParserState) {
            return false;
        }
        let Some(binding) = self.scopes.lookup(&name.text) else { return false };
        if let Def::Var(hidden) = binding.def
            && matches!(self.program.vars[hidden].kind, VarKind::Param(_) | VarKind::ConstructorParam)
        {
            let at = binding.span;
            self.report(
                Diagnostic::error(codes::DUPLICATE, format!("`{}` hides a parameter", name.text))
                    .at(name.span, "this variable")
                    .at(at, "the parameter"),
            );
            return true;
        }
        false
    }

    /// The type if a variable can have it, else an error.
    pub(crate) fn check_variable_type(&mut self, ty: Type, name: &str, span: Span) -> Type {
        let object = self.is_object(&ty);
        let why = match self.infer.shallow(&ty) {
            _ if object => "write `(...)` after the type to create an instance",
            Type::Int => "`int` values exist at compile time only: use `const`, or give it a width",
            Type::String => "strings exist at compile time only: use `const`",
            Type::Void => "it has no values",
            Type::Array(element, _) if self.is_object(&element) => "objects cannot be stored in variables",
            _ => return ty,
        };
        let what = self.program.describe_type(&ty);
        self.error(codes::BAD_DECLARATION, span, format!("variable `{name}` cannot be {what}"), why);
        Type::Error
    }
}
