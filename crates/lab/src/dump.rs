//! Description of a lab and the contents of its switches, as text.

use crate::network::Network;
use lab_model::UNLIMITED;
use p4runtime_grpc::Operator;
use p4runtime_proto::p4rack::v1::{Hop, TraceResponse};
use rack_model::{DeviceId, HostId, NodeId};
use std::fmt::Write;

/// Commands of a switch beside those of `simple_switch_CLI`.
pub const COMMANDS: [&str; 4] = ["counters", "show_tables", "table_dump", "trace"];

/// The names of hosts and switches.
pub fn nodes(network: &Network) -> String {
    let hosts: Vec<&str> = network.lab.hosts.iter().map(|host| host.name.value.as_str()).collect();
    let switches: Vec<&str> = network.lab.switches.iter().map(|switch| switch.name.value.as_str()).collect();
    format!("hosts: {}\nswitches: {}\n", hosts.join(" "), switches.join(" "))
}

/// A line for each link: its ends, settings, state and counts.
pub fn links(network: &Network) -> String {
    let mut text = String::new();
    for (at, link) in network.lab.links.iter().enumerate() {
        let ends = link.ends.map(|end| match end.node {
            NodeId::Host(_) => format!("{}:{}", network.lab.node_name(end.node), network.lab.interface(end)),
            NodeId::Device(_) => network.lab.interface(end),
        });
        let (is_down, counts) = network.link(at).unwrap_or_default();
        let state = if is_down { "down" } else { "up" };
        let _ = write!(text, "{} <-> {}  {state}", ends[0], ends[1]);
        // The kernel's have the rate of the machine.
        if counts.is_some() && link.rate != UNLIMITED {
            let _ = write!(text, "  {}", link.rate);
        }
        if counts.is_some() && link.delay > base_time::Duration::ZERO {
            let _ = write!(text, "  {}", link.delay);
        }
        let _ = match counts {
            Some([there, back]) => writeln!(
                text,
                "  frames {} and {}, dropped {} and {}",
                there.delivered, back.delivered, there.dropped, back.dropped
            ),
            None => writeln!(text),
        };
    }
    text
}

/// Lines for each node: addresses, interfaces, programs, where P4Runtime is served.
pub fn all(network: &Network) -> String {
    let mut text = String::new();
    let interfaces = |node: NodeId| {
        let names: Vec<String> = network.lab.ends(node).map(|end| network.lab.interface(end)).collect();
        names.join(",")
    };
    for (at, host) in network.lab.hosts.iter().enumerate() {
        let addresses: Vec<String> = host.addresses.iter().map(ToString::to_string).collect();
        let mac = host.mac.map_or("-".to_string(), |mac| mac.to_string());
        let interfaces = interfaces(NodeId::Host(HostId(at as u32)));
        let _ = writeln!(text, "host {}  {interfaces}  {}  {mac}", host.name.value, addresses.join(","));
    }
    for (at, switch) in network.switches.iter().enumerate() {
        let interfaces = interfaces(NodeId::Device(DeviceId(at as u32)));
        let _ = writeln!(
            text,
            "switch {}  {interfaces}  {}  P4Runtime {} device {}",
            switch.name,
            switch.program.display(),
            switch.address,
            switch.device_id
        );
    }
    for process in &network.processes {
        let id = process.id().map_or("not running".to_string(), |id| id.to_string());
        let _ = writeln!(text, "process {}  {id}", process.name);
    }
    text
}

/// A command for a switch.
pub fn of_switch(network: &Network, switch: usize, words: &[&str]) -> Result<String, String> {
    let about = network.switches.get(switch).ok_or("there is no such switch")?;
    let client =
        || Operator::connect(&about.address.to_string(), None, None).map_err(|error| error.to_string());
    match words {
        ["counters"] => {
            let shown = client()?.show().map_err(|error| error.to_string())?;
            Ok(p4rack::ctl::counters(&shown, "", false))
        }
        ["counters", filter] => {
            let shown = client()?.show().map_err(|error| error.to_string())?;
            Ok(p4rack::ctl::counters(&shown, filter, true))
        }
        ["trace", port, hex] => {
            let port = port.parse().map_err(|_| format!("`{port}` is not a port"))?;
            let frame = bytes(hex).ok_or_else(|| format!("`{hex}` is not a frame in hexadecimal"))?;
            Ok(p4rack::ctl::trace(&TraceResponse { hops: traced(network, switch, port, frame)? }))
        }
        ["show_tables"] => {
            let program = network.program(switch).ok_or("the switch has no program")?;
            let tables = program.controls.iter().flat_map(|control| &control.tables);
            Ok(tables.map(|table| format!("{}\n", table.control_plane_name)).collect())
        }
        ["table_dump", table @ ..] if table.len() < 2 => {
            table_dump(network, switch, table.first().copied(), client()?)
        }
        [] | ["table_dump" | "trace" | "counters" | "show_tables", ..] => {
            Err("usage: SWITCH table_dump [TABLE] | show_tables | counters [FILTER] | trace PORT HEX | a command of `p4rack cli`"
                .to_string())
        }
        _ => match &about.thrift {
            Some(address) => switch_cli(address, &words.join(" ")),
            None => Err(format!("`{}` serves no Thrift: use P4Runtime, at {}", about.name, about.address)),
        },
    }
}

/// Runs a frame on a switch.
pub fn traced(network: &Network, switch: usize, port: u32, frame: Vec<u8>) -> Result<Vec<Hop>, String> {
    let about = network.switches.get(switch).ok_or("there is no such switch")?;
    let client = Operator::connect(&about.address.to_string(), None, None);
    let traced = client.and_then(|mut client| client.trace(port, frame));
    traced.map(|traced| traced.hops).map_err(|error| format!("{}: {error}", about.name))
}

/// A command of `simple_switch_CLI`.
pub(crate) fn switch_cli(address: &std::net::SocketAddr, line: &str) -> Result<String, String> {
    let client = bmv2_thrift::Client::connect(&address.to_string())?;
    bmv2::cli::Cli::new(client)?.run(line)
}

/// The entries of a table, or of all, as commands of `simple_switch_CLI` that add them.
fn table_dump(
    network: &Network,
    switch: usize,
    table: Option<&str>,
    mut client: Operator,
) -> Result<String, String> {
    let about = network.switches.get(switch).ok_or("there is no such switch")?;
    let program = network.program(switch).ok_or("the switch has no program")?;
    if let Some(table) = table {
        let names: Vec<&str> = program
            .controls
            .iter()
            .flat_map(|control| &control.tables)
            .map(|table| table.control_plane_name.as_str())
            .collect();
        let tail = format!(".{table}");
        if !names.iter().any(|name| *name == table || name.ends_with(&tail)) {
            return Err(match base_diag::did_you_mean(table, names.iter().copied()) {
                Some(near) => format!("there is no table `{table}`; did you mean `{near}`?"),
                None => format!("there is no table `{table}`; there are: {}", names.join(", ")),
            });
        }
    }
    let found = client.entries(about.device_id).map_err(|error| error.to_string())?;
    let text = p4rack::entries::commands(program, &found)?;
    let tail = table.map(|table| format!(".{table}"));
    let is_wanted = |line: &&str| match (table, &tail) {
        (Some(table), Some(tail)) => {
            line.split(' ').nth(1).is_some_and(|name| name == table || name.ends_with(tail))
        }
        _ => true,
    };
    let lines: Vec<&str> = text.lines().filter(is_wanted).collect();
    Ok(lines.iter().map(|line| format!("{line}\n")).collect())
}

/// Bytes in hexadecimal.
pub fn bytes(hex: &str) -> Option<Vec<u8>> {
    let hex = hex.strip_prefix("0x").unwrap_or(hex);
    if !hex.len().is_multiple_of(2) || !hex.is_ascii() {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}
