//! The table dependency graph: which units must run in a later stage than which others, and why.

use crate::field::{FieldId, meeting};
use crate::unit::{Unit, UnitId};
use serde::Serialize;

/// Why a unit waits for another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The later unit matches on a value that the earlier one writes. A later stage is needed.
    Match,
    /// Actions of the later unit read a value that the earlier one writes. A later stage is needed.
    Action,
    /// Both units write the same bits. A later stage is needed.
    Output,
    /// The earlier unit decides whether the later one runs. The same stage is allowed.
    Control,
    /// The later unit writes a value that the earlier one reads. The same stage is allowed.
    Successor,
}

impl Reason {
    /// As reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Match => "match",
            Reason::Action => "action",
            Reason::Output => "output",
            Reason::Control => "control",
            Reason::Successor => "successor",
        }
    }

    /// Stages between the two at least.
    pub fn stages(self) -> u32 {
        match self {
            Reason::Match | Reason::Action | Reason::Output => 1,
            Reason::Control | Reason::Successor => 0,
        }
    }
}

/// `to` waits for `from`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dependency {
    /// Runs first.
    pub from: UnitId,
    /// Runs after it.
    pub to: UnitId,
    /// The strictest reason.
    pub reason: Reason,
    /// The field that both use; none for control.
    pub field: Option<FieldId>,
}

/// All dependencies, ordered by `to`, then `from`.
pub fn dependencies(units: &[Unit]) -> Vec<Dependency> {
    let mut found = vec![];
    for (to, unit) in units.iter().enumerate() {
        for &from in &unit.before {
            let earlier = &units[from];
            let shared = [
                (Reason::Match, meeting(&earlier.writes, &unit.matches)),
                (Reason::Action, meeting(&earlier.writes, &unit.reads)),
                (Reason::Output, meeting(&earlier.writes, &unit.writes)),
                (Reason::Successor, meeting(&unit.writes, &earlier.matches)),
                (Reason::Successor, meeting(&unit.writes, &earlier.reads)),
            ];
            let first = shared.iter().find_map(|(reason, access)| access.map(|a| (*reason, a.field)));
            let control = unit.guards.contains(&from);
            match first {
                Some((reason, field)) if !(control && reason == Reason::Successor) => {
                    found.push(Dependency { from, to, reason, field: Some(field) });
                }
                _ if control => {
                    found.push(Dependency { from, to, reason: Reason::Control, field: None });
                }
                _ => {}
            }
        }
    }
    found
}

/// For each unit, the stages that must follow its own: those of the longest chain of dependencies from it.
/// `None` if units wait for each other in a circle.
pub fn tails(units: usize, dependencies: &[Dependency]) -> Option<Vec<u32>> {
    let order = order(units, dependencies)?;
    let mut tails = vec![0; units];
    let mut out: Vec<Vec<&Dependency>> = vec![vec![]; units];
    dependencies.iter().for_each(|d| out[d.from].push(d));
    for &unit in order.iter().rev() {
        tails[unit] = out[unit].iter().map(|d| tails[d.to] + d.reason.stages()).max().unwrap_or(0);
    }
    Some(tails)
}

/// Units so that each stands after those it waits for; `None` if there is a circle.
pub fn order(units: usize, dependencies: &[Dependency]) -> Option<Vec<UnitId>> {
    let mut waiting = vec![0usize; units];
    let mut out: Vec<Vec<UnitId>> = vec![vec![]; units];
    for d in dependencies {
        waiting[d.to] += 1;
        out[d.from].push(d.to);
    }
    let mut ready: std::collections::BTreeSet<UnitId> = (0..units).filter(|u| waiting[*u] == 0).collect();
    let mut order = Vec::with_capacity(units);
    while let Some(unit) = ready.pop_first() {
        order.push(unit);
        for &next in &out[unit] {
            waiting[next] -= 1;
            if waiting[next] == 0 {
                ready.insert(next);
            }
        }
    }
    (order.len() == units).then_some(order)
}

/// The longest chain of dependencies that need a stage each.
pub fn chain(units: usize, dependencies: &[Dependency]) -> Vec<&Dependency> {
    let Some(tails) = tails(units, dependencies) else { return vec![] };
    let Some(mut at) = (0..units).max_by_key(|u| (tails[*u], std::cmp::Reverse(*u))) else { return vec![] };
    let mut chain = vec![];
    while tails[at] > 0 {
        let next = dependencies.iter().find(|d| d.from == at && tails[d.to] + d.reason.stages() == tails[at]);
        let Some(next) = next else { break };
        if next.reason.stages() > 0 {
            chain.push(next);
        }
        at = next.to;
    }
    chain
}
