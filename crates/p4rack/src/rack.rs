//! From a RACK.toml to the program of each device.

mod compiled;
mod racked;
mod read;

use crate::flows::{self};
use crate::groups;
use crate::handlers::{self};
use crate::jobs::{self, Jobs};
use crate::sources;
use crate::variants::{Chosen, Refused, Variants, first_that_fits};
use base_diag::{Diagnostic, SourceMap, codes::emulate as codes};
pub(crate) use compiled::compile_app;
pub use compiled::{compile_program, runnable};
use compiler::print_parts;
use device_control::Codes;
use ir_footprint::nearest;
use ir_split::{Part, Placement, Traced};
use rack_model::{App, Rack, Regions, Runtime};
use rack_plan::{RackProblem, RuleText, Wishes, by_hand, check_limits, check_memory, split_lightest};
pub use racked::{Placed, Racked, SplitApp, Step, left_to_up};
pub use read::app_programs;
use read::{Read, ReadApp, rack_file, read};
pub(crate) use read::{directory, model};
use std::path::{Path, PathBuf};

/// Reads a RACK.toml (or the one in a directory) and everything it names.
pub fn load(path: &Path, extra_defines: &[String], map: &mut SourceMap) -> Result<Racked, Vec<Diagnostic>> {
    load_as(path, extra_defines, map, &|_| (), &mut |_| ())
}

/// [`load`] for a rack modified by `change`. `report` is called when a step begins.
pub fn load_as(
    path: &Path,
    extra_defines: &[String],
    map: &mut SourceMap,
    change: &dyn Fn(&mut Rack),
    report: &mut dyn FnMut(Step),
) -> Result<Racked, Vec<Diagnostic>> {
    let attempt = |blocks: &Variants| load_with(path, extra_defines, blocks, map, change, report);
    let (racked, blocks) = first_that_fits(attempt)?;
    Ok(Racked { blocks, ..racked })
}

fn load_with(
    path: &Path,
    extra_defines: &[String],
    blocks: &Variants,
    map: &mut SourceMap,
    change: &dyn Fn(&mut Rack),
    report: &mut dyn FnMut(Step),
) -> Result<Racked, Refused> {
    report(Step::Check);
    let Read { rack, apps, rules, own_entries, stage_entries, captures, jobs, directory, mut warnings } =
        read(path, extra_defines, blocks, map, change).map_err(Refused::Input)?;
    let sources = map.files().map(|file| PathBuf::from(file.name().as_str())).collect();
    let mut made = vec![];
    for (at, (model, read)) in rack.apps.iter().zip(apps).enumerate() {
        let ReadApp { mut program, entries, sharing, offers, pinned, own } = read;
        let name = &model.name.value;
        let (placement, split, costs) = match &model.map {
            Regions::Planned => {
                report(Step::Analyze(name));
                let mut problem = RackProblem::new(&rack, at, program.clone(), &rules, &[])?;
                report(Step::Plan(name));
                let (placement, split, costs) = problem.best().map_err(|found| in_app(found, model))?;
                // Regions that the planner has cut itself are not marked in this program: those stay as planned.
                let is_auto = model.runtime == Runtime::Auto;
                match is_auto.then(|| split_lightest(&rack, at, &program, placement.clone())) {
                    Some(Ok((placement, split))) => (placement, split, costs),
                    _ => (placement, split, costs),
                }
            }
            Regions::ByHand(regions) => {
                report(Step::Split(name));
                let regions = handlers::placed(&rack, model, regions, &program)?;
                program = groups::with_flows(&rack, &regions, program)?;
                let placed = by_hand(&rack, at, &regions, &program)?;
                let made = split_lightest(&rack, at, &program, placed.clone());
                let (placement, split) = made.map_err(|found| {
                    // An affinity leaves no choice of maps.
                    let found = match pinned.is_empty() {
                        false => found,
                        true => nearest::with_help(&program, &placed, found),
                    };
                    in_app(found, model)
                })?;
                check_limits(&rack, &placement, &split)?;
                if let Some(first) = pinned.first().and_then(|first| first.model.pinning.as_ref()) {
                    check_memory(&rack, &split, first.affinity.span, &format!("`{name}`"))?;
                }
                (placement, split, vec![])
            }
        };
        report(Step::Compile(name));
        let (parts, texts) = print_parts(&split, &placement, map)?;
        warnings.extend(split.warnings.iter().cloned());
        check_offers(&rack, &placement, &parts)?;
        made.push(SplitApp {
            whole: program,
            placement,
            split,
            costs,
            parts,
            texts,
            entries,
            sharing,
            offers,
            pinned,
            own,
        });
    }
    let moves = flows::moves(&rack, &made)?;
    Ok(Racked {
        rack,
        apps: made,
        moves,
        own_entries,
        stage_entries,
        captures,
        jobs,
        directory,
        sources,
        warnings,
        blocks: Chosen::default(),
        codes: Codes::default(),
    })
}

/// The jobs of a RACK.toml (or the one in a directory), placed; none if it has no jobs.
pub fn jobs_of(path: &Path, map: &mut SourceMap) -> Result<Option<Jobs>, Vec<Diagnostic>> {
    let file = rack_file(path).map_err(|d| vec![d])?;
    let directory = file.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let (text, base) = sources::read(&file, map).map_err(|d| vec![d])?;
    let (rack, found) = rack_model::read_rack(&text, base);
    rack.map_or(Err(found), |rack| jobs::read(&rack, &directory, map))
}

/// Splits the apps of a rack, without compiling their parts: of each its name and the split with the text of the steps that
/// `shown` names (`ir_split::STEPS`).
pub fn trace(
    path: &Path,
    extra_defines: &[String],
    shown: &[&str],
    map: &mut SourceMap,
) -> Result<Vec<(String, Traced)>, Vec<Diagnostic>> {
    first_that_fits(|blocks| trace_with(path, extra_defines, shown, blocks, map)).map(|(traced, _)| traced)
}

fn trace_with(
    path: &Path,
    extra_defines: &[String],
    shown: &[&str],
    blocks: &Variants,
    map: &mut SourceMap,
) -> Result<Vec<(String, Traced)>, Refused> {
    let Read { rack, apps, rules, .. } =
        read(path, extra_defines, blocks, map, &|_| ()).map_err(Refused::Input)?;
    let mut traced = vec![];
    for (at, (model, ReadApp { mut program, .. })) in rack.apps.iter().zip(apps).enumerate() {
        let placement = match &model.map {
            Regions::Planned => {
                let mut problem = RackProblem::new(&rack, at, program.clone(), &rules, &[])?;
                problem.best().map_err(|found| in_app(found, model))?.0
            }
            Regions::ByHand(regions) => {
                let regions = handlers::placed(&rack, model, regions, &program)?;
                program = groups::with_flows(&rack, &regions, program)?;
                by_hand(&rack, at, &regions, &program)?
            }
        };
        let mut app = ir_split::trace(&program, &placement, shown);
        app.outcome = app.outcome.map_err(|found| in_app(found, model));
        traced.push((model.name.value.clone(), app));
    }
    Ok(traced)
}

/// Adds the place of the app to diagnostics without a place.
fn in_app(found: Vec<Diagnostic>, app: &App) -> Vec<Diagnostic> {
    let place = |diagnostic: Diagnostic| match diagnostic.labels.is_empty() {
        true => diagnostic.at(app.span, format!("as `{}` is placed here", app.name.value)),
        false => diagnostic,
    };
    found.into_iter().map(place).collect()
}

/// Planning problems of a rack.
pub struct Problems {
    /// One for each app.
    pub problems: Vec<RackProblem>,
    /// Blocks that were chosen so that each app has a plan.
    pub blocks: Chosen,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
}

/// A planning problem for each app of a RACK.toml (or the one in a directory) and everything it names.
pub fn load_problems(
    path: &Path,
    extra_defines: &[String],
    wishes: &Wishes,
    more_rules: &[PathBuf],
    map: &mut SourceMap,
) -> Result<Problems, Vec<Diagnostic>> {
    let attempt = |blocks: &Variants| {
        let (mut problems, warnings) = problems_with(path, extra_defines, wishes, more_rules, blocks, map)?;
        if blocks.has_choice() {
            problems.iter_mut().try_for_each(|problem| problem.best().map(|_| ()))?;
        }
        Ok((problems, warnings))
    };
    let ((problems, warnings), blocks) = first_that_fits(attempt)?;
    Ok(Problems { problems, blocks, warnings })
}

fn problems_with(
    path: &Path,
    extra_defines: &[String],
    wishes: &Wishes,
    more_rules: &[PathBuf],
    blocks: &Variants,
    map: &mut SourceMap,
) -> Result<(Vec<RackProblem>, Vec<Diagnostic>), Refused> {
    let Read { mut rack, apps, mut rules, jobs, warnings, .. } =
        read(path, extra_defines, blocks, map, &|_| ()).map_err(Refused::Input)?;
    for path in more_rules {
        let (text, base) = sources::read(path, map).map_err(|found| Refused::Input(vec![found]))?;
        let is_table = path.extension().is_some_and(|extension| extension == "csv");
        rules.push(RuleText { text, base, is_table });
    }
    wishes.fill(&mut rack.plan).map_err(Refused::Input)?;
    let problem =
        |(at, app): (usize, ReadApp)| RackProblem::new(&rack, at, app.program, &rules, &wishes.without);
    // Those of jobs are placed already.
    let is_planned = |(at, _): &(usize, ReadApp)| {
        !jobs.as_ref().is_some_and(|jobs| jobs.programs.contains_key(&rack.apps[*at].name.value))
    };
    let problems =
        apps.into_iter().enumerate().filter(is_planned).map(problem).collect::<Result<_, Vec<_>>>()?;
    Ok((problems, warnings))
}

/// Every extern of the user's own runs on a device that offers it.
fn check_offers(rack: &Rack, placement: &Placement, parts: &[Option<Part>]) -> Result<(), Vec<Diagnostic>> {
    let mut wrong = vec![];
    for ((device, part), name) in rack.devices.iter().zip(parts).zip(&placement.devices) {
        let Some(part) = part else { continue };
        for wanted in part.program.own_externs() {
            if device.externs.iter().any(|e| e.value == wanted) {
                continue;
            }
            let who: Vec<_> = rack
                .devices
                .iter()
                .filter(|d| d.externs.iter().any(|e| e.value == wanted))
                .map(|d| format!("`{}`", d.name.value))
                .collect();
            let note = match who.is_empty() {
                true => "no device of the rack offers it".to_string(),
                false => format!("offered by: {}", who.join(", ")),
            };
            wrong.push(
                Diagnostic::error(codes::EXTERN_NOT_OFFERED, format!("`{name}` does not offer `{wanted}`"))
                    .at(device.name.span, "a region that calls it is placed here")
                    .note(note)
                    .help(
                        "place the region elsewhere in the app's `map`, or add it to the device's `externs`",
                    ),
            );
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}
