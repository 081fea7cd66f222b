//! The map of regions nearest to one that cannot be split.
//!
//! ```text
//! map = { Acl = "nic", Nat = "host" }                    // refused: both use the register `seen`
//! help: the nearest map that can be split is `{ Acl = "nic", Nat = "nic" }`: `Nat` joins `Acl` on `nic`
//! ```
//!
//! A change moves one region to the origin or to a device that has another region. Maps with one change come before
//! those with two, and those that move fewer tables before others; each is tried by splitting.

use base_diag::Diagnostic;
use ir::{Name, Program};
use ir_split::{DeviceIndex, Mark, Placement, Policy, Site, marks, split};
use std::collections::BTreeSet;

/// Maps that are tried: a split of a large program takes some 100 ms.
const MOST_TRIES: usize = 40;

/// One region that moves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// Name of the region.
    pub region: Name,
    /// New device.
    pub to: DeviceIndex,
}

/// The nearest placement to `refused` that can be split and has a region away from the origin, with what moves.
pub fn placement(program: &Program, refused: &Placement) -> Option<(Placement, Vec<Move>)> {
    let marks = marks(program).ok()?;
    let single = single_moves(&marks, refused);
    let tables = |region: &Name| marks.iter().find(|m| m.name == *region).map_or(0, |m| m.tables.len());
    let mut all: Vec<Vec<Move>> = single.iter().map(|one| vec![one.clone()]).collect();
    for (at, one) in single.iter().enumerate() {
        let others = single[at + 1..].iter().filter(|other| other.region != one.region);
        all.extend(others.map(|other| vec![one.clone(), other.clone()]));
    }
    // The sort is stable: what joins another region comes before what goes to the origin.
    all.sort_by_key(|moves| (moves.len(), moves.iter().map(|m| tables(&m.region)).sum::<usize>()));
    let maps = all.into_iter().map(|moves| (moved(refused, &moves), moves));
    let is_split = |(map, _): &(Placement, Vec<Move>)| split(program, map).is_ok();
    maps.filter(|(map, _)| is_spread(map, &marks)).take(MOST_TRIES).find(is_split)
}

/// The diagnostics of a split that is refused, with the nearest map that is not.
pub fn with_help(program: &Program, refused: &Placement, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let Some(last) = found.last_mut() else { return found };
    if let Some((map, moves)) = placement(program, refused) {
        last.help.push(help(&map, &moves));
    }
    found
}

fn help(map: &Placement, moves: &[Move]) -> String {
    let sites = map.sites.keys().map(|region| (region, map.device_of(region)));
    let away = sites.filter(|(_, device)| *device != map.origin());
    let shown: Vec<String> =
        away.map(|(region, device)| format!("{region} = \"{}\"", map.name(device))).collect();
    let moves: Vec<String> = moves.iter().map(|one| show(map, moves, one)).collect();
    format!("the nearest map that can be split is `{{ {} }}`: {}", shown.join(", "), moves.join(", "))
}

fn show(map: &Placement, moves: &[Move], one: &Move) -> String {
    let device = map.name(one.to);
    if one.to == map.origin() {
        return format!("`{}` stays at `{device}`", one.region);
    }
    let has_moved = |region: &Name| moves.iter().any(|m| m.region == *region);
    let there = map.sites.iter().find(|(region, _)| map.device_of(region) == one.to && !has_moved(region));
    match there {
        Some((other, _)) => format!("`{}` joins `{other}` on `{device}`", one.region),
        None => format!("`{}` runs on `{device}`", one.region),
    }
}

/// First to devices that have regions, then to the origin; in the order of the source.
fn single_moves(marks: &[Mark], refused: &Placement) -> Vec<Move> {
    let origin = refused.origin();
    let away: BTreeSet<DeviceIndex> =
        marks.iter().map(|mark| refused.device_of(&mark.name)).filter(|device| *device != origin).collect();
    let to = |device: DeviceIndex| {
        let others = marks.iter().filter(move |mark| refused.device_of(&mark.name) != device);
        others.map(move |mark| Move { region: mark.name.clone(), to: device })
    };
    away.iter().copied().chain([origin]).flat_map(to).collect()
}

fn moved(from: &Placement, moves: &[Move]) -> Placement {
    let mut map = from.clone();
    for one in moves {
        // Regions at the origin are not called.
        let policy = if one.to == map.origin() { Policy::Direct } else { map.policy_of(&one.region) };
        map.sites.insert(one.region.clone(), Site::new(one.to, policy));
    }
    map
}

/// Whether a region runs away from the origin.
fn is_spread(map: &Placement, marks: &[Mark]) -> bool {
    marks.iter().any(|mark| map.device_of(&mark.name) != map.origin())
}
