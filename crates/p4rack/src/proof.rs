//! Prove a rack's split, every other split of its program over the same two devices, and cuts that nobody marked.

use crate::analysis;
use crate::functions;
use crate::rack::{Racked, make_parts};
use base_diag::{Diagnostic, SourceMap};
use ir::Name;
use ir_prove::{Case, Effort, Failure, Tried, prove};
use ir_split::auto::{self, Policy};
use ir_split::{DeviceIndex, Placement, marks};
use std::sync::Arc;

/// One placement and how its proof went.
pub struct Proved {
    /// The regions that do not run at the origin, with their devices.
    pub regions: Vec<(Name, Name)>,
    /// What was tried, or what was found.
    pub outcome: Result<Tried, Box<Failure>>,
}

/// The case of the rack as it is.
pub fn case(racked: &Racked) -> Case {
    Case {
        whole: Arc::clone(&racked.whole),
        parts: racked.parts.clone(),
        placement: racked.placement.clone(),
        registry: functions::all(),
    }
}

/// Proves the rack's own placement.
pub fn prove_rack(racked: &Racked, effort: &Effort) -> Proved {
    Proved { regions: placed(&racked.placement), outcome: prove(&case(racked), effort) }
}

/// The placements in which each marked region runs either at the origin or where the rack's map has it; a region that
/// the map leaves at the origin goes to the first other device.
pub fn combinations(racked: &Racked) -> Result<Vec<Placement>, Vec<Diagnostic>> {
    let marks = marks(&racked.whole)?;
    let origin = racked.placement.origin;
    let away = |region: &Name| match racked.placement.device_of(region) {
        device if device == origin => other(racked),
        device => device,
    };
    let mut all = vec![];
    for mask in 0..1u64 << marks.len().min(16) {
        let mut placement = racked.placement.clone();
        placement.regions.clear();
        for (bit, mark) in marks.iter().enumerate() {
            if mask & (1 << bit) != 0 {
                placement.regions.insert(mark.name.clone(), away(&mark.name));
            }
        }
        all.push(placement);
    }
    Ok(all)
}

/// Proves another placement of the rack's program.
pub fn prove_placement(
    racked: &Racked,
    placement: Placement,
    effort: &Effort,
    map: &mut SourceMap,
) -> Result<Proved, Vec<Diagnostic>> {
    let (_, parts, _) = make_parts(&racked.whole, &placement, map)?;
    let regions = placed(&placement);
    let case = Case { whole: Arc::clone(&racked.whole), parts, placement, registry: functions::all() };
    Ok(Proved { regions, outcome: prove(&case, effort) })
}

/// How a region that a policy chose went: its proof, or why it is no cut.
pub type CutProof = (Name, Result<Proved, Vec<Diagnostic>>);

/// Proves each region that a policy chooses, alone on the first device that is not the origin; each result is given to
/// `show` as it is there.
pub fn prove_cuts(
    racked: &Racked,
    policy: Policy,
    effort: &Effort,
    show: &mut dyn FnMut(CutProof),
) -> Result<(), Vec<Diagnostic>> {
    let base = analysis::base(&racked.whole, policy)?;
    for cut in auto::cuts(&base, policy) {
        let mut placement = racked.placement.clone();
        placement.regions = [(cut.name.clone(), other(racked))].into();
        let marked = analysis::marked(&base, &cut);
        // Each part is compiled from sources of its own.
        let proved = make_parts(&marked, &placement, &mut SourceMap::new()).map(|(_, parts, _)| {
            let regions = placed(&placement);
            let case =
                Case { whole: Arc::clone(&racked.whole), parts, placement, registry: functions::all() };
            Proved { regions, outcome: prove(&case, effort) }
        });
        show((cut.name, proved));
    }
    Ok(())
}

/// The first device that is not the origin.
fn other(racked: &Racked) -> DeviceIndex {
    let origin = racked.placement.origin;
    (0..racked.placement.devices.len() as u32).map(DeviceIndex).find(|d| *d != origin).unwrap_or(origin)
}

fn placed(placement: &Placement) -> Vec<(Name, Name)> {
    let away = placement.regions.iter().filter(|(_, device)| **device != placement.origin);
    away.map(|(region, device)| (region.clone(), placement.name(*device).into())).collect()
}
