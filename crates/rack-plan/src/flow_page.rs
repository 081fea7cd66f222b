//! Plans of flows as one page of HTML that needs nothing else: for each plan the apps, the memory of each device as a stack of apps, and the mean latency by the memory of the switch.

use crate::flow_plan::FlowPlan;
use app_allocation::{App, Effort, ONE, Place, Row, allocate};
use base_page::chart::{self, Axis, Chart, Line, colour};
use base_page::markup::{self, escape};
use base_time::Duration;
use rack_model::Rack;
use std::fmt::Write;

const STYLE: &str = ".free { fill: var(--faint); stroke: var(--edge); } .part { stroke: var(--back); } ";

/// Width of a full memory, height of its bar, and room for its name.
const WIDTH: f64 = 520.0;
const BAR: f64 = 26.0;
const NAME: f64 = 200.0;

/// Points of a curve; the memory goes up to twice that of the switch.
const POINTS: u64 = 24;

/// Limits of the search for each point.
const EFFORT: Effort = Effort { states: 1 << 10, gap: 10_000 };

/// The page.
pub fn flow_page(title: &str, rack: &Rack, plans: &[FlowPlan]) -> String {
    let mut body = format!("<h1>{}</h1>\n", escape(title));
    for plan in plans {
        let switch = &rack.devices[plan.problem.origin.0 as usize].name.value;
        let _ = writeln!(body, "<h2>Flows at {}</h2>", escape(switch));
        apps(&mut body, plan);
        let bars = memories(rack, plan);
        body.push_str("<div class=\"scroll\">");
        stacks(&mut body, plan, &bars);
        body.push_str("</div>\n<div class=\"scroll\">");
        curves(&mut body, plan);
        let _ = writeln!(body, "</div>\n<pre>{}</pre>", escape_lines(&plan.text(rack)));
    }
    markup::page(title, &format!("{STYLE}{}", chart::STYLE), &body, "")
}

fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

fn apps(out: &mut String, plan: &FlowPlan) {
    out.push_str("<table><tr><th class=\"left\">app</th><th>flows at the switch</th><th>of</th><th>packets there</th><th>mean latency</th></tr>\n");
    for (at, (app, own)) in plan.problem.problem.apps.iter().zip(&plan.allocation.apps).enumerate() {
        let _ = writeln!(
            out,
            "<tr><td class=\"left\"><svg width=\"12\" height=\"12\"><rect width=\"12\" height=\"12\" fill=\"{}\"/></svg> {}</td><td>{}</td><td>{}</td><td>{:.1} %</td><td>{}</td></tr>",
            colour(at),
            escape(&app.name),
            own.flows,
            app.flows.flows(),
            100.0 * own.share as f64 / ONE as f64,
            Duration::from_ps(own.latency)
        );
    }
    out.push_str("</table>\n");
}

/// A memory: name, capacity, and the units of each app.
struct Memory {
    name: String,
    capacity: u64,
    used: Vec<u64>,
}

/// The memories of the switch and of the classes of helpers.
fn memories(rack: &Rack, plan: &FlowPlan) -> Vec<Memory> {
    let problem = &plan.problem.problem;
    let each = || problem.apps.iter().zip(&plan.allocation.apps);
    let units =
        |place: &Place, row: usize, flows: u64| place.units(row + 1, flows).get(row).copied().unwrap_or(0);
    let origin = &rack.devices[plan.problem.origin.0 as usize].name.value;
    let at_switch = problem.switch.iter().enumerate().map(|(row, memory): (usize, &Row)| Memory {
        name: format!("{}, {origin}", memory.name),
        capacity: memory.capacity,
        used: each()
            .map(|(app, own)| app.at_switch.as_ref().map_or(0, |place| units(place, row, own.flows)))
            .collect(),
    });
    let at_class = |(class, of): (usize, &app_allocation::Class)| {
        let all = |app: &App, home: Option<usize>, row: usize| match app.at_classes.get(class) {
            Some(Ok(place)) if home == Some(class) => units(place, row, app.flows.flows()),
            _ => 0,
        };
        let rows = of.memory.iter().enumerate().map(|(row, memory)| Memory {
            name: format!("{}, {}", memory.name, of.name),
            capacity: of.memory(row),
            used: each().map(|(app, own)| all(app, own.home, row)).collect(),
        });
        rows.collect::<Vec<_>>()
    };
    at_switch.chain(problem.classes.iter().enumerate().flat_map(at_class)).collect()
}

/// A bar for each memory with a part for each app.
fn stacks(out: &mut String, plan: &FlowPlan, memories: &[Memory]) {
    if memories.is_empty() {
        out.push_str("<p>No memory limits the flows.</p>\n");
        return;
    }
    let height = memories.len() as f64 * (BAR + 14.0) + 10.0;
    let _ = writeln!(out, "<svg class=\"bars\" {}>", markup::size(NAME + WIDTH + 160.0, height));
    for (row, memory) in memories.iter().enumerate() {
        let y = 10.0 + row as f64 * (BAR + 14.0);
        let sum: u64 = memory.used.iter().sum();
        let width = |units: u64| WIDTH * units as f64 / memory.capacity.max(sum).max(1) as f64;
        let _ = writeln!(
            out,
            "<text x=\"0\" y=\"{}\">{}</text><rect class=\"free\" x=\"{NAME}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{BAR}\"/>",
            y + BAR * 0.7,
            escape(&memory.name)
        );
        let mut x = NAME;
        for (at, units) in memory.used.iter().enumerate() {
            let app = escape(&plan.problem.problem.apps[at].name);
            let _ = writeln!(
                out,
                "<rect class=\"part\" x=\"{x:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"{}\"><title>{app}: {units}</title></rect>",
                width(*units),
                colour(at)
            );
            x += width(*units);
        }
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\">{sum} of {}</text>",
            NAME + WIDTH + 8.0,
            y + BAR * 0.7,
            memory.capacity
        );
    }
    out.push_str("</svg>\n");
}

/// Mean latency of all apps by each memory of the switch: each point is a plan of its own.
fn curves(out: &mut String, plan: &FlowPlan) {
    for (row, memory) in plan.problem.problem.switch.iter().enumerate() {
        let points: Vec<(f64, f64)> = (0..=POINTS)
            .filter_map(|point| {
                let capacity =
                    (u128::from(memory.capacity) * 2 * u128::from(point) / u128::from(POINTS)) as u64;
                let mut problem = plan.problem.problem.clone();
                problem.switch[row].capacity = capacity;
                let found = allocate(&problem, plan.objective, &EFFORT).ok()?;
                Some((capacity as f64, found.latency as f64))
            })
            .collect();
        let (Some((least, _)), Some((most, _))) = (points.first(), points.last()) else { continue };
        let highest = points.iter().map(|(_, latency)| *latency).fold(0.0, f64::max);
        let chart = Chart {
            title: format!("mean latency by {}", memory.name),
            x: Axis { range: (*least, *most), logarithmic: false, words: |units| units.to_string() },
            y: Axis {
                range: (0.0, highest * 1.1),
                logarithmic: false,
                words: |ps| Duration::from_ps(ps).to_string(),
            },
            spans: vec![],
            size: (NAME + WIDTH + 160.0, 280.0),
            left: 80.0,
            lines: vec![Line { name: "mean latency".into(), points }],
        };
        out.push_str(&chart.svg());
    }
}
