//! Jobs and plans, as text and as JSON.

use p4rack::job::Text;
use reduce_jobs::job::{KeyKind, Reducer, ValueKind};
use reduce_jobs::plan::Placed;
use reduce_jobs::{Job, Plan, Topology};
use serde_json::{Value, json};
use std::fmt::Write as _;

fn key_word(reducer: &Reducer) -> &'static str {
    KeyKind::ALL.into_iter().find(|(_, kind)| *kind == reducer.key).map_or("", |(word, _)| word)
}

fn value_word(reducer: &Reducer) -> &'static str {
    match reducer.value {
        ValueKind::U32 => "u32",
        ValueKind::U64 => "u64",
    }
}

/// Slots of a round.
fn slots(reducer: &Reducer) -> u64 {
    u64::from(reducer.layout.lanes) * u64::from(reducer.layout.rows())
}

/// A checked job.
pub fn job(job: &Job) -> String {
    let mut text = String::new();
    for reducer in &job.reducers {
        let mappers: Vec<&str> =
            reducer.mappers.iter().map(|at| job.mappers[*at].name.value.as_str()).collect();
        let _ = writeln!(
            text,
            "{}: {} of {}, number {}, keys {}, {} value{} of {}",
            reducer.name.value,
            reducer.op,
            mappers.join(", "),
            reducer.number,
            key_word(reducer),
            reducer.values,
            if reducer.values == 1 { "" } else { "s" },
            value_word(reducer),
        );
        let layout = &reducer.layout;
        let _ = match reducer.is_switched {
            true => writeln!(
                text,
                "  {} round{}, {} slots each: {} lanes of {} rows{}; window {}",
                reducer.rounds,
                if reducer.rounds == 1 { "" } else { "s" },
                slots(reducer),
                layout.lanes,
                layout.rows(),
                if layout.evict { ", with eviction" } else { "" },
                layout.window,
            ),
            false => writeln!(text, "  by hosts: no switch reduces its pairs"),
        };
    }
    text
}

/// The same.
pub fn job_json(job: &Job) -> Value {
    let reducer = |reducer: &Reducer| {
        let mappers: Vec<&str> =
            reducer.mappers.iter().map(|at| job.mappers[*at].name.value.as_str()).collect();
        json!({
            "name": reducer.name.value,
            "op": reducer.op.word(),
            "number": reducer.number,
            "mappers": mappers,
            "key": key_word(reducer),
            "value": value_word(reducer),
            "values": reducer.values,
            "chunks": reducer.chunks(),
            "by": if reducer.is_switched { "switch" } else { "hosts" },
            "lanes": reducer.layout.lanes,
            "rows": reducer.layout.rows(),
            "rounds": reducer.rounds,
            "window": reducer.layout.window,
            "port": reducer.port,
        })
    };
    json!({ "reducers": job.reducers.iter().map(reducer).collect::<Vec<_>>() })
}

/// The placement of jobs: the hosts and switches that reduce their pairs.
pub fn plan(texts: &[Text], topology: &Topology, plan: &Plan) -> String {
    let mut text = String::new();
    for placed in &plan.reducers {
        let job = &texts[placed.job].job;
        let reducer = &job.reducers[placed.reducer];
        let host = &topology.hosts[placed.host];
        let _ = writeln!(text, "{} (number {}) on {}:", reducer.name.value, reducer.number, host.name);
        for (at, folding) in placed.switches.iter().enumerate() {
            let is_parent = at + usize::from(placed.parents) >= placed.switches.len() && placed.parents > 0;
            let mappers: Vec<&str> = folding
                .channels
                .iter()
                .map(|channel| job.mappers[reducer.mappers[usize::from(*channel)]].name.value.as_str())
                .collect();
            let mut what = vec![];
            if !mappers.is_empty() {
                what.push(format!("the pairs of {}", mappers.join(", ")));
            }
            if is_parent {
                what.push("the pairs that the other switches have not reduced".to_string());
            }
            let _ = writeln!(text, "  {} reduces {}", topology.switches[folding.switch], what.join(", and "));
        }
        if placed.switches.is_empty() {
            let _ = writeln!(text, "  no switch reduces its pairs");
        }
        let (arrive, sent) = placed.pairs;
        // Rounded down: 100 % are all of them.
        let percent = 100 - (100 * arrive).div_ceil(sent.max(1)).min(100);
        let _ =
            writeln!(text, "  estimate: {arrive} of {sent} pairs reach the reducer, {percent} % are saved");
    }
    for device in &plan.switches {
        let (program, name) = (&device.program, &topology.switches[device.switch]);
        let _ = writeln!(
            text,
            "{name}: {} job{}, {} streams, {} slots a lane in {} lanes",
            device.seats.len(),
            if device.seats.len() == 1 { "" } else { "s" },
            if device.seats.is_empty() { 0 } else { program.channels },
            program.slots(),
            program.layout.lanes,
        );
    }
    text
}

/// The same, with all that workers need to know.
pub fn plan_json(texts: &[Text], topology: &Topology, plan: &Plan) -> Value {
    let reducer = |placed: &Placed| {
        let job = &texts[placed.job].job;
        let reducer = &job.reducers[placed.reducer];
        let host = &topology.hosts[placed.host];
        let mappers: Vec<Value> = reducer
            .mappers
            .iter()
            .zip(&placed.mappers)
            .enumerate()
            .map(|(channel, (at, host))| {
                let host = &topology.hosts[*host];
                json!({ "name": job.mappers[*at].name.value, "channel": channel, "host": host.name, "address": host.address })
            })
            .collect();
        let switches: Vec<Value> = placed
            .switches
            .iter()
            .enumerate()
            .map(|(number, folding)| {
                json!({
                    "name": topology.switches[folding.switch],
                    "number": number,
                    "channels": folding.channels,
                    "parent": number + usize::from(placed.parents) >= placed.switches.len() && placed.parents > 0,
                    "requests_to": topology.hosts[folding.behind].address,
                })
            })
            .collect();
        let mut value = job_json(job)["reducers"][placed.reducer].take();
        value["host"] = json!(host.name);
        value["address"] = json!(host.address);
        value["mappers"] = json!(mappers);
        value["switches"] = json!(switches);
        value["pairs_sent"] = json!(placed.pairs.1);
        value["pairs_that_arrive"] = json!(placed.pairs.0);
        value
    };
    json!({ "ok": true, "reducers": plan.reducers.iter().map(reducer).collect::<Vec<_>>() })
}
