//! Tables (P4-16 §14.2): properties in order, each kind in a file of its own.

mod actions;
mod entries;
mod key_name;
mod keys;
mod rest;

use base_diag::{Diagnostic, Span};
use p4_syntax::ast::{self, TablePropertyKind};

use crate::codes;
use crate::cx::{Checker, Place, name};
use crate::scope::Def;
use crate::typed::{ActionCall, DefaultAction, Table, TableId};

impl Checker {
    pub(crate) fn table(&mut self, d: &ast::TableDecl) -> Option<TableId> {
        let control = self.control?;
        let annotations = self.annotations(&d.annotations);
        let none = ActionCall { action: 0, args: vec![], span: Span::NONE };
        let id = self.program.tables.push(Table {
            name: name(&d.name),
            control,
            keys: vec![],
            actions: vec![],
            default_action: DefaultAction { call: none, is_const: false, written: false },
            entries: None,
            size: None,
            properties: vec![],
            annotations,
            span: d.span,
        });
        self.bind_local(&d.name, Def::Table(id));
        self.table = Some(id);
        let before = self.diags.error_count();
        let sound = self.check_properties_once(d);
        for p in &d.properties {
            if let TablePropertyKind::Key(keys) = &p.kind {
                self.place = Place::TableKey;
                let keys = keys.iter().filter_map(|k| self.table_key(k)).collect();
                self.program.tables[id].keys = keys;
            }
        }
        self.place = Place::TableProperty;
        let mut actions = None;
        for p in &d.properties {
            if let TablePropertyKind::Actions(list) = &p.kind {
                self.table_actions(id, list);
                actions = Some(p.span);
            }
        }
        if !sound {
            // Which of the properties counts is not known.
        } else if actions.is_none() {
            let title = format!("table `{}` has no actions", d.name.text);
            self.error(codes::BAD_TABLE, d.name.span, title, "add `actions = { ... }`");
        } else {
            self.other_properties(id, d, before);
        }
        self.table = None;
        self.place = Place::ControlLocals;
        Some(id)
    }

    /// Each property stands once.
    fn check_properties_once(&mut self, d: &ast::TableDecl) -> bool {
        let mut sound = true;
        for (i, p) in d.properties.iter().enumerate() {
            if let Some(before) = d.properties[..i].iter().find(|q| q.name.text == p.name.text) {
                let before = before.name.span;
                self.duplicate(&p.name.text, p.name.span, before);
                sound = false;
            }
        }
        sound
    }

    fn other_properties(&mut self, id: TableId, d: &ast::TableDecl, before: usize) {
        let mut default = false;
        let mut actions_seen = false;
        for p in &d.properties {
            actions_seen |= matches!(p.kind, TablePropertyKind::Actions(_));
            self.infer.clear();
            match &p.kind {
                TablePropertyKind::Key(_) | TablePropertyKind::Actions(_) => {}
                TablePropertyKind::Entries(entries) => self.table_entries(id, d, p, entries),
                TablePropertyKind::Value(value) if p.name.text == "default_action" => {
                    default = true;
                    if !actions_seen {
                        let title = "`default_action` precedes `actions`";
                        self.report(
                            Diagnostic::error(codes::BAD_TABLE, title)
                                .at(d.name.span, "")
                                .at(p.name.span, "it must come after the list"),
                        );
                        continue;
                    }
                    self.default_action(id, p, value);
                }
                TablePropertyKind::Value(value) if p.name.text == "size" => {
                    let size = self.table_size(value);
                    self.program.tables[id].size = size;
                }
                TablePropertyKind::Value(value) => self.property(id, p, value),
            }
        }
        // After another error of the table, one about its default action would not help.
        if !default && self.diags.error_count() == before {
            self.implicit_default(id);
        }
    }
}
