//! What registers and counters hold at the end.

use ir::Program;
use ir_interp::{Cells, Switch};
use serde_json::{Value, json};
use std::fmt::Write;

/// A state object; cells that are as at the start are left out.
pub struct Object {
    name: String,
    kind: &'static str,
    size: u64,
    /// Of direct counters: the table.
    table: Option<String>,
    cells: Vec<(u64, Value, String)>,
}

/// All of a device.
pub fn objects(_program: &Program, switch: &Switch) -> Vec<Object> {
    let count = |(at, c): &(u64, ir_interp::Count)| {
        let value = json!({ "packets": c.packets, "bytes": c.bytes });
        (*at, value, format!("{} packets, {} bytes", c.packets, c.bytes))
    };
    let object = |view: ir_interp::ObjectView| {
        let (kind, table, cells) = match &view.cells {
            Cells::Register(cells) => {
                let cells = cells.iter().map(|(at, v)| (*at, Value::from(v.text.as_str()), v.text.clone()));
                ("register", None, cells.collect())
            }
            Cells::Counter(cells) => ("counter", None, cells.iter().map(count).collect()),
            Cells::DirectCounter(table, cells) => {
                ("direct counter", Some(table.to_string()), cells.iter().map(count).collect())
            }
        };
        Object { name: view.name.to_string(), kind, size: view.size, table, cells }
    };
    switch.objects().into_iter().map(object).collect()
}

/// For people.
pub fn text(objects: &[Object]) -> String {
    let mut out = String::new();
    for object in objects {
        let of = object.table.as_ref().map_or(String::new(), |table| format!(" of {table}"));
        let unit = if object.table.is_some() { "entries" } else { "cells" };
        let _ = writeln!(out, "{} {}{of}, {} {unit}", object.kind, object.name, object.size);
        for (at, _, text) in &object.cells {
            let _ = writeln!(out, "  {at}: {text}");
        }
        if object.cells.is_empty() {
            let _ = writeln!(out, "  all zero");
        }
    }
    out
}

/// As JSON.
pub fn json(objects: &[Object]) -> Value {
    let cells = |object: &Object| {
        let pairs = object.cells.iter().map(|(at, value, _)| (at.to_string(), value.clone()));
        Value::Object(pairs.collect())
    };
    let one = |object: &Object| {
        json!({
            "name": object.name, "kind": object.kind, "size": object.size, "table": object.table,
            "cells": cells(object),
        })
    };
    objects.iter().map(one).collect()
}
