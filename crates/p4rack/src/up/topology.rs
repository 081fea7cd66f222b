//! A rack as a picture: hosts below, devices above them by their distance from hosts, a line for each direction of each
//! link. Rows that would be wider than a screen have boxes with names only, or empty ones; the rest is shown as a
//! tooltip.

use base_page::markup::{self, escape};
use rack_emulator::{LinkReport, RunReport};
use rack_model::{NodeId, Rack};
use std::collections::BTreeMap;
use std::fmt::Write;

const LINE: usize = 16;
const DEVICE: usize = 170;
const HOST: usize = 100;
const GAP: usize = 24;
const BETWEEN: usize = 70;
/// A row is not wider than this if it can be helped.
const SCREEN: usize = 1300;
/// A box with a name alone, and the gap beside it.
const NAMED: usize = 66;
const NARROW_GAP: usize = 8;
/// A box that holds no text is at least this wide.
const BARE: usize = 6;

/// The style that the picture needs.
pub(super) const STYLE: &str = ".host { fill: var(--faint); stroke: #999; } \
.link { fill: none; cursor: pointer; } .lossy { stroke-dasharray: 5 3; } .link.chosen { stroke: var(--text); stroke-width: 6; } ";

/// The same, and the colours of pages, for a picture that stands alone.
const ALONE: &str = "svg.p4rack { --faint: #f6f6f6; --text: #222; } svg.p4rack text { font: 12px sans-serif; fill: #222; } \
svg.p4rack .name { font-weight: bold; } svg.p4rack .host { fill: #f6f6f6; stroke: #999; } \
svg.p4rack .device { fill: #eef4fb; stroke: #35618e; } svg.p4rack .link { fill: none; }";

/// A rack at rest as a file of SVG. `runs` has lines for each device.
pub fn picture(rack: &Rack, runs: &[Vec<String>]) -> String {
    let drawn = topology(rack, None, runs);
    let head = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"p4rack\" ";
    let alone = drawn.replacen("<svg ", head, 1);
    alone.replacen(">\n", &format!("><style>{ALONE}</style>\n"), 1)
}

/// A box in the picture.
struct Spot {
    node: NodeId,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    detail: Detail,
}

/// Amount of text in a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Detail {
    Full,
    Name,
    Nothing,
}

/// Amount of text, and width, of the boxes in a row.
fn layout(row: &[NodeId]) -> (Detail, usize) {
    let all: usize = row.iter().map(|node| full_size(*node) + GAP).sum();
    match () {
        () if all <= SCREEN => (Detail::Full, GAP),
        () if row.len() * (NAMED + NARROW_GAP) <= SCREEN => (Detail::Name, NARROW_GAP),
        () => (Detail::Nothing, 2),
    }
}

/// The picture, with the measurements of a run if there was one. `runs` has the names for each device.
pub(super) fn topology(rack: &Rack, report: Option<&RunReport>, runs: &[Vec<String>]) -> String {
    let rows = rows(rack);
    let lines = |node: NodeId| match node {
        NodeId::Device(id) => 2 + runs.get(id.0 as usize).map_or(0, Vec::len),
        NodeId::Host(_) => 2,
    };
    let size = |row: &[NodeId], node: NodeId| match layout(row).0 {
        Detail::Full => full_size(node),
        Detail::Name => NAMED,
        Detail::Nothing => (SCREEN / row.len()).saturating_sub(2).max(BARE),
    };
    let wide = |row: &[NodeId]| {
        let gap = layout(row).1;
        row.iter().map(|node| size(row, *node) + gap).sum::<usize>() + gap
    };
    let width = rows.iter().map(|row| wide(row)).max().unwrap_or(0);
    let (mut spots, mut y) = (vec![], 10);
    for row in rows.iter().rev() {
        let (detail, gap) = layout(row);
        let high = |node: NodeId| LINE * if detail == Detail::Full { lines(node) } else { 1 } + 6;
        let mut x = (width - wide(row)) / 2 + gap;
        for node in row {
            let (wide, high) = (size(row, *node), high(*node));
            spots.push(Spot { node: *node, x, y, width: wide, height: high, detail });
            x += wide + gap;
        }
        // Links to many devices need more room between them.
        let between = if detail == Detail::Full { BETWEEN } else { BETWEEN * 2 };
        y += row.iter().map(|node| high(*node)).max().unwrap_or(0) + between;
    }
    let height = y.saturating_sub(BETWEEN) + 10;
    let mut out = format!("<svg {}>\n", markup::size(width as f64, height as f64));
    let place: BTreeMap<NodeId, &Spot> = spots.iter().map(|spot| (spot.node, spot)).collect();
    let sent: BTreeMap<(&str, &str), &LinkReport> = report
        .into_iter()
        .flat_map(|report| &report.links)
        .map(|link| ((link.from.as_str(), link.to.as_str()), link))
        .collect();
    for link in &rack.links {
        for [from, to] in [link.ends, [link.ends[1], link.ends[0]]] {
            let names = [rack.end_name(from), rack.end_name(to)];
            if let (Some(a), Some(b)) = (place.get(&from.node), place.get(&to.node)) {
                line(&mut out, a, b, &names, sent.get(&(names[0].as_str(), names[1].as_str())).copied());
            }
        }
    }
    for spot in &spots {
        let (class, second, rest) = match spot.node {
            NodeId::Host(id) => {
                let host = rack.hosts.get(id.0 as usize);
                let address = host.and_then(|host| host.ip.first());
                ("host", address.map_or(String::new(), |ip| ip.value.to_string()), &[][..])
            }
            NodeId::Device(id) => {
                let device = report.and_then(|report| report.devices.get(id.0 as usize));
                let text = device.map_or(String::new(), |d| format!("{}, {}", d.class, d.engine));
                ("device", text, runs.get(id.0 as usize).map_or(&[][..], Vec::as_slice))
            }
        };
        node(&mut out, spot, class, rack.node_name(spot.node), &second, rest);
    }
    out.push_str("</svg>\n");
    out
}

fn full_size(node: NodeId) -> usize {
    match node {
        NodeId::Device(_) => DEVICE,
        NodeId::Host(_) => HOST,
    }
}

fn node(out: &mut String, spot: &Spot, class: &str, name: &str, second: &str, rest: &[String]) {
    let Spot { x, y, width, height, detail, .. } = spot;
    let about = [&[name.to_string(), second.to_string()], rest].concat().join(", ");
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\"><title>{}</title></rect>",
        escape(&about)
    );
    if *detail == Detail::Nothing {
        return;
    }
    let at = if *detail == Detail::Full { x + 8 } else { x + 3 };
    let _ = writeln!(out, "<text class=\"name\" x=\"{at}\" y=\"{}\">{}</text>", y + LINE, escape(name));
    if *detail == Detail::Name {
        return;
    }
    let _ = writeln!(out, "<text x=\"{at}\" y=\"{}\">{}</text>", y + 2 * LINE, escape(second));
    for (at, text) in rest.iter().enumerate() {
        let _ = writeln!(
            out,
            "<text class=\"region\" x=\"{}\" y=\"{}\">{}</text>",
            x + 16,
            y + LINE * (at + 3),
            escape(text)
        );
    }
}

/// One direction, drawn to the right of its direction; wider and redder with its use; dashed if frames were lost.
fn line(out: &mut String, from: &Spot, to: &Spot, names: &[String; 2], link: Option<&LinkReport>) {
    let middle = |spot: &Spot| (spot.x + spot.width / 2, spot.y + spot.height / 2);
    let ((x1, y1), (x2, y2)) = (middle(from), middle(to));
    let (dx, dy) = (x2 as f64 - x1 as f64, y2 as f64 - y1 as f64);
    let length = dx.hypot(dy).max(1.0);
    let (right, down) = (-dy / length * 4.0, dx / length * 4.0);
    let used = link.map_or(0.0, |link| f64::from(link.utilisation_ppm) / 1e6);
    let lost = link.map_or(0, |link| link.lost + link.cut);
    let about = link.map_or(String::new(), |link| {
        let rate = base_time::Rate::from_bits_per_s(link.rate_bits_per_s);
        format!(": {rate}, used {:.1}%, {} frames, {lost} lost", used * 100.0, link.frames)
    });
    // Of two boxes in one row the line goes around those between them.
    let bow = if from.y == to.y { if x1 < x2 { -40.0 } else { -50.0 } } else { 0.0 };
    let _ = writeln!(
        out,
        "<path class=\"link{}\" data-name=\"{name}\" stroke=\"hsl({:.0} 65% 45%)\" stroke-width=\"{:.1}\" \
d=\"M{:.1},{:.1} Q{:.1},{:.1} {:.1},{:.1}\"><title>{name}{}</title></path>",
        if lost > 0 { " lossy" } else { "" },
        210.0 * (1.0 - used),
        1.5 + 4.0 * used,
        x1 as f64 + right,
        y1 as f64 + down,
        (x1 + x2) as f64 / 2.0 + right,
        (y1 + y2) as f64 / 2.0 + down + bow,
        x2 as f64 + right,
        y2 as f64 + down,
        escape(&about),
        name = escape(&names.join(" -> ")),
    );
}

/// Hosts, then devices by the number of links to the nearest host; those without a path to a host come last. In each
/// row, connected nodes are adjacent.
fn rows(rack: &Rack) -> Vec<Vec<NodeId>> {
    let hosts = (0..rack.hosts.len() as u32).map(|n| NodeId::Host(rack_model::HostId(n)));
    let mut left: Vec<NodeId> =
        (0..rack.devices.len() as u32).map(|n| NodeId::Device(rack_model::DeviceId(n))).collect();
    let mut rows: Vec<Vec<NodeId>> = vec![hosts.collect()];
    while !left.is_empty() {
        let below = rows.last().cloned().unwrap_or_default();
        let near = |node: &NodeId| rack.links_of(*node).any(|(_, _, end)| below.contains(&end.node));
        let (mut row, rest): (Vec<NodeId>, Vec<NodeId>) = left.iter().partition(|node| near(node));
        left = rest;
        if row.is_empty() {
            row = std::mem::take(&mut left);
        }
        rows.push(row);
    }
    // Hosts are in the order of the devices above them, everything else in that of the nodes below.
    for (at, neighbour) in std::iter::once((0, 1)).chain((1..rows.len()).map(|at| (at, at - 1))) {
        let Some(beside) = rows.get(neighbour).cloned() else { continue };
        let position = |node: &NodeId| {
            let ends = rack.links_of(*node).map(|(_, _, end)| end.node);
            let places: Vec<usize> =
                ends.filter_map(|end| beside.iter().position(|other| *other == end)).collect();
            places.iter().sum::<usize>() * 1000 / places.len().max(1)
        };
        rows[at].sort_by_cached_key(position);
    }
    rows.retain(|row| !row.is_empty());
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use rack_model::HostId;

    #[test]
    fn rows_fit_a_screen() {
        let hosts = |count: u32| (0..count).map(|n| NodeId::Host(HostId(n))).collect::<Vec<_>>();
        for (count, detail) in [
            (1, Detail::Full),
            (10, Detail::Full),
            (16, Detail::Name),
            (17, Detail::Name),
            (128, Detail::Nothing),
        ] {
            assert_eq!(layout(&hosts(count)).0, detail, "{count}");
        }
        let (mut rack, _) = rack_model::read_rack("", 0);
        let rack = rack.as_mut().expect("an empty rack is one");
        let host = |n: u32| rack_model::Host {
            name: format!("h{n}").as_str().into(),
            mac: rack_model::Mac([2, 0, 0, 0, 0, n as u8]).into(),
            ip: vec![],
            gateway: None,
        };
        let report = rack_emulator::Emulator::new(rack, vec![]).expect("nothing to run").report();
        // Of still more hosts each would be too small to be seen: such a picture scrolls.
        for count in [4, 16, 128] {
            rack.hosts = (0..count).map(host).collect();
            let picture = topology(rack, Some(&report), &[]);
            let width = picture.split("width=\"").nth(1).and_then(|rest| rest.split('"').next());
            let width: usize = width.and_then(|width| width.parse().ok()).expect("it has a width");
            assert!(width <= SCREEN + GAP, "{count} hosts: {width}");
            assert!(picture.contains("h3"), "every host is drawn");
        }
    }
}
