//! A `RACK.toml` as a lab: each device that runs a whole program is a switch.

use crate::lab::{Entries, Gateway, Host, Lab, Neighbour, Origin, Switch};
use base_diag::Diagnostic;
use base_diag::codes::lab as codes;
use rack_model::{DeviceId, Mac, Network, NodeId, Rack};

/// Hosts, devices and links of a rack: each device is a switch, regardless of its program.
pub fn shape(rack: &Rack) -> Lab {
    let mut lab = Lab::new(Origin::Rack);
    lab.switches = rack.devices.iter().map(|device| Switch::new(device.name.clone())).collect();
    let known: Vec<(Network, Mac)> =
        rack.hosts.iter().flat_map(|host| host.ip.iter().map(|ip| (ip.value, host.mac.value))).collect();
    lab.hosts = rack.hosts.iter().map(|host| of_host(host, &known)).collect();
    lab.links = rack.links.clone();
    lab.number_switches();
    lab
}

/// The lab of a rack, or why there is none. Workloads, faults and what else belongs to virtual time has no place in a lab.
pub fn from_rack(rack: &Rack) -> Result<Lab, Vec<Diagnostic>> {
    let mut lab = shape(rack);
    let mut problems = vec![];
    for ((id, device), switch) in (0..).map(DeviceId).zip(&rack.devices).zip(&mut lab.switches) {
        let title = format!("`{}` cannot be a switch of a lab", device.name.value);
        let refused = Diagnostic::error(codes::DESCRIPTION, title);
        if rack.legacy(NodeId::Device(id)).is_some() {
            problems.push(
                refused.at(device.name.span, "it is a switch of fixed function: a lab's switches run P4"),
            );
            continue;
        }
        let runs = rack
            .apps
            .iter()
            .find(|app| app.origin.value == id || app.other_origins.iter().any(|other| other.value == id));
        let Some(app) = runs else {
            let help = "run the rack in virtual time: `p4rack up`";
            problems.push(refused.at(device.name.span, "it runs a part of a program, or none").help(help));
            continue;
        };
        switch.program = Some(app.program.clone());
        switch.defines =
            app.defines.iter().map(|(name, text)| format!("{}={}", name.value, text.value)).collect();
        switch.include = app.include.iter().map(|directory| directory.value.clone()).collect();
        switch.entries = app.entries.iter().chain(&device.entries).cloned().map(Entries::Any).collect();
    }
    if problems.is_empty() { Ok(lab) } else { Err(problems) }
}

/// A rack has no ARP: its hosts know the addresses of their networks.
fn of_host(host: &rack_model::Host, known: &[(Network, Mac)]) -> Host {
    let addresses: Vec<Network> = host.ip.iter().map(|ip| ip.value).collect();
    let is_near = |network: &Network| addresses.iter().any(|own| own.contains(network.address));
    let others = known.iter().filter(|(network, mac)| *mac != host.mac.value && is_near(network));
    let neighbours = others.map(|(network, mac)| Neighbour { address: network.address, mac: *mac }).collect();
    Host {
        name: host.name.clone(),
        mac: Some(host.mac.value),
        addresses,
        gateway: host.gateway.map(Gateway::Mac),
        neighbours,
        commands: vec![],
    }
}
