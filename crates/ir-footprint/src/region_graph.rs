//! The regions of a program as a picture: an SVG that needs nothing else.
//!
//! ```text
//!  ingress |--- 74 bits --> [ Acl           ]
//!          |<-- 52 bits --- [ acl 104 x 12  ]
//! ```

use crate::analysis::{Edge, Live, Region};
use base_page::markup::escape;
use std::fmt::Write;

const BOX_LEFT: usize = 330;
const BOX_WIDTH: usize = 420;
const LINE: usize = 17;
const GAP: usize = 26;
const NODE: usize = 36;
const NODE_WIDTH: usize = 170;

/// The picture. Every region hangs on the line of its half, with the bits of the live values that go to it and come back.
/// Below them, how control passes from section to section where every region is on a device of its own.
pub fn svg(regions: &[Region], edges: &Result<Vec<Edge>, Vec<String>>) -> String {
    let (mut body, mut y, mut half) = (String::new(), 20, "");
    for region in regions {
        if region.half != half {
            half = region.half;
            y += 14;
            let _ = writeln!(body, "<text x=\"20\" y=\"{y}\" class=\"half\">{half}</text>");
            y += 14;
        }
        y = draw(&mut body, region, y);
    }
    y = draw_edges(&mut body, edges, y + 20);
    let (width, height) = (BOX_LEFT + BOX_WIDTH + 20, y + 10);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
<style>text {{ font: 13px sans-serif; }} .half, .name {{ font-weight: bold; }} .small {{ font-size: 11px; }} \
rect {{ fill: #eef4fb; stroke: #35618e; }} .refused {{ fill: #f7e6e4; stroke: #a33a2c; }} line, .arc {{ stroke: #444; fill: none; }}</style>\n\
<defs><marker id=\"tip\" markerWidth=\"9\" markerHeight=\"8\" refX=\"8\" refY=\"4\" orient=\"auto\"><path d=\"M0,0 L9,4 L0,8 z\"/></marker></defs>\n\
<rect x=\"0\" y=\"0\" width=\"{width}\" height=\"{height}\" style=\"fill:white;stroke:none\"/>\n{body}</svg>\n"
    )
}

/// Draws the sections in a column, and their edges as arcs beside it; gives the `y` below.
fn draw_edges(out: &mut String, edges: &Result<Vec<Edge>, Vec<String>>, y: usize) -> usize {
    let title = "each region on a device of its own";
    let edges = match edges {
        Ok(edges) if edges.is_empty() => return y,
        Ok(edges) => edges,
        Err(why) => {
            let text = escape(&short(&format!("{title}: refused: {}", why.join("; "))));
            let _ = writeln!(out, "<text x=\"20\" y=\"{y}\" class=\"small\">{text}</text>");
            return y + LINE;
        }
    };
    let _ = writeln!(out, "<text x=\"20\" y=\"{y}\" class=\"half\">{title}</text>");
    let mut nodes: Vec<&str> = vec![];
    for name in edges.iter().flat_map(|e| [e.from.as_str(), e.to.as_str()]) {
        if !nodes.contains(&name) {
            nodes.push(name);
        }
    }
    let at = |name: &str| y + NODE * (1 + nodes.iter().take_while(|node| **node != name).count());
    for name in &nodes {
        let top = at(name) - 15;
        let _ = writeln!(out, "<rect x=\"30\" y=\"{top}\" width=\"{NODE_WIDTH}\" height=\"22\" rx=\"4\"/>");
        let _ = writeln!(out, "<text x=\"38\" y=\"{}\" class=\"small\">{}</text>", at(name), escape(name));
    }
    let right = 30 + NODE_WIDTH;
    for (n, e) in edges.iter().enumerate() {
        let (from, to) = (at(&e.from) - 4, at(&e.to) - 4);
        let out_to = right + 30 + from.abs_diff(to) / 2;
        let (middle, text) = (from.midpoint(to), format!("{} + {} bits", e.common_bits, e.live_bits));
        let _ = writeln!(
            out,
            "<path d=\"M{right},{from} C{out_to},{from} {out_to},{to} {right},{to}\" class=\"arc\" marker-end=\"url(#tip)\"/>\
<text x=\"{}\" y=\"{}\" class=\"small\">{}</text>",
            right + (out_to - right) * 3 / 4 + 6,
            middle + 4 + n % 2 * 2,
            escape(&text)
        );
    }
    y + NODE * (nodes.len() + 1)
}

/// Draws one region from `y` on; gives the `y` below it.
fn draw(out: &mut String, region: &Region, y: usize) -> usize {
    let lines = lines(region);
    let edges = region.cut.as_ref().map_or(1, |cut| 1 + cut.leave.len());
    let height = (LINE * (lines.len() + 1) + 10).max(edges * GAP + 8);
    let class = if region.cut.is_ok() { "" } else { " class=\"refused\"" };
    let _ = writeln!(out, "<line x1=\"30\" y1=\"{y}\" x2=\"30\" y2=\"{}\"/>", y + height + 12);
    let _ = writeln!(
        out,
        "<rect{class} x=\"{BOX_LEFT}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{height}\" rx=\"4\"/>"
    );
    let left = BOX_LEFT + 10;
    let title = format!("{}  {}", region.name, region.place);
    let _ = writeln!(out, "<text x=\"{left}\" y=\"{}\" class=\"name\">{}</text>", y + LINE, escape(&title));
    for (i, line) in lines.iter().enumerate() {
        let at = y + LINE * (i + 2);
        let _ =
            writeln!(out, "<text x=\"{left}\" y=\"{at}\" class=\"small\">{}</text>", escape(&short(line)));
    }
    match &region.cut {
        Ok(cut) => {
            edge(out, y + 20, true, &format!("{} bits", bits(&cut.enter)), &values(&cut.enter));
            for (i, (to, live)) in cut.leave.iter().enumerate() {
                let label = format!("{} bits to {to}", bits(live));
                edge(out, y + 20 + GAP * (i + 1), false, &label, &values(live));
            }
        }
        Err(why) => {
            let text = short(&format!("refused: {}", why.join("; ")));
            let title = escape(&why.join("; "));
            let _ = writeln!(
                out,
                "<text x=\"40\" y=\"{}\" class=\"small\">{}<title>{title}</title></text>",
                y + 20,
                escape(&text.chars().take(48).collect::<String>())
            );
        }
    }
    y + height + 12
}

fn edge(out: &mut String, y: usize, to_region: bool, label: &str, values: &str) {
    let (from, to) = if to_region { (30, BOX_LEFT) } else { (BOX_LEFT, 30) };
    let _ = writeln!(
        out,
        "<g><title>{}</title><line x1=\"{from}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\" marker-end=\"url(#tip)\"/>\
<text x=\"44\" y=\"{}\" class=\"small\">{}</text></g>",
        escape(values),
        y - 4,
        escape(label)
    );
}

/// Needs of a region, a line for each table and object.
fn lines(region: &Region) -> Vec<String> {
    let table = |t: &crate::footprint::TableFootprint| {
        let size = t.size.map_or_else(String::new, |s| format!(", size {s}"));
        format!("table {}: {} key bits, {} bits an entry{size}", t.name, t.key_bits, t.entry_bits)
    };
    let object =
        |o: &crate::footprint::Object| format!("{} {}, {}: {}", o.kind, o.name, o.mode, o.methods.join(", "));
    region.tables.iter().map(table).chain(region.state.iter().map(object)).collect()
}

fn bits(live: &[Live]) -> u32 {
    live.iter().map(|l| l.bits).sum()
}

fn values(live: &[Live]) -> String {
    live.iter().map(|l| format!("{}:{}", l.value, l.bits)).collect::<Vec<_>>().join(", ")
}

/// As much as fits into a box.
fn short(text: &str) -> String {
    match text.chars().count() {
        0..=70 => text.to_string(),
        _ => text.chars().take(68).chain("...".chars()).collect(),
    }
}
