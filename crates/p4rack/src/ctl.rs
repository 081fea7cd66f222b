//! Answers of a running switch as text for people.

use crate::run::text::hex;
use base_time::Duration;
use p4runtime_proto::p4rack::v1::{
    Copy, Group, Merged, Merging, Metric, PinnedApp, PinnedFlow, Server, ShowResponse, Target, Thresholds,
    TraceResponse, show_response::State, target,
};
use std::fmt::Write;

/// All of it.
pub fn show(shown: &ShowResponse) -> String {
    let mut out = format!("{}\n", state(shown));
    let parts = [
        ("devices", devices(shown)),
        ("links", links(shown)),
        ("edges", edges(shown)),
        ("spares", spares(shown)),
        ("groups", groups(shown, None)),
        ("flows", flows(shown, None, Some(0))),
        ("shards", shards(shown)),
        ("merged objects", merges(shown, None)),
        ("ports", ports(shown)),
        ("counters", counters(shown, "", false)),
    ];
    for (title, part) in parts.iter().filter(|(_, part)| !part.is_empty()) {
        let _ = write!(out, "\n{title}\n{part}");
    }
    out
}

fn state(shown: &ShowResponse) -> &'static str {
    match shown.state() {
        State::NoProgram => "no program",
        State::Running => "running",
        State::Held => "held: frames are queued",
    }
}

/// The devices, one a line.
pub fn devices(shown: &ShowResponse) -> String {
    let rows = shown.devices.iter().map(|device| {
        let role = if device.is_origin { "origin" } else { "helper" };
        let is = if device.stale.is_empty() { "in sync" } else { &device.stale };
        let regions = if device.regions.is_empty() { "-".to_string() } else { device.regions.join(" ") };
        let address = if device.address.is_empty() { "in the switch" } else { &device.address };
        [&device.name, role, &regions, address, is].map(ToString::to_string).to_vec()
    });
    table(rows.collect())
}

/// The links between devices, one a line.
pub fn links(shown: &ShowResponse) -> String {
    let end = |device: &str, port: u32| format!("{device}:{port}");
    let rows = shown
        .links
        .iter()
        .map(|link| vec![end(&link.from, link.from_port), "--".to_string(), end(&link.to, link.to_port)]);
    table(rows.collect())
}

/// The links as a graph for Graphviz.
pub fn dot(shown: &ShowResponse) -> String {
    let mut out = "graph rack {\n".to_string();
    for device in &shown.devices {
        let shape = if device.is_origin { "box" } else { "ellipse" };
        let _ = writeln!(out, "  {:?} [shape={shape}]", device.name);
    }
    for link in &shown.links {
        let (from, to) = (&link.from, &link.to);
        let _ = writeln!(
            out,
            "  {from:?} -- {to:?} [taillabel=\"{}\", headlabel=\"{}\"]",
            link.from_port, link.to_port
        );
    }
    out + "}\n"
}

/// The ports of the switch, one a line: number, kind, link, frames received, sent and lost.
pub fn ports(shown: &ShowResponse) -> String {
    let rows = shown.ports.iter().map(|port| {
        let lost: Vec<String> = port.lost.iter().map(|(why, count)| format!("{count} lost: {why}")).collect();
        vec![
            port.number.to_string(),
            port.kind.clone(),
            if port.is_up { "up" } else { "down" }.to_string(),
            format!("{} received", port.received),
            format!("{} sent", port.sent),
            lost.join(", "),
        ]
    });
    table(rows.collect())
}

/// The controllers' streams, one a line.
pub fn clients(shown: &ShowResponse) -> String {
    let rows = shown.clients.iter().map(|client| {
        let role = if client.role.is_empty() { "default role" } else { &client.role };
        let election =
            client.election_id.map_or("no election id".to_string(), |id| u128::from(id).to_string());
        let is = if client.is_primary { "primary" } else { "backup" };
        vec![client.stream.to_string(), role.to_string(), election, is.to_string()]
    });
    table(rows.collect())
}

/// Output ports of hand-overs, one a line.
pub fn edges(shown: &ShowResponse) -> String {
    let rows = shown.edges.iter().map(|edge| {
        vec![
            edge.from.clone(),
            edge.at.clone(),
            "->".to_string(),
            edge.to.clone(),
            format!("port {}", edge.port),
        ]
    });
    table(rows.collect())
}

/// Edges with spares, one a line: each target with its state, the preferred one first. Then the thresholds.
pub fn spares(shown: &ShowResponse) -> String {
    let target = |target: &Target| {
        let state = match target.state() {
            target::State::Unknown => "not read yet",
            target::State::InUse => "in use",
            target::State::Ready => "ready",
            target::State::Out => "out",
            target::State::Recovering => "recovering",
            target::State::KeptOut => "kept out",
        };
        format!("{}: {state}", target.device)
    };
    let rows = shown.spares.iter().map(|edge| {
        let mut row = vec![edge.from.clone(), "->".to_string(), edge.regions.join(" ")];
        row.extend(edge.targets.iter().map(target));
        row
    });
    let mut out = table(rows.collect());
    // They are the same for all edges of an app.
    if let Some(of) = shown.spares.first().and_then(|edge| edge.thresholds.as_ref()) {
        let _ = writeln!(out, "thresholds: {}", thresholds(of));
    }
    out
}

/// The groups of servers, or one of them: its calls, then each server on a line.
pub fn groups(shown: &ShowResponse, name: Option<&str>) -> String {
    let is_it = |group: &&Group| name.is_none_or(|name| name == group.name);
    shown.groups.iter().filter(is_it).map(group).collect()
}

fn group(group: &Group) -> String {
    let state = if group.is_steady { "steady" } else { "changing" };
    let Group { name, switch, changes, sent, returned, servers, repeated_answers, queue_full, .. } = group;
    let lost = sent.saturating_sub(*returned);
    let mut head = format!(
        "{name} at {switch}: {state}, {changes} changes, {sent} calls, {returned} returned, {lost} lost"
    );
    if *repeated_answers > 0 {
        let _ = write!(head, ", {repeated_answers} repeated answers dropped");
    }
    if *queue_full > 0 {
        let _ = write!(head, ", {queue_full} found the send queue full");
    }
    head.push('\n');
    let row = |server: &Server| {
        let weight = if server.weight > 0 { format!("weight {}", server.weight) } else { "-".to_string() };
        let mut row = vec![
            format!("  {}", server.device),
            server.standing.clone(),
            weight,
            format!("{} buckets", server.buckets),
            format!("{} flows", server.flows),
            format!("{} began", server.opened),
            format!("{} calls", server.calls),
            format!("{} handled", server.handled),
            format!("{} extra steps", server.extra_steps),
            format!("{} dropped{}", server.dropped, reasons(server)),
        ];
        if let Some(blocks) = server.blocks {
            row.insert(4, format!("{blocks} blocks"));
        }
        row
    };
    head + &table(servers.iter().map(row).collect())
}

/// `: 3 late, 2 repeated`
fn reasons(server: &Server) -> String {
    let all: Vec<String> =
        server.reasons.iter().map(|dropped| format!("{} {}", dropped.count, dropped.reason)).collect();
    if all.is_empty() { String::new() } else { format!(": {}", all.join(", ")) }
}

/// The apps whose flows move, or one of them: totals, then a flow on each line. With `top` the flows with the most packets in the last window, at the
/// switch or not; otherwise those at the switch and on their way.
pub fn flows(shown: &ShowResponse, name: Option<&str>, top: Option<u64>) -> String {
    let is_it = |app: &&PinnedApp| name.is_none_or(|name| name == app.name);
    shown.pinned_apps.iter().filter(is_it).map(|app| pinned_app(app, top)).collect()
}

fn pinned_app(app: &PinnedApp, top: Option<u64>) -> String {
    let PinnedApp { name, switch, room, resident, moving, promoted, demoted, full, writes, .. } = app;
    let mut out = format!(
        "{name} at {switch}: {resident} of {room} flows at the switch, {moving} moving, {promoted} promoted, {demoted} demoted, full {full} times, \
         {writes} writes to all copies\n"
    );
    if !app.off.is_empty() {
        let _ = writeln!(out, "  no flow moves: {}", app.off);
    } else if app.is_automatic {
        let _ = writeln!(out, "  helpers report flows with {} packets in a window", app.threshold);
    }
    let is_listed = |flow: &&PinnedFlow| top.is_some() || flow.place != "helper";
    let listed = app.flows.iter().filter(is_listed).take(top.map_or(usize::MAX, |top| top as usize));
    let row = |flow: &PinnedFlow| {
        let packets = if app.is_automatic { format!("{} packets", flow.packets) } else { String::new() };
        vec![format!("  {}", flow.place), packets, key(flow)]
    };
    out + &table(listed.map(row).collect())
}

/// The parts of a flow's key that are not 0.
fn key(flow: &PinnedFlow) -> String {
    let parts = flow.key.iter().filter(|part| part.value != "0");
    let words: Vec<String> =
        parts.map(|part| format!("{}={}", pinned_flows::short(&part.name), part.value)).collect();
    if words.is_empty() { "all parts 0".to_string() } else { words.join(" ") }
}

/// The shards of each app, one a line.
pub fn shards(shown: &ShowResponse) -> String {
    let rows = shown.pinned_apps.iter().flat_map(|app| {
        app.shards.iter().map(|shard| {
            let serving = if shard.serving.is_empty() { "nobody" } else { &shard.serving };
            let mut row = vec![app.name.clone(), format!("shard {}", shard.number)];
            row.extend(["->".to_string(), serving.to_string()]);
            if !shard.backups.is_empty() {
                row.push(format!("of {}, {}", shard.device, shard.backups.join(", ")));
            }
            row
        })
    });
    table(rows.collect())
}

/// The objects whose copies are merged, or one of them: each copy on a line. Then the rounds and messages so far.
pub fn merges(shown: &ShowResponse, name: Option<&str>) -> String {
    let is_it = |object: &&Merged| name.is_none_or(|name| name == object.name);
    let mut out: String = shown.merged.iter().filter(is_it).map(merged).collect();
    if let (Some(of), false) = (&shown.merging, out.is_empty()) {
        let Merging { interval_us, rounds, messages, bytes, refused } = of;
        let every = Duration::from_us(*interval_us);
        let _ = writeln!(
            out,
            "merged every {every}: {rounds} rounds, {messages} messages, {bytes} bytes, {refused} refused"
        );
    }
    out
}

fn merged(object: &Merged) -> String {
    let Merged { name, operator, cells, copies } = object;
    let row = |copy: &Copy| {
        let state = match (copy.incarnation, copy.is_behind) {
            (0, _) => "not heard yet",
            (_, true) => "behind",
            (_, false) => "up to date",
        };
        let silent = match copy.silent_rounds {
            0 | 1 => "answers".to_string(),
            rounds => format!("silent for {rounds} rounds"),
        };
        let starts = format!("start {}", copy.incarnation);
        vec![
            format!("  {}", copy.device),
            state.to_string(),
            silent,
            starts,
            format!("{} pushes", copy.pushes),
        ]
    };
    format!("{name}: {operator}, {cells} cells with a value\n") + &table(copies.iter().map(row).collect())
}

/// Names as in RACK.toml.
fn thresholds(of: &Thresholds) -> String {
    let number = |name: &str, value: Option<u32>| Some(format!("{name} {}", value?));
    let time = |name: &str, us: Option<u64>| Some(format!("{name} {}", Duration::from_us(us?)));
    let all = [
        number("ask_every", of.ask_every),
        time("ask_after", of.ask_after_us),
        time("patience", of.patience_us),
        number("most_missed", of.most_missed),
        number("tolerance", of.tolerance),
        number("most_gaps", of.most_gaps),
        number("window", of.window),
        time("hold_down", of.hold_down_us),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Counters as a table, one a line: those whose row contains `filter`, and unless `all` is set, only those above zero.
pub fn counters(shown: &ShowResponse, filter: &str, all: bool) -> String {
    let metrics = shown.metrics.iter().filter(|metric| all || metric.value > 0);
    let rows = metrics.map(|metric| vec![name(metric), metric.value.to_string()]);
    table(rows.filter(|row| row.iter().any(|cell| cell.contains(filter))).collect())
}

/// Differences between two answers of a switch, one a line.
pub fn changes(before: &ShowResponse, now: &ShowResponse) -> String {
    let mut rows = vec![];
    if before.state != now.state {
        rows.push(vec![state(now).to_string()]);
    }
    for device in &now.devices {
        let was = before.devices.iter().find(|was| was.name == device.name);
        if was.is_none_or(|was| was.stale != device.stale || was.regions != device.regions) {
            let is = if device.stale.is_empty() { "is in sync" } else { &device.stale };
            rows.push(vec![format!("{} {is}; regions: {}", device.name, device.regions.join(" "))]);
        }
    }
    for metric in &now.metrics {
        let was =
            before.metrics.iter().find(|was| (&was.name, &was.labels) == (&metric.name, &metric.labels));
        let was = was.map_or(0, |was| was.value);
        if was != metric.value {
            let more = i128::from(metric.value) - i128::from(was);
            rows.push(vec![name(metric), metric.value.to_string(), format!("{more:+}")]);
        }
    }
    table(rows)
}

/// Path of a packet, device by device.
pub fn trace(traced: &TraceResponse) -> String {
    let mut out = String::new();
    for hop in &traced.hops {
        let bytes = hop.frame.len();
        let _ = writeln!(out, "{}, port {}: {bytes} bytes\n  {}", hop.device, hop.port, hex(&hop.frame));
        for event in &hop.events {
            let _ = writeln!(out, "  {event}");
        }
        for leaving in &hop.leaves {
            let to = if leaving.to.is_empty() { "the outside" } else { &leaving.to };
            let _ = writeln!(out, "  leaves by port {} to {to}: {} bytes", leaving.port, leaving.frame.len());
            if leaving.to.is_empty() {
                let _ = writeln!(out, "    {}", hex(&leaving.frame));
            }
        }
    }
    out
}

/// `frames_sent_total device=tor`
fn name(metric: &Metric) -> String {
    let labels = metric.labels.iter().map(|(label, value)| format!(" {label}={value}"));
    labels.fold(metric.name.clone(), |name, label| name + &label)
}

/// Rows with their columns one under the other.
fn table(rows: Vec<Vec<String>>) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let wide = |column: usize| {
        let cells = rows.iter().filter(|row| row.len() > column + 1).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(wide).collect();
    let mut out = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, wide)| format!("{cell:wide$}"));
        let _ = writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    out
}
