//! The tutorials' `sN-runtime.json`.
//!
//! ```json
//! {
//!   "target": "bmv2", "p4info": "build/basic.p4.p4info.txtpb", "bmv2_json": "build/basic.json",
//!   "table_entries": [
//!     { "table": "MyIngress.ipv4_lpm", "match": { "hdr.ipv4.dstAddr": ["10.0.1.1", 32] },
//!       "action_name": "MyIngress.ipv4_forward", "action_params": { "dstAddr": "08:00:00:00:01:11", "port": 1 } },
//!     { "table": "MyIngress.ipv4_lpm", "default_action": true, "action_name": "MyIngress.drop", "action_params": {} } ],
//!   "multicast_group_entries": [ { "multicast_group_id": 1, "replicas": [ { "egress_port": 1, "instance": 1 } ] } ],
//!   "clone_session_entries": [ { "clone_session_id": 5, "replicas": [ { "egress_port": 6, "instance": 1 } ], "packet_length_bytes": 128 } ]
//! }
//! ```
//!
//! Two numbers are a value and, as the kind of the key says, its prefix length, its mask or the end of a range.

use crate::{Args, Keys, Match, Named, Run, Statement, Value, parse_number};
use base_bits::num_bigint::BigUint;
use base_diag::codes::run::ENTRIES_SYNTAX;
use base_diag::{Diagnostic, Span};
use base_json::{Fields, Json, Kind, Reader};

/// Reads a file; `start` is the number of the text's first byte in its source map. Diagnostics that are warnings are about keys that have no effect.
pub fn read_runtime(text: &str, start: u32) -> (Vec<Statement>, Vec<Diagnostic>) {
    let mut reader = Reader::new(ENTRIES_SYNTAX);
    let mut statements = vec![];
    match base_json::parse(text, start) {
        Ok(json) => {
            if let Some(fields) = reader.fields("the file", &json, "{ \"table_entries\": [] }") {
                file(&mut reader, fields, &mut statements);
            }
        }
        Err(error) => reader.wrong(error.span, "this is not JSON", error.message),
    }
    (statements, reader.problems)
}

/// Reads an element of a list.
type Read = fn(&mut Reader, &Json) -> Option<Statement>;

fn file(reader: &mut Reader, mut fields: Fields<'_>, out: &mut Vec<Statement>) {
    if let Some(json) = fields.take("target") {
        let target = reader.string(json, "\"bmv2\"");
        if target.is_some_and(|target| target != "bmv2") {
            reader.wrong(json.span, "these entries are for another switch", "only \"bmv2\" is known");
        }
    }
    // Which program they are for is the business of whoever starts the switch.
    for key in ["p4info", "bmv2_json"] {
        let _ = fields.take(key).map(|json| reader.string(json, "\"build/basic.json\""));
    }
    let lists: [(&str, Read); 3] = [
        ("table_entries", table_entry),
        ("multicast_group_entries", multicast_group),
        ("clone_session_entries", clone_session),
    ];
    for (key, read) in lists {
        let list =
            fields.take(key).and_then(|json| reader.list(json, "[{ \"table\": \"MyIngress.ipv4_lpm\" }]"));
        for json in list.unwrap_or_default() {
            out.extend(read(reader, json));
        }
    }
    let known = [
        "target",
        "p4info",
        "bmv2_json",
        "table_entries",
        "multicast_group_entries",
        "clone_session_entries",
    ];
    fields.finish(reader, &known);
}

fn table_entry(reader: &mut Reader, json: &Json) -> Option<Statement> {
    let mut fields = reader.fields("this entry", json, "{ \"table\": \"MyIngress.ipv4_lpm\" }")?;
    let table = fields.need(reader, "table", "\"MyIngress.ipv4_lpm\"").and_then(|json| name(reader, json));
    let action = fields.need(reader, "action_name", "\"MyIngress.drop\"").and_then(|json| name(reader, json));
    let args = match fields.take("action_params") {
        Some(json) => params(reader, json),
        None => Some(vec![]),
    };
    let is_default = match fields.take("default_action") {
        Some(json) => reader.boolean(json),
        None => Some(false),
    };
    let keys = match fields.take("match") {
        Some(json) => keys(reader, json),
        None => Some(vec![]),
    };
    let priority = match fields.take("priority") {
        Some(json) => reader.whole(json, 0x7fff_ffff_u32).map(|priority| Some(i64::from(priority))),
        None => Some(None),
    };
    let idle = match fields.take("idle_timeout_ns") {
        Some(json) => reader.whole(json, i64::MAX as u64).map(|ns| Some(base_time::Duration::from_ns(ns))),
        None => Some(None),
    };
    let known =
        ["table", "match", "action_name", "action_params", "default_action", "priority", "idle_timeout_ns"];
    fields.finish(reader, &known);
    let (table, action, args, keys) = (table?, action?, Args::Named(args?), keys?);
    if is_default? {
        return Some(Statement::Default { table, action, args, span: json.span });
    }
    Some(Statement::Entry {
        table,
        keys: Keys::Named(keys),
        run: Run::Action(action, args),
        // As in P4Runtime, 0 is no priority.
        priority: priority?.filter(|priority| *priority > 0),
        idle_timeout: idle?,
        rates: None,
        span: json.span,
    })
}

fn name(reader: &mut Reader, json: &Json) -> Option<Named> {
    let text = reader.string(json, "\"MyIngress.drop\"")?;
    Some(Named { text: text.to_string(), span: json.span })
}

fn params(reader: &mut Reader, json: &Json) -> Option<Vec<(Named, Value<BigUint>)>> {
    let mut fields = reader.fields("the parameters", json, "{ \"port\": 1 }")?;
    let param = |reader: &mut Reader, (name, span, json): (&str, Span, &Json)| {
        Some((
            Named { text: name.to_string(), span },
            Value { value: number(reader, json)?, span: json.span },
        ))
    };
    let all: Vec<_> = fields.rest().into_iter().map(|field| param(reader, field)).collect();
    all.into_iter().collect()
}

fn keys(reader: &mut Reader, json: &Json) -> Option<Vec<(Named, Value<Match>)>> {
    let mut fields = reader.fields("the match", json, "{ \"hdr.ipv4.dstAddr\": [\"10.0.1.1\", 32] }")?;
    let key = |reader: &mut Reader, (name, span, json): (&str, Span, &Json)| {
        let value = match &json.kind {
            Kind::Array(two) => match two.as_slice() {
                [one] => Match::Exact(number(reader, one)?),
                [one, other] => Match::Pair(number(reader, one)?, number(reader, other)?),
                _ => {
                    reader.wrong(json.span, "this is not a match", "one or two numbers are expected");
                    return None;
                }
            },
            _ => Match::Exact(number(reader, json)?),
        };
        Some((Named { text: name.to_string(), span }, Value { value, span: json.span }))
    };
    let all: Vec<_> = fields.rest().into_iter().map(|field| key(reader, field)).collect();
    all.into_iter().collect()
}

/// A number, or an address in quotes. In one more array it means the same.
fn number(reader: &mut Reader, json: &Json) -> Option<BigUint> {
    if let Kind::Array(one) = &json.kind
        && let [one] = one.as_slice()
    {
        return number(reader, one);
    }
    let text = reader.scalar(json, "a number or an address", "\"10.0.1.1\"")?;
    match parse_number(text) {
        Ok(number) => Some(number),
        Err(error) => {
            reader.wrong(json.span, "this is not a number", error.to_string());
            None
        }
    }
}

fn multicast_group(reader: &mut Reader, json: &Json) -> Option<Statement> {
    let example = "{ \"multicast_group_id\": 1, \"replicas\": [] }";
    let mut fields = reader.fields("this multicast group", json, example)?;
    let group = fields.need(reader, "multicast_group_id", "1").and_then(|json| reader.whole(json, u32::MAX));
    let members = replicas(reader, &mut fields);
    fields.finish(reader, &["multicast_group_id", "replicas"]);
    Some(Statement::Multicast { group: group?, members: members?, span: json.span })
}

fn clone_session(reader: &mut Reader, json: &Json) -> Option<Statement> {
    let example = "{ \"clone_session_id\": 5, \"replicas\": [] }";
    let mut fields = reader.fields("this clone session", json, example)?;
    let session = fields.need(reader, "clone_session_id", "5").and_then(|json| reader.whole(json, u32::MAX));
    let members = replicas(reader, &mut fields);
    let bytes = match fields.take("packet_length_bytes") {
        Some(json) => reader.whole(json, u32::from(u16::MAX)),
        None => Some(0),
    };
    fields.finish(reader, &["clone_session_id", "replicas", "packet_length_bytes"]);
    Some(Statement::CloneTo { session: session?, members: members?, bytes: bytes?, span: json.span })
}

fn replicas(reader: &mut Reader, fields: &mut Fields<'_>) -> Option<Vec<(u32, u16)>> {
    let example = "[{ \"egress_port\": 1, \"instance\": 1 }]";
    let list = fields.need(reader, "replicas", example).and_then(|json| reader.list(json, example))?;
    let replica = |reader: &mut Reader, json: &Json| {
        let mut fields = reader.fields("this replica", json, "{ \"egress_port\": 1, \"instance\": 1 }")?;
        let port = fields.need(reader, "egress_port", "1").and_then(|json| reader.whole(json, u32::MAX));
        let instance = match fields.take("instance") {
            Some(json) => reader.whole(json, u16::MAX),
            None => Some(0),
        };
        fields.finish(reader, &["egress_port", "instance"]);
        Some((port?, instance?))
    };
    let all: Vec<_> = list.iter().map(|json| replica(reader, json)).collect();
    all.into_iter().collect()
}
