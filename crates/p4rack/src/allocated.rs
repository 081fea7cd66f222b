//! Plans of flows for `p4rack plan`: how many flows of each app its switch processes.

use crate::files::Disk;
use crate::pinned::plan;
use crate::rack::{compile_app, directory, model};
use base_diag::{Diagnostic, SourceMap};
use rack_model::{App, Rack};
use rack_plan::{FlowPlan, Wishes};
use std::path::Path;

/// The plans of the apps whose RACK.toml describes their flows, one for each switch; none if no app does.
pub fn plans(
    path: &Path,
    extra_defines: &[String],
    wishes: &Wishes,
    map: &mut SourceMap,
) -> Result<Option<(Rack, Vec<FlowPlan>)>, Vec<Diagnostic>> {
    let (mut rack, file, mut warnings) = model(path, map)?;
    let directory = directory(&file);
    wishes.fill(&mut rack.plan)?;
    let has_flows = |app: &App| app.pinning.as_ref().is_some_and(|pinning| pinning.demand.is_some());
    let apps: Vec<usize> = (0..rack.apps.len()).filter(|at| has_flows(&rack.apps[*at])).collect();
    if apps.is_empty() {
        return Ok(None);
    }
    let mut programs = vec![];
    for at in apps {
        programs
            .push((at, compile_app(&rack.apps[at], &directory, extra_defines, &Disk, map, &mut warnings)?));
    }
    let mut found = vec![];
    while let Some((first, _)) = programs.first() {
        let origin = rack.apps[*first].origin.value;
        let (own, others) = programs.into_iter().partition(|(at, _)| rack.apps[*at].origin.value == origin);
        programs = others;
        found.push(plan(&rack, &own)?);
    }
    Ok(Some((rack, found)))
}
