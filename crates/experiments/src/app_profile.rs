//! The profile of an app, as a planner of flows needs it (ExoPlane, section 5): the resources for a number of flows, the classes of devices that can run the
//! program, and the time of a packet, measured on the native engine.
//!
//! Tables that grow with the flows are those whose keys have the shard key (`ir-keys`); the others have the sizes that the program says.

mod fill;

use crate::bench;
use app_trials::traffic::{Sizes, Traffic};
use base_diag::{Diagnostic, SourceMap};
use base_time::Time;
use device::{Options, Switch};
use device_classes::DeviceClass;
use ir::{Const, Expr, ExprKind, Program, Type};
use ir_footprint::footprint;
use ir_keys::Place;
use rmt_fit::{BUILT_IN, Device, Resource};
use serde::Serialize;
use state_modes::Mode;
use std::sync::Arc;
use target_native::Engine;

/// Size of a table whose program says none.
const DEFAULT_SIZE: u64 = 1024;

/// Packets of a batch, whose mean time counts once, and batches.
const BATCH: usize = 256;
const BATCHES: usize = 60;

/// Distinct packets of the measurement.
const PACKETS: usize = 4096;

/// Resources for a number of flows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Quantum {
    /// Entries of each table that grows.
    pub flows: u64,
    /// Bits of all tables' entries.
    pub entry_bits: u64,
    /// Each Tofino.
    pub tofinos: Vec<Fitted>,
}

/// A program on a Tofino.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Fitted {
    /// `tofino1` or `tofino2`.
    pub device: String,
    /// Stages used; none if it does not fit.
    pub stages: Option<u32>,
    /// SRAM blocks, TCAM blocks, map RAMs, stateful ALUs, hash bits, bytes of the exact crossbar.
    pub used: [u32; 6],
    /// Reasons why it does not fit.
    pub why_not: Vec<String>,
}

/// The resources of [`Fitted`].
pub const RESOURCES: [Resource; 6] = [
    Resource::Sram,
    Resource::Tcam,
    Resource::MapRam,
    Resource::MeterAlu,
    Resource::HashBits,
    Resource::ExactCrossbar,
];

/// A class of devices.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ClassProfile {
    /// The class, as files name it.
    pub class: &'static str,
    /// Time of a packet in nanoseconds, and packets per second, as the class's profile has them.
    pub latency_ns: u64,
    /// Packets per second.
    pub packets_per_s: u64,
    /// Reasons why it cannot run the program.
    pub why_not: Vec<String>,
}

/// The program on one core of this machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Speed {
    /// Number of flows of the measurement.
    pub flows: u64,
    /// Processor time of a packet in nanoseconds: the median of the batches, and the tenth that is fastest.
    pub median_ns: u64,
    /// As above.
    pub fast_ns: u64,
    /// Packets per second of one core, by the median.
    pub packets_per_s: u64,
    /// Percent of the lookups that hit an entry.
    pub hits_percent: u64,
}

/// The profile of an app.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Profile {
    /// Tables that grow with the flows.
    pub growing: Vec<String>,
    /// Objects that keep flows from being divided, each with the reason; empty if flows can be at several devices.
    pub obstacles: Vec<String>,
    /// Bits of registers and counters, which do not grow.
    pub object_bits: u64,
    /// By number of flows.
    pub quanta: Vec<Quantum>,
    /// By class of devices.
    pub classes: Vec<ClassProfile>,
    /// On this machine; none where it was not measured.
    pub speed: Option<Speed>,
}

/// Profiles a program for these numbers of flows. Errors: the program cannot be run.
pub fn profile(
    program: &Arc<Program>,
    flows: &[u64],
    measure: bool,
    map: &SourceMap,
) -> Result<Profile, Vec<Diagnostic>> {
    let keys = ir_keys::keys(program);
    let sharded = keys.keyed.iter().filter(|keyed| keyed.mode == Mode::Sharded);
    let growing: Vec<String> = sharded
        .filter_map(|keyed| match &keyed.place {
            Place::Table(name) => Some(name.to_string()),
            Place::Object(_) => None,
        })
        .collect();
    let quantum = |flows: &u64| {
        let sized = with_size(program, &growing, *flows);
        let tofinos = BUILT_IN.iter().filter_map(|name| Device::built_in(name));
        Quantum {
            flows: *flows,
            entry_bits: entry_bits(&sized),
            tofinos: tofinos.map(|device| fitted(&sized, &device, map)).collect(),
        }
    };
    let largest = flows.iter().copied().max().unwrap_or(DEFAULT_SIZE).min(1 << 16);
    let speed = measure.then(|| speed(&with_size(program, &growing, largest), largest)).transpose()?;
    Ok(Profile {
        obstacles: keys.obstacles.iter().map(|obstacle| obstacle.diagnostic().title).collect(),
        object_bits: object_bits(program),
        quanta: flows.iter().map(quantum).collect(),
        classes: DeviceClass::ALL
            .into_iter()
            .filter(|class| *class != DeviceClass::Legacy)
            .map(|class| of_class(program, class))
            .collect(),
        growing,
        speed,
    })
}

/// The program with this size of some tables.
fn with_size(program: &Program, tables: &[String], size: u64) -> Arc<Program> {
    let mut sized = program.clone();
    let all = sized.controls.iter_mut().flat_map(|control| &mut control.tables);
    for table in all.filter(|table| tables.iter().any(|name| table.control_plane_name.as_str() == name)) {
        table.size = Some(size);
    }
    Arc::new(sized)
}

fn entry_bits(program: &Program) -> u64 {
    let all = program.controls.iter().flat_map(|control| &control.tables);
    let bits = |table: &ir::Table| {
        let entry = footprint::table(program, table.control_plane_name.as_str())?.entry_bits;
        Some(entry.saturating_mul(table.size.unwrap_or(DEFAULT_SIZE)))
    };
    all.filter(|table| !table.keys.is_empty()).filter_map(bits).sum()
}

/// Bits of registers, and of counters with 64 for each cell.
fn object_bits(program: &Program) -> u64 {
    let bits = |instance: &ir::Instance| {
        let cells = instance.args.iter().find_map(number)?;
        let bits = match program.extern_object(instance.object).name.as_str() {
            "register" => instance.type_args.first().and_then(|ty: &Type| program.bits(ty))?,
            "counter" => 64,
            _ => return None,
        };
        Some(cells.saturating_mul(bits))
    };
    program.instances.iter().filter_map(bits).sum()
}

/// The constant's value.
fn number(expr: &Expr) -> Option<u64> {
    match &expr.kind {
        ExprKind::Const(Const::Bits(bits)) => bits.to_u64(),
        _ => None,
    }
}

fn fitted(program: &Program, device: &Device, map: &SourceMap) -> Fitted {
    let no = |found: &[Diagnostic]| Fitted {
        device: device.name.clone(),
        stages: None,
        used: [0; RESOURCES.len()],
        why_not: reasons(found),
    };
    match rmt_fit::fit(program, device) {
        Err(refused) => no(&refused),
        Ok(fit) if !fit.fits() => no(&fit.diagnostics(map)),
        Ok(fit) => {
            let report = fit.report(map);
            let sum = |resource: &Resource| {
                report.pipes.iter().map(|pipe| pipe.total.get(resource).copied().unwrap_or(0)).sum()
            };
            Fitted {
                device: device.name.clone(),
                stages: report.pipes.iter().map(|pipe| pipe.stages_used).max(),
                used: RESOURCES.each_ref().map(sum),
                why_not: vec![],
            }
        }
    }
}

/// Titles of diagnostics, each once.
fn reasons(found: &[Diagnostic]) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    for one in found {
        let label = one.labels.first().map(|label| label.text.as_str()).filter(|text| !text.is_empty());
        let text = label.map_or_else(|| one.title.clone(), |label| format!("{}: {label}", one.title));
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

fn of_class(program: &Program, class: DeviceClass) -> ClassProfile {
    let profile = class.profile();
    let service = profile.service.as_ps().max(1);
    ClassProfile {
        class: profile.word,
        latency_ns: service / 1000,
        packets_per_s: (u128::from(profile.parallel) * 1_000_000_000_000 / u128::from(service)) as u64,
        why_not: reasons(&ir_limits::check(program, class)),
    }
}

/// Runs packets of so many flows, most of whose lookups hit an entry.
fn speed(program: &Arc<Program>, flows: u64) -> Result<Speed, Vec<Diagnostic>> {
    let mut traffic = Traffic::new(flows as u32, 990, Sizes::Backbone, 1);
    let frames: Vec<Vec<u8>> = (0..PACKETS).map(|_| traffic.draw().1).collect();
    let filled = fill::fill(program, &frames)?;
    let mut switch: Switch = Engine::compile(program, options())?.into_switch();
    for write in &filled.writes {
        // A full table has entries enough.
        let _ = switch.write(write, Time::ZERO);
    }
    let mut batches: Vec<u64> = (0..BATCHES)
        .map(|batch| {
            let began = bench::thread();
            for at in 0..BATCH {
                switch.process(fill::PORT, &frames[(batch * BATCH + at) % frames.len()], Time::ZERO);
            }
            let took = (bench::thread() - began).as_nanos() as u64;
            switch.take_digests();
            took / BATCH as u64
        })
        .collect();
    batches.sort_unstable();
    let (median_ns, fast_ns) = (batches[BATCHES / 2], batches[BATCHES / 10]);
    let packets_per_s = 1_000_000_000 / median_ns.max(1);
    Ok(Speed { flows, median_ns, fast_ns, packets_per_s, hits_percent: filled.hits_percent })
}

fn options() -> Options {
    Options { registry: netfn_registry::all(), ..Options::default() }
}
