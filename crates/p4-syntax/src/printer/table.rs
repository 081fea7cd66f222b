//! Tables.

use super::Printer;
use crate::ast::{ActionRef, Entry, KeyElement, TableDecl, TableProperty, TablePropertyKind};

impl Printer {
    pub(super) fn table(&mut self, table: &TableDecl) {
        self.annotations_above(&table.annotations);
        self.push("table ");
        self.name(&table.name);
        self.push(" ");
        self.lines(&table.properties, Self::property);
    }

    fn property(&mut self, property: &TableProperty) {
        self.annotations_above(&property.annotations);
        if property.is_const {
            self.push("const ");
        }
        self.name(&property.name);
        self.push(" = ");
        match &property.kind {
            TablePropertyKind::Key(elements) => self.lines(elements, Self::key_element),
            TablePropertyKind::Actions(actions) => self.lines(actions, |p, action| {
                p.action_ref(action);
                p.push(";");
            }),
            TablePropertyKind::Entries(entries) => self.lines(entries, Self::entry),
            TablePropertyKind::Value(value) => {
                self.wide_expr(value);
                self.push(";");
            }
        }
    }

    fn key_element(&mut self, element: &KeyElement) {
        self.expr(&element.value);
        self.push(": ");
        self.name(&element.match_kind);
        self.annotations_behind(&element.annotations);
        self.push(";");
    }

    fn action_ref(&mut self, action: &ActionRef) {
        self.annotations_before(&action.annotations);
        self.path(&action.path);
        if let Some(args) = &action.args {
            self.push("(");
            self.commas(args, Self::arg);
            self.push(")");
        }
    }

    fn entry(&mut self, entry: &Entry) {
        if entry.is_const {
            self.push("const ");
        }
        if let Some(priority) = &entry.priority {
            let number = matches!(priority.kind, crate::ast::ExprKind::Int(_));
            self.push(if number { "priority = " } else { "priority = (" });
            self.expr(priority);
            self.push(if number { ": " } else { "): " });
        }
        self.keyset(&entry.keyset);
        self.push(": ");
        self.action_ref(&entry.action);
        self.annotations_behind(&entry.annotations);
        self.push(";");
    }
}
