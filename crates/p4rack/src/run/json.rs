//! Steps and summaries as JSON.

use super::step::{Sent, Step};
use base_diag::SourceMap;
use dataplane_api::{Counters, DropReason};
use device_text::trace::drop_word;
use device_text::trace::json::object;
use serde_json::{Map, Value, json};

/// A step; with its trace if there is one.
pub fn step(step: &Step, decode: bool, traced: bool, map: &SourceMap) -> Value {
    let mut value = json!({
        "picoseconds": step.at.as_ps(),
        "sent": step.sent.iter().map(|s| sent(s, decode)).collect::<Value>(),
        "dropped": drops(step.dropped.iter().copied()),
        "digests": step.digests.iter().map(|(n, d)| json!({ "name": n, "data": d.text() })).collect::<Value>(),
        "log": step.log,
        "idle": step.idle.iter().map(|i| json!({
            "table": i.table, "key": i.key, "picoseconds": i.at.as_ps(),
        })).collect::<Value>(),
    });
    if let Some((port, frame)) = &step.input {
        value["packet"] = step.number.into();
        value["port"] = (*port).into();
        value["frame"] = hex(frame).into();
    }
    if traced {
        value["trace"] = device_text::trace::json::trace(&step.trace, map);
    }
    value
}

fn sent(sent: &Sent, decode: bool) -> Value {
    let mut value = json!({
        "picoseconds": sent.at.as_ps(),
        "port": sent.port,
        "frame": hex(&sent.frame),
    });
    if sent.packet_in {
        value["packet_in"] = true.into();
    }
    if decode {
        let headers = sent.headers.iter().map(|h| {
            let fields = h.fields.iter().map(|(name, v)| (name.as_str(), v));
            json!({ "header": h.name, "bits": h.bits, "fields": object(fields) })
        });
        value["headers"] = headers.collect();
    }
    value
}

/// Counters as JSON.
pub fn counters(counters: &Counters) -> Value {
    json!({
        "received": counters.received,
        "sent": counters.sent,
        "created": counters.created,
        "dropped": drops(counters.dropped.iter().map(|(r, n)| (*r, *n))),
    })
}

fn drops(dropped: impl Iterator<Item = (DropReason, u64)>) -> Value {
    Value::Object(dropped.map(|(reason, n)| (drop_word(reason).to_string(), n.into())).collect::<Map<_, _>>())
}

fn hex(frame: &[u8]) -> String {
    frame.iter().map(|byte| format!("{byte:02x}")).collect()
}
