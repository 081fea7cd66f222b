//! Final state of registers, counters and meters.

use control_writes::Count;
use device::{BucketView, Cells, MeterView, ObjectView, Switch};
use serde_json::{Value, json};
use std::fmt::Write;

/// A state object; cells that are as at the start are left out.
pub struct Object {
    name: String,
    kind: &'static str,
    size: u64,
    /// Table of direct counters and meters.
    table: Option<String>,
    /// Cells by index, or by the entry's handle.
    cells: Vec<(String, Value, String)>,
}

/// Name of a direct cell: the entry's handle, or `default` for the default action.
fn entry(handle: Option<u64>) -> String {
    handle.map_or("default".to_string(), |handle| handle.to_string())
}

fn count(at: String, count: &Count) -> (String, Value, String) {
    let value = json!({ "packets": count.packets, "bytes": count.bytes });
    (at, value, format!("{} packets, {} bytes", count.packets, count.bytes))
}

fn meter(at: String, meter: &MeterView) -> (String, Value, String) {
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
    let object = |view: ObjectView| {
        let (kind, table, cells) = match &view.cells {
            Cells::Register(cells) => {
                let cells = cells
                    .iter()
                    .map(|(at, v)| (at.to_string(), Value::from(v.text()), v.text().into_owned()));
                ("register", None, cells.collect())
            }
            Cells::Counter(cells) => {
                let cells = cells.iter().map(|(at, c)| count(at.to_string(), c));
                ("counter", None, cells.collect())
            }
            Cells::DirectCounter(table, cells) => {
                let cells = cells.iter().map(|(handle, c)| count(entry(*handle), c));
                ("direct counter", Some(table.to_string()), cells.collect())
            }
            Cells::Meter(cells, others) => {
                let cells = cells.iter().map(|(at, m)| meter(at.to_string(), m));
                let others = others.iter().map(|m| meter("others".to_string(), m));
                ("meter", None, cells.chain(others).collect())
            }
            Cells::DirectMeter(table, cells) => {
                let cells = cells.iter().map(|(handle, m)| meter(entry(*handle), m));
                ("direct meter", Some(table.to_string()), cells.collect())
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
            let all = if object.kind.ends_with("meter") { "without rates: all green" } else { "all zero" };
            let _ = writeln!(out, "  {all}");
        }
    }
    out
}

/// As JSON.
pub fn json(objects: &[Object]) -> Value {
    let cells = |object: &Object| {
        let pairs = object.cells.iter().map(|(at, value, _)| (at.clone(), value.clone()));
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
