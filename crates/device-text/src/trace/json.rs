//! A packet's path as JSON: a list of packets, each with its steps.

use super::{cause_word, colour_word, drop_word, key_text, position, source};
use base_diag::SourceMap;
use device::{Cause, Event, EventKind, Shown};
use serde_json::{Value, json};

/// The steps, by packet in the order of their beginnings.
pub fn trace(events: &[Event], map: &SourceMap) -> Value {
    let mut packets: Vec<(u32, Value, Vec<Value>)> = vec![];
    for event in events {
        let at = packets.iter().rposition(|(packet, ..)| *packet == event.packet.0).unwrap_or_else(|| {
            packets.push((event.packet.0, json!({ "packet": event.packet.0 }), vec![]));
            packets.len() - 1
        });
        let Some((_, head, steps)) = packets.get_mut(at) else { continue };
        if let EventKind::Begin { from, cause, port, bytes } = &event.kind {
            head["cause"] = cause_word(cause).into();
            head["bytes"] = (*bytes).into();
            if from.0 != 0 {
                head["from"] = from.0.into();
            }
            if let Some(port) = port {
                head["port"] = (*port).into();
            }
            match cause {
                Cause::IngressClone { session } | Cause::EgressClone { session } => {
                    head["session"] = (*session).into();
                }
                Cause::Replica { rid } => head["rid"] = (*rid).into(),
                _ => {}
            }
            continue;
        }
        let mut step = step(&event.kind, map);
        if let Some(place) = position(map, event.span) {
            step["at"] = json!({ "file": place.file.as_str(), "line": place.line, "column": place.column });
            step["source"] = source(map, event.span).into();
        }
        steps.push(step);
    }
    let whole = |(_, mut head, steps): (u32, Value, Vec<Value>)| {
        head["steps"] = steps.into();
        head
    };
    packets.into_iter().map(whole).collect()
}

fn named(values: &[(ir::Name, Shown)]) -> Value {
    object(values.iter().map(|(name, value)| (name.as_str(), value)))
}

fn direction(enter: bool) -> &'static str {
    if enter { "enter" } else { "exit" }
}

fn step(kind: &EventKind, map: &SourceMap) -> Value {
    match kind {
        EventKind::Begin { .. } => Value::Null,
        EventKind::Stage { stage, enter } => {
            json!({ "step": "stage", "stage": stage.as_str(), "direction": direction(*enter) })
        }
        EventKind::Block { block, enter } => {
            json!({ "step": "block", "block": block.as_str(), "direction": direction(*enter) })
        }
        EventKind::State { parser, state } => {
            json!({ "step": "state", "parser": parser.as_str(), "state": state.as_str() })
        }
        EventKind::Transition { parser, state, next, keys, case } => json!({
            "step": "transition", "parser": parser.as_str(), "state": state.as_str(), "next": next.as_str(),
            "select": keys.iter().map(|(at, v)| json!({ "key": source(map, *at), "value": v.text() }))
                .collect::<Value>(),
            "case": case.map(|case| source(map, case)),
        }),
        EventKind::Extract { header, bits, fields } => {
            json!({ "step": "extract", "header": header, "bits": bits, "fields": named(fields) })
        }
        EventKind::Emit { header, ty, bits, fields } => json!({
            "step": "emit", "header": header, "type": ty.as_str(), "bits": bits, "fields": named(fields),
        }),
        EventKind::Advance { bits } => json!({ "step": "advance", "bits": bits }),
        EventKind::ParserError { error } => json!({ "step": "parser-error", "error": error.as_str() }),
        EventKind::Table { table, keys, hit, action } => json!({
            "step": "table", "table": table.as_str(), "hit": hit.is_some(), "action": action.as_str(),
            "keys": keys.iter().map(|k| json!({
                "name": k.name.as_str(), "match": format!("{:?}", k.kind).to_lowercase(), "value": k.value.text(),
            })).collect::<Value>(),
            "entry": hit.as_ref().map(|hit| json!({
                "handle": hit.handle, "priority": hit.priority, "through": hit.through,
                "keys": hit.keys.iter().map(key_text).collect::<Vec<_>>(),
            })),
        }),
        EventKind::Action { action, args } => {
            json!({ "step": "action", "action": action.as_str(), "args": named(args) })
        }
        EventKind::Branch { taken } => json!({ "step": "if", "taken": taken }),
        EventKind::Switch { case } => json!({ "step": "switch", "case": case.map(|case| source(map, case)) }),
        EventKind::Write { place, old, new } => json!({
            "step": "write", "place": place, "old": old.as_ref().map(|o| o.text()), "new": new.text(),
        }),
        EventKind::Validity { header, valid } => {
            json!({ "step": "validity", "header": header, "valid": valid })
        }
        EventKind::Shift { stack, by } => json!({ "step": "shift", "stack": stack, "by": by }),
        EventKind::Extern { instance, name } => json!({
            "step": "extern", "instance": instance.as_ref().map(|i| i.as_str()), "name": name.as_str(),
        }),
        EventKind::Count { counter, index, bytes } => json!({
            "step": "count", "counter": counter.as_str(), "index": index, "bytes": bytes,
        }),
        EventKind::Meter { meter, index, colour } => json!({
            "step": "meter", "meter": meter.as_str(), "index": index, "colour": colour_word(*colour),
        }),
        EventKind::Log { line } => json!({ "step": "log", "line": line }),
        EventKind::Assert { passed } => json!({ "step": "assert", "passed": passed }),
        EventKind::Digest { name, data } => {
            json!({ "step": "digest", "name": name.as_str(), "data": data.text() })
        }
        EventKind::Exit => json!({ "step": "exit" }),
        EventKind::Effect { effect, target } => {
            json!({ "step": "effect", "effect": effect, "target": target })
        }
        EventKind::Transmit { port, frame } => json!({
            "step": "transmit", "port": port,
            "frame": frame.iter().map(|b| format!("{b:02x}")).collect::<String>(),
        }),
        EventKind::Drop { reason } => json!({ "step": "drop", "reason": drop_word(*reason) }),
    }
}

/// Names to texts of values.
pub fn object<'v>(values: impl Iterator<Item = (&'v str, &'v Shown)>) -> Value {
    Value::Object(values.map(|(name, value)| (name.to_string(), Value::from(value.text()))).collect())
}
