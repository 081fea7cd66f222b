//! A rack as a picture: hosts below, devices above them by their distance from hosts, a line for each direction of each link.

use crate::markup::escape;
use rack_emulator::{LinkReport, RunReport};
use rack_model::{NodeId, Rack};
use std::collections::BTreeMap;
use std::fmt::Write;

const LINE: usize = 16;
const DEVICE: usize = 170;
const HOST: usize = 100;
const GAP: usize = 24;
const BETWEEN: usize = 70;

/// The style that the picture needs.
pub(super) const STYLE: &str = ".host { fill: var(--faint); stroke: #999; } \
.link { fill: none; cursor: pointer; } .lossy { stroke-dasharray: 5 3; } .link.chosen { stroke: var(--text); stroke-width: 6; } ";

/// A box in the picture.
struct Spot {
    node: NodeId,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// The picture. `runs` says for each device what it runs.
pub(super) fn topology(rack: &Rack, report: &RunReport, runs: &[Vec<String>]) -> String {
    let rows = rows(rack);
    let lines = |node: NodeId| match node {
        NodeId::Device(id) => 2 + runs.get(id.0 as usize).map_or(0, Vec::len),
        NodeId::Host(_) => 2,
    };
    let wide = |row: &[NodeId]| row.iter().map(|node| size(*node) + GAP).sum::<usize>() + GAP;
    let width = rows.iter().map(|row| wide(row)).max().unwrap_or(0);
    let (mut spots, mut y) = (vec![], 10);
    for row in rows.iter().rev() {
        let mut x = (width - wide(row)) / 2 + GAP;
        for node in row {
            spots.push(Spot { node: *node, x, y, width: size(*node), height: LINE * lines(*node) + 6 });
            x += size(*node) + GAP;
        }
        y += row.iter().map(|node| LINE * lines(*node) + 6).max().unwrap_or(0) + BETWEEN;
    }
    let height = y.saturating_sub(BETWEEN) + 10;
    let mut out = format!("<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n");
    let place: BTreeMap<NodeId, &Spot> = spots.iter().map(|spot| (spot.node, spot)).collect();
    let sent: BTreeMap<(&str, &str), &LinkReport> =
        report.links.iter().map(|link| ((link.from.as_str(), link.to.as_str()), link)).collect();
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
                let device = report.devices.get(id.0 as usize);
                let text = device.map_or(String::new(), |d| format!("{}, {}", d.class, d.engine));
                ("device", text, runs.get(id.0 as usize).map_or(&[][..], Vec::as_slice))
            }
        };
        node(&mut out, spot, class, rack.node_name(spot.node), &second, rest);
    }
    out.push_str("</svg>\n");
    out
}

fn size(node: NodeId) -> usize {
    match node {
        NodeId::Device(_) => DEVICE,
        NodeId::Host(_) => HOST,
    }
}

fn node(out: &mut String, spot: &Spot, class: &str, name: &str, second: &str, rest: &[String]) {
    let Spot { x, y, width, height, .. } = spot;
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\"/>\
<text class=\"name\" x=\"{0}\" y=\"{1}\">{2}</text><text x=\"{0}\" y=\"{3}\">{4}</text>",
        x + 8,
        y + LINE,
        escape(name),
        y + 2 * LINE,
        escape(second)
    );
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

/// One direction: to the right of the way it goes; the wider and redder, the more it was used; dashed if frames were lost.
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

/// Hosts, then devices by how many links the nearest host is away; those without a way to a host come last. In each row what hangs
/// together below stands together.
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
    // Hosts stand in the order of the devices above them, everything else in that of what is below.
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
