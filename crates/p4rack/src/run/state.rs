//! What registers, counters and meters hold at the end.

use ir_interp::{BucketView, Cells, Count, MeterView, ObjectView, Switch};
use serde_json::{Value, json};
use std::fmt::Write;

/// A state object; cells that are as at the start are left out.
pub struct Object {
    name: String,
    kind: &'static str,
    size: u64,
    /// Of direct counters and meters: the table.
    table: Option<String>,
    /// By index, or by the entry's handle; one without is what all others are like.
    cells: Vec<(Option<u64>, Value, String)>,
}

fn count((at, count): &(u64, Count)) -> (Option<u64>, Value, String) {
    let value = json!({ "packets": count.packets, "bytes": count.bytes });
    (Some(*at), value, format!("{} packets, {} bytes", count.packets, count.bytes))
}

fn meter(at: Option<u64>, meter: &MeterView) -> (Option<u64>, Value, String) {
    let bucket = |bucket: &BucketView| {
        json!({
            "per_gigamicrosecond": bucket.rate.per_gigamicrosecond, "burst": bucket.rate.burst,
            "tokens": bucket.tokens,
        })
    };
    let text = |bucket: &BucketView| {
        let (whole, rest) = (bucket.rate.per_gigamicrosecond / 1000, bucket.rate.per_gigamicrosecond % 1000);
        let rest = if rest == 0 { String::new() } else { format!(".{rest:03}") };
        format!("{whole}{rest}/s, {} of {} left", bucket.tokens, bucket.rate.burst)
    };
    let value = json!({ "committed": bucket(&meter.committed), "peak": bucket(&meter.peak) });
    (at, value, format!("committed {}; peak {}", text(&meter.committed), text(&meter.peak)))
}

/// All of a device.
pub fn objects(switch: &Switch) -> Vec<Object> {
    let meters = |cells: &[(u64, MeterView)]| cells.iter().map(|(at, m)| meter(Some(*at), m)).collect();
    let object = |view: ObjectView| {
        let (kind, table, cells) = match &view.cells {
            Cells::Register(cells) => {
                let cells =
                    cells.iter().map(|(at, v)| (Some(*at), Value::from(v.text.as_str()), v.text.clone()));
                ("register", None, cells.collect())
            }
            Cells::Counter(cells) => ("counter", None, cells.iter().map(count).collect()),
            Cells::DirectCounter(table, cells) => {
                ("direct counter", Some(table.to_string()), cells.iter().map(count).collect())
            }
            Cells::Meter(cells, others) => {
                let mut cells: Vec<_> = meters(cells);
                cells.extend(others.as_ref().map(|others| meter(None, others)));
                ("meter", None, cells)
            }
            Cells::DirectMeter(table, cells) => ("direct meter", Some(table.to_string()), meters(cells)),
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
            let _ = writeln!(out, "  {}: {text}", index(*at));
        }
        if object.cells.is_empty() {
            let all = if object.kind.ends_with("meter") { "without rates: all green" } else { "all zero" };
            let _ = writeln!(out, "  {all}");
        }
    }
    out
}

fn index(at: Option<u64>) -> String {
    at.map_or("others".to_string(), |at| at.to_string())
}

/// As JSON.
pub fn json(objects: &[Object]) -> Value {
    let cells = |object: &Object| {
        let pairs = object.cells.iter().map(|(at, value, _)| (index(*at), value.clone()));
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
