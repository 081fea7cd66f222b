//! The allocation problem of a rack: apps that say how their packets are distributed over flows.
//!
//! ```text
//! switch    EntryBits of `resources`, or the SRAM blocks of a Tofino; tables that do not grow, the flow manager and the copies
//! helpers   packets per second: `parallel` in each service time; bits per second of the links; EntryBits of full tables
//! latency   at the switch its service time; at a helper that twice, the helper's, and both ways on the link
//! ```

use crate::Result;
use app_allocation::{
    Affinity, App, Class, Distribution, Object, Place, Problem, Quantum, Row, WEIGHT, problem,
};
use base_diag::codes::plan as codes;
use base_diag::{Diagnostic, Span};
use ir::Program;
use ir_footprint::footprint;
use ir_split::Split;
use plan_model::Unit;
use rack_model::{Device, DeviceClass, DeviceId, FlowShares, Link, NodeId, Rack, Spanned, pinning};

/// Words of a table in an SRAM block, and bits of a word.
const SRAM: (u64, u64) = (1024, 128);

/// Excess of the most loaded of several helpers over the mean: 85 and more resident flows leave no more (measured over Zipf 0.9 to 0.99).
const IMBALANCE: u64 = 30_000;

/// An app whose flows are pinned, split for any number of resident flows.
pub struct FlowApp<'a> {
    /// Index of the app in the rack.
    pub app: usize,
    /// Parts of the app's program.
    pub split: &'a Split,
    /// Tables at the switch that grow with the flows: the flow manager and copies, by control-plane name, with the most entries.
    pub growing: Vec<(String, Option<u64>)>,
}

/// A problem, and its meaning for the rack.
#[derive(Clone)]
pub struct FlowProblem {
    /// The problem.
    pub problem: Problem,
    /// For each app of the problem its place in the rack.
    pub apps: Vec<usize>,
    /// The switch.
    pub origin: DeviceId,
    /// The chip, if its SRAM limits the tables.
    pub tofino: Option<rmt_fit::Device>,
    /// For each class of helpers its devices.
    pub helpers: Vec<Vec<DeviceId>>,
    /// Bytes that a hand-over to a helper and one back are longer than the packet, for each app.
    pub handover_bytes: Vec<[u64; 2]>,
}

/// The problem of apps that have one origin.
pub fn flow_problem(rack: &Rack, apps: &[FlowApp<'_>]) -> Result<FlowProblem> {
    let Some(first) = apps.first() else { return Err(vec![]) };
    let origin = rack.apps[first.app].origin.value;
    let mut helpers: Vec<Vec<DeviceId>> = vec![];
    for app in apps {
        let own: Vec<DeviceId> = rack.apps[app.app].helpers.iter().map(|helper| helper.value).collect();
        if !own.is_empty() && !helpers.contains(&own) {
            helpers.push(own);
        }
    }
    let switch = memory(&rack.devices[origin.0 as usize])?;
    let classes = helpers.iter().map(|own| class(rack, origin, own)).collect::<Result<Vec<Class>>>()?;
    let weights = weights(rack, apps)?;
    let size = u64::from(rack.plan.size);
    let mut found = FlowProblem {
        problem: Problem {
            apps: vec![],
            switch: switch.iter().cloned().collect(),
            classes,
            traffic: rack.plan.rate.map(|rate| rate.bits_per_s()),
        },
        apps: apps.iter().map(|app| app.app).collect(),
        origin,
        tofino: tofino(&rack.devices[origin.0 as usize]),
        helpers,
        handover_bytes: vec![],
    };
    for (app, weight) in apps.iter().zip(weights) {
        let model = &rack.apps[app.app];
        let (Some(pinning), Some(demand)) = (&model.pinning, demand(rack, app.app)) else {
            return Err(vec![]);
        };
        let there = handover(app.split, |device| device != origin);
        let back = handover(app.split, |device| device == origin);
        let own: Vec<DeviceId> = model.helpers.iter().map(|helper| helper.value).collect();
        let at_classes = found.helpers.iter().map(|helpers| match *helpers == own {
            true => Ok(at_helpers(rack, origin, app, helpers, [size + there, size + back])),
            false => Err("the app does not name it".to_string()),
        });
        let at_classes = at_classes.collect();
        found.problem.apps.push(App {
            name: model.name.value.clone(),
            weight,
            // The direction with the longer hand-overs limits the link.
            packet_bits: 8 * (size + there.max(back) + overhead(rack, origin, &own)),
            own_bits: 8 * size,
            affinity: match pinning.affinity.value {
                pinning::Affinity::High => Affinity::High,
                pinning::Affinity::Medium => Affinity::Medium,
                pinning::Affinity::Low => Affinity::Low,
            },
            flows: distribution(demand)?,
            quantum: match pinning.is_planned {
                Some(_) => Quantum::Auto,
                None => Quantum::Exactly(pinning.flows),
            },
            replicas: 0,
            at_switch: Ok(at_switch(rack, origin, app, switch.as_ref())),
            at_classes,
        });
        found.handover_bytes.push([there, back]);
    }
    let place = rack.apps[first.app].pinning.as_ref().map_or(Span::NONE, |pinning| pinning.affinity.span);
    let wrong = |why: String| {
        let label = "flows of this app and of all others with its origin";
        vec![Diagnostic::error(codes::TOO_LARGE, "flows cannot be allocated").at(place, label).note(why)]
    };
    found.problem.check().map_err(wrong)?;
    Ok(found)
}

/// Description of an app's flows.
fn demand(rack: &Rack, app: usize) -> Option<&Spanned<FlowShares>> {
    rack.apps.get(app)?.pinning.as_ref()?.demand.as_ref().map(|demand| &demand.flows)
}

fn distribution(shares: &Spanned<FlowShares>) -> Result<Distribution> {
    let found = match &shares.value {
        FlowShares::Zipf(flows, skew) => Distribution::zipf(*flows, *skew),
        FlowShares::Classes(classes) => Distribution::classes(classes),
    };
    let wrong = |why: app_allocation::BadDistribution| {
        vec![Diagnostic::error(codes::QUANTITY, "not a distribution").at(shares.span, why.to_string())]
    };
    found.map_err(wrong)
}

/// Shares of the traffic in millionths. Apps that say nothing have equal parts of what the others leave.
fn weights(rack: &Rack, apps: &[FlowApp<'_>]) -> Result<Vec<u64>> {
    let share = |app: &FlowApp<'_>| {
        let share = rack.apps[app.app].pinning.as_ref()?.demand.as_ref()?.share.as_ref()?;
        Some(Spanned::new(u64::from(share.value.ppb()) / (1_000_000_000 / WEIGHT), share.span))
    };
    let stated: Vec<Option<Spanned<u64>>> = apps.iter().map(share).collect();
    let sum: u64 = stated.iter().flatten().map(|share| share.value).sum();
    let others = stated.iter().filter(|share| share.is_none()).count() as u64;
    let last = stated.iter().flatten().last();
    if let (Some(last), true) = (last, sum > WEIGHT || (sum == WEIGHT && others > 0)) {
        let left = if others > 0 { ", and some apps have no share" } else { "" };
        return Err(vec![
            Diagnostic::error(codes::QUANTITY, "the shares of the apps exceed the traffic")
                .at(last.span, format!("the sum is {}.{} %{left}", sum / 10_000, sum / 1000 % 10))
                .help("the shares of all apps add up to 100 % at most"),
        ]);
    }
    let rest = (WEIGHT - sum).checked_div(others).unwrap_or(0);
    Ok(stated.into_iter().map(|share| share.map_or(rest, |share| share.value).max(1)).collect())
}

/// The memory of a device that limits tables, if one is known.
fn memory(device: &Device) -> Result<Option<Row>> {
    if let Some((name, text)) =
        device.resources.iter().find(|(name, _)| name.value == crate::rack::ENTRY_BITS)
    {
        let wrong = |why: String| {
            let place = format!("of device `{}`", device.name.value);
            vec![
                Diagnostic::error(codes::QUANTITY, "not a quantity of this kind")
                    .at(name.span, place)
                    .note(why),
            ]
        };
        let capacity = Unit::Bits.parse(&text.value).map_err(wrong)?;
        return Ok(Some(Row { name: name.value.clone(), capacity: u64::try_from(capacity).unwrap_or(0) }));
    }
    let blocks = |tofino: rmt_fit::Device| {
        u64::from(tofino.stages) * u64::from(tofino.stage.sram_rows) * u64::from(tofino.stage.sram_columns)
    };
    let row = |tofino| Row { name: "SRAM blocks".to_string(), capacity: blocks(tofino) };
    Ok(tofino(device).map(row))
}

/// The chip of a Tofino whose memory the rack's file does not give.
fn tofino(device: &Device) -> Option<rmt_fit::Device> {
    if device.resources.iter().any(|(name, _)| name.value == crate::rack::ENTRY_BITS) {
        return None;
    }
    match device.class {
        DeviceClass::Tofino1 => rmt_fit::Device::built_in("tofino1"),
        DeviceClass::Tofino2 => rmt_fit::Device::built_in("tofino2"),
        _ => None,
    }
}

/// A table in a memory: entries of a block and units of it.
fn blocks(row: &Row, entry_bits: u64) -> (u64, u64) {
    let (words, bits) = SRAM;
    match row.name == crate::rack::ENTRY_BITS {
        true => (1, entry_bits),
        false if entry_bits > bits => (words, entry_bits.div_ceil(bits)),
        false => (words * (bits / entry_bits.max(1)), 1),
    }
}

/// Refuses the tables of apps with an affinity where they exceed the memory of a device. `place` is their place in the file, and `what` says which
/// apps they are.
pub fn check_memory(rack: &Rack, split: &Split, place: Span, what: &str) -> Result<()> {
    /// Tables that the message names.
    const NAMED: usize = 3;
    let mut found = vec![];
    for (device, id) in rack.devices.iter().zip((0..).map(DeviceId)) {
        let Some(row) = memory(device)? else { continue };
        let mut all: Vec<(u64, String, u64)> = taken(tables(split, id), &row).collect();
        let used: u64 = all.iter().map(|(units, ..)| *units).sum();
        if used <= row.capacity {
            continue;
        }
        all.sort_by(|a, b| b.cmp(a));
        let largest =
            all.iter().take(NAMED).map(|(units, name, size)| format!("`{name}` of size {size}: {units}"));
        let (device, Row { name, capacity }) = (&device.name.value, &row);
        let title = format!("{what} does not fit device `{device}`");
        let diagnostic = Diagnostic::error(base_diag::codes::pin::NOT_PINNED, title)
            .at(place, format!("needs {used} of {name} there, and the device has {capacity}"))
            .note(format!("the largest tables are {}", largest.collect::<Vec<_>>().join(", ")))
            .help("set smaller sizes under `[app.objects]`, fewer `flows` (`\"plan\"` takes as many as fit), or another affinity");
        found.push(diagnostic);
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Tables of a device: name, bits of an entry, entries.
fn tables(split: &Split, device: DeviceId) -> Vec<(String, u64, u64)> {
    let part = split.devices.get(device.0 as usize).and_then(Option::as_ref);
    part.map_or(vec![], |part| tables_of(&part.program))
}

/// Tables of a program: name, bits of an entry, entries.
fn tables_of(program: &Program) -> Vec<(String, u64, u64)> {
    let all = program.controls.iter().flat_map(|control| &control.tables);
    let one = |table: &ir::Table| {
        let name = table.control_plane_name.to_string();
        let entry = footprint::table(program, &name)?.entry_bits;
        Some((name, entry, table.size.unwrap_or(crate::rack::DEFAULT_SIZE).max(table.entries.len() as u64)))
    };
    all.filter(|table| !table.keys.is_empty()).filter_map(one).collect()
}

/// Units of a memory that each table takes, with its name and entries.
fn taken(tables: Vec<(String, u64, u64)>, row: &Row) -> impl Iterator<Item = (u64, String, u64)> {
    tables.into_iter().map(|(name, entry, size)| {
        let (block, units) = blocks(row, entry);
        (size.div_ceil(block).saturating_mul(units), name, size)
    })
}

/// Units of a memory that the tables of a program take.
pub(crate) fn used(program: &Program, row: &Row) -> u64 {
    taken(tables_of(program), row).map(|(units, ..)| units).sum()
}

fn at_switch(rack: &Rack, origin: DeviceId, app: &FlowApp<'_>, row: Option<&Row>) -> Place {
    // An app without flows there has its part of the program all the same.
    let mut place = Place { latency: service(rack, origin), stays: true, ..Place::default() };
    let Some(row) = row else { return place };
    let mut fixed = 0;
    for (name, entry, size) in tables(app.split, origin) {
        let (block, units) = blocks(row, entry);
        match app.growing.iter().find(|(growing, _)| *growing == name) {
            Some((_, most)) => {
                place.objects.push(Object { name, row: 0, per_flow: (1, 1), most: *most, block, units })
            }
            None => fixed += size.div_ceil(block).saturating_mul(units),
        }
    }
    place.fixed = vec![fixed];
    place
}

/// Every helper has the whole tables.
fn at_helpers(
    rack: &Rack,
    origin: DeviceId,
    app: &FlowApp<'_>,
    helpers: &[DeviceId],
    bytes: [u64; 2],
) -> Place {
    let latency = |helper: &DeviceId| {
        let link = link(rack, origin, *helper);
        let path = bytes.map(|bytes| link.map_or(0, |link| link.delay.as_ps() + on_wire(link, bytes)));
        2 * service(rack, origin) + service(rack, *helper) + path[0] + path[1]
    };
    let mean = helpers.iter().map(latency).sum::<u64>() / helpers.len().max(1) as u64;
    let row = helpers.first().and_then(|helper| memory(&rack.devices[helper.0 as usize]).ok().flatten());
    let part = |helper: &DeviceId| app.split.devices.get(helper.0 as usize).and_then(Option::as_ref);
    let used = |row: &Row, helper: &DeviceId| part(helper).map_or(0, |part| used(&part.program, row));
    let fixed = row.iter().zip(helpers).map(|(row, helper)| used(row, helper)).collect();
    Place { latency: mean, fixed, ..Place::default() }
}

fn class(rack: &Rack, origin: DeviceId, helpers: &[DeviceId]) -> Result<Class> {
    let device = |id: &DeviceId| &rack.devices[id.0 as usize];
    let names: Vec<&str> = helpers.iter().map(|id| device(id).name.value.as_str()).collect();
    let packets = |id: &DeviceId| {
        let device = device(id);
        let packets = u128::from(device.parallel) * 1_000_000_000_000;
        packets.checked_div(u128::from(device.service.as_ps())).map(|packets| packets as u64)
    };
    let bits = |id: &DeviceId| link(rack, origin, *id).map(|link| link.rate.bits_per_s());
    let memory = helpers.first().map(|helper| memory(device(helper))).transpose()?.flatten();
    Ok(Class {
        name: names.join(", "),
        count: helpers.len() as u64,
        spare: 0,
        memory: memory.into_iter().collect(),
        bits: helpers.iter().filter_map(bits).min(),
        packets: helpers.iter().filter_map(packets).min(),
        imbalance: if helpers.len() > 1 { IMBALANCE } else { 0 },
    })
}

/// The link from the switch to a helper.
fn link(rack: &Rack, origin: DeviceId, helper: DeviceId) -> Option<&Link> {
    let (id, ..) = rack.links_between(NodeId::Device(origin), NodeId::Device(helper)).next()?;
    rack.links.get(id.0 as usize)
}

/// Bytes of a frame on the wire besides its own.
fn overhead(rack: &Rack, origin: DeviceId, helpers: &[DeviceId]) -> u64 {
    let link = helpers.first().and_then(|helper| link(rack, origin, *helper));
    link.map_or(0, |link| u64::from(link.overhead))
}

fn on_wire(link: &Link, bytes: u64) -> u64 {
    link.rate.time_for(bytes + u64::from(link.overhead)).as_ps()
}

fn service(rack: &Rack, device: DeviceId) -> u64 {
    rack.devices[device.0 as usize].service.as_ps().min(problem::MOST_LATENCY)
}

/// Bytes that the longest hand-over to the devices for which `is_there` holds adds to its packet.
fn handover(split: &Split, is_there: impl Fn(DeviceId) -> bool) -> u64 {
    let sections = split.sections.iter().filter(|section| is_there(DeviceId(section.device.0)));
    let live = sections.filter_map(|section| section.live.as_ref());
    let longest = live.map(|live| live.iter().map(|value| u64::from(value.bits)).sum::<u64>()).max();
    longest.map_or(0, |live| (u64::from(split.common_bits) + live).div_ceil(8))
}
