//! A rack with compiled and split apps, and what its devices run.

use crate::entries::{Entries, has};
use crate::flows::FlowMove;
use crate::handlers::Offers;
use crate::jobs::Jobs;
use crate::merged::Sharing;
use crate::pinned::PinnedApp;
use crate::variants::Chosen;
use base_diag::{Diagnostic, codes::emulate as codes};
use dataplane_api::Registry;
use device_control::Codes;
use ir::Program;
use ir_fill::Write;
use ir_split::{Part, Placement, Split};
use rack_emulator::Captures;
use rack_model::{DeviceId, NodeId, Rack};
use rack_plan::Cost;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
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
    /// Blocks that were chosen so that the apps fit the devices.
    pub blocks: Chosen,
    /// Machine code of its programs, once it has been up.
    pub codes: Codes,
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

/// The parts of a rack's file that `p4rack switch` does not run.
pub fn left_to_up(racked: &Racked) -> Option<String> {
    let rack = &racked.rack;
    let all = [
        ("workload", rack.workloads.len()),
        ("fault", rack.faults.len()),
        ("replace", rack.replaces.len()),
        ("membership", rack.memberships.len()),
    ];
    let sections = all.into_iter().filter(|(_, count)| *count > 0);
    let left: Vec<String> = sections.map(|(name, count)| format!("{count} [[{name}]]")).collect();
    let message = format!("left to `p4rack up`, which emulates the rack: {}", left.join(", "));
    (!left.is_empty()).then_some(message)
}
