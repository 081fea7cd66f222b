//! Switches of a rack as its controller sees them: an app without entries of single devices is one switch. If there are several origins, or devices
//! with their own entries, each device is a switch.

use super::domain::Domain;
use super::refused;
use crate::entries::Entries;
use crate::rack::{Placed, Racked, SplitApp};
use base_diag::Diagnostic;
use base_diag::codes::rack::NOT_SUPPORTED;
use base_time::Duration;
use controller::{Part, Planner, RegionMap, Rollout, TableSizes, Timing, Wires};
use device_control::{Maker, Splitter, make_part, updates, wires};
use ir::{InstanceId, Name};
use ir_fill::Write;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, Update};
use p4runtime_server::Status;
use p4runtime_store::Numbers;
use rack_model::Rack;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Programs of a domain.
pub(super) enum Plan {
    Rack(Box<Splitter>),
    Device { info: Arc<P4Info>, initial: Vec<Update>, part: Box<Part> },
}

impl Planner for Plan {
    fn plan(&self, config: &ForwardingPipelineConfig, epoch: u64) -> Result<Rollout, Status> {
        match self {
            Plan::Rack(splitter) => splitter.plan(config, epoch),
            Plan::Device { info, initial, part } => Ok(Rollout {
                cuts_clones: true,
                info: Arc::clone(info),
                // Parts say numbers.
                plain: Arc::clone(info),
                numbers: Numbers::of(info),
                initial: initial.clone(),
                memory: u64::MAX,
                origin: 0,
                parts: vec![Some(Part::clone(part))],
                wires: Wires::new(),
                edges: vec![],
                edges_to: None,
                // There is one copy of each object.
                modes: BTreeMap::new(),
                merged_counters: BTreeSet::new(),
            }),
        }
    }

    fn replace(&mut self, map: RegionMap) -> Result<RegionMap, Status> {
        match self {
            Plan::Rack(splitter) => splitter.replace(map),
            Plan::Device { .. } => {
                let why = "each device of this rack is a separate switch: no state moves between them";
                Err(Status::new(Code::FailedPrecondition, why))
            }
        }
    }

    fn resize(&mut self, sizes: TableSizes) -> Result<TableSizes, Status> {
        match self {
            Plan::Rack(splitter) => splitter.resize(sizes),
            Plan::Device { .. } => {
                let why = "each device of this rack is a separate switch";
                Err(Status::new(Code::FailedPrecondition, why))
            }
        }
    }
}

/// A switch with the updates that it begins with.
pub(super) type Beginning = (Domain, Vec<Update>);

/// A rack in one of its stages.
pub(super) struct Staged<'r> {
    pub racked: &'r Racked,
    /// The stages that add to it.
    pub stages: Vec<usize>,
    /// Times of its controllers.
    pub timing: Timing,
}

impl Staged<'_> {
    /// Entries that the stages add to an app at a device.
    fn added(&self, app: usize, device: usize) -> impl Iterator<Item = &Entries> {
        let of_stages =
            self.stages.iter().filter_map(|stage| self.racked.stage_entries.get(*stage)).flatten();
        of_stages.filter(move |(at, _)| *at == (app, device)).map(|(_, entries)| entries)
    }

    fn has_own_entries(&self, app: usize, device: usize) -> bool {
        let own = self.racked.own_entries.get(&(app, device)).is_some_and(|own| !own.writes().is_empty());
        own || self.added(app, device).next().is_some()
    }

    /// True if the app is one switch to its controller.
    pub fn is_one(&self, at: usize) -> bool {
        let app = &self.racked.apps[at];
        let mut devices = (0..).zip(&app.parts).filter(|(_, part)| part.is_some());
        let is_apart = devices.any(|(device, _)| self.has_own_entries(at, device));
        app.placement.origins().nth(1).is_none() && !is_apart
    }

    /// Plans take the place of one another in racks that are one switch.
    pub fn check_replaces(&self, rack: &Rack) -> Result<(), Vec<Diagnostic>> {
        let is_one_switch = self.racked.apps.len() == 1 && self.is_one(0);
        match rack.replaces.first() {
            Some(replace) if !is_one_switch => Err(vec![
                Diagnostic::error(NOT_SUPPORTED, "a plan can be replaced in racks that are one switch")
                    .at(replace.span, "the plan of this rack cannot be replaced")
                    .note("this one has several apps or origins, or devices with separate entries"),
            ]),
            _ => Ok(()),
        }
    }

    /// Devices that replace one another, or divide flows, need a controller that keeps their entries equal.
    pub fn check_spares(&self, rack: &Rack) -> Result<(), Vec<Diagnostic>> {
        let mut wrong = vec![];
        for (at, (split, app)) in self.racked.apps.iter().zip(&rack.apps).enumerate() {
            if !split.placement.has_any_spares() && !split.placement.divides_any() {
                continue;
            }
            if !self.is_one(at) {
                let title = "regions at several devices need a rack that is one switch";
                wrong.push(
                    Diagnostic::error(NOT_SUPPORTED, title)
                        .at(app.span, "this app has several origins, or devices with separate entries")
                        .note("one controller keeps the devices of a region equal")
                        .help("name one origin, and write all entries under the app's `entries`"),
                );
            }
            wrong.extend(rack.replaces.iter().map(|replace| {
                Diagnostic::error(NOT_SUPPORTED, "regions at several devices cannot be moved while they run")
                    .at(replace.span, "the plan of this rack cannot be replaced")
            }));
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    /// Copies of merged objects need a controller.
    pub fn check_merged(&self, rack: &Rack) -> Result<(), Vec<Diagnostic>> {
        let mut wrong = vec![];
        for (at, (split, app)) in self.racked.apps.iter().zip(&rack.apps).enumerate() {
            let Some(name) = merged_apart(split).filter(|_| !self.is_one(at)) else { continue };
            wrong.push(
                Diagnostic::error(NOT_SUPPORTED, "merged objects need a rack that is one switch")
                    .at(app.span, "this app has several origins, or devices with separate entries")
                    .note(format!("`{name}` is on several devices, and one controller merges its copies"))
                    .help("name one origin, and write all entries under the app's `entries`"),
            );
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    /// The devices of an app as separate switches.
    pub fn apart(&self, app: usize) -> Result<Vec<Beginning>, Vec<Diagnostic>> {
        let mut switches = vec![];
        let devices = 0..self.racked.rack.devices.len();
        for placed in devices.filter_map(|device| self.racked.part(app, device)) {
            let Placed { device, name, part, text, .. } = placed;
            let info = p4info::p4info(&part.program)?;
            let initial = p4info::entries(&part.program)?.updates;
            let made = make_part(name, &part.program, &part.linkage, text.to_string(), &info);
            let made = made.map_err(|status| refused(&status.message))?;
            let added = self.added(app, device).flat_map(|more| more.for_part(&part.program, true));
            let writes: Vec<Write> =
                self.racked.fill(app, device).into_iter().chain(added).cloned().collect();
            let plan = Plan::Device { info: Arc::new(info), initial, part: Box::new(made) };
            let domain = Domain::new(plan, vec![device], Wires::new(), self.timing);
            switches.push((domain, updates(&writes, &part.program)?));
        }
        Ok(switches)
    }

    /// All devices of an app as one switch.
    pub fn one(&self, app: &SplitApp, maker: Maker) -> Result<Beginning, Vec<Diagnostic>> {
        let maker = Maker { own: Some(Arc::clone(&app.whole)), ..maker };
        let placement = app.placement.clone();
        let wires = wires(&placement);
        let made = (app.parts.clone(), app.texts.clone());
        let at = self.racked.apps.iter().position(|known| std::ptr::eq(known, app));
        let model = at.and_then(|at| self.racked.rack.apps.get(at));
        let hold_down = model.map_or(Duration::ZERO, |model| model.failover.hold_down);
        let splitter = Splitter::new(maker, placement).hold_down(hold_down).with_parts(&app.whole, made);
        let plan = Plan::Rack(Box::new(splitter.map_err(|status| refused(&status.message))?));
        let domain = Domain::new(plan, (0..app.parts.len()).collect(), wires, self.timing);
        Ok((domain, updates(app.entries.writes(), &app.whole)?))
    }
}

/// A merged register or counter that several devices have.
fn merged_apart(app: &SplitApp) -> Option<Name> {
    let has = |part: &&ir_split::Part, name: &Name| {
        part.program.instances.iter().any(|instance| instance.control_plane_name == *name)
    };
    let all = (0..app.whole.instances.len()).map(InstanceId::from);
    let merged = all.filter(|object| {
        ir_state::is_merged(&app.whole, *object) || ir_state::is_merged_counter(&app.whole, *object)
    });
    let mut names = merged.map(|object| app.whole.instance(object).control_plane_name.clone());
    names.find(|name| app.parts.iter().flatten().filter(|part| has(part, name)).count() > 1)
}
