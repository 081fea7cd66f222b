//! Keys of a program: `p4rack analyze` on its last lines, and for each app of a rack.

use base_diag::{Diagnostic, SourceMap, render, to_json};
use ir::{Arch, Program};
use ir_keys::{Input, Inputs, Keyed, Keys, Source};
use serde_json::{Value, json};
use std::fmt::Write;

/// Keys of a program for v1model; none for other architectures. Error: annotations that say what cannot be.
pub fn of_program(program: &Program) -> Result<Option<Keys>, Vec<Diagnostic>> {
    if !matches!(program.arch, Arch::V1Model(_)) {
        return Ok(None);
    }
    let keys = ir_keys::keys(program);
    if keys.wrong.is_empty() { Ok(Some(keys)) } else { Err(keys.wrong) }
}

/// The keys as text, with the places of obstacles.
pub fn text(keys: &Keys, map: &SourceMap) -> String {
    let mut out = keys.to_string();
    if keys.obstacles.is_empty() {
        out.push_str("flows may be processed on several devices\n");
        return out;
    }
    out.push_str("obstacles to processing flows on several devices:\n");
    for obstacle in &keys.obstacles {
        let text = render(&obstacle.diagnostic(), map, base_diag::Style::Plain);
        for line in text.trim_end().lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// As one JSON value.
pub fn json(keys: &Keys, map: &SourceMap) -> Value {
    let parts: Vec<Value> = keys
        .key
        .parts
        .iter()
        .map(|part| {
            let is_port = part.source == Source::Port;
            json!({ "name": part.name.as_str(), "bits": part.width, "port": is_port })
        })
        .collect();
    let shard: Vec<&str> = keys
        .key
        .shard
        .parts
        .iter()
        .filter_map(|at| keys.key.parts.get(*at))
        .map(|part| part.name.as_str())
        .collect();
    let obstacles: Vec<Value> =
        keys.obstacles.iter().map(|obstacle| to_json(&obstacle.diagnostic(), map)).collect();
    json!({
        "union_key": { "parts": parts, "declared": keys.is_union_declared },
        "shard_key": {
            "parts": shard,
            "symmetric": !keys.key.shard.pairs.is_empty(),
            "declared": keys.is_shard_declared,
        },
        "affinity": keys.affinity.map(ir_keys::Affinity::name),
        "conditions": names(&keys.conditions),
        "objects": keys.keyed.iter().map(object).collect::<Vec<_>>(),
        "obstacles": obstacles,
    })
}

fn object(keyed: &Keyed) -> Value {
    let keys: Vec<Value> = keyed
        .keys
        .iter()
        .map(|key| json!({ "name": key.text.as_str(), "bits": key.width, "depends_on": names(&key.inputs) }))
        .collect();
    let kind = match keyed.place {
        ir_keys::Place::Table(_) => "table",
        ir_keys::Place::Object(_) => "object",
    };
    json!({
        "name": keyed.place.name().as_str(),
        "kind": kind,
        "mode": keyed.mode.name(),
        "why": keyed.why,
        "keys": keys,
        "replicated_max": keyed.replicated_max,
    })
}

fn names(inputs: &Inputs) -> Vec<String> {
    inputs.iter().map(Input::to_string).collect()
}
