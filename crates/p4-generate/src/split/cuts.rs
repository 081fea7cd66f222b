//! Random regions of a program and random places for them.
//!
//! A region is named after the device that it runs on, `Cut3_at2`, or `Cut3_call_at2` where it is called; `Cut3_star_at2` where
//! only the origin has links to the others, `Cut3_line_at2` where they stand in a line: the marks of a program determine its placement.

use base_time::Rng;
use ir::Program;
use ir_split::auto::{self, Border, Cut};
use ir_split::{DeviceIndex, Mark, Placement, Policy, Site};
use std::collections::BTreeMap;

/// The origin and up to three helpers.
pub const MOST_DEVICES: u32 = 4;

/// Most regions of a program.
const MOST_CUTS: u64 = 6;

/// Ports that join devices are counted down from here; the program's own ports are small.
const LAST_PORT: u64 = 510;

/// Marks up to `most` regions, and fewer where the program has no more places.
pub fn marked(open: &Program, most: u64, rng: &mut Rng) -> Program {
    let mut borders: Vec<Border> = auto::borders(open).into_iter().filter(|b| !b.in_loop).collect();
    let devices = rng.between(2, u64::from(MOST_DEVICES));
    let wanted = rng.between(1, most.clamp(1, MOST_CUTS)) as usize;
    let links = ["", STAR, LINE][rng.index(3)];
    let mut chosen: Vec<usize> = (0..borders.len()).collect();
    rng.shuffle(&mut chosen);
    chosen.truncate(wanted);
    // Marks are made from the last to the first.
    chosen.sort_unstable();
    let cuts: Vec<Cut> = chosen
        .into_iter()
        .enumerate()
        .map(|(n, at)| {
            // The origin too: a region may come back from inside another one.
            let device = if n == 0 { rng.between(1, devices - 1) } else { rng.between(0, devices - 1) };
            let len = rng.chance(2, 3).then(|| rng.between(1, 4) as usize);
            let policy = if rng.chance(1, 4) { "_call" } else { "" };
            Cut { name: format!("Cut{n}{policy}{links}_at{device}").into(), from: borders[at].clone(), len }
        })
        .collect();
    borders.clear();
    let mut marked = open.clone();
    auto::mark(&mut marked, &cuts);
    marked
}

/// In the names of regions: which devices are linked. All, where the names do not say.
const STAR: &str = "_star";
const LINE: &str = "_line";

/// The placement that the names of the regions determine.
pub fn placement(marks: &[Mark]) -> Placement {
    let device = |mark: &Mark| {
        let number = mark.name.rsplit("_at").next().and_then(|n| n.parse().ok()).unwrap_or(0);
        DeviceIndex(u32::min(number, MOST_DEVICES - 1))
    };
    let says = |links: &str| marks.iter().any(|mark| mark.name.contains(links));
    let are_linked = |a: u32, b: u32| match (says(STAR), says(LINE)) {
        (true, _) => a == 0 || b == 0,
        (_, true) => a.abs_diff(b) == 1,
        _ => true,
    };
    let mut ports = BTreeMap::new();
    for from in 0..MOST_DEVICES {
        for to in (0..MOST_DEVICES).filter(|to| *to != from && are_linked(from, *to)) {
            ports.insert((DeviceIndex(from), DeviceIndex(to)), LAST_PORT - u64::from(to));
        }
    }
    let policy = |mark: &Mark| match mark.name.contains("_call_") {
        true => Policy::Call,
        false => Policy::Direct,
    };
    Placement {
        devices: (0..MOST_DEVICES).map(|n| format!("d{n}").into()).collect(),
        sites: marks.iter().map(|mark| (mark.name.clone(), Site::new(device(mark), policy(mark)))).collect(),
        ports,
        ..Placement::whole("d0")
    }
}
