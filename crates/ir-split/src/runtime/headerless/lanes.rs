//! `headerless`: each position on the path from one device to another has a link of its own.
//!
//! ```text
//! tor -> nic    the first link     Acl
//! nic -> tor    the first link     ingress.2, output port 0
//!               the second link    ingress.2, output port 511: the packet is to be dropped
//! ```
//!
//! Positions are numbered for each direction, and the n-th uses the n-th link; both directions share the links.

use super::ports::Ports;
use crate::analysis::Analysis;
use crate::layout::Layout;
use crate::placement::{DeviceIndex, Placement};
use crate::routes::{Leg, Routes};
use crate::section::SectionId;
use base_diag::codes::headerless as codes;
use base_diag::{Diagnostic, Span};
use std::collections::BTreeMap;

/// A position and the link that stands for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    pub from: DeviceIndex,
    pub to: DeviceIndex,
    pub section: SectionId,
    /// The output port that ingress has chosen so far, if the section needs it.
    pub value: Option<u64>,
    /// The link's number among those between the two devices.
    pub number: usize,
}

/// All positions of a program's hand-overs without a header.
pub fn lanes(routes: &Routes, layout: &Layout, placement: &Placement) -> Vec<Lane> {
    let mut used: BTreeMap<(DeviceIndex, DeviceIndex), usize> = BTreeMap::new();
    let mut lanes = vec![];
    for leg in routes.legs.iter().filter(|leg| !placement.has_header(leg.from, leg.to)) {
        let values = match layout.ports.get(&leg.section) {
            Some(ports) => ports.iter().map(|port| Some(*port)).collect(),
            None => vec![None],
        };
        for value in values {
            let next = used.entry((leg.from, leg.to)).or_default();
            let (from, to, section) = (leg.from, leg.to, leg.section);
            lanes.push(Lane { from, to, section, value, number: *next });
            *next += 1;
        }
    }
    lanes
}

impl Lane {
    /// Ports of the link: the sender's, the receiver's.
    pub fn ports(&self, placement: &Placement) -> Option<(u64, u64)> {
        let port = |from, to| placement.ports_to(from, to).get(self.number).copied();
        Some((port(self.from, self.to)?, port(self.to, self.from)?))
    }
}

/// Refuses output ports that are not constants, paths over other devices, and too few links.
pub fn check(a: &Analysis<'_>, ports: &BTreeMap<SectionId, Ports>, layout: &Layout) -> Vec<Diagnostic> {
    let unknown = layout.ports.keys().filter_map(|id| unknown_port(a, *id, ports.get(id)?.unknown?));
    // One statement may be the reason at several cuts.
    let mut found: Vec<Diagnostic> = unknown.take(1).collect();
    found.extend(passes(a));
    if !found.is_empty() {
        return found;
    }
    let lanes = lanes(&a.routes, layout, a.placement);
    let mut reported = vec![];
    for lane in &lanes {
        let pair = (lane.from.min(lane.to), lane.from.max(lane.to));
        if lane.ports(a.placement).is_some() || reported.contains(&pair) {
            continue;
        }
        reported.push(pair);
        found.push(too_few(a, &lanes, pair));
    }
    found
}

fn too_few(a: &Analysis<'_>, lanes: &[Lane], (one, other): (DeviceIndex, DeviceIndex)) -> Diagnostic {
    let between = |lane: &&Lane| (lane.from.min(lane.to), lane.from.max(lane.to)) == (one, other);
    let all: Vec<&Lane> = lanes.iter().filter(between).collect();
    let needed = all.iter().map(|lane| lane.number + 1).max().unwrap_or(0);
    let has = a.placement.ports_to(one, other).len().min(a.placement.ports_to(other, one).len());
    let (one, other) = (a.placement.name(one), a.placement.name(other));
    let title = format!("`{one}` and `{other}` have too few links");
    let first = all.first().map(|lane| super::place_of(a, lane.section));
    let mut found = Diagnostic::error(codes::TOO_FEW_LINKS, title);
    if let Some(span) = first {
        found = found.at(span, "packets come here over one of them");
    }
    found = found.note(format!("they need {needed}, and have {has}"));
    for lane in all {
        let (from, to) = (a.placement.name(lane.from), a.placement.name(lane.to));
        let section = &a.sections.get(lane.section).name;
        let value = match lane.value {
            Some(511) => ", to be dropped".to_string(),
            Some(port) => format!(", for port {port}"),
            None => String::new(),
        };
        found = found.note(format!("link {}: `{section}`{value}, from `{from}` to `{to}`", lane.number + 1));
    }
    found.help("add links between the two devices, or use `runtime = \"headerless-ipv4\"` or \"full\"")
}

/// The output port may be anything that entries or packets say.
fn unknown_port(a: &Analysis<'_>, id: SectionId, writer: Span) -> Option<Diagnostic> {
    let section = a.sections.get(id);
    Some(
        Diagnostic::error(codes::NOT_CARRIED, "the output port cannot travel without a header")
            .at(writer, "written here with a value that is not in the program")
            .at(super::place_of(a, id), format!("needed after it, from `{}` on", section.name))
            .note("each output port needs a link of its own: it must be one of a few constants")
            .help("choose the output port after the last cut, or use `runtime = \"headerless-ipv4\"` or \"full\""),
    )
}

/// A hand-over that another device would have to forward over a link whose hand-overs have no header.
pub fn passes(a: &Analysis<'_>) -> Vec<Diagnostic> {
    let is_passed =
        |leg: &&Leg| (leg.is_sent_on || leg.to != leg.target) && !a.placement.has_header(leg.from, leg.to);
    let Some(leg) = a.routes.legs.iter().find(is_passed) else { return vec![] };
    let (from, over, to) =
        (a.placement.name(leg.from), a.placement.name(leg.to), a.placement.name(leg.target));
    let section = a.sections.get(leg.section);
    let title = format!("no link joins `{from}` and `{to}`");
    vec![
        Diagnostic::error(codes::TOO_FEW_LINKS, title)
            .at(super::place_of(a, leg.section), format!("`{}` is reached over `{over}`", section.name))
            .note("a device in between could not determine the app of a packet that it forwards")
            .help("add a link between the two devices, or use `runtime = \"full\"`"),
    ]
}
