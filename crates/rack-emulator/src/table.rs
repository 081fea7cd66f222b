//! A report as text tables.

use crate::circle::LoopReport;
use crate::pinned;
use crate::report::{
    DeviceReport, DropReport, EdgeReport, FaultReport, GroupReport, LatencyReport, LinkReport, NoteReport,
    RunReport, ServerReport, WorkloadReport,
};
use std::fmt;

const TIME_UNITS: [(&str, u64); 5] =
    [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
const RATE_UNITS: [(&str, u64); 5] = [
    ("Tbit/s", 1_000_000_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Mbit/s", 1_000_000),
    ("kbit/s", 1_000),
    ("bit/s", 1),
];

impl RunReport {
    /// The report for people: measurements of the hosts, then devices, links and drops. Times and rates are rounded to
    /// four digits.
    pub fn to_table(&self) -> String {
        let packets = self.packets;
        let head = format!(
            "rack {}, seed {}: {} of virtual time, {} events, log {}\n\
             packets: {} created = {} delivered + {} dropped + {} in flight\n",
            self.rack,
            self.seed,
            four_digits(self.duration_ps, &TIME_UNITS),
            self.events,
            self.log_hash,
            packets.created,
            packets.delivered,
            packets.dropped,
            packets.in_flight,
        );
        self.tables().iter().fold(head, |text, table| format!("{text}\n{table}"))
    }

    /// Tables of the report's text below its head: those that have rows.
    pub fn tables(&self) -> Vec<Table> {
        let tables = [
            Table::new(&WORKLOADS, self.workloads.iter().map(workload_row)),
            Table::new(&LATENCIES, self.workloads.iter().filter_map(|w| latency_row(w, w.latency))),
            Table::new(
                &FIRST_LATENCIES,
                self.workloads.iter().filter_map(|w| latency_row(w, w.first_latency)),
            ),
            Table::new(&CORRUPTED, self.workloads.iter().flat_map(corrupted_rows)),
            Table::new(&MEASURES, self.workloads.iter().flat_map(measure_rows)),
            Table::new(&WATCHED, self.workloads.iter().flat_map(watched_rows)),
            Table::new(&DEVICES, self.devices.iter().map(device_row)),
            Table::new(&LINKS, self.links.iter().map(link_row)),
            Table::new(&DROPS, self.drops.iter().map(drop_row)),
            Table::new(&FAULTS, self.faults.iter().map(fault_row)),
            Table::new(&LOOPS, self.loops.iter().map(loop_row)),
            Table::new(&EDGES, self.edges.iter().map(edge_row)),
            Table::new(&pinned::APPS, self.pinned.iter().map(pinned::app_row)),
            Table::new(&pinned::TOTALS, self.pinned.iter().filter_map(pinned::totals_row)),
            Table::new(&pinned::SHARES, self.pinned.iter().flat_map(pinned::share_rows)),
            Table::new(&pinned::MOVES, self.pinned.iter().flat_map(pinned::move_rows)),
            Table::new(&GROUPS, self.groups.iter().map(group_row)),
            Table::new(&SERVERS, self.groups.iter().flat_map(server_rows)),
            Table::new(&NOTES, self.notes.iter().map(note_row)),
        ];
        tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
    }
}

/// A table for people. The first column names the subject of the row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Titles of the columns, and true of those that are aligned at the left.
    pub titles: Vec<(&'static str, bool)>,
    /// A cell for each column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Columns whose title begins with `<` are left-aligned.
    pub fn new<const N: usize>(
        titles: &[&'static str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Table {
        let title = |title: &&'static str| (title.trim_start_matches('<'), title.starts_with('<'));
        Table { titles: titles.iter().map(title).collect(), rows: rows.into_iter().map(Vec::from).collect() }
    }
}

/// Columns as wide as their widest cell, two spaces apart.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let titles: Vec<String> = self.titles.iter().map(|(title, _)| title.to_string()).collect();
        let lines = || std::iter::once(&titles).chain(&self.rows);
        let width = |column: usize| lines().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..titles.len()).map(width).collect();
        for line in lines() {
            let cells = line.iter().zip(&widths).zip(&self.titles);
            let cells = cells.map(|((cell, width), (_, left))| match left {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

const EDGES: [&str; 5] = ["<edge from", "<regions", "<devices", "<in use", "changes"];

fn edge_row(edge: &EdgeReport) -> [String; 5] {
    [
        edge.device.clone(),
        edge.regions.join(", "),
        edge.targets.join(", "),
        edge.used.clone().unwrap_or_else(|| "none".to_string()),
        edge.changes.to_string(),
    ]
}

const GROUPS: [&str; 9] =
    ["<group", "<switch", "changes", "calls", "came back", "lost", "queue full", "repeated", "<state"];

fn group_row(group: &GroupReport) -> [String; 9] {
    [
        group.group.clone(),
        group.switch.clone(),
        group.changes.to_string(),
        group.sent.to_string(),
        group.returned.to_string(),
        group.lost.to_string(),
        group.queue_full.to_string(),
        group.repeated.to_string(),
        if group.is_steady { "steady" } else { "changing" }.to_string(),
    ]
}

const SERVERS: [&str; 11] = [
    "<server",
    "<group",
    "<state",
    "buckets",
    "flows",
    "began",
    "calls",
    "handled",
    "extra steps",
    "dropped",
    "<reasons",
];

fn server_rows(group: &GroupReport) -> impl Iterator<Item = [String; 11]> {
    group.servers.iter().map(|server| {
        [
            server.name.clone(),
            group.group.clone(),
            server.standing.clone(),
            server.buckets.to_string(),
            server.flows.to_string(),
            server.opened.to_string(),
            server.calls.to_string(),
            server.handled.to_string(),
            server.extra_hops.to_string(),
            server.dropped.to_string(),
            reasons(server),
        ]
    })
}

/// `3 late, 2 repeated`
fn reasons(server: &ServerReport) -> String {
    let all: Vec<String> = server.reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    if all.is_empty() { "-".to_string() } else { all.join(", ") }
}

const WORKLOADS: [&str; 9] =
    ["<workload", "<path", "sent", "received", "lost", "doubled", "late", "corrupt", "goodput"];

fn workload_row(w: &WorkloadReport) -> [String; 9] {
    let [received, lost] = w.came(w.lost.to_string());
    [
        w.name.clone(),
        format!("{} -> {}", w.from, w.to),
        w.sent.to_string(),
        received,
        lost,
        w.duplicated.to_string(),
        w.reordered.to_string(),
        w.corrupted.to_string(),
        w.goodput_bits_per_s.map_or("-".to_string(), |goodput| four_digits(goodput, &RATE_UNITS)),
    ]
}

const LATENCIES: [&str; 10] =
    ["<latency", "min", "mean", "deviation", "p50", "p90", "p95", "p99", "p99.9", "max"];

const FIRST_LATENCIES: [&str; 10] =
    ["<first packets", "min", "mean", "deviation", "p50", "p90", "p95", "p99", "p99.9", "max"];

/// `None` for a capture, and for a workload of which nothing arrived.
fn latency_row(w: &WorkloadReport, latency: Option<LatencyReport>) -> Option<[String; 10]> {
    let LatencyReport { min_ps, mean_ps, deviation_ps, median_ps, p90_ps, p95_ps, p99_ps, p999_ps, max_ps } =
        latency?;
    let times = [min_ps, mean_ps, deviation_ps, median_ps, p90_ps, p95_ps, p99_ps, p999_ps, max_ps];
    let mut cells = std::iter::once(w.name.clone()).chain(times.map(time_words));
    Some(std::array::from_fn(|_| cells.next().unwrap_or_default()))
}

const CORRUPTED: [&str; 3] = ["<corrupt", "<difference", "packets"];

fn corrupted_rows(w: &WorkloadReport) -> impl Iterator<Item = [String; 3]> {
    w.corrupted_by.iter().map(|(why, packets)| [w.name.clone(), why.clone(), packets.to_string()])
}

const MEASURES: [&str; 3] = ["<measured", "<what", "value"];

fn measure_rows(w: &WorkloadReport) -> impl Iterator<Item = [String; 3]> {
    w.measures.iter().map(|(name, value)| [w.name.clone(), name.clone(), value.to_string()])
}

const WATCHED: [&str; 5] = ["<watched", "<field", "<at the", "<value", "packets"];

fn watched_rows(w: &WorkloadReport) -> impl Iterator<Item = [String; 5]> {
    w.watched.iter().flat_map(move |watch| {
        let row = move |value: &str, packets: u64| {
            [w.name.clone(), watch.field.clone(), watch.at.clone(), value.to_string(), packets.to_string()]
        };
        let others = (watch.others > 0).then(|| row("others", watch.others));
        watch.values.iter().map(move |value| row(&value.value, value.packets)).chain(others)
    })
}

const DEVICES: [&str; 8] =
    ["<device", "<class", "<engine", "received", "sent", "created", "dropped", "backlog"];

fn device_row(d: &DeviceReport) -> [String; 8] {
    [
        d.name.clone(),
        d.class.clone(),
        d.engine.clone(),
        d.received.to_string(),
        d.sent.to_string(),
        d.created.to_string(),
        d.dropped.values().sum::<u64>().to_string(),
        d.longest_backlog.to_string(),
    ]
}

const LINKS: [&str; 8] = ["<link", "rate", "used", "frames", "bytes", "lost", "refused", "queue"];

fn link_row(l: &LinkReport) -> [String; 8] {
    let permille = (l.utilisation_ppm + 500) / 1000;
    [
        format!("{} -> {}", l.from, l.to),
        four_digits(l.rate_bits_per_s, &RATE_UNITS),
        format!("{}.{}%", permille / 10, permille % 10),
        l.frames.to_string(),
        l.bytes.to_string(),
        (l.lost + l.cut).to_string(),
        (l.refused + l.too_long).to_string(),
        l.longest_queue.to_string(),
    ]
}

const DROPS: [&str; 3] = ["<dropped at", "<why", "packets"];

fn drop_row(d: &DropReport) -> [String; 3] {
    [d.place.clone(), d.reason.clone(), d.packets.to_string()]
}

const FAULTS: [&str; 4] = ["<fault", "from", "to", "swept"];

fn fault_row(f: &FaultReport) -> [String; 4] {
    let end = f.ends_ps.map_or("-".to_string(), |at| four_digits(at, &TIME_UNITS));
    [f.what.clone(), four_digits(f.begins_ps, &TIME_UNITS), end, f.swept.to_string()]
}

const LOOPS: [&str; 3] = ["<loop without end", "found at", "in flight"];

fn loop_row(l: &LoopReport) -> [String; 3] {
    [l.path.clone(), four_digits(l.found_ps, &TIME_UNITS), l.in_flight.to_string()]
}

const NOTES: [&str; 2] = ["<what the controller did", "at"];

fn note_row(note: &NoteReport) -> [String; 2] {
    [note.what.clone(), four_digits(note.at_ps, &TIME_UNITS)]
}

/// A time in picoseconds, formatted for tables.
pub fn time_words(ps: u64) -> String {
    four_digits(ps, &TIME_UNITS)
}

/// A rate in bits per second, formatted for tables.
pub fn rate_words(bits_per_s: u64) -> String {
    four_digits(bits_per_s, &RATE_UNITS)
}

/// The value in the largest unit that leaves a whole part, rounded to four digits, zeros at the end left out.
fn four_digits(value: u64, units: &[(&str, u64); 5]) -> String {
    let unit = units.iter().find(|(_, size)| value >= *size);
    let (name, size) = *unit.unwrap_or(&units[4]);
    let decimals = 3u32.saturating_sub((value / size).checked_ilog10().unwrap_or(0));
    let scale = 10u128.pow(decimals);
    let rounded = (u128::from(value) * scale + u128::from(size / 2)) / u128::from(size);
    let (whole, fraction) = (rounded / scale, rounded % scale);
    if fraction == 0 {
        return format!("{whole}{name}");
    }
    let fraction = format!("{fraction:0width$}", width = decimals as usize);
    format!("{whole}.{}{name}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_to_four_digits() {
        for (ps, text) in [
            (0, "0ps"),
            (999, "999ps"),
            (12_345_678, "12.35us"),
            (1_000_000, "1us"),
            (1_050_000, "1.05us"),
            (999_949, "999.9ns"),
            (999_960, "1000ns"),
            (123_456_000_000_000, "123.5s"),
            (12_345_000_000_000_000, "12345s"),
            (u64::MAX, "18446744s"),
        ] {
            assert_eq!(four_digits(ps, &TIME_UNITS), text);
        }
        assert_eq!(four_digits(2_500_000_000, &RATE_UNITS), "2.5Gbit/s");
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [["a".to_string(), "1".to_string()], ["long".to_string(), "1000".to_string()]];
        let table = Table::new(&["<name", "n"], rows);
        assert_eq!(table.to_string(), "name     n\na        1\nlong  1000\n");
    }
}
