//! Metrics of a switch, and their text form for Prometheus (exposition format 0.0.4).

use controller::{Controller, DeviceId};
use p4runtime_store::{Described, Store};
use std::fmt::Write;

/// Something that is counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metric {
    /// One of [`KINDS`].
    pub name: &'static str,
    /// Labels and their values.
    pub labels: Vec<(&'static str, String)>,
    /// Value of the counter.
    pub value: u64,
}

impl Metric {
    /// One without labels.
    pub fn new(name: &'static str, value: u64) -> Metric {
        Metric { name, labels: vec![], value }
    }

    /// With one label more.
    pub fn with(mut self, label: &'static str, value: impl ToString) -> Metric {
        self.labels.push((label, value.to_string()));
        self
    }

    /// Adds a value to the metric with the same name and labels, or appends it to the list.
    pub fn add_to(self, all: &mut Vec<Metric>) {
        match all.iter_mut().find(|metric| metric.name == self.name && metric.labels == self.labels) {
            Some(metric) => metric.value += self.value,
            None => all.push(self),
        }
    }
}

/// See [`KINDS`].
pub const PORT_RECEIVED: &str = "port_frames_received_total";
/// See [`KINDS`].
pub const PORT_SENT: &str = "port_frames_sent_total";

/// See [`KINDS`].
pub const PORT_HAND_OVERS: &str = "port_hand_overs_total";

/// See [`KINDS`].
pub const PORT_LOST: &str = "port_frames_lost_total";

/// See [`KINDS`].
pub const MERGES_REFUSED: &str = "merge_messages_refused_total";

/// All names with their descriptions, in the order of output. Names that end in `_total` are counters.
const KINDS: &[(&str, &str)] = &[
    ("frames_received_total", "Frames received on the switch's ports."),
    ("frames_sent_total", "Frames sent on the switch's ports."),
    ("frames_dropped_total", "Packets dropped at a device, by reason."),
    ("frames_lost_total", "Frames lost because nothing was ready for them, by place."),
    ("hand_overs_total", "Frames sent over links inside the rack."),
    ("device_frames_received_total", "Frames received by a device of the rack."),
    ("device_frames_sent_total", "Frames sent by a device of the rack."),
    (PORT_RECEIVED, "Frames received on a port of a device."),
    (PORT_SENT, "Frames sent on a port of a device."),
    (
        PORT_HAND_OVERS,
        "Frames with the EtherType of hand-overs received on a port of a device. On a port that joins no devices they are the program's own, or forged.",
    ),
    ("port_up", "1 if a port is up."),
    (PORT_LOST, "Frames lost by a port, by reason."),
    ("frames_held", "Frames that wait while the switch is held."),
    ("frames_queued", "Packets that wait in the queues of ports."),
    ("flows_at_switch", "Flows of an app that its switch processes."),
    ("flow_moves_total", "Moves of an app's flows, to the switch or to a helper."),
    ("flow_moves_full_total", "Moves of an app's flows that ended because the switch had no room."),
    ("flow_writes_total", "Controllers' writes that all copies of an app's tables have."),
    ("device_stale", "1 if a device is not known to be in sync."),
    ("table_entries", "Entries of a table, the program's own included."),
    ("table_size", "Size of a table, in entries."),
    ("calls_total", "Calls of controllers, by RPC and status code."),
    ("holds_total", "Pieces of work for which all calls waited, by work."),
    (
        "longest_hold_us",
        "Processor time of the longest piece of work for which all calls waited, by work, in microseconds.",
    ),
    (
        MERGES_REFUSED,
        "Messages of the merge that were malformed, or that their sender may not send, by sender.",
    ),
    ("connections", "Open connections to the P4Runtime address."),
    ("connections_refused_total", "Connections refused because there were too many."),
    ("connections_ended_total", "Connections closed because they were idle, or to make room."),
    ("streams", "Connected controllers."),
    ("messages_lost_total", "Messages dropped because a controller did not read them."),
];

/// Metrics of the use of tables.
pub(crate) fn tables(store: &Store) -> Vec<Metric> {
    let of = |table: &p4runtime_proto::p4::config::v1::Table| {
        let size = u64::try_from(table.size).unwrap_or(0);
        [("table_entries", store.entry_count(table.id()) as u64), ("table_size", size)]
            .map(|(name, value)| Metric::new(name, value).with("table", table.name()))
    };
    store.catalog().info().tables.iter().flat_map(of).collect()
}

/// Metrics of a rack: sizes of tables, `own`, and for each device whether it is in sync, followed by the metrics that
/// `of` gives for its index and name.
pub(crate) fn rack(
    controller: &Controller,
    own: Vec<Metric>,
    mut of: impl FnMut(usize, &str) -> Vec<Metric>,
) -> Vec<Metric> {
    let mut all = controller.with_store(tables).unwrap_or_default();
    all.extend(own);
    if !controller.merges().is_empty() {
        let refused = controller.merge_traffic().refused;
        all.push(Metric::new(MERGES_REFUSED, refused).with("from", "devices"));
    }
    let stale = controller.stale();
    let names = crate::plan::placement(controller).devices;
    for (device, name) in names.iter().enumerate() {
        let is_stale = stale.contains_key(&DeviceId(device));
        all.push(Metric::new("device_stale", is_stale.into()).with("device", name));
        all.extend(of(device, name));
    }
    all
}

/// Drop counters of a device, by reason, labelled with the device if one is given.
pub(crate) fn drops(counters: &dataplane_api::Counters, device: Option<&str>) -> Vec<Metric> {
    let metric = |(reason, count): (&dataplane_api::DropReason, &u64)| {
        let metric =
            Metric::new("frames_dropped_total", *count).with("reason", snake(&format!("{reason:?}")));
        device.into_iter().fold(metric, |metric, name| metric.with("device", name))
    };
    counters.dropped.iter().map(metric).collect()
}

/// Metric of a device in another process, renamed as one of a rack's.
pub(crate) fn of_device(counted: &p4runtime_proto::p4rack::v1::Metric, device: &str) -> Option<Metric> {
    let name = match counted.name.as_str() {
        "frames_received_total" => "device_frames_received_total",
        "frames_sent_total" => "device_frames_sent_total",
        "frames_dropped_total" => "frames_dropped_total",
        "frames_lost_total" => "frames_lost_total",
        "frames_held" => "frames_held",
        PORT_RECEIVED => PORT_RECEIVED,
        PORT_SENT => PORT_SENT,
        PORT_HAND_OVERS => PORT_HAND_OVERS,
        PORT_LOST => PORT_LOST,
        _ => return None,
    };
    let label = |of: &'static str| Some((of, counted.labels.get(of)?.clone()));
    let labels = ["reason", "place", "port"].into_iter().filter_map(label).collect();
    Some(Metric { name, labels, value: counted.value }.with("device", device))
}

/// As Prometheus reads it.
pub fn exposition(metrics: &[Metric]) -> String {
    let mut out = String::new();
    for (name, help) in KINDS {
        let mut known = metrics.iter().filter(|metric| metric.name == *name).peekable();
        if known.peek().is_none() {
            continue;
        }
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        // Writing to a string does not fail.
        let _ = writeln!(out, "# HELP p4rack_{name} {help}\n# TYPE p4rack_{name} {kind}");
        for metric in known {
            let _ = writeln!(out, "p4rack_{name}{} {}", labels(metric), metric.value);
        }
    }
    out
}

/// Metrics above 0 as one line for people: frames that passed the switch's ports, then packets that ended inside. These
/// may be more or fewer than the difference, since packets are copied. Metrics of single ports and devices are left
/// out.
pub fn summary(metrics: &[Metric]) -> String {
    let of_ports = |name: &str| {
        let counted = metrics.iter().filter(|metric| metric.name == name && metric.labels.is_empty());
        counted.map(|metric| metric.value).sum::<u64>()
    };
    let (came, left) = (of_ports("frames_received_total"), of_ports("frames_sent_total"));
    let mut lines = vec![];
    if came + left > 0 {
        lines.push(format!("{came} frames received on the switch's ports, {left} sent"));
    }
    let is_shown = |name: &str| match name {
        "frames_received_total"
        | "frames_sent_total"
        | PORT_RECEIVED
        | PORT_SENT
        | PORT_HAND_OVERS
        | PORT_LOST => false,
        _ => name.ends_with("_total") && !name.starts_with("device_"),
    };
    for metric in metrics.iter().filter(|metric| metric.value > 0 && is_shown(metric.name)) {
        let what = match metric.name {
            "frames_dropped_total" => "packets dropped inside".to_string(),
            name => name.trim_end_matches("_total").replace('_', " "),
        };
        lines.push(format!("{} {what}{}", metric.value, labels(metric)));
    }
    lines.join(", ")
}

fn labels(metric: &Metric) -> String {
    if metric.labels.is_empty() {
        return String::new();
    }
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let all: Vec<String> =
        metric.labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", all.join(","))
}

/// `NoReplica` as `no_replica`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn some() -> Vec<Metric> {
        let odd = "a\"b\\c\nd";
        vec![
            Metric::new("frames_sent_total", 2),
            Metric::new("frames_dropped_total", 1).with("reason", snake("NoReplica")).with("device", odd),
            Metric::new("table_entries", 3).with("table", "MyIngress.route"),
            Metric::new("frames_received_total", 0),
        ]
    }

    #[test]
    fn prometheus_reads_it() {
        expect![[r#"
            # HELP p4rack_frames_received_total Frames received on the switch's ports.
            # TYPE p4rack_frames_received_total counter
            p4rack_frames_received_total 0
            # HELP p4rack_frames_sent_total Frames sent on the switch's ports.
            # TYPE p4rack_frames_sent_total counter
            p4rack_frames_sent_total 2
            # HELP p4rack_frames_dropped_total Packets dropped at a device, by reason.
            # TYPE p4rack_frames_dropped_total counter
            p4rack_frames_dropped_total{reason="no_replica",device="a\"b\\c\nd"} 1
            # HELP p4rack_table_entries Entries of a table, the program's own included.
            # TYPE p4rack_table_entries gauge
            p4rack_table_entries{table="MyIngress.route"} 3
        "#]]
        .assert_eq(&exposition(&some()));
    }

    #[test]
    fn people_read_what_is_not_zero() {
        let mut all = some();
        all.push(Metric::new("device_frames_sent_total", 7).with("device", "nic"));
        all.push(Metric::new(PORT_SENT, 2).with("port", "1"));
        all.push(Metric::new("frames_lost_total", 4).with("place", "gate"));
        expect![[r#"0 frames received on the switch's ports, 2 sent, 1 packets dropped inside{reason="no_replica",device="a\"b\\c\nd"}, 4 frames lost{place="gate"}"#]]
            .assert_eq(&summary(&all));
    }
}
