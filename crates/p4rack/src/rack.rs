//! From a RACK.toml to the program of each device.

use crate::captures;
use crate::entries::{self, Entries, has};
use crate::files::Disk;
use crate::flows::{self, FlowMove};
use crate::groups;
use crate::handlers::{self, Offers};
use crate::jobs::{self, Jobs};
use crate::merged::{self, Joined, Sharer, Sharing};
use crate::pinned::{self, PinnedApp};
use crate::sources;
use base_diag::{Diagnostic, SourceMap, codes::emulate as codes};
use compiler::{Until, compile, print_parts};
use dataplane_api::Registry;
use device_classes::Lacks;
use ir::Program;
use ir_fill::Write;
use ir_footprint::{analysis, nearest};
use ir_split::auto::{self, Policy};
use ir_split::{Part, Placement, Split, Traced};
use p4_arch::Texts;
use p4_syntax::{Loader, Options};
use rack_emulator::Captures;
use rack_model::{App, Cuts, DeviceClass, DeviceId, NodeId, Rack, Regions, Runtime, Spanned};
use rack_plan::{Cost, RackProblem, RuleText, Wishes, by_hand, check_limits, check_memory, split_lightest};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A rack with compiled and split apps.
pub struct Racked {
    /// As the file describes it.
    pub rack: Rack,
    /// Apps, in the order of the file.
    pub apps: Vec<SplitApp>,
    /// Flows that move, in the order of the file.
    pub moves: Vec<FlowMove>,
    /// Entries of an app for one device only, by the app's and the device's index.
    pub own_entries: BTreeMap<(usize, usize), Entries>,
    /// Entries that each phase adds: (app, device) and the entries.
    pub stage_entries: Vec<Vec<((usize, usize), Entries)>>,
    /// Packets of the captures that workloads send, and pairs of jobs.
    pub captures: Captures,
    /// Jobs of the rack.
    pub jobs: Option<Jobs>,
    /// The directory of the file.
    pub directory: PathBuf,
    /// The files that it was read from, but for captures.
    pub sources: Vec<PathBuf>,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
}

/// Steps of preparing a rack, in order; steps of an app with the app's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// The file, programs and entries are read and checked.
    Check,
    /// Finds the regions of the app, and what each needs.
    Analyze(&'a str),
    /// Plans are searched and split.
    Plan(&'a str),
    /// Split as the map says.
    Split(&'a str),
    /// The parts are printed and compiled.
    Compile(&'a str),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Check => write!(f, "check"),
            Step::Analyze(app) => write!(f, "analyze {app}"),
            Step::Plan(app) => write!(f, "plan and split {app}"),
            Step::Split(app) => write!(f, "split {app}"),
            Step::Compile(app) => write!(f, "compile the parts of {app}"),
        }
    }
}

/// A program, cut for the devices that run it.
pub struct SplitApp {
    /// The whole program.
    pub whole: Arc<Program>,
    /// Device of each region; devices are numbered as in the rack.
    pub placement: Placement,
    /// Result of the splitter.
    pub split: Split,
    /// Predicted cost by objective; empty for a placement by hand.
    pub costs: Vec<Cost>,
    /// Program of each device, compiled from its printed source; `None` where the device runs nothing of the app.
    pub parts: Vec<Option<Part>>,
    /// The printed sources.
    pub texts: Vec<Option<String>>,
    /// Entries of the app.
    pub entries: Entries,
    /// The apps that share the program, if it is a merged one.
    pub sharing: Option<Sharing>,
    /// Externs of its devices, with the app's handlers.
    pub offers: Offers,
    /// The app, if it has an affinity; each of the apps that do and share the program.
    pub pinned: Vec<PinnedApp>,
    /// The app's name and program as compiled, before it was pinned; of each of the apps that share the program.
    pub own: Vec<(String, Arc<Program>)>,
}

/// The part of an app on a device.
#[derive(Clone, Copy)]
pub struct Placed<'r> {
    /// The app's place in [`Racked::apps`].
    pub app: usize,
    /// The device's place in the rack.
    pub device: usize,
    /// The device's name.
    pub name: &'r str,
    /// Program of the device.
    pub part: &'r Part,
    /// The printed source.
    pub text: &'r str,
}

impl Racked {
    /// Reads the data of jobs: their reducers are workloads from now on. Without it, switches run the programs of jobs, and nobody sends.
    pub fn add_job_data(&mut self) -> Result<(), Vec<Diagnostic>> {
        let Racked { rack, jobs, directory, captures, .. } = self;
        jobs.as_ref().map_or(Ok(()), |jobs| jobs.add_workloads(rack, directory, captures))
    }

    /// All externs, with the handlers of all apps.
    pub fn externs(&self) -> Registry {
        let mut all = netfn_registry::all();
        for registry in self.apps.iter().map(|app| &app.offers.registry) {
            for name in registry.value_names() {
                registry.value(name).into_iter().for_each(|offer| all.add_value(name, offer.clone()));
            }
        }
        all
    }

    /// The part of an app that a device runs.
    pub fn part(&self, app: usize, device: usize) -> Option<Placed<'_>> {
        let split = self.apps.get(app)?;
        let (part, text) = (split.parts.get(device)?.as_ref()?, split.texts.get(device)?.as_ref()?);
        let name = &self.rack.devices.get(device)?.name.value;
        Some(Placed { app, device, name, part, text })
    }

    /// The parts that a device runs, in the order of the apps.
    pub fn parts_on(&self, device: usize) -> impl Iterator<Item = Placed<'_>> {
        (0..self.apps.len()).filter_map(move |app| self.part(app, device))
    }

    /// All parts, device by device.
    pub fn parts(&self) -> impl Iterator<Item = Placed<'_>> {
        (0..self.rack.devices.len()).flat_map(|device| self.parts_on(device))
    }

    /// The flow rules of a legacy switch, as text; none of a device that runs programs.
    pub fn flow_rules(&self, index: usize) -> Option<String> {
        let id = DeviceId(index as u32);
        self.rack.legacy(NodeId::Device(id))?;
        Some(flow_rules::print(&flow_rules::patch(&self.rack.circuits(id))))
    }

    /// The app of a rack with a single app; error for others, since `what` supports only one.
    pub fn only_app(&self, what: &str) -> Result<&SplitApp, Vec<Diagnostic>> {
        match (self.apps.as_slice(), self.rack.apps.get(1)) {
            ([app], _) => Ok(app),
            (apps, second) => {
                let diagnostic =
                    Diagnostic::error(codes::ONE_APP, format!("the rack has {} apps, not one", apps.len()))
                        .note(format!("{what} needs exactly one app"));
                Err(vec![second.into_iter().fold(diagnostic, |d, app| d.at(app.span, "the second"))])
            }
        }
    }

    /// Writes for the part of an app on a device: the app's entries, then those for this device alone. A counter on
    /// several devices reports the sum of its copies, so its initial value is written to the first only.
    pub fn fill(&self, app: usize, device: usize) -> Vec<&Write> {
        let Some(Placed { part, .. }) = self.part(app, device) else { return vec![] };
        let own = self.own_entries.get(&(app, device)).into_iter();
        let app = &self.apps[app];
        let is_origin = app.placement.origins().any(|origin| origin.0 as usize == device);
        let before =
            |write: &Write| app.parts[..device].iter().flatten().any(|p| has(&p.program, write.target()));
        let shared = app.entries.for_part(&part.program, is_origin);
        let shared = shared.filter(|write| !matches!(write, Write::Counter { .. }) || !before(write));
        shared.chain(own.flat_map(|own| own.for_part(&part.program, true))).collect()
    }
}

/// The parts of a rack's file that `p4rack switch` does not run; `has_agents` if the devices are separate processes.
pub fn left_to_up(racked: &Racked, has_agents: bool) -> Option<String> {
    let rack = &racked.rack;
    let promotes =
        |app: &PinnedApp| app.model.pinning.as_ref().is_some_and(|pinning| pinning.promote.is_some());
    let all = [
        ("workload", rack.workloads.len(), true),
        ("fault", rack.faults.len(), true),
        ("replace", rack.replaces.len(), true),
        ("membership", rack.memberships.len(), true),
        ("move", rack.moves.len(), has_agents),
    ];
    let sections = all.into_iter().filter(|(_, count, is_left)| *count > 0 && *is_left);
    let mut left: Vec<String> = sections.map(|(name, count, _)| format!("{count} [[{name}]]")).collect();
    if has_agents && racked.apps.iter().flat_map(|app| &app.pinned).any(promotes) {
        left.push("`promote`".to_string());
    }
    let message = format!("left to `p4rack up`, which emulates the rack: {}", left.join(", "));
    (!left.is_empty()).then_some(message)
}

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
    report(Step::Check);
    let Read { rack, apps, rules, own_entries, stage_entries, captures, jobs, directory, mut warnings } =
        read(path, extra_defines, map, change)?;
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
    let Read { rack, apps, rules, .. } = read(path, extra_defines, map, &|_| ())?;
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

/// A planning problem for each app of a RACK.toml (or the one in a directory) and everything it names, with warnings.
pub fn load_problems(
    path: &Path,
    extra_defines: &[String],
    wishes: &Wishes,
    more_rules: &[PathBuf],
    map: &mut SourceMap,
) -> Result<(Vec<RackProblem>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let Read { mut rack, apps, mut rules, jobs, warnings, .. } = read(path, extra_defines, map, &|_| ())?;
    for path in more_rules {
        let (text, base) = sources::read(path, map).map_err(|found| vec![found])?;
        let is_table = path.extension().is_some_and(|extension| extension == "csv");
        rules.push(RuleText { text, base, is_table });
    }
    wishes.fill(&mut rack.plan)?;
    let problem =
        |(at, app): (usize, ReadApp)| RackProblem::new(&rack, at, app.program, &rules, &wishes.without);
    // Those of jobs are placed already.
    let is_planned = |(at, _): &(usize, ReadApp)| {
        !jobs.as_ref().is_some_and(|jobs| jobs.programs.contains_key(&rack.apps[*at].name.value))
    };
    let problems = apps.into_iter().enumerate().filter(is_planned).map(problem).collect::<Result<_, _>>()?;
    Ok((problems, warnings))
}

struct Read {
    rack: Rack,
    apps: Vec<ReadApp>,
    /// Rules for plans.
    rules: Vec<RuleText>,
    own_entries: BTreeMap<(usize, usize), Entries>,
    stage_entries: Vec<Vec<((usize, usize), Entries)>>,
    captures: Captures,
    jobs: Option<Jobs>,
    directory: PathBuf,
    warnings: Vec<Diagnostic>,
}

#[derive(Clone)]
struct ReadApp {
    program: Arc<Program>,
    entries: Entries,
    /// The apps that were merged to this one.
    sharing: Option<Sharing>,
    offers: Offers,
    /// As in [`SplitApp`].
    pinned: Vec<PinnedApp>,
    own: Vec<(String, Arc<Program>)>,
}

fn read(
    path: &Path,
    extra_defines: &[String],
    map: &mut SourceMap,
    change: &dyn Fn(&mut Rack),
) -> Result<Read, Vec<Diagnostic>> {
    let (mut rack, file, mut found) = model(path, map)?;
    let directory = directory(&file);
    change(&mut rack);
    let jobs = jobs::read(&rack, &directory, map)?;
    jobs.iter().for_each(|jobs| jobs.add_apps(&mut rack));
    let shared = merged::refuse(&rack);
    if !shared.is_empty() {
        return Err(shared);
    }
    if rack.apps.is_empty() {
        let diagnostic = Diagnostic::error(codes::ONE_APP, "the rack has no app")
            .note(format!("`{}` describes none", file.display()));
        return Err(vec![diagnostic.help("describe a program under `[[app]]`, or a job under `[[job]]`")]);
    }
    let generated = |app: &App| jobs.as_ref().and_then(|jobs| jobs.programs.get(&app.name.value));
    let mut programs: Vec<Arc<Program>> = vec![];
    for (at, app) in rack.apps.iter().enumerate() {
        let class = |app: &App| rack.devices[app.origin.value.0 as usize].class;
        // Apps with equal inputs share the compiled program, and its diagnostics.
        let alike = |known: &App| {
            let defines =
                |app: &App| app.defines.iter().map(|(n, v)| (n.value.clone(), v.value.clone())).collect();
            let include = |app: &App| app.include.iter().map(|dir| dir.value.clone()).collect();
            let what = |app: &App| -> (String, Vec<(String, String)>, Vec<String>, Cuts, DeviceClass) {
                (app.program.value.clone(), defines(app), include(app), app.cuts, class(app))
            };
            known.pinning.is_none() && app.pinning.is_none() && what(known) == what(app)
        };
        let known = rack.apps[..at].iter().position(alike).and_then(|known| programs.get(known));
        programs.push(match known {
            Some(known) => Arc::clone(known),
            None => match generated(app) {
                Some((source, _)) => {
                    let main = app.program.value.as_str();
                    compile_from(main, &Texts(&[(main, source)]), &Options::default(), map, &mut found)?
                }
                None => {
                    let program = compile_app(app, &directory, extra_defines, map, &mut found)?;
                    with_regions(program, app.cuts, class(app))?
                }
            },
        });
    }
    let sized = pinned::sized(&rack, &programs)?;
    rack.apps.iter_mut().zip(sized).for_each(|(app, pinning)| app.pinning = pinning);
    let mut apps: Vec<ReadApp> = vec![];
    for (app, program) in rack.apps.iter().zip(programs) {
        let own = vec![(app.name.value.clone(), Arc::clone(&program))];
        let made = app.pinning.as_ref().map(|pinning| pinned::program(&program, app, pinning)).transpose()?;
        let (program, mut pinned) = match made {
            Some((program, pinned, unpinned)) => {
                (program, Some(PinnedApp { model: app.clone(), pinned, unpinned, share: None }))
            }
            None => (program, None),
        };
        let mut entries = match generated(app) {
            Some((_, entries)) => {
                let name = format!("{}.stf", app.name.value);
                let base = sources::add(&name, entries, map).map_err(|problem| vec![problem])?;
                entries::read_text(Path::new(&name), entries, base, &program)?
            }
            None => read_entries(app.entries.as_ref(), &directory, &program, map)?,
        };
        found.append(&mut entries.warnings);
        let options = handlers::Options {
            files: app.handlers.iter().map(|file| directory.join(&file.value)).collect(),
            seed: rack.seed,
            ..handlers::Options::default()
        };
        let offers = handlers::offers(&program, &app.program.value, &options, map)?;
        if let Some(PinnedApp { pinned, unpinned, .. }) = &mut pinned {
            unpinned.fill(entries.writes(), pinned);
            entries = pinned::with_copies(entries, pinned);
        }
        let pinned = pinned.into_iter().collect();
        apps.push(ReadApp { program, entries, sharing: None, offers, pinned, own });
    }
    let apps = join_shared(&mut rack, apps, map)?;
    let mut rules = vec![];
    for path in &rack.plan.rules {
        let (text, base) = sources::read(&named(path, &directory)?, map).map_err(|found| vec![found])?;
        rules.push(RuleText { text, base, is_table: path.value.ends_with(".csv") });
    }
    let mut read = |device: DeviceId, path: &Spanned<String>| {
        let each = rack.apps_of(device).filter_map(|at| Some((at, apps.get(at)?)));
        let read = each.map(|(at, app)| {
            let entries = read_entries(Some(path), &directory, &app.program, map)?;
            Ok(((at, device.0 as usize), entries))
        });
        read.collect::<Result<Vec<_>, Vec<Diagnostic>>>()
    };
    let mut own_entries = BTreeMap::new();
    for (id, device) in (0..).map(DeviceId).zip(&rack.devices) {
        if let Some(path) = &device.entries {
            own_entries.extend(read(id, path)?);
        }
    }
    let mut stage_entries = vec![];
    for stage in &rack.stages {
        let mut added = vec![];
        for (device, path) in &stage.entries {
            added.extend(read(*device, path)?);
        }
        stage_entries.push(added);
    }
    let of_stages = stage_entries.iter_mut().flatten().map(|(_, entries)| entries);
    for entries in own_entries.values_mut().chain(of_stages) {
        found.append(&mut entries.warnings);
    }
    let captures = captures::read(&rack, &directory)?;
    Ok(Read { rack, apps, rules, own_entries, stage_entries, captures, jobs, directory, warnings: found })
}

/// The program of each app with the app's name, as the apps are before any of them are merged.
pub fn app_programs(
    path: &Path,
    extra_defines: &[String],
    map: &mut SourceMap,
) -> Result<Vec<(String, Arc<Program>)>, Vec<Diagnostic>> {
    let (rack, file, mut found) = model(path, map)?;
    let directory = directory(&file);
    let program = |app: &App| {
        let program = compile_app(app, &directory, extra_defines, map, &mut found)?;
        Ok((app.name.value.clone(), program))
    };
    rack.apps.iter().map(program).collect()
}

/// The directory of a file.
pub(crate) fn directory(file: &Path) -> PathBuf {
    file.parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// A RACK.toml (or the one in a directory), its path, and warnings.
pub(crate) fn model(
    path: &Path,
    map: &mut SourceMap,
) -> Result<(Rack, PathBuf, Vec<Diagnostic>), Vec<Diagnostic>> {
    let file = rack_file(path).map_err(|d| vec![d])?;
    let (text, base) = sources::read(&file, map).map_err(|d| vec![d])?;
    match rack_model::read_rack(&text, base) {
        (Some(rack), found) => Ok((rack, file, found)),
        (None, found) => Err(found),
    }
}

/// The program of an app, compiled with the app's definitions and folders.
pub(crate) fn compile_app(
    app: &App,
    directory: &Path,
    extra_defines: &[String],
    map: &mut SourceMap,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Arc<Program>, Vec<Diagnostic>> {
    let mut defines: Vec<String> =
        app.defines.iter().map(|(name, value)| format!("{}={}", name.value, value.value)).collect();
    defines.extend(extra_defines.iter().cloned());
    let include_dirs = app.include.iter().map(|dir| directory.join(&dir.value).display().to_string());
    let options = Options { defines, include_dirs: include_dirs.collect(), ..Options::default() };
    let main = named(&app.program, directory)?.display().to_string();
    compile_program(&main, &options, map, warnings)
}

/// Apps that share a device become one, with all their entries.
fn join_shared(
    rack: &mut Rack,
    apps: Vec<ReadApp>,
    map: &mut SourceMap,
) -> Result<Vec<ReadApp>, Vec<Diagnostic>> {
    let groups = merged::groups(rack);
    if groups.len() == apps.len() {
        return Ok(apps);
    }
    let (mut models, mut joined) = (vec![], vec![]);
    for group in &groups {
        if let [alone] = group.as_slice() {
            models.push(rack.apps[*alone].clone());
            joined.push(apps[*alone].clone());
            continue;
        }
        let sharer = |at: &usize| {
            let model = &rack.apps[*at];
            let app = ir_merge::App {
                name: model.name.value.as_str().into(),
                program: &apps[*at].program,
                class: model.class.as_ref().map(|class| class.value.clone()),
                priority: model.priority.as_ref().map(|priority| priority.value),
                has_regions: apps[*at].pinned.iter().any(|pinned| pinned.pinned.region.is_some()),
            };
            Sharer { app, span: model.class.as_ref().map_or(model.span, |class| class.span) }
        };
        let sharers: Vec<Sharer<'_>> = group.iter().map(sharer).collect();
        let name = merged::name(rack, group);
        let Joined { program, sharing, .. } = merged::join(&sharers, &name, map)?;
        let model = merged::stand_in(rack, group, name, &sharing);
        let pinned = group.iter().zip(&sharing.apps).flat_map(|(at, (share, _))| {
            let with = |pinned: &PinnedApp| PinnedApp { share: Some(share.clone()), ..pinned.clone() };
            apps[*at].pinned.iter().map(with)
        });
        let pinned = pinned.collect();
        let own = |at: &usize| (apps[*at].entries.clone(), rack.apps[*at].span);
        // Merged programs have no handlers of their own.
        let offers = Offers::default();
        let own: Vec<(Entries, base_diag::Span)> = group.iter().map(own).collect();
        joined.push(ReadApp {
            program,
            entries: merged::entries(&sharing, &own)?,
            sharing: Some(sharing),
            offers,
            pinned,
            own: group.iter().flat_map(|at| apps[*at].own.clone()).collect(),
        });
        models.push(model);
    }
    rack.apps = models;
    Ok(joined)
}

/// Entries from a file beside the rack's; none if no file is named.
fn read_entries(
    path: Option<&Spanned<String>>,
    directory: &Path,
    program: &Arc<Program>,
    map: &mut SourceMap,
) -> Result<Entries, Vec<Diagnostic>> {
    path.map_or(Ok(Entries::default()), |path| entries::read(&named(path, directory)?, program, map))
}

/// The file of a rack: the one that is named, or the one in the directory that is named.
fn rack_file(path: &Path) -> Result<PathBuf, Diagnostic> {
    if path.extension().is_some_and(|extension| extension == "p4") && path.is_file() {
        let title = "a P4 program is not a rack";
        return Err(Diagnostic::error(codes::UNREADABLE_FILE, title)
            .note(format!("`{}` is one", path.display()))
            .help("a RACK.toml names it under `[[app]]`: `docs/tutorial.md` writes one")
            .help("`p4rack run` and `p4rack switch` take a program as it is"));
    }
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let file = path.join("RACK.toml");
    if file.exists() {
        return Ok(file);
    }
    let diagnostic = Diagnostic::error(codes::UNREADABLE_FILE, "the directory has no RACK.toml")
        .note(format!("there is no `{}`", file.display()));
    Err(match sources::first_with(path, "toml") {
        Some(other) => diagnostic.help(format!("did you mean `{}`?", other.display())),
        None => diagnostic
            .help("`p4rack generate-rack star -o DIR` writes one; `docs/tutorial.md` explains its contents"),
    })
}

/// A file that the rack's names, if it can be read.
fn named(path: &Spanned<String>, directory: &Path) -> Result<PathBuf, Vec<Diagnostic>> {
    let file = directory.join(&path.value);
    match sources::text(&file) {
        Ok(_) => Ok(file),
        Err(why) => Err(vec![sources::unreadable(&file, why).at(path.span, "named here, beside this file")]),
    }
}

/// Compiles a program that has to run, with its `flyto` calls and its calls of handlers as regions; warnings are added to `warnings`.
pub fn compile_program(
    main: &str,
    options: &Options,
    map: &mut SourceMap,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Arc<Program>, Vec<Diagnostic>> {
    compile_from(main, &Disk, options, map, warnings)
}

/// The same, from a loader of texts.
fn compile_from(
    main: &str,
    loader: &dyn Loader,
    options: &Options,
    map: &mut SourceMap,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Arc<Program>, Vec<Diagnostic>> {
    let compiled = compile(main, loader, options, Until::Elaborated, map);
    match compiled.program {
        Some(mut program) => {
            let wrong = crate::functions::check(&program);
            if !wrong.is_empty() {
                return Err(wrong);
            }
            ir_split::landings(Arc::make_mut(&mut program))?;
            handlers::mark(Arc::make_mut(&mut program));
            warnings.extend(compiled.diagnostics);
            Ok(program)
        }
        // It has errors, or no `main`, which is one.
        None => Err(compiled.diagnostics),
    }
}

/// The program with regions where the app wants them.
fn with_regions(
    program: Arc<Program>,
    cuts: Cuts,
    class: DeviceClass,
) -> Result<Arc<Program>, Vec<Diagnostic>> {
    let policy = match cuts {
        Cuts::Marked => return Ok(program),
        Cuts::Tables => Policy::Tables,
        Cuts::Blocks => Policy::Blocks,
        Cuts::Chain => Policy::Chain,
        Cuts::Beyond if class.profile().lacks == Lacks::NOTHING => return Ok(program),
        Cuts::Beyond => Policy::Beyond(class),
        Cuts::Auto => return analysis::finest(&program).map(Arc::new),
    };
    let mut marked = analysis::base(&program, policy)?;
    let mut cuts = auto::cuts(&marked, policy);
    cuts.retain(|cut| !cut.from.in_loop);
    auto::mark(&mut marked, &cuts);
    Ok(Arc::new(marked))
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
