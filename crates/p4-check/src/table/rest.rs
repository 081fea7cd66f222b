//! `size` and the properties that architectures define (P4-16 §14.2.1.5, §14.2.1.6).

use p4_syntax::ast;

use crate::codes;
use crate::cx::{Checker, name};
use crate::typed::{Expr, Id, Property, Table, Type};

impl Checker {
    pub(crate) fn table_size(&mut self, value: &ast::Expr) -> Option<Expr> {
        let size = self.expr(value, Some(&Type::Int));
        if size.ty.is_error() {
            return None;
        }
        let number = matches!(self.numeric(&size.ty), Type::Int | Type::Bit(_) | Type::Signed(_));
        if !number || !self.is_known(&size) {
            self.error(codes::NOT_CONSTANT, value.span, "the size of a table must be a known number", "");
            return None;
        }
        Some(size)
    }

    pub(crate) fn property(&mut self, table: Id<Table>, p: &ast::TableProperty, value: &ast::Expr) {
        let annotations = self.annotations(&p.annotations);
        let value = self.expr(value, None);
        let value = (!value.ty.is_error()).then_some(value);
        let property =
            Property { name: name(&p.name), value, is_const: p.is_const, annotations, span: p.span };
        self.program.tables[table].properties.push(property);
    }
}
