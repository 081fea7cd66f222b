//! Fits a program to a device: units, dependencies, placement, containers.

use crate::amount::{Amounts, Resource};
use crate::checksums;
use crate::device::Device;
use crate::field::{FieldId, Fields, Half, Scope};
use crate::graph::{self, Dependency};
use crate::parde::{self, Parde};
use crate::phv::{Containers, Packing};
use crate::place::Placement;
use crate::problem::Problem;
use crate::unit::Unit;
use crate::validity::{self, Validity};
use crate::walk::Walk;
use base_diag::Diagnostic;
use base_diag::codes::plan::NO_FIT;
use ir::{Arch, ControlId, Direction, Program, StageKind, VarId, VarKind};
use std::collections::BTreeSet;

/// A program on a device.
#[derive(Debug)]
pub struct Fit {
    /// The device.
    pub device: Device,
    /// The program's pipelines, at least one.
    pub pipes: Vec<Pipe>,
}

/// A pipeline.
#[derive(Debug)]
pub struct Pipe {
    /// `pipe0`, `pipe1`.
    pub name: String,
    /// All fields.
    pub fields: Fields,
    /// The units to place.
    pub units: Vec<Unit>,
    /// Dependencies between units.
    pub dependencies: Vec<Dependency>,
    /// The stages of each unit.
    pub placement: Placement,
    /// Validity bits in common containers, which keep units apart.
    pub validity: Validity,
    /// Containers of ingress and egress.
    pub phv: [Containers; 2],
    /// Validity bits of ingress and egress.
    pub pov_bits: [u32; 2],
    /// Rows of the parsers' TCAM.
    pub parser_states: [u32; 2],
    /// Share of the power budget in millionths, if the device has one.
    pub power: Option<u64>,
    /// Code that no stage can run, whatever the placement.
    pub problems: Vec<Problem>,
    /// Resources that are exhausted.
    pub lacks: Vec<Lack>,
}

/// Something that there is not enough of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lack {
    /// More stages than the device has.
    Stages,
    /// A unit that no stage can hold.
    Unit(usize, Option<Resource>),
    /// Units that wait for each other.
    Circle,
    /// Containers.
    Phv,
    /// Rows of a parser.
    Parser(Half),
    /// Validity bits.
    Pov(Half),
    /// Energy.
    Power,
}

impl Fit {
    /// True if the device can run the program.
    pub fn fits(&self) -> bool {
        self.pipes.iter().all(|pipe| pipe.lacks.is_empty() && pipe.problems.is_empty())
    }
}

/// Places `program`, an elaborated one, on `device`.
pub fn fit(program: &Program, device: &Device) -> Result<Fit, Vec<Diagnostic>> {
    if let Some(refused) = refused(program, device) {
        return Err(vec![refused]);
    }
    let lowered = ir_lower::lower_for_stages(&keep_results(program))?;
    Ok(fit_lowered(&lowered, device))
}

/// The program with `inout` in place of `out` for controls and actions that other code calls: lowering sets an `out` parameter to zero
/// first, which would be a step of code, while compilers for stages leave its value undefined.
fn keep_results(program: &Program) -> Program {
    let mut program = program.clone();
    let is_stage = |id: usize| {
        let id = ControlId::from(id);
        program.stages.iter().any(|s| s.kind == StageKind::Control(id) || s.kind == StageKind::Deparse(id))
    };
    let applied: Vec<bool> = (0..program.controls.len()).map(|id| !is_stage(id)).collect();
    for (control, is_applied) in program.controls.iter_mut().zip(applied) {
        let own = control.params.iter().filter(|_| is_applied);
        let all: Vec<VarId> =
            own.chain(control.actions.iter().flat_map(|action| &action.params)).copied().collect();
        for id in all {
            let var = &mut control.vars[id.index()];
            if var.kind == VarKind::Param(Direction::Out) {
                var.kind = VarKind::Param(Direction::InOut);
            }
        }
    }
    program
}

/// Reason why programs of this architecture cannot be fitted to the device.
fn refused(program: &Program, device: &Device) -> Option<Diagnostic> {
    match &program.arch {
        Arch::T2na if device.tofino == Some(1) => {
            let title = format!("`t2na.p4` is for Tofino 2, {} is a Tofino 1", device.name);
            Some(Diagnostic::error(NO_FIT, title).help("`--device tofino2`, or include `tna.p4`"))
        }
        Arch::Other(name) => {
            let title = format!("the architecture of `{name}` is the program's own");
            let error = Diagnostic::error(NO_FIT, title)
                .note("which of its blocks run before and after queues is not known");
            Some(error.help("write it for TNA, T2NA, v1model, PSA or PNA"))
        }
        _ => None,
    }
}

/// Places a lowered program on `device`.
pub fn fit_lowered(program: &Program, device: &Device) -> Fit {
    let mut names: Vec<&str> = vec![];
    for stage in &program.stages {
        let pipe = pipe_of(&stage.name);
        if !names.contains(&pipe) {
            names.push(pipe);
        }
    }
    let pipes = names.into_iter().map(|name| pipe(program, device, name)).collect();
    Fit { device: device.clone(), pipes }
}

/// `pipe1` of `pipe1.ingress`; the first pipeline's stages have no such head.
fn pipe_of(stage: &str) -> &str {
    match stage.split_once('.') {
        Some((pipe, _)) if pipe.starts_with("pipe") => pipe,
        _ => "pipe0",
    }
}

fn pipe(program: &Program, device: &Device, name: &str) -> Pipe {
    let mut fields = Fields::default();
    let (mut units, mut problems) = (vec![], vec![]);
    let mut pardes = [Parde::default(), Parde::default()];
    let mut half = Half::Ingress;
    let halves = [Half::Ingress, Half::Egress];
    let parsers =
        program.stages.iter().filter(|s| matches!(s.kind, StageKind::Parse(_)) && pipe_of(&s.name) == name);
    let shares = parsers.count() == 1;
    for stage in program.stages.iter().filter(|s| pipe_of(&s.name) == name) {
        let serves = if shares { halves.to_vec() } else { vec![half] };
        match stage.kind {
            StageKind::TrafficManager => half = Half::Egress,
            // Where one parser and one deparser serve both halves, headers are held in both.
            StageKind::Parse(id) => {
                let parser = program.parser(id);
                for half in &serves {
                    let scope =
                        Scope::new(program, &parser.name, &parser.vars, &parser.params, &stage.roles, *half);
                    pardes[*half as usize].parser(device, parser, &scope, &mut fields);
                    let far = parde::far_reads(device, parser, &scope).into_iter();
                    far.for_each(|problem| problem.add_to(&mut problems));
                }
            }
            StageKind::Deparse(id) => {
                let control = program.control(id);
                for half in &serves {
                    let scope = Scope::new(
                        program,
                        &control.name,
                        &control.vars,
                        &control.params,
                        &stage.roles,
                        *half,
                    );
                    pardes[*half as usize].deparser(control, &scope, &mut fields);
                    checksums::add_tables(program, control, &scope, &mut fields, &mut units);
                }
            }
            StageKind::Control(id) => {
                let control = program.control(id);
                let scope =
                    Scope::new(program, &control.name, &control.vars, &control.params, &stage.roles, half);
                Walk::run(program, control, scope, &mut fields, &mut units, &mut problems);
            }
        }
    }
    let dependencies = graph::dependencies(&units);
    let mut lacks = vec![];
    let (placement, validity) = if graph::order(units.len(), &dependencies).is_some() {
        validity::place(device, &units, &dependencies, &fields, &pardes)
    } else {
        lacks.push(Lack::Circle);
        <(Placement, Validity)>::default()
    };
    lacks.extend(placement.unplaced.iter().map(|(unit, resource)| Lack::Unit(*unit, *resource)));
    if placement.stages.len() as u32 > device.stages {
        lacks.push(Lack::Stages);
    }
    let stages = spans(&placement, units.len());
    let written: BTreeSet<FieldId> =
        units.iter().flat_map(|u: &Unit| u.writes.iter().map(|a| a.field)).collect();
    let pov = halves.map(|half| parde::pov_bits(&pardes[half as usize], &written, &fields, half));
    let pov_bits = pov.map(|(headers, metadata)| headers + metadata);
    let phv = halves.map(|half| {
        let (parde, pov_bits) = (&pardes[half as usize], pov[half as usize]);
        let packing =
            Packing { device, half, fields: &fields, units: &units, stages: &stages, parde, pov_bits };
        packing.containers()
    });
    let parser_states = halves.map(|half| pardes[half as usize].states);
    for half in halves {
        if parser_states[half as usize] > device.parser.states {
            lacks.push(Lack::Parser(half));
        }
        if pov_bits[half as usize] > device.phv.pov_bits {
            lacks.push(Lack::Pov(half));
        }
    }
    if is_short(device, &phv) {
        lacks.push(Lack::Phv);
    }
    let power = power(device, &placement);
    if power.is_some_and(|share| share > ALL) {
        lacks.push(Lack::Power);
    }
    Pipe {
        name: name.to_string(),
        fields,
        units,
        dependencies,
        placement,
        validity,
        phv,
        pov_bits,
        parser_states,
        power,
        problems,
        lacks,
    }
}

/// True if a placement is complete, short enough, and takes no more energy than there is.
pub(crate) fn suffices(device: &Device, placement: &Placement) -> bool {
    placement.unplaced.is_empty()
        && placement.stages.len() as u32 <= device.stages
        && power(device, placement).is_none_or(|share| share <= ALL)
}

/// The whole power budget.
const ALL: u64 = 1_000_000;

/// First and last stage of each unit.
fn spans(placement: &Placement, units: usize) -> Vec<(u32, u32)> {
    let mut spans = vec![None; units];
    for (stage, number) in placement.stages.iter().zip(0u32..) {
        for (unit, _) in &stage.parts {
            let span = spans[*unit].get_or_insert((number, number));
            span.1 = number;
        }
    }
    spans.into_iter().map(Option::unwrap_or_default).collect()
}

/// True if there are too few containers, even if wide ones are replaced by several narrow ones, and narrow ones by wide ones.
fn is_short(device: &Device, phv: &[Containers; 2]) -> bool {
    let all = |of: fn(&Containers) -> u32| phv.iter().map(of).sum::<u32>();
    let there = &device.phv;
    let mocha = there.mocha_bytes + there.mocha_halves + there.mocha_words;
    let tagalong = there.tagalong_bytes + there.tagalong_halves + there.tagalong_words;
    let free = |used: u32, there: u32| there.saturating_sub(used);
    let over = |used: u32, there: u32| used.saturating_sub(there);
    // Fields that find no place in the cheaper kinds of containers use normal ones; two halves replace a word, two bytes a half.
    let spilled = over(all(|c| c.mocha), mocha) + over(all(|c| c.tagalong), tagalong);
    let words = all(|c| c.words);
    let halves = all(|c| c.halves) + spilled + 2 * over(words, there.words);
    let bytes = all(|c| c.bytes) + 2 * over(halves, there.halves);
    over(bytes, there.bytes) > free(words, there.words) + free(halves, there.halves)
}

/// Accesses of a packet that passes all stages. The last part of a divided table is not searched where another was hit.
fn power(device: &Device, placement: &Placement) -> Option<u64> {
    let costs = device.power.as_ref()?;
    let mut total = 0;
    let last_of =
        |unit: usize| placement.stages.iter().rposition(|s| s.parts.iter().any(|(u, _)| *u == unit));
    let first_of =
        |unit: usize| placement.stages.iter().position(|s| s.parts.iter().any(|(u, _)| *u == unit));
    for (at, stage) in placement.stages.iter().enumerate() {
        for (unit, part) in &stage.parts {
            if last_of(*unit) == Some(at) && first_of(*unit) != Some(at) {
                continue;
            }
            total += u64::from(part.reads) * u64::from(costs.sram_read)
                + u64::from(part.map_reads) * u64::from(costs.map_ram)
                + u64::from(part.amounts[Resource::Tcam]) * u64::from(costs.tcam_search);
        }
    }
    Some(total)
}

impl Pipe {
    /// Name of the field that a dependency is about.
    pub(crate) fn field_name(&self, dependency: &Dependency) -> &str {
        dependency.field.map_or("", |field| &self.fields.get(field).name)
    }

    /// The units of all stages together.
    pub fn total(&self) -> Amounts {
        let mut total = Amounts::default();
        self.placement.stages.iter().for_each(|stage| total += stage.used);
        total
    }
}
