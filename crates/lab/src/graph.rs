//! `topology.json` as p4-utils leaves it for controllers: its `load_topo` reads it with networkx.
//!
//! ```json
//! {"directed":false,"multigraph":false,"graph":{},
//!  "nodes":[{"id":"h1","isHost":true,"ip":"10.0.0.1/16","mac":"00:00:0a:00:00:01"},{"id":"s1","isSwitch":true,"isP4Switch":true,"thrift_port":9090}],
//!  "links":[{"source":"h1","target":"s1","node1":"h1","port1":0,"intfName1":"h1-eth0","addr1":"00:00:0a:00:00:01","node2":"s1"}]}
//! ```

use crate::registry::SwitchRecord;
use lab_model::{Gateway, Lab, UNLIMITED};
use rack_model::{End, Link, Mac, NodeId};
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The file's name, beside the description.
pub const FILE: &str = "topology.json";

/// P4Info and JSON of a program, named as by p4-utils: `NAME_p4rt.txt` and `NAME.json` beside the source.
pub fn program_files(source: &Path) -> (PathBuf, PathBuf) {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    (source.with_file_name(format!("{stem}_p4rt.txt")), source.with_file_name(format!("{stem}.json")))
}

/// Interface of a switch for controllers, as p4-utils names it. The other end there is `s1-cpu-eth0`, the switch's own.
pub fn control_interface(switch: &str) -> String {
    format!("{switch}-cpu-eth1")
}

/// True for a text in this form, which does not describe a lab.
pub fn is_graph(text: &str) -> bool {
    serde_json::from_str::<Value>(text)
        .is_ok_and(|value| value.get("nodes").is_some() && value.get("multigraph").is_some())
}

/// The graph of a lab. Ports of switches have addresses, though frames carry them only if programs write them.
pub fn graph(lab: &Lab, switches: &[SwitchRecord]) -> Value {
    let hosts = lab.hosts.iter().map(|host| {
        let gateway = host.gateway.and_then(|gateway| match gateway {
            Gateway::Address(address) => Some(format!("via {address}")),
            Gateway::Mac(_) => None,
        });
        json!({
            "id": host.name.value,
            "isHost": true,
            "isSwitch": false,
            "ip": host.addresses.first().map(ToString::to_string),
            "mac": host.mac.map(|mac| mac.to_string()),
            "defaultRoute": gateway,
        })
    });
    let switches = lab.switches.iter().zip(switches).map(|(switch, about)| {
        let (p4info, config) = program_files(&about.program);
        let name = &switch.name.value;
        let mut node = json!({
            "id": name,
            "isHost": false,
            "isSwitch": true,
            "isP4Switch": true,
            "isP4RuntimeSwitch": true,
            "device_id": about.device_id,
            "thrift_port": about.thrift.map(|address| address.port()),
            "grpc_port": about.address.port(),
            "p4_src": about.program,
            "json_path": config,
            "p4rt_path": p4info,
            "cpu_port": switch.control_port.is_some(),
        });
        if let (Some(port), Some(node)) = (switch.control_port, node.as_object_mut()) {
            node.insert("cpu_port_num".to_string(), port.into());
            node.insert("cpu_intf".to_string(), format!("{name}-cpu-eth0").into());
            node.insert("cpu_ctl_intf".to_string(), control_interface(name).into());
        }
        node
    });
    let nodes: Vec<Value> = hosts.chain(switches).collect();
    let links: Vec<Value> = lab.links.iter().map(|link| edge(lab, link)).collect();
    // networkx reads `links` before its version 3.6, and `edges` from then on.
    json!({ "directed": false, "multigraph": false, "graph": {}, "nodes": nodes, "links": links, "edges": links })
}

fn edge(lab: &Lab, link: &Link) -> Value {
    let mut edge = Map::new();
    let [source, target] = link.ends.map(|end| lab.node_name(end.node));
    edge.insert("source".to_string(), source.into());
    edge.insert("target".to_string(), target.into());
    for (number, at) in [(1, 0), (2, 1)] {
        let (end, other) = (link.ends[at], link.ends[1 - at]);
        let mut insert = |key: &str, value: Value| edge.insert(format!("{key}{number}"), value);
        insert("node", lab.node_name(end.node).into());
        insert("port", end.port.into());
        insert("intfName", lab.interface(end).into());
        insert("addr", mac(lab, end, other).to_string().into());
        if let Some(address) = address(lab, link, end, other) {
            insert("ip", address.into());
        }
    }
    edge.insert("weight".to_string(), 1.into());
    if link.rate != UNLIMITED {
        edge.insert("bw".to_string(), (link.rate.bits_per_s() as f64 / 1e6).into());
    }
    if link.delay > base_time::Duration::ZERO {
        edge.insert("delay".to_string(), link.delay.to_string().into());
    }
    Value::Object(edge)
}

/// MAC address of an end: a host has its own; a switch's port to a host has the one that p4-utils derives from the host's IP address; a port between switches has one that
/// is made of the switch's number and the port's.
fn mac(lab: &Lab, end: End, other: End) -> Mac {
    match (end.node, other.node) {
        (NodeId::Host(host), _) => {
            lab.hosts.get(host.0 as usize).and_then(|host| host.mac).unwrap_or_default()
        }
        (NodeId::Device(_), NodeId::Host(host)) => {
            let address = lab.hosts.get(host.0 as usize).and_then(|host| host.addresses.first()?.v4());
            let [a, b, c, d] = address.map_or([0; 4], |address| address.octets());
            Mac([0, 1, a, b, c, d])
        }
        (NodeId::Device(switch), NodeId::Device(_)) => {
            let ([.., a, b], [.., c, d]) = (switch.0.wrapping_add(1).to_be_bytes(), end.port.to_be_bytes());
            Mac([0, 2, a, b, c, d])
        }
    }
}

/// IP address of an end: a host has its first address, and a switch's port to a host has the host's gateway; between switches, `20.A.B.1` and `20.A.B.2`, A and B their numbers.
fn address(lab: &Lab, link: &Link, end: End, other: End) -> Option<String> {
    let number = |node: NodeId| match node {
        NodeId::Device(id) => Some(lab.switches.get(id.0 as usize)?.device_id % 256),
        NodeId::Host(_) => None,
    };
    match (end.node, other.node) {
        (NodeId::Host(id), _) => lab.hosts.get(id.0 as usize)?.addresses.first().map(ToString::to_string),
        (NodeId::Device(_), NodeId::Host(id)) => {
            let host = lab.hosts.get(id.0 as usize)?;
            let Some(Gateway::Address(gateway @ IpAddr::V4(_))) = host.gateway else { return None };
            host.addresses.first().map(|network| format!("{gateway}/{}", network.prefix))
        }
        (NodeId::Device(_), NodeId::Device(_)) => {
            let [first, second] = link.ends.map(|end| number(end.node));
            let last = if end == link.ends[0] { 1 } else { 2 };
            Some(format!("20.{}.{}.{last}/24", first?, second?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: &str = r#"{ "topology": {
        "assignment_strategy": "l3",
        "hosts": { "h1": {}, "h2": {} }, "switches": { "s1": { "cpu_port": true }, "s2": {} },
        "links": [["h1", "s1"], ["s1", "s2", { "bw": 5, "delay": "2ms" }], ["s2", "h2"]]
    } }"#;

    #[test]
    fn controllers_of_p4_utils_find_addresses_and_ports() {
        let (lab, _) = lab_model::read_p4app(APP, 1);
        let lab = lab.expect("it is one");
        let address = |port| ([127, 0, 0, 1], port).into();
        let record = |(number, switch): (u16, &lab_model::Switch)| SwitchRecord {
            name: switch.name.value.clone(),
            device_id: switch.device_id,
            address: address(9559 + number),
            thrift: Some(address(9090 + number)),
            program: PathBuf::from("p4src/x.p4"),
        };
        let switches: Vec<SwitchRecord> = (0..).zip(&lab.switches).map(record).collect();
        let graph = graph(&lab, &switches);
        assert!(is_graph(&graph.to_string()) && !is_graph(APP));
        let at = |path: &str| graph.pointer(path).cloned().unwrap_or_default();
        for (path, value) in [
            ("/nodes/0/ip", json!("10.1.1.2/24")),
            ("/nodes/0/defaultRoute", json!("via 10.1.1.1")),
            ("/nodes/3/thrift_port", json!(9091)),
            ("/nodes/3/p4rt_path", json!("p4src/x_p4rt.txt")),
            ("/nodes/2/cpu_intf", json!("s1-cpu-eth0")),
            ("/nodes/3/cpu_port", json!(false)),
            ("/links/0/addr1", json!("00:00:0a:01:01:02")),
            ("/links/0/addr2", json!("00:01:0a:01:01:02")),
            ("/links/0/ip2", json!("10.1.1.1/24")),
            ("/links/1/ip1", json!("20.1.2.1/24")),
            ("/links/1/ip2", json!("20.1.2.2/24")),
            ("/links/1/addr1", json!("00:02:00:01:00:02")),
            ("/links/1/bw", json!(5.0)),
            ("/links/2/intfName1", json!("s2-eth2")),
            ("/links/2/port2", json!(0)),
        ] {
            assert_eq!(at(path), value, "{path}");
        }
    }
}
