//! Tables.

use crate::annotation::{annotation, inline, named};
use crate::print::Printer;
use ir::{Annotation, Entry, Expr, ExprKind, InstanceId, Table, TableKey, Type};

impl<'p> Printer<'p> {
    pub(crate) fn table(&mut self, index: usize) {
        let Some(table) = self.local.tables.get(index) else { return };
        let name = self.local.table_names[index].clone();
        let notes = named(&table.annotations, &self.local.prefix, &name, &table.control_plane_name);
        notes.iter().for_each(|a| self.line(&annotation(a)));
        self.braces(&format!("table {name}"), "", |p| {
            p.keys(table);
            p.action_list(table);
            let default = &table.default_action;
            let is_const = if default.is_const { "const " } else { "" };
            let action = p.action_call(table, default.action, &default.args);
            p.line(&format!("{is_const}default_action = {action};"));
            p.entries(table);
            p.properties(table);
        });
    }

    fn keys(&mut self, table: &Table) {
        if table.keys.is_empty() {
            return;
        }
        self.braces("key =", "", |p| table.keys.iter().for_each(|key| p.key(key)));
    }

    fn key(&mut self, key: &TableKey) {
        let text = self.free(&key.expr);
        let mut notes = key.annotations.clone();
        let written = notes.iter().find(|a| a.name == "name").and_then(|a| a.as_str());
        let given = match (written, source_name(&key.expr)) {
            (Some(name), _) => name == key.name,
            (None, true) => path_name(&text) == key.name,
            (None, false) => false,
        };
        if !given {
            notes.retain(|a| a.name != "name");
            notes.insert(0, Annotation::string("name", &key.name));
        }
        let kind = key.match_kind.name();
        let line = format!("{text}: {kind} {}", inline(&notes));
        self.line(&format!("{};", line.trim_end()));
    }

    fn action_list(&mut self, table: &Table) {
        self.braces("actions =", "", |p| {
            for action in &table.actions {
                let name = p.action_name(action.action.index());
                let args = match action.args.as_slice() {
                    [] => String::new(),
                    args => format!("({})", p.arguments(args)),
                };
                p.line(&format!("{}{name}{args};", inline(&action.annotations)));
            }
        });
    }

    fn action_name(&self, index: usize) -> String {
        self.local.actions.get(index).cloned().unwrap_or_else(|| "?".to_string())
    }

    fn arguments(&self, args: &[Expr]) -> String {
        args.iter().map(|arg| self.value(arg)).collect::<Vec<_>>().join(", ")
    }

    /// An action as an entry or a default names it: the arguments in the action list are repeated
    /// (P4-16 §14.2.1.3).
    fn action_call(&self, table: &Table, action: u32, data: &[Expr]) -> String {
        let Some(listed) = table.actions.get(action as usize) else { return "?".to_string() };
        let args: Vec<Expr> = listed.args.iter().chain(data).cloned().collect();
        format!("{}({})", self.action_name(listed.action.index()), self.arguments(&args))
    }

    fn entries(&mut self, table: &Table) {
        if table.entries.is_empty() && !table.const_entries {
            return;
        }
        let head = if table.const_entries { "const entries =" } else { "entries =" };
        let types: Vec<&Type> = table.keys.iter().map(|key| &key.expr.ty).collect();
        let in_order = priorities_follow_order(table);
        self.braces(head, "", |p| {
            for entry in &table.entries {
                p.entry(table, entry, &types, in_order);
            }
        });
    }

    fn entry(&mut self, table: &Table, entry: &Entry, types: &[&Type], in_order: bool) {
        let is_const = if entry.is_const && !table.const_entries { "const " } else { "" };
        let priority = match entry.priority {
            Some(priority) if !in_order => format!("priority = {priority}: "),
            _ => String::new(),
        };
        let keys = self.keysets(&entry.keys, types);
        let action = self.action_call(table, entry.action, &entry.args);
        let notes = inline(&entry.annotations);
        let text = format!("{is_const}{priority}{keys}: {action} {notes}");
        self.line(&format!("{};", text.trim_end()));
    }

    fn properties(&mut self, table: &Table) {
        if !table.largest_priority_wins {
            self.line("largest_priority_wins = false;");
        }
        if let Some(size) = table.size {
            self.line(&format!("size = {size};"));
        }
        for (property, id) in self.globals.object_properties(table) {
            self.object_property(table, property, id);
        }
        for (name, value) in &table.properties {
            let value = self.free(value);
            self.line(&format!("{name} = {value};"));
        }
    }

    fn object_property(&mut self, table: &Table, property: &str, id: InstanceId) {
        let instance = self.program.instances.get(id.index());
        match instance.filter(|_| self.local.inline.contains(&id)) {
            Some(instance) => {
                // A name that is written is the whole name here.
                let is_named = instance.annotations.iter().any(|a| a.name == "name");
                let prefix = if is_named { "" } else { table.control_plane_name.as_str() };
                let notes = named(&instance.annotations, prefix, property, &instance.control_plane_name);
                let construction = self.construction(instance);
                self.line(&format!("{}{property} = {construction};", inline(&notes)));
            }
            None => {
                let name = self.instance_name(id);
                self.line(&format!("{property} = {name};"));
            }
        }
    }
}

/// True if front ends take the key's name from its text: a path, a slice of one, a header's validity.
fn source_name(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Var(_) => true,
        ExprKind::Field(base, _) => !matches!(base.ty, Type::Tuple(_)) && source_name(base),
        ExprKind::Index(base, index) => {
            (matches!(index.kind, ExprKind::Const(_)) || source_name(index)) && source_name(base)
        }
        ExprKind::IsValid(header) => source_name(header),
        ExprKind::Slice { base, .. } => source_name(base),
        _ => false,
    }
}

/// The control-plane name that such a text gives.
fn path_name(text: &str) -> String {
    match text.strip_suffix(".isValid()") {
        Some(header) => format!("{header}.$valid$"),
        None => text.to_string(),
    }
}

/// True if the priorities are those that entries without any have: the first one ranks highest.
fn priorities_follow_order(table: &Table) -> bool {
    let count = table.entries.len() as u64;
    table.entries.iter().zip(0u64..).all(|(entry, index)| {
        let ranked = if table.largest_priority_wins { count - index } else { index + 1 };
        entry.priority.is_none_or(|priority| u64::from(priority) == ranked)
    })
}
