//! Which switches a rack is to its controller: an app whose entries are the program's is one; where there are several origins, or devices
//! with entries of their own, each device is one.

use super::control::Domain;
use super::refused;
use crate::entries::Entries;
use crate::rack::{Racked, SplitApp};
use base_diag::Diagnostic;
use base_diag::codes::rack::NOT_SUPPORTED;
use controller::{Part, Planner, RegionMap, Rollout, Wires};
use device_control::{Maker, Splitter, make_part, updates, wires};
use ir_fill::Write;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, Update};
use p4runtime_server::Status;
use p4runtime_store::Numbers;
use rack_model::Rack;
use std::sync::Arc;

/// What a domain runs.
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
                origin: 0,
                parts: vec![Some(Part::clone(part))],
                wires: Wires::new(),
            }),
        }
    }

    fn replace(&mut self, map: RegionMap) -> Result<RegionMap, Status> {
        match self {
            Plan::Rack(splitter) => splitter.replace(map),
            Plan::Device { .. } => {
                let why = "each device of this rack is a switch of its own: nothing moves between them";
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
}

impl Staged<'_> {
    /// Entries that the stages add at a device.
    fn added(&self, device: usize) -> impl Iterator<Item = &Entries> {
        let of_stages =
            self.stages.iter().filter_map(|stage| self.racked.stage_entries.get(*stage)).flatten();
        of_stages.filter(move |(at, _)| at.0 as usize == device).map(|(_, entries)| entries)
    }

    fn has_own_entries(&self, device: usize) -> bool {
        let own = self.racked.own_entries.get(device).is_some_and(|own| !own.writes().is_empty());
        own || self.added(device).next().is_some()
    }

    /// True if the app is one switch to its controller.
    pub fn is_one(&self, app: &SplitApp) -> bool {
        let mut devices = (0..).zip(&app.parts).filter(|(_, part)| part.is_some());
        app.placement.origins().nth(1).is_none() && !devices.any(|(device, _)| self.has_own_entries(device))
    }

    /// Plans take the place of one another in racks that are one switch.
    pub fn check_replaces(&self, rack: &Rack) -> Result<(), Vec<Diagnostic>> {
        let is_one_switch = matches!(self.racked.apps.as_slice(), [app] if self.is_one(app));
        match rack.replaces.first() {
            Some(replace) if !is_one_switch => Err(vec![
                Diagnostic::error(NOT_SUPPORTED, "a plan can be replaced in racks that are one switch")
                    .at(replace.span, "no other plan can take the place of this rack's")
                    .note("this one has several apps or origins, or devices with entries of their own"),
            ]),
            _ => Ok(()),
        }
    }

    /// Each device of an app as a switch of its own.
    pub fn apart(&self, app: &SplitApp) -> Result<Vec<Beginning>, Vec<Diagnostic>> {
        let mut switches = vec![];
        for (at, (part, text)) in app.parts.iter().zip(&app.texts).enumerate() {
            let (Some(part), Some(text)) = (part, text) else { continue };
            let info = p4info::p4info(&part.program)?;
            let initial = p4info::entries(&part.program)?.updates;
            let name = &app.placement.devices[at];
            let made = make_part(name, &part.program, &part.linkage, text.clone(), &info);
            let made = made.map_err(|status| refused(&status.message))?;
            let added = self.added(at).flat_map(|more| more.for_part(&part.program, true));
            let writes: Vec<Write> = self.racked.fill(at).into_iter().chain(added).cloned().collect();
            let plan = Plan::Device { info: Arc::new(info), initial, part: Box::new(made) };
            switches.push((Domain::new(plan, vec![at], Wires::new()), updates(&writes, &part.program)?));
        }
        Ok(switches)
    }
}

/// All devices of an app as one switch.
pub(super) fn one(app: &SplitApp, maker: Maker) -> Result<Beginning, Vec<Diagnostic>> {
    let maker = Maker { own: Some(Arc::clone(&app.whole)), ..maker };
    let placement = app.placement.clone();
    let wires = wires(&placement);
    let plan = Plan::Rack(Box::new(Splitter::new(maker, placement)));
    let domain = Domain::new(plan, (0..app.parts.len()).collect(), wires);
    Ok((domain, updates(app.entries.writes(), &app.whole)?))
}
