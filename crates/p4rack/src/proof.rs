//! Proofs of an app's split, of every other split of its program over the same two devices, and of unmarked cuts.

use crate::rack::SplitApp;
use base_diag::codes::split::STALE_READS;
use base_diag::{Diagnostic, SourceMap};
use compiler::make_parts;
use ir::{InstanceId, Name, Program};
use ir_footprint::analysis;
use ir_prove::{Case, Effort, Failure, Tried, prove, prove_disturbed};
use ir_split::auto::{self, Policy};
use ir_split::{DeviceIndex, Placement, RuntimeName, Site, marks};
use std::sync::Arc;

/// One placement and how its proof went.
pub struct Proved {
    /// The regions that do not run at the origin, with their devices.
    pub regions: Vec<(Name, Name)>,
    /// Counts if all packets were equal, else the failure.
    pub outcome: Result<Tried, Box<Failure>>,
}

/// Parameters of a proof.
pub struct Trial {
    /// Numbers of packets, entries and runs.
    pub effort: Effort,
    /// Also prove equality if hand-overs are lost, or are in flight when another plan takes over.
    pub lossy: bool,
}

/// A merged register on several devices whose values show: what the parts do depends on when copies are merged.
fn stale(case: &Case) -> Option<Name> {
    let has = |part: &&ir_split::Part, name: &Name| {
        part.program.instances.iter().any(|instance| instance.control_plane_name == *name)
    };
    let all = (0..case.whole.instances.len()).map(InstanceId::from);
    let shown = all.filter(|object| {
        ir_state::is_merged(&case.whole, *object) && ir_state::shown(&case.whole, *object).is_some()
    });
    let mut names = shown.map(|object| case.whole.instance(object).control_plane_name.clone());
    names.find(|name| case.parts.iter().flatten().filter(|part| has(part, name)).count() > 1)
}

/// Proves a case; its parts are those of the marked program `source`.
fn proved(case: &Case, source: &Program, trial: &Trial) -> Result<Proved, Vec<Diagnostic>> {
    if let Some(name) = stale(case) {
        return Err(vec![
            Diagnostic::error(
                STALE_READS,
                format!("nothing can be proved while reads of `{name}` are stale"),
            )
            .note("packets do something else before its copies are merged than after it")
            .help("place the regions that use it on one device for the proof"),
        ]);
    }
    let regions = placed(&case.placement);
    let tried = match prove(case, &trial.effort) {
        Ok(tried) if trial.lossy => tried,
        outcome => return Ok(Proved { regions, outcome }),
    };
    if case.placement.runtime != RuntimeName::Full {
        let title = "hand-overs of another plan can be recognised only by a header";
        return Err(vec![
            Diagnostic::error(base_diag::codes::headerless::NEEDS_HEADER, title)
                .note(
                    "without one, a packet in flight when the plan changes is taken for one of the new plan",
                )
                .help("prove the split without `--lossy`, or use `runtime = \"full\"`"),
        ]);
    }
    let placement = Placement { epoch: case.placement.epoch + 1, ..case.placement.clone() };
    // Each part has a separate source map.
    let (_, parts, _) = make_parts(source, &placement, &mut SourceMap::new())?;
    let next = Case { parts, placement, ..case.clone() };
    let outcome = prove_disturbed(case, &next, &trial.effort).map(|mut all| {
        all.add(&tried);
        all
    });
    Ok(Proved { regions, outcome })
}

/// The case of an app under its own placement.
pub fn case(app: &SplitApp) -> Case {
    Case {
        whole: Arc::clone(&app.whole),
        parts: app.parts.clone(),
        placement: app.placement.clone(),
        registry: app.offers.registry.clone(),
    }
}

/// Proves an app's own placement.
pub fn prove_app(app: &SplitApp, trial: &Trial) -> Result<Proved, Vec<Diagnostic>> {
    proved(&case(app), &app.whole, trial)
}

/// The placements in which each marked region runs either at the origin or where the app's map has it; a region that
/// the map leaves at the origin goes to the first other device.
pub fn combinations(app: &SplitApp) -> Result<Vec<Placement>, Vec<Diagnostic>> {
    let marks = marks(&app.whole)?;
    let origin = app.placement.origin();
    let away = |region: &Name| match app.placement.device_of(region) {
        device if device == origin => other(app),
        device => device,
    };
    let mut all = vec![];
    for mask in 0..1u64 << marks.len().min(16) {
        let mut placement = app.placement.clone();
        placement.sites.clear();
        for (bit, mark) in marks.iter().enumerate() {
            if mask & (1 << bit) != 0 {
                let policy = app.placement.policy_of(&mark.name);
                placement.sites.insert(mark.name.clone(), Site::new(away(&mark.name), policy));
            }
        }
        all.push(placement);
    }
    Ok(all)
}

/// Proves another placement of the app's program.
pub fn prove_placement(
    app: &SplitApp,
    placement: Placement,
    trial: &Trial,
    map: &mut SourceMap,
) -> Result<Proved, Vec<Diagnostic>> {
    let (_, parts, _) = make_parts(&app.whole, &placement, map)?;
    let case =
        Case { whole: Arc::clone(&app.whole), parts, placement, registry: app.offers.registry.clone() };
    proved(&case, &app.whole, trial)
}

/// Result for a region that `--cut` selects: its proof, or the reason why it is refused.
pub type CutProof = (Name, Result<Proved, Vec<Diagnostic>>);

/// Proves each region that a policy chooses, alone on the first device that is not the origin. Passes each result to
/// `show` as soon as it is known.
pub fn prove_cuts(
    app: &SplitApp,
    policy: Policy,
    trial: &Trial,
    show: &mut dyn FnMut(CutProof),
) -> Result<(), Vec<Diagnostic>> {
    let base = analysis::base(&app.whole, policy)?;
    for cut in auto::cuts(&base, policy) {
        let mut placement = app.placement.clone();
        let policy = app.placement.policy_of(&cut.name);
        placement.sites = [(cut.name.clone(), Site::new(other(app), policy))].into();
        let marked = analysis::marked(&base, &cut);
        // Each part has a separate source map.
        let parts = make_parts(&marked, &placement, &mut SourceMap::new());
        let proof = parts.and_then(|(_, parts, _)| {
            let (whole, registry) = (Arc::clone(&app.whole), app.offers.registry.clone());
            proved(&Case { whole, parts, placement, registry }, &marked, trial)
        });
        show((cut.name, proof));
    }
    Ok(())
}

/// The first device that is not the origin.
fn other(app: &SplitApp) -> DeviceIndex {
    let origin = app.placement.origin();
    (0..app.placement.devices.len() as u32).map(DeviceIndex).find(|d| *d != origin).unwrap_or(origin)
}

fn placed(placement: &Placement) -> Vec<(Name, Name)> {
    let sites = placement.sites.keys().map(|region| (region, placement.device_of(region)));
    let away = sites.filter(|(_, device)| *device != placement.origin());
    away.map(|(region, device)| (region.clone(), placement.name(device).into())).collect()
}
