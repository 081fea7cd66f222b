//! Tables.

use super::block::match_kind;
use super::decl::annotations;
use super::{Names, Writer};
use crate::text::names::{plain, quoted};
use crate::{Entry, Expr, InstanceId, Keyset, Table};

impl Writer<'_> {
    pub(super) fn table(&mut self, table: &Table) {
        let notes = annotations(&table.annotations);
        let head = format!("{notes}table {} {}", plain(&table.name), quoted(&table.control_plane_name));
        let actions = self.action_list(table);
        self.braces(&head, "", |w| {
            w.keys(table);
            w.braces("actions", "", |w| {
                for action in &table.actions {
                    let name = w.scope.actions.plain(action.action.index());
                    let args = w.args(&action.args);
                    w.line(&format!("{}{name}({args});", annotations(&action.annotations)));
                }
            });
            let default = &table.default_action;
            let is_const = if default.is_const { "const " } else { "" };
            let name = actions.plain(default.action as usize);
            w.line(&format!("default {is_const}{name}({});", w.args(&default.args)));
            w.entries(table, &actions);
            w.properties(table);
        });
    }

    /// The names of a table's action list.
    pub(super) fn action_list(&self, table: &Table) -> Names {
        let mut names = Names::default();
        for action in &table.actions {
            // A dangling reference still takes its place in the list.
            names.push(self.scope.actions.name(action.action.index()).cloned().unwrap_or("?".into()));
        }
        names
    }

    fn keys(&mut self, table: &Table) {
        if table.keys.is_empty() {
            return;
        }
        self.braces("key", "", |w| {
            for key in &table.keys {
                let (expr, kind) = (w.expr(&key.expr, 0), match_kind(&key.match_kind));
                let notes = annotations(&key.annotations);
                w.line(&format!("{notes}{expr}: {kind} {};", quoted(&key.name)));
            }
        });
    }

    fn entries(&mut self, table: &Table, actions: &Names) {
        if table.entries.is_empty() && !table.const_entries {
            return;
        }
        let head = if table.const_entries { "const entries" } else { "entries" };
        self.braces(head, "", |w| table.entries.iter().for_each(|entry| w.entry(entry, actions)));
    }

    fn entry(&mut self, entry: &Entry, actions: &Names) {
        let is_const = if entry.is_const { "const " } else { "" };
        let priority = entry.priority.map_or(String::new(), |p| format!(" priority {p}"));
        let action = actions.plain(entry.action as usize);
        self.line(&format!(
            "{}{is_const}({}){priority} -> {action}({});",
            annotations(&entry.annotations),
            self.keysets(&entry.keys),
            self.args(&entry.args),
        ));
    }

    fn properties(&mut self, table: &Table) {
        if !table.largest_priority_wins {
            self.line("smallest_priority_wins;");
        }
        if let Some(size) = table.size {
            self.line(&format!("size {size};"));
        }
        self.property_instance("implementation", table.implementation);
        self.property_instance("counters", table.counters);
        self.property_instance("meters", table.meters);
        for (name, value) in &table.properties {
            self.line(&format!("property {} = {};", plain(name), self.expr(value, 0)));
        }
    }

    fn property_instance(&mut self, name: &str, instance: Option<InstanceId>) {
        if let Some(id) = instance {
            self.line(&format!("{name} {};", self.instances.plain(id.index())));
        }
    }

    pub(super) fn args(&self, args: &[Expr]) -> String {
        args.iter().map(|arg| self.expr(arg, 0)).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn keysets(&self, keysets: &[Keyset]) -> String {
        keysets.iter().map(|keyset| self.keyset(keyset)).collect::<Vec<_>>().join(", ")
    }

    fn keyset(&self, keyset: &Keyset) -> String {
        match keyset {
            Keyset::DontCare => "_".to_string(),
            Keyset::Value(value) => self.expr(value, 0),
            Keyset::Mask(value, mask) => format!("{} &&& {}", self.expr(value, 0), self.expr(mask, 0)),
            Keyset::Range(low, high) => format!("{} .. {}", self.expr(low, 0), self.expr(high, 0)),
            Keyset::ValueSet(id) => format!("set {}", self.scope.value_sets.plain(id.index())),
        }
    }
}
