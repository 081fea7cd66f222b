//! Apps with an affinity: their programs are pinned before they are split, and tables that are copied whole get their entries twice.

use crate::entries::Entries;
use crate::flows::Unpinned;
use crate::handlers;
use crate::merged;
use base_diag::{Diagnostic, SourceMap, codes::pin as codes, codes::rack as rack_codes};
use control_writes::Target;
use flow_control::shards::Shards as ShardMap;
use flow_control::sketch::Shape;
use ir::{Name, Program};
use ir_fill::Write;
use ir_keys::{Keys, Reason};
use ir_merge::Share;
use ir_pin::{Affinity, Pinned, Request, Resident, Shards, pin};
use ir_split::{DeviceIndex, Placement, Split, split};
use rack_model::pinning::{self, Pinning, ShardPart};
use rack_model::{App, DeviceId, Rack, Regions, Spanned};
use rack_plan::{FlowApp, FlowPlan, by_hand, check_limits, fitting, flow_problem};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;

/// An app with an affinity.
#[derive(Clone)]
pub struct PinnedApp {
    /// The app, as the rack's file describes it; with its number of flows.
    pub model: App,
    /// Copies of the app's tables, under the app's own names.
    pub pinned: Pinned,
    /// The program before that.
    pub unpinned: Unpinned,
    /// The app's part of the program, if the device is shared with other apps.
    pub share: Option<Share>,
}

impl PinnedApp {
    /// Name of the region of flows that are not at the switch, in the program that is split.
    pub fn region(&self) -> Option<Name> {
        let own = self.pinned.region.as_ref()?;
        Some(self.share.as_ref().map_or_else(|| own.clone(), |share| share.region(own)))
    }

    /// The helpers, in the order of their shards.
    pub fn helpers<'p>(&self, placement: &'p Placement) -> &'p [DeviceIndex] {
        let site = self.region().and_then(|region| placement.sites.get(&region));
        site.map_or(&[][..], |site| site.devices.as_slice())
    }
}

/// The program of an app whose flows are pinned, and what it was before, without entries.
pub fn program(
    program: &Program,
    app: &App,
    pinning: &Pinning,
) -> Result<(Arc<Program>, Pinned, Unpinned), Vec<Diagnostic>> {
    let mut sized = program.clone();
    let mut resident = vec![];
    let mut wrong = vec![];
    for object in &pinning.objects {
        let Some(table) = table(&mut sized, &object.name).map_err(|found| wrong.push(found)).ok() else {
            continue;
        };
        table.size = object.entries.or(table.size);
        let name = table.control_plane_name.clone();
        resident.extend(object.resident.map(|resident| {
            let resident = match resident {
                pinning::Resident::All => Resident::Whole,
                pinning::Resident::Most(most) => Resident::Most(most),
            };
            (name, resident)
        }));
    }
    let found = ir_keys::keys(program);
    let key = match &pinning.flow_key {
        Some(key) => key.iter().map(|part| part.value.as_str().into()).collect(),
        None => union_key(&found, app, pinning).map_err(|found| wrong.push(found)).unwrap_or_default(),
    };
    let shards = match pinning.helpers {
        0 | 1 => None,
        helpers => {
            let enough = ShardMap::enough(helpers as u16).min(u32::from(u16::MAX)) as u16;
            let (parts, pairs) = shard_key(pinning, &key, &found).unwrap_or_else(|found| {
                wrong.extend(found);
                Default::default()
            });
            Some(Shards { count: pinning.shards.unwrap_or(enough), parts, pairs })
        }
    };
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let affinity = match pinning.affinity.value {
        pinning::Affinity::High => Affinity::High,
        pinning::Affinity::Medium => Affinity::Medium,
        pinning::Affinity::Low => Affinity::Low,
    };
    let region = pinning::EXTERNAL.into();
    let request = Request {
        affinity,
        region,
        key,
        shards,
        flows: pinning.flows,
        resident: resident.into_iter().collect(),
    };
    let in_app = |diagnostic: Diagnostic| match diagnostic.labels.is_empty() {
        true => {
            diagnostic.at(pinning.affinity.span, format!("flows of `{}` are pinned here", app.name.value))
        }
        false => diagnostic,
    };
    let pinned = pin(&sized, &request).map_err(|found| found.into_iter().map(in_app).collect::<Vec<_>>())?;
    let unpinned = Unpinned {
        program: Arc::new(sized),
        keys: found,
        has_own_key: pinning.flow_key.is_some(),
        entries: vec![],
        by_hand: None,
        sketch: Shape::default(),
    };
    Ok((Arc::new(pinned.program.clone()), pinned, unpinned))
}

/// The table of this name: its control-plane name, or the last part of it.
fn table<'p>(program: &'p mut Program, name: &Spanned<String>) -> Result<&'p mut ir::Table, Diagnostic> {
    let is_it = |table: &ir::Table| {
        let whole = table.control_plane_name.as_str();
        whole == name.value || whole.rsplit('.').next() == Some(name.value.as_str())
    };
    let known: Vec<Name> =
        program.controls.iter().flat_map(|c| &c.tables).map(|t| t.control_plane_name.clone()).collect();
    let count = program.controls.iter().flat_map(|c| &c.tables).filter(|table| is_it(table)).count();
    let mut tables = program.controls.iter_mut().flat_map(|c| &mut c.tables);
    match (count, tables.find(|table| is_it(table))) {
        (1, Some(table)) => Ok(table),
        (0, _) | (_, None) => {
            let title = format!("the program has no table `{}`", name.value);
            let last = |name: &Name| name.rsplit('.').next().unwrap_or_default().to_string();
            let known: Vec<String> = known.iter().map(last).collect();
            let diagnostic = Diagnostic::error(rack_codes::UNKNOWN_NAME, title).at(name.span, "not known");
            Err(diagnostic.suggest(&name.value, known.iter().map(String::as_str)))
        }
        _ => {
            let title = format!("the program has several tables `{}`", name.value);
            Err(Diagnostic::error(rack_codes::UNKNOWN_NAME, title)
                .at(name.span, "which one?")
                .help("write the control-plane name in quotes: `[app.objects.\"Ingress.acl\"]`"))
        }
    }
}

/// The union key that is found in the program, if all keys follow from it.
fn union_key(found: &Keys, app: &App, pinning: &Pinning) -> Result<Vec<Name>, Diagnostic> {
    let is_low = pinning.affinity.value != pinning::Affinity::Medium;
    let depends = found.obstacles.iter().find_map(|obstacle| match &obstacle.reason {
        Reason::Depends { key, .. } => Some((obstacle.span, key)),
        Reason::Exclusive { .. } => None,
    });
    match depends {
        Some((span, key)) if !is_low => {
            let title = format!("`{}` has no union key", app.name.value);
            Err(Diagnostic::error(codes::BAD_KEY, title)
                .at(span, format!("`{key}` depends on more than the packet and entries"))
                .at(pinning.affinity.span, "so its flows cannot be pinned")
                .note("`p4rack analyze` shows the obstacles")
                .help("process all flows at one place, `affinity = \"high\"` or `\"low\"`, or write the key as `flow_key`"))
        }
        _ => Ok(found.key.parts.iter().map(|part| part.name.clone()).collect()),
    }
}

/// Places in the flow's key, and pairs among them.
type ShardKey = (Vec<usize>, Vec<(usize, usize)>);

fn shard_key(pinning: &Pinning, key: &[Name], found: &Keys) -> Result<ShardKey, Vec<Diagnostic>> {
    let Some(said) = &pinning.shard_key else {
        // With a key of the user's own, all of it divides flows.
        return Ok(match &pinning.flow_key {
            Some(_) => ((0..key.len()).collect(), vec![]),
            None => (found.key.shard.parts.clone(), found.key.shard.pairs.clone()),
        });
    };
    let (mut parts, mut pairs, mut wrong) = (vec![], vec![], vec![]);
    for part in said {
        let names = match &part.value {
            ShardPart::One(name) => vec![name],
            ShardPart::Pair(a, b) => vec![a, b],
        };
        if names.len() == 2 {
            pairs.push((parts.len(), parts.len() + 1));
        }
        for name in names {
            match key.iter().position(|known| known == name) {
                Some(at) => parts.push(at),
                None => wrong.push(
                    Diagnostic::error(codes::BAD_KEY, format!("`{name}` is not part of the flow's key"))
                        .at(part.span, "packets of one flow could have different values")
                        .suggest(name, key.iter().map(Name::as_str)),
                ),
            }
        }
    }
    if wrong.is_empty() { Ok((parts, pairs)) } else { Err(wrong) }
}

/// Entries of tables that are copied whole, for the copies, too.
pub fn with_copies(entries: Entries, pinned: &Pinned) -> Entries {
    let mut writes = vec![];
    for write in entries.writes() {
        writes.push(write.clone());
        let is_whole = matches!(write.target(), Target::Table(table) if pinned.whole.contains(table));
        if is_whole {
            let copy: Result<Write, Infallible> = write.refer(|_, name| Ok(pinned.resident(name).into()));
            writes.extend(copy);
        }
    }
    let mut copied = Entries::of(writes);
    copied.warnings = entries.warnings;
    copied
}

/// An app, split for any number of flows at the switch.
struct Tried {
    app: usize,
    split: Split,
    growing: Vec<(String, Option<u64>)>,
}

/// Fills in how many flows of each app are at its switch, where the planner chooses it. Apps that describe their traffic and have one switch
/// share its memory.
pub fn sized(rack: &Rack, programs: &[Arc<Program>]) -> Result<Vec<Option<Pinning>>, Vec<Diagnostic>> {
    let planned = |app: &App| app.pinning.as_ref().is_some_and(|pinning| pinning.is_planned.is_some());
    let has_demand = |app: &App| app.pinning.as_ref().is_some_and(|pinning| pinning.demand.is_some());
    let mut sized: Vec<Option<Pinning>> = rack.apps.iter().map(|app| app.pinning.clone()).collect();
    let origins: BTreeSet<DeviceId> =
        rack.apps.iter().filter(|app| planned(app)).map(|app| app.origin.value).collect();
    for origin in origins {
        let own =
            rack.apps.iter().enumerate().filter(|(_, app)| app.origin.value == origin && has_demand(app));
        let own: Vec<_> = own.map(|(at, _)| (at, Arc::clone(&programs[at]))).collect();
        let plan = plan(rack, &own)?;
        for (at, _) in own.into_iter().filter(|(at, _)| planned(&rack.apps[*at])) {
            if let Some(pinning) = &mut sized[at] {
                // A flow manager has one entry at least.
                pinning.flows = plan.flows(at).unwrap_or(0).max(1);
            }
        }
    }
    Ok(sized)
}

/// The plan of apps that have one switch.
pub(crate) fn plan(rack: &Rack, programs: &[(usize, Arc<Program>)]) -> Result<FlowPlan, Vec<Diagnostic>> {
    plan_without(rack, programs, &BTreeSet::new())
}

/// The same while devices with these names are out of use: the other helpers take their flows.
pub(crate) fn plan_without(
    rack: &Rack,
    programs: &[(usize, Arc<Program>)],
    out: &BTreeSet<String>,
) -> Result<FlowPlan, Vec<Diagnostic>> {
    let tried: Vec<Tried> =
        programs.iter().map(|(at, program)| tried(rack, *at, program)).collect::<Result<_, _>>()?;
    let apps = tried.iter().map(|tried| FlowApp {
        app: tried.app,
        split: &tried.split,
        growing: tried.growing.clone(),
    });
    let apps: Vec<FlowApp<'_>> = apps.collect();
    let mut left = rack.clone();
    for app in &mut left.apps {
        app.helpers.retain(|helper| !out.contains(&rack.devices[helper.value.0 as usize].name.value));
    }
    let problem = flow_problem(&left, &apps)?;
    fitting(rack, problem, &mut |plan| at_switch(rack, programs, plan))
}

/// The program of the switch by a plan; `None` if the apps cannot be merged, which is reported where they are read.
fn at_switch(
    rack: &Rack,
    programs: &[(usize, Arc<Program>)],
    plan: &FlowPlan,
) -> Result<Option<Program>, Vec<Diagnostic>> {
    let mut made = vec![];
    for (at, program) in programs {
        let model = &rack.apps[*at];
        let Some(pinning) = &model.pinning else { return Ok(None) };
        let flows = match pinning.is_planned {
            Some(_) => plan.flows(*at).unwrap_or(0).max(1),
            None => pinning.flows,
        };
        let (program, pinned, _) = self::program(program, model, &Pinning { flows, ..pinning.clone() })?;
        made.push((program, pinned.region.is_some()));
    }
    if let ([(at, _)], [(program, _)]) = (programs, made.as_slice()) {
        return Ok(part(&split_up(rack, *at, program)?, plan));
    }
    let group: Vec<usize> = programs.iter().map(|(at, _)| *at).collect();
    let sharers = group.iter().zip(&made);
    let sharers = sharers.map(|(at, (program, regions))| merged::sharer(&rack.apps[*at], program, *regions));
    let name = merged::name(rack, &group);
    let Ok(joined) = merged::join(&sharers.collect::<Vec<_>>(), &name, &mut SourceMap::new()) else {
        return Ok(None);
    };
    let apps = vec![merged::stand_in(rack, &group, name, &joined.sharing)];
    let merged = Rack { apps, ..rack.clone() };
    Ok(part(&split_up(&merged, 0, &joined.program)?, plan))
}

/// The program of the switch.
fn part(split: &Split, plan: &FlowPlan) -> Option<Program> {
    let part = split.devices.get(plan.problem.origin.0 as usize)?.as_ref()?;
    Some(part.program.clone())
}

/// The parts of a program whose regions are placed by hand.
fn split_up(rack: &Rack, at: usize, program: &Arc<Program>) -> Result<Split, Vec<Diagnostic>> {
    let model = &rack.apps[at];
    let Regions::ByHand(regions) = &model.map else { return Err(vec![]) };
    let regions = handlers::placed(rack, model, regions, program)?;
    let placement = by_hand(rack, at, &regions, program)?;
    let split = split(program, &placement)?;
    check_limits(rack, &placement, &split)?;
    Ok(split)
}

/// Hand-overs and tables do not depend on the number of flows: one will do.
fn tried(rack: &Rack, at: usize, program: &Arc<Program>) -> Result<Tried, Vec<Diagnostic>> {
    let model = &rack.apps[at];
    let Some(pinning) = &model.pinning else { return Err(vec![]) };
    let flows = if pinning.affinity.value == pinning::Affinity::Medium { 1 } else { 0 };
    let (program, pinned, _) = self::program(program, model, &Pinning { flows, ..pinning.clone() })?;
    let split = split_up(rack, at, &program)?;
    let tables = || program.controls.iter().flat_map(|control| &control.tables);
    let has_own_size = |name: &str| {
        let is_it = |known: &str| name == known || name.rsplit('.').next() == Some(known);
        pinning.objects.iter().any(|object| object.resident.is_some() && is_it(&object.name.value))
    };
    let copies = pinned.tables.iter().filter(|copy| !has_own_size(&copy.original));
    let growing = copies.map(|copy| {
        let original = tables().find(|table| table.control_plane_name == copy.original);
        (copy.resident.to_string(), original.and_then(|table| table.size))
    });
    let manager = pinned.flow_manager.iter().map(|name| (name.to_string(), None));
    let growing = growing.chain(manager).collect();
    Ok(Tried { app: at, split, growing })
}
