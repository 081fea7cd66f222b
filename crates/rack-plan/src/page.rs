//! Plans as one page of HTML that needs nothing else: an axis for each objective with a line for each plan, and each plan drawn on
//! its devices.

use base_page::markup::{self, escape};
use plan_search::{Plan, Problem};
use std::collections::BTreeMap;
use std::fmt::Write;

const AXIS: usize = 200;
const HEIGHT: usize = 220;
const BOX: usize = 190;
/// Letters that fit into a box.
const LETTERS: usize = 22;
const LINE: usize = 16;
const GAP: usize = 60;

const STYLE: &str = "tr.plan { cursor: pointer; } .axis { stroke: var(--edge); } .line { fill: none; stroke: #9db8d2; stroke-width: 2; cursor: pointer; } \
.line.chosen { stroke: #c0392b; stroke-width: 4; } .through { fill: var(--faint); stroke: #999; } \
.link { stroke: #999; } .way { stroke: #c0392b; stroke-width: 3; } .drawing { display: none; } \
.drawing.chosen { display: block; }";

const SCRIPT: &str = "function choose(n) { document.querySelectorAll('[data-plan]').forEach(e => \
e.classList.toggle('chosen', e.dataset.plan == n)); } \
document.querySelectorAll('[data-plan]').forEach(e => e.addEventListener('click', () => choose(e.dataset.plan))); choose(1);";

/// The page. Plans come with their costs, the least first.
pub fn page(title: &str, problem: &Problem, plans: &[(Vec<i64>, Plan)]) -> String {
    let mut body = format!(
        "<h1>{}</h1>\n<p>{}</p>\n",
        escape(title),
        match plans.len() {
            1 => "1 plan: it is optimal in every objective.".to_string(),
            all => format!("{all} Pareto-optimal plans."),
        }
    );
    // One line across all axes says nothing that the table does not.
    if plans.len() > 1 {
        body.push_str("<div class=\"scroll\">");
        axes(&mut body, problem, plans);
        body.push_str("</div>\n");
    }
    body.push_str("<div class=\"scroll\">");
    table(&mut body, problem, plans);
    body.push_str("</div>\n");
    for (number, (_, plan)) in (1..).zip(plans) {
        let _ = writeln!(body, "<div class=\"drawing scroll\" data-plan=\"{number}\"><h2>Plan {number}</h2>");
        drawing(&mut body, problem, plan);
        body.push_str("</div>\n");
    }
    markup::page(title, STYLE, &body, SCRIPT)
}

/// Parallel axes, the least at the bottom.
fn axes(out: &mut String, problem: &Problem, plans: &[(Vec<i64>, Plan)]) {
    let objectives = &problem.settings.objectives;
    let (width, height) = (AXIS * objectives.len().max(1), HEIGHT + 60);
    let _ = writeln!(out, "<svg {}>", markup::size(width as f64, height as f64));
    let x = |at: usize| AXIS / 2 + AXIS * at;
    let range = |at: usize| {
        let values = plans.iter().map(|(cost, _)| cost[at]);
        (values.clone().min().unwrap_or(0), values.max().unwrap_or(0))
    };
    let y = |at: usize, value: i64| {
        let (least, most) = range(at);
        let (part, whole) = (i128::from(value) - i128::from(least), i128::from(most) - i128::from(least));
        let up = part.saturating_mul(HEIGHT as i128).checked_div(whole).unwrap_or(HEIGHT as i128 / 2);
        30 + HEIGHT - usize::try_from(up).unwrap_or(0).min(HEIGHT)
    };
    for (at, objective) in objectives.iter().enumerate() {
        let (x, bottom, (least, most)) = (x(at), 30 + HEIGHT, range(at));
        let _ = writeln!(
            out,
            "<line class=\"axis\" x1=\"{x}\" y1=\"30\" x2=\"{x}\" y2=\"{bottom}\"/>\
<text class=\"name\" text-anchor=\"middle\" x=\"{x}\" y=\"12\">{}</text>\
<text text-anchor=\"middle\" x=\"{x}\" y=\"26\">{}</text><text text-anchor=\"middle\" x=\"{x}\" y=\"{}\">{}</text>",
            escape(&objective.name),
            escape(&problem.show(at, most)),
            bottom + 16,
            escape(&problem.show(at, least))
        );
    }
    for (number, (cost, _)) in (1..).zip(plans) {
        let points = cost.iter().enumerate().map(|(at, value)| format!("{},{}", x(at), y(at, *value)));
        let points = points.collect::<Vec<_>>().join(" ");
        let _ = writeln!(
            out,
            "<polyline class=\"line\" data-plan=\"{number}\" points=\"{points}\"><title>plan {number}</title></polyline>"
        );
    }
    out.push_str("</svg>\n");
}

fn table(out: &mut String, problem: &Problem, plans: &[(Vec<i64>, Plan)]) {
    let heads = problem.settings.objectives.iter().map(|o| format!("<th>{}</th>", escape(&o.name)));
    let _ = writeln!(out, "<table><tr><th>plan</th>{}</tr>", heads.collect::<String>());
    for (number, (cost, _)) in (1..).zip(plans) {
        let cells =
            cost.iter().enumerate().map(|(at, v)| format!("<td>{}</td>", escape(&problem.show(at, *v))));
        let cells = cells.collect::<String>();
        let _ = writeln!(out, "<tr class=\"plan\" data-plan=\"{number}\"><td>{number}</td>{cells}</tr>");
    }
    out.push_str("</table>\n");
}

/// A plan's devices in rows by their distance from where it starts, with the regions they run and the links that hand-overs take.
fn drawing(out: &mut String, problem: &Problem, plan: &Plan) {
    let rows = rows(problem, plan);
    let runs = |device: usize| (0..plan.device.len()).filter(move |node| plan.device[*node] == device);
    let tallest = |row: &Vec<usize>| row.iter().map(|d| runs(*d).count()).max().unwrap_or(0);
    let mut place: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut y = 10;
    for row in &rows {
        for (at, device) in row.iter().enumerate() {
            place.insert(*device, (10 + at * (BOX + GAP / 2), y));
        }
        y += LINE * (tallest(row) + 2) + GAP;
    }
    let width = 20 + rows.iter().map(Vec::len).max().unwrap_or(1) * (BOX + GAP / 2);
    let _ = writeln!(out, "<svg {}>", markup::size(width as f64, y as f64));
    let height = |device: usize| LINE * (runs(device).count() + 2);
    let taken = |hop: usize| plan.routes.iter().any(|route| route.contains(&hop));
    for (at, hop) in problem.network.hops.iter().enumerate().filter(|(at, _)| at % 2 == 0) {
        if let (Some((x1, y1)), Some((x2, y2))) = (place.get(&hop.from), place.get(&hop.to)) {
            let class = if taken(at) || taken(at + 1) { "way" } else { "link" };
            let (y1, y2) = (y1 + height(hop.from) / 2, y2 + height(hop.to) / 2);
            let _ = writeln!(
                out,
                "<line class=\"{class}\" x1=\"{}\" y1=\"{y1}\" x2=\"{}\" y2=\"{y2}\"/>",
                x1 + BOX / 2,
                x2 + BOX / 2
            );
        }
    }
    for (device, (x, y)) in &place {
        let class = if runs(*device).next().is_some() { "device" } else { "through" };
        let provides = problem.model.devices[*device].provides.join(", ");
        // Only classes, of the properties it provides; functions are in the title.
        let class_words = problem.model.devices[*device].provides.iter().filter(|word| !word.contains('.'));
        let classes = class_words.map(|word| word.as_str()).collect::<Vec<_>>().join(", ");
        let name = short(&format!("{} ({classes})", problem.device_name(*device)));
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{BOX}\" height=\"{}\" rx=\"4\"><title>{}</title></rect>\
<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>",
            height(*device),
            escape(&provides),
            x + 8,
            y + LINE,
            escape(&name)
        );
        for (line, node) in runs(*device).enumerate() {
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\">{}</text>",
                x + 16,
                y + LINE * (line + 2),
                escape(&short(&problem.region_name(node)))
            );
        }
    }
    out.push_str("</svg>\n");
}

/// As much of a text as fits into a box.
fn short(text: &str) -> String {
    match text.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

/// Devices that run something or pass hand-overs on, row by row.
fn rows(problem: &Problem, plan: &Plan) -> Vec<Vec<usize>> {
    let passed = plan.routes.iter().flat_map(|route| route.iter());
    let ends = passed.flat_map(|hop| [problem.network.hops[*hop].from, problem.network.hops[*hop].to]);
    let mut left: Vec<usize> = plan.device.iter().copied().chain(ends).collect();
    left.sort_unstable();
    left.dedup();
    let start = problem.order.first().map(|node| plan.device[*node]);
    let mut row: Vec<usize> = start.into_iter().collect();
    let mut rows = vec![];
    while !row.is_empty() {
        left.retain(|device| !row.contains(device));
        let is_next = |device: &usize| {
            problem.network.hops.iter().any(|hop| hop.to == *device && row.contains(&hop.from))
        };
        let (next, rest): (Vec<usize>, Vec<usize>) = left.iter().partition(|device| is_next(device));
        left = rest;
        rows.push(std::mem::replace(&mut row, next));
        // Devices without links are on their own.
        if row.is_empty() {
            row = left.pop().into_iter().collect();
        }
    }
    rows
}
