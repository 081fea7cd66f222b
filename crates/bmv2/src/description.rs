//! A program as BMv2's clients read it: the parts of BMv2's JSON that `simple_switch_CLI` and p4-utils look at, and the program itself for p4rack.
//!
//! ```text
//! { "__meta__": { "version": [2, 24], "compiler": "p4rack" }, "p4_device_config": "P4 source",
//!   "headers": [...], "header_types": [...], "actions": [...], "pipelines": [{ "tables": [...], "action_profiles": [...] }],
//!   "counter_arrays": [...], "meter_arrays": [...], "register_arrays": [...], "parse_vsets": [...], "calculations": [...] }
//! ```
//!
//! It describes what the control plane sees. Parsers, controls and the inputs of calculations are not there: `simple_switch` cannot run it.

use crate::Calculation;
use crate::catalog::{Named, actions, by_id, has_priorities, key_kind, register_bits, table_kind};
use p4runtime_proto::p4::config::v1::{MatchField, P4Info, Table, meter_spec};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Version of BMv2's format of which the JSON has parts.
pub const JSON_VERSION: [u32; 2] = [2, 24];

/// The JSON; with the device config if it is to be pushed.
pub fn description(info: &P4Info, calculations: &[Calculation], device_config: Option<&str>) -> String {
    let mut all = json!({
        "__meta__": { "version": JSON_VERSION, "compiler": "p4rack" },
        "actions": info.actions.iter().map(|action| json!({
            "name": action.name(),
            "id": action.id(),
            "runtime_data": action.params.iter().map(|param| json!({ "name": param.name, "bitwidth": param.bitwidth })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "pipelines": [{
            "name": "ingress",
            "id": 0,
            "tables": info.tables.iter().map(|table| table_json(info, table)).collect::<Vec<_>>(),
            "action_profiles": info.action_profiles.iter().map(|profile| {
                let mut json = json!({ "name": profile.name(), "id": profile.id(), "max_size": profile.size });
                if profile.with_selector {
                    json["selector"] = json!({});
                }
                json
            }).collect::<Vec<_>>(),
        }],
        "counter_arrays": counters(info),
        "meter_arrays": meters(info),
        "register_arrays": info.registers.iter().map(|register| json!({
            "name": register.name(), "id": register.id(), "size": register.size, "bitwidth": register_bits(register).unwrap_or(0),
        })).collect::<Vec<_>>(),
        "parse_vsets": info.value_sets.iter().map(|set| json!({
            "name": set.name(), "id": set.id(), "max_size": set.size,
            "compressed_bitwidth": set.r#match.iter().map(|field| field.bitwidth).sum::<i32>(),
        })).collect::<Vec<_>>(),
        "calculations": calculations.iter().zip(0..).map(|(of, id)| json!({
            "name": of.name, "id": id, "algo": of.algorithm, "input": [],
        })).collect::<Vec<_>>(),
        "learn_lists": info.digests.iter().zip(1..).map(|(digest, id)| json!({
            "name": digest.preamble.as_ref().map_or("", |preamble| &preamble.name), "id": id, "elements": [],
        })).collect::<Vec<_>>(),
    });
    let (headers, types) = headers(info);
    all["headers"] = headers;
    all["header_types"] = types;
    if let Some(text) = device_config {
        all["p4_device_config"] = text.into();
    }
    format!("{all:#}\n")
}

/// A key's name as header and field.
fn target(field: &MatchField) -> [&str; 2] {
    match field.name.rsplit_once('.') {
        Some((header, field)) => [header, field],
        None => ["key", &field.name],
    }
}

fn table_json(info: &P4Info, table: &Table) -> Value {
    let profile = by_id(&info.action_profiles, table.implementation_id);
    let kind = match profile {
        None => "simple",
        Some(profile) if profile.with_selector => "indirect_ws",
        Some(_) => "indirect",
    };
    let mut json = json!({
        "name": table.name(),
        "id": table.id(),
        "match_type": table_kind(table).name(),
        "type": kind,
        "max_size": table.size,
        "support_timeout": table.idle_timeout_behavior != 0,
        "actions": actions(info, table).map(Named::name).collect::<Vec<_>>(),
        "key": table.match_fields.iter().map(|field| json!({
            "name": field.name, "match_type": key_kind(field).name(), "target": target(field), "mask": null,
        })).collect::<Vec<_>>(),
    });
    if let Some(profile) = profile {
        json["action_profile"] = profile.name().into();
        // The name of before, which p4-utils reads.
        json["act_prof_name"] = profile.name().into();
    }
    debug_assert_eq!(has_priorities(table), matches!(json["match_type"].as_str(), Some("ternary" | "range")));
    json
}

/// Headers with the fields that are keys: clients look for their widths.
fn headers(info: &P4Info) -> (Value, Value) {
    let mut all: BTreeMap<&str, BTreeMap<&str, i32>> = BTreeMap::new();
    for field in info.tables.iter().flat_map(|table| &table.match_fields) {
        let [header, name] = target(field);
        all.entry(header).or_default().insert(name, field.bitwidth);
    }
    let headers = all
        .keys()
        .zip(0..)
        .map(|(name, id)| json!({ "name": name, "id": id, "header_type": name, "metadata": false }));
    let types = all.iter().zip(0..).map(|((name, fields), id)| {
        let fields: Vec<_> = fields.iter().map(|(name, bits)| json!([name, bits, false])).collect();
        json!({ "name": name, "id": id, "fields": fields })
    });
    (headers.collect(), types.collect())
}

fn counters(info: &P4Info) -> Value {
    let of_table = info.direct_counters.iter().map(|counter| {
        let table = by_id(&info.tables, counter.direct_table_id).map_or("", Named::name);
        json!({ "name": counter.name(), "id": counter.id(), "is_direct": true, "binding": table })
    });
    let own = info.counters.iter().map(|counter| {
        json!({ "name": counter.name(), "id": counter.id(), "is_direct": false, "size": counter.size })
    });
    own.chain(of_table).collect()
}

fn meters(info: &P4Info) -> Value {
    let unit = |spec: Option<i32>| match spec {
        Some(unit) if unit == meter_spec::Unit::Bytes as i32 => "bytes",
        _ => "packets",
    };
    let of_table = info.direct_meters.iter().map(|meter| {
        let table = by_id(&info.tables, meter.direct_table_id).map_or("", Named::name);
        let unit = unit(meter.spec.as_ref().map(|spec| spec.unit));
        json!({ "name": meter.name(), "id": meter.id(), "is_direct": true, "binding": table, "type": unit, "rate_count": 2 })
    });
    let own = info.meters.iter().map(|meter| {
        let unit = unit(meter.spec.as_ref().map(|spec| spec.unit));
        json!({ "name": meter.name(), "id": meter.id(), "is_direct": false, "size": meter.size, "type": unit, "rate_count": 2 })
    });
    own.chain(of_table).collect()
}
