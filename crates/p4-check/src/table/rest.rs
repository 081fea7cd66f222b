//! `size` and the properties that architectures define (P4-16 §14.2.1.5, §14.2.1.6).

use p4_syntax::ast;

use crate::codes;
use crate::cx::{Checker, name};
use crate::scope::Def;
use crate::typed::{Expr, Property, TableId, Type};

impl Checker {
    pub(crate) fn table_size(&mut self, value: &ast::Expr) -> Option<Expr> {
        let size = self.expr(value, Some(&Type::Int));
        if size.ty.is_error() {
            return None;
        }
        let number = matches!(self.numeric(&size.ty), Type::Int | Type::Bit(_) | Type::Signed(_));
        if !number || !self.is_known(&size) {
            self.error(codes::NOT_CONSTANT, value.span, "the size of a table must be a constant", "");
            return None;
        }
        Some(size)
    }

    pub(crate) fn property(&mut self, table: TableId, p: &ast::TableProperty, value: &ast::Expr) {
        let annotations = self.annotations(&p.annotations);
        let mut property = Property {
            name: name(&p.name),
            value: None,
            action: None,
            is_const: p.is_const,
            annotations,
            span: p.span,
        };
        match self.named_action(value) {
            Some((path, args)) => property.action = self.action_call(table, path, args, value.span),
            None => {
                let value = self.expr(value, None);
                property.value = (!value.ty.is_error()).then_some(value);
            }
        }
        self.program.tables[table].properties.push(property);
    }

    /// The action that a property names, with its arguments.
    fn named_action<'a>(&self, value: &'a ast::Expr) -> Option<(&'a ast::Path, Option<&'a [ast::Arg]>)> {
        let (path, args) = match &value.kind {
            ast::ExprKind::Path(path) => (path, None),
            ast::ExprKind::Call { callee, type_args, args } if type_args.is_empty() => match &callee.kind {
                ast::ExprKind::Path(path) => (path, Some(&args[..])),
                _ => return None,
            },
            _ => return None,
        };
        let name = &path.name.text;
        let found = if path.absolute { self.scopes.lookup_global(name) } else { self.scopes.lookup(name) };
        matches!(found?.def, Def::Action(_)).then_some((path, args))
    }
}
