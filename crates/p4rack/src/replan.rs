//! Plans of flows that are made again while the rack runs: for which apps, and how ([`device_control::Resizing`] says when).

use crate::pinned::{self, PinnedApp};
use crate::rack::SplitApp;
use app_allocation::WEIGHT;
use base_diag::{Diagnostic, Span, codes::pin as codes};
use base_time::Probability;
use controller::TableSizes;
use device_control::{AppFlows, Conditions, Replan, Resizing, Sizes};
use ir::Program;
use rack_model::pinning::{Affinity, Pinning};
use rack_model::{Again, App, Rack, Spanned};
use std::sync::Arc;

/// Parts per billion of a millionth.
const PPB: u64 = 1_000_000_000 / WEIGHT;

/// The plan of the apps of a switch, which is made again when their shares of the traffic change; none if the rack does not want it, or another
/// plan could not be used: the planner chooses the flows of one app at least, several share the switch, and flows move by themselves.
/// `moving` says of each pinned app whether its flows move.
pub fn resizing(rack: &Rack, app: &SplitApp, moving: &[bool]) -> Option<Resizing> {
    let Again { margin, after } = rack.plan.again?;
    let apps: Vec<&PinnedApp> =
        app.pinned.iter().zip(moving).filter(|(_, is)| **is).map(|(app, _)| app).collect();
    let pinnings: Vec<&Pinning> = apps.iter().filter_map(|app| app.model.pinning.as_ref()).collect();
    let is_used = |pinning: &&Pinning| {
        pinning.demand.is_some() && pinning.promote.is_some() && pinning.affinity.value == Affinity::Medium
    };
    let is_planned = pinnings.iter().any(|pinning| pinning.is_planned.is_some());
    if apps.len() < 2 || !is_planned || !pinnings.iter().all(is_used) {
        return None;
    }
    let planner = Planner::new(rack, app, &apps)?;
    // Among the apps whose packets are counted.
    let planned = planner.shares.iter().map(|share| share * WEIGHT / planner.together.max(1)).collect();
    let margin = u64::from(margin.ppb()) / PPB;
    let replan: Replan = Arc::new(move |conditions: &Conditions| {
        planner.plan(conditions).map_err(|found| {
            let titles: Vec<&str> = found.iter().map(|found| found.title.as_str()).collect();
            titles.join("; ")
        })
    });
    Some(Resizing::new(planned, margin, after, replan))
}

/// The same for a switch whose apps have these flows ([`crate::flows::app_flows`]).
pub fn resizing_of(rack: &Rack, app: &SplitApp, flows: &[AppFlows]) -> Option<Resizing> {
    let is_counted = |one: &PinnedApp| {
        let name = &one.model.name.value;
        flows.iter().any(|flows| flows.name == *name && flows.popular().is_some())
    };
    let counted: Vec<bool> = app.pinned.iter().map(is_counted).collect();
    resizing(rack, app, &counted)
}

/// Plans for the apps of a switch with other shares.
struct Planner {
    /// The rack with the apps of the switch as its apps.
    rack: Rack,
    /// The apps with their programs, as the planner takes them.
    programs: Vec<(usize, Arc<Program>)>,
    /// The apps that are counted, and their places among those.
    counted: Vec<(usize, PinnedApp)>,
    /// Shares of the counted apps by the first plan, in millionths of the traffic of the switch.
    shares: Vec<u64>,
    /// Sum of these shares.
    together: u64,
}

impl Planner {
    fn new(rack: &Rack, app: &SplitApp, counted: &[&PinnedApp]) -> Option<Planner> {
        let described: Vec<&PinnedApp> = app
            .pinned
            .iter()
            .filter(|app| app.model.pinning.as_ref().is_some_and(|p| p.demand.is_some()))
            .collect();
        let apps: Vec<App> = described.iter().map(|app| app.model.clone()).collect();
        let rack = Rack { apps, ..rack.clone() };
        let program = |of: &&PinnedApp| {
            let own = app.own.iter().find(|(name, _)| *name == of.model.name.value);
            own.map(|(_, program)| Arc::clone(program))
        };
        let programs: Vec<(usize, Arc<Program>)> =
            described.iter().map(program).collect::<Option<Vec<_>>>()?.into_iter().enumerate().collect();
        let place = |app: &&PinnedApp| {
            let at = described.iter().position(|known| known.model.name.value == app.model.name.value)?;
            Some((at, PinnedApp::clone(app)))
        };
        let counted: Vec<(usize, PinnedApp)> = counted.iter().map(place).collect::<Option<_>>()?;
        let weights = pinned::plan(&rack, &programs).ok()?.problem.problem.apps;
        let shares: Vec<u64> = counted.iter().map(|(at, _)| weights[*at].weight).collect();
        let together = shares.iter().sum();
        Some(Planner { rack, programs, counted, shares, together })
    }

    /// The plan for other shares of the counted apps, without devices that are out of use.
    fn plan(&self, Conditions { shares, out, .. }: &Conditions) -> Result<Sizes, Vec<Diagnostic>> {
        let mut rack = self.rack.clone();
        for ((at, _), share) in self.counted.iter().zip(shares) {
            let ppb = (share * self.together / WEIGHT).max(1) * PPB;
            let share = Probability::from_ppb(u32::try_from(ppb).unwrap_or(u32::MAX));
            if let Some(demand) = rack.apps[*at].pinning.as_mut().and_then(|pinning| pinning.demand.as_mut())
            {
                demand.share = Some(Spanned::new(share, Span::NONE));
            }
        }
        let plan = pinned::plan_without(&rack, &self.programs, out)?;
        let mut sizes = Sizes { rooms: vec![], tables: TableSizes::new() };
        for (at, app) in &self.counted {
            let Some(pinning) = &app.model.pinning else { continue };
            let flows = match pinning.is_planned {
                Some(_) => plan.flows(*at).unwrap_or(0).max(1),
                None => pinning.flows,
            };
            sizes.rooms.push(usize::try_from(flows).unwrap_or(usize::MAX));
            add_sizes(app, &self.programs[*at].1, &Pinning { flows, ..pinning.clone() }, &mut sizes.tables)?;
        }
        Ok(sizes)
    }
}

/// The tables of an app that have other sizes with this number of flows.
fn add_sizes(
    app: &PinnedApp,
    program: &Program,
    pinning: &Pinning,
    sizes: &mut TableSizes,
) -> Result<(), Vec<Diagnostic>> {
    let (_, pinned, _) = pinned::program(program, &app.model, pinning)?;
    // A copy with all entries cannot become one with some while it is used; the other way there is no difference in size.
    if let Some(table) = app.pinned.whole.difference(&pinned.whole).next() {
        let title = format!("the switch has all entries of `{table}`, and would not have room for them");
        return Err(vec![Diagnostic::error(codes::NOT_PINNED, title)]);
    }
    let size_of = |program: &Program, name: &str| {
        let mut tables = program.controls.iter().flat_map(|control| &control.tables);
        tables.find(|table| table.control_plane_name == name).and_then(|table| table.size)
    };
    for table in pinned.program.controls.iter().flat_map(|control| &control.tables) {
        let name = &table.control_plane_name;
        if let Some(size) = table.size.filter(|size| size_of(&app.pinned.program, name) != Some(*size)) {
            let merged = app.share.as_ref().map_or_else(|| name.clone(), |share| share.name(name));
            sizes.insert(merged.to_string(), size);
        }
    }
    Ok(())
}
