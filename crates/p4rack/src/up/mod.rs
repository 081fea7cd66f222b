//! Bring a rack up in virtual time and run its workloads.

mod page;
mod stages;
mod topology;

pub use page::page;
pub use stages::{run_stages, stages_page};

use crate::functions;
use crate::idle::Idle;
use crate::rack::Racked;
use base_diag::{Diagnostic, codes::emulate as codes};
use base_time::Rng;
use ir_interp::Options;
use rack_emulator::{Emulator, RackDevice, RunReport, Spent};
use std::collections::BTreeMap;
use target_native::Engine;

/// The rack with every device programmed, at time 0; without its stages.
pub fn bring_up(racked: &Racked) -> Result<Emulator, Vec<Diagnostic>> {
    bring_up_in(racked, None)
}

/// The same in one of its stages.
pub fn bring_up_in(racked: &Racked, stage: Option<usize>) -> Result<Emulator, Vec<Diagnostic>> {
    let rack = racked.rack.in_stage(stage);
    let stages = rack.stages_up_to(stage);
    let seeds = Rng::new(rack.seed).split("devices");
    let mut devices = vec![];
    let mut compiled = BTreeMap::new();
    for (index, device) in racked.rack.devices.iter().enumerate() {
        let name = device.name.value.clone();
        let spent = Spent::default();
        let Some((app, part)) = racked.part(index) else {
            let device = Box::new(Idle::default());
            devices.push(RackDevice { name, engine: "idle".to_string(), device, spent });
            continue;
        };
        let options = Options {
            registry: functions::offered(device, &spent),
            seed: seeds.split_index(index as u64).next_u64(),
            ..Options::default()
        };
        // Devices with the same source share its code.
        let text = app.texts.get(index).and_then(Option::as_ref);
        let made = match text.and_then(|text| compiled.get(text)) {
            Some(compiled) => Engine::of(compiled, options)?,
            None => Engine::compile(&part.program, options)?,
        };
        compiled.extend(text.map(|text| (text, made.compiled())));
        let engine = if made.report().compiled { "native" } else { "interp" };
        let mut switch = made.into_switch();
        ir_prove::link(&mut switch, &part.linkage).map_err(|error| refused(&error.message))?;
        let added = stages.iter().filter_map(|stage| racked.stage_entries.get(*stage));
        let added = added.flatten().filter(|(device, _)| device.0 as usize == index);
        let added = added.flat_map(|(_, more)| more.for_part(&part.program, true));
        for write in racked.fill(index).into_iter().chain(added) {
            switch.fill(write).map_err(|error| refused(&error.message))?;
        }
        devices.push(RackDevice { name, engine: engine.to_string(), device: Box::new(switch), spent });
    }
    let captures = racked.captures.clone();
    Emulator::with_captures(&rack, devices, captures).map_err(|error| refused(&error.0))
}

/// Runs until nothing is left to happen or time is up.
pub fn run(emulator: &mut Emulator) -> Result<RunReport, Vec<Diagnostic>> {
    run_watched(emulator, &mut |_| Ok(()))
}

/// The same, event by event: `watch` is called behind each, and its error ends the run.
pub fn run_watched(
    emulator: &mut Emulator,
    watch: &mut dyn FnMut(&mut Emulator) -> Result<(), String>,
) -> Result<RunReport, Vec<Diagnostic>> {
    let broken = |violation: rack_emulator::Violation| refused(&violation.to_string());
    while emulator.next_time().is_some_and(|at| at <= emulator.limit()) {
        emulator.step().map_err(broken)?;
        watch(emulator).map_err(|why| refused(&why))?;
    }
    emulator.finish().map_err(broken)?;
    watch(emulator).map_err(|why| refused(&why))?;
    Ok(emulator.report())
}

fn refused(why: &str) -> Vec<Diagnostic> {
    vec![Diagnostic::error(codes::EMULATION, "the rack cannot be run").note(why)]
}
