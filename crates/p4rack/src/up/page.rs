//! A run as one self-contained page of HTML: the rack and its placement, latencies, timeline, all tables.

use super::topology::{self, topology};
use crate::rack::Racked;
use base_page::chart::{self, Axis, Chart, Line, colour};
use base_page::markup::{self, escape};
use rack_emulator::{Emulator, RunReport, Table, Timeline, time_words};
use rack_model::Rack;
use std::fmt::Write;

/// Points of a line at most.
const POINTS: usize = 240;
/// Width of an event without duration: this fraction of a chart's width.
const NARROW: f64 = 300.0;
/// Maximum number of links with a chart of their load.
const LINKS: usize = 24;
/// Room for a link's name.
const NAMES: f64 = 180.0;

pub(super) const STYLE: &str = "tr[data-name] { cursor: pointer; } .line.chosen { stroke-width: 5; } .chosen .bar { fill: #d1641d; } .key { display: inline-block; width: 12px; height: 12px; margin: 0 4px 0 14px; } ";

pub(super) const SCRIPT: &str = "const named = [...document.querySelectorAll('[data-name]')]; \
named.forEach(e => e.addEventListener('click', () => named.forEach(o => \
o.classList.toggle('chosen', o.dataset.name == e.dataset.name && !o.classList.contains('chosen'))))); \
document.body.dataset.named = named.length;";

/// The page of a run that is over.
pub fn page(racked: &Racked, emulator: &Emulator, report: &RunReport, timeline: &Timeline) -> String {
    let title = format!("Rack {}", report.rack);
    let packets = report.packets;
    let mut body = format!(
        "<h1>{}</h1>\n<p>Seed {}, {} of virtual time, {} events, log {}.</p>\n<p>Packets: {} created = {} delivered + {} dropped + {} in flight.</p>\n",
        escape(&title),
        report.seed,
        time_words(report.duration_ps),
        report.events,
        report.log_hash,
        packets.created,
        packets.delivered,
        packets.dropped,
        packets.in_flight
    );
    let _ = writeln!(body, "<h2>Placement</h2>\n{}", runs_where(racked, emulator.rack(), report));
    latencies(&mut body, emulator, report);
    over_time(&mut body, report, timeline);
    body.push_str("<h2>Figures</h2>\n");
    for table in report.tables() {
        show(&mut body, &table);
    }
    markup::page(&title, &[STYLE, topology::STYLE, chart::STYLE].concat(), &body, SCRIPT)
}

/// The rack as a picture, with the use of its links.
pub(super) fn runs_where(racked: &Racked, rack: &Rack, report: &RunReport) -> String {
    format!("<div class=\"scroll\">{}</div>", topology(rack, Some(report), &runs(racked)))
}

/// Names of the sections and functions of each device, indexed by device.
fn runs(racked: &Racked) -> Vec<Vec<String>> {
    let mut runs = vec![vec![]; racked.rack.devices.len()];
    let sections = racked.apps.iter().flat_map(|app| app.split.sections.iter().map(move |s| (app, s)));
    for (app, section) in sections.filter(|(_, section)| !section.is_plain_end()) {
        // Sections of one origin run on all of them.
        let devices: Vec<_> = match section.device == app.placement.origin() {
            true => app.placement.origins().collect(),
            false => vec![section.device],
        };
        for device in devices {
            if let Some(names) = runs.get_mut(device.0 as usize) {
                names.push(section.name.to_string());
            }
        }
    }
    runs
}

fn latencies(out: &mut String, emulator: &Emulator, report: &RunReport) {
    let mut lines = vec![];
    for (number, workload) in report.workloads.iter().enumerate() {
        let counts = emulator.latencies(number);
        let all: u64 = counts.iter().map(|(_, count)| count).sum();
        let mut sum = 0;
        let mut points: Vec<(f64, f64)> = vec![];
        for (latency, count) in counts {
            let before = percent(sum, all);
            sum += count;
            points.push((latency.as_ps() as f64, before));
            points.push((latency.as_ps() as f64, percent(sum, all)));
        }
        lines.push(Line { name: workload.name.clone(), points: thinned(points) });
    }
    let all = || lines.iter().flat_map(|line| &line.points).map(|(latency, _)| latency.max(1.0));
    let Some(least) = all().reduce(f64::min) else { return };
    let most = all().fold(least, f64::max);
    let chart = Chart {
        title: "share of packets with at most this latency".to_string(),
        x: Axis { range: (least * 0.9, most * 1.1), logarithmic: true, words: time_words },
        y: Axis { range: (0.0, 100.0), logarithmic: false, words: |n| format!("{n}%") },
        lines,
        spans: vec![],
        size: (760.0, 300.0),
        left: 80.0,
    };
    let _ = writeln!(out, "<h2>Latencies</h2>\n{}<div class=\"scroll\">{}</div>", key(report), chart.svg());
}

/// Charts over time: packets received by workload, bytes by link, and the faults.
fn over_time(out: &mut String, report: &RunReport, timeline: &Timeline) {
    let moments = timeline.moments();
    // The time after the last change is not drawn.
    let still = moments.iter().rev().zip(moments.iter().rev().skip(1)).take_while(|(a, b)| a == b).count();
    let moments = &moments[..moments.len() - still];
    let each = moments.len().div_ceil(POINTS).max(1);
    let window = timeline.step() * each as u64;
    let windows: Vec<_> = moments.iter().skip(each - 1).step_by(each).collect();
    if windows.is_empty() {
        return;
    }
    let seconds = window.as_ps() as f64 / 1e12;
    let end = (window * windows.len() as u64).as_ps() as f64;
    let grown = |of: &dyn Fn(usize) -> u64| -> Vec<u64> {
        let before = std::iter::once(0).chain((0..windows.len()).map(of));
        before.zip((0..windows.len()).map(of)).map(|(before, now)| now - before).collect()
    };
    let mut lines = vec![];
    for (number, workload) in report.workloads.iter().enumerate() {
        let received = grown(&|at| windows[at].received[number]);
        let points = (0..)
            .zip(received)
            .map(|(at, n)| ((window * at).as_ps() as f64 + window.as_ps() as f64 / 2.0, n as f64 / seconds));
        lines.push(Line { name: workload.name.clone(), points: points.collect() });
    }
    let most = lines.iter().flat_map(|line| &line.points).map(|(_, rate)| *rate).fold(1.0, f64::max);
    let spans = report.faults.iter().filter(|fault| (fault.begins_ps as f64) < end);
    let spans: Vec<_> = spans
        .map(|fault| {
            let to = fault.ends_ps.map_or(end, |at| (at as f64).min(end));
            (fault.begins_ps as f64, to, fault.what.clone())
        })
        .collect();
    let notes = report.notes.iter().filter(|note| (note.at_ps as f64) < end);
    let notes = notes.map(|note| (note.at_ps as f64, note.at_ps as f64 + end / NARROW, note.what.clone()));
    let spans = spans.into_iter().chain(notes).collect();
    let chart = Chart {
        title: "received per second".to_string(),
        x: Axis { range: (0.0, end), logarithmic: false, words: time_words },
        y: Axis { range: (0.0, most), logarithmic: false, words: count_words },
        lines,
        spans,
        size: (1000.0, 260.0),
        left: NAMES,
    };
    let _ = writeln!(out, "<h2>Timeline</h2>\n{}<div class=\"scroll\">{}</div>", key(report), chart.svg());
    let mut busiest: Vec<usize> = (0..report.links.len()).filter(|at| report.links[*at].bytes > 0).collect();
    busiest.sort_by_key(|at| std::cmp::Reverse(report.links[*at].bytes));
    let all = busiest.len();
    busiest.truncate(LINKS);
    busiest.sort_unstable();
    let _ = writeln!(
        out,
        "<p>Load of the {} busiest of {all} link directions that carried frames:</p>",
        busiest.len()
    );
    strips(out, report, &busiest, windows.len(), &|link| {
        let rate = report.links[link].rate_bits_per_s as f64;
        let bytes = grown(&|at| windows[at].bytes[link]);
        bytes.into_iter().map(|bytes| (bytes as f64 * 8.0 / seconds / rate).min(1.0)).collect()
    });
}

/// A row for each link, the darker the more it carried.
fn strips(
    out: &mut String,
    report: &RunReport,
    links: &[usize],
    windows: usize,
    loads: &dyn Fn(usize) -> Vec<f64>,
) {
    const ROW: usize = 16;
    let step = 800.0 / windows as f64;
    let height = links.len() * ROW;
    let _ = writeln!(out, "<div class=\"scroll\"><svg {}>", markup::size(1000.0, height as f64));
    for (row, at) in links.iter().enumerate() {
        let link = &report.links[*at];
        let name = escape(&format!("{} -> {}", link.from, link.to));
        let y = row * ROW;
        let _ = writeln!(
            out,
            "<text text-anchor=\"end\" x=\"{}\" y=\"{}\" data-name=\"{name}\">{name}</text>",
            NAMES - 8.0,
            y + 12
        );
        // Neighbours that look alike are one.
        let shades: Vec<u32> = loads(*at).into_iter().map(|load| (load * 20.0).ceil() as u32).collect();
        let mut from = 0;
        for same in shades.chunk_by(|a, b| a == b) {
            if same[0] > 0 {
                let _ = writeln!(
                    out,
                    "<rect x=\"{:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\" fill=\"#1f6fb2\" fill-opacity=\"{:.2}\"/>",
                    NAMES + step * f64::from(from),
                    step * same.len() as f64,
                    ROW - 2,
                    f64::from(same[0]) / 20.0
                );
            }
            from += same.len() as u32;
        }
    }
    out.push_str("</svg></div>\n");
}

/// Legend: the colour of each workload.
fn key(report: &RunReport) -> String {
    let entry = |(number, name): (usize, &String)| {
        format!("<span class=\"key\" style=\"background: {}\"></span>{}", colour(number), escape(name))
    };
    let names = report.workloads.iter().map(|workload| &workload.name);
    format!("<p>{}</p>\n", names.enumerate().map(entry).collect::<String>())
}

pub(super) fn show(out: &mut String, table: &Table) {
    let cell = |tag: &str, text: &str, left: bool| {
        let class = if left { " class=\"left\"" } else { "" };
        format!("<{tag}{class}>{}</{tag}>", escape(text))
    };
    let titles = table.titles.iter().map(|(title, left)| cell("th", title, *left));
    let _ = writeln!(out, "<div class=\"scroll\"><table><tr>{}</tr>", titles.collect::<String>());
    for row in &table.rows {
        let cells = row.iter().zip(&table.titles).map(|(text, (_, left))| cell("td", text, *left));
        let name = row.first().map_or(String::new(), |name| escape(name));
        let _ = writeln!(out, "<tr data-name=\"{name}\">{}</tr>", cells.collect::<String>());
    }
    out.push_str("</table></div>\n");
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

/// At most about [`POINTS`] of them, the first and the last among them.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let each = points.len().div_ceil(POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points.into_iter().enumerate().filter(|(at, _)| at % each == 0 || *at == last).map(|(_, p)| p).collect()
}

/// `1200000` as `1.2M/s`.
fn count_words(count: u64) -> String {
    match count {
        0..10_000 => format!("{count}/s"),
        10_000..10_000_000 => format!("{}k/s", count as f64 / 1e3),
        _ => format!("{}M/s", count as f64 / 1e6),
    }
}
