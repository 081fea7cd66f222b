//! `p4rack up --real`: a rack on this machine. Hosts and devices are namespaces, links are veth pairs, each device is a `p4rack switch` that a controller
//! steers.
//!
//! ```text
//!  host h1                tor                            nic
//!  eth0 ══════════ eth1  p4rack switch  eth3 ═════ eth1  p4rack switch
//!                            │ gRPC                          │ gRPC
//!                            └────────── controller ─────────┘ ── P4Runtime 127.0.0.1:9559
//! ```
//!
//! The sockets of agents are opened outside of their namespaces, and kept: while an agent starts again, its controller's connections wait.

use crate::netlink;
use crate::network::{Cabling, Network};
use crate::process::{Launch, Process, own_command};
use crate::registry::{Registry, SwitchRecord};
use crate::space::{Space, become_root};
use crate::stack;
use agent::StatePlace;
use base_diag::codes::lab as codes;
use base_diag::{Diagnostic, SourceMap};
use lab_model::Lab;
use p4rack::Racked;
use p4runtime_grpc::Operator;
use p4runtime_proto::p4rack::v1::show_response::State;
use rack_model::{End, NodeId};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for all devices to get their programs and entries.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a rack is brought up.
#[derive(Clone, Debug)]
pub struct RealSettings {
    /// The rack's file or directory.
    pub rack: PathBuf,
    /// Preprocessor macros of its programs.
    pub defines: Vec<String>,
    /// Address at which the rack serves P4Runtime.
    pub address: SocketAddr,
    /// Place in which the rack's controller saves everything that its clients write.
    pub state: Option<StatePlace>,
}

/// Brings a rack up. Warnings come with it. To be called while the process has one thread.
pub fn real(
    settings: &RealSettings,
    map: &mut SourceMap,
) -> Result<(Network, Vec<Diagnostic>), Vec<Diagnostic>> {
    let registry = Registry::of_user();
    registry.clean();
    let racked = p4rack::load(&settings.rack, &settings.defines, map)?;
    racked.only_app("a rack of processes")?;
    refuse(&racked)?;
    let failed = |why: String| vec![crate::failure(&why, "p4rack up --real")];
    let lab = lab_model::shape(&racked.rack);
    become_root().map_err(failed)?;
    let mut network = up(&racked, lab, settings, registry).map_err(failed)?;
    network.notes.extend(without_effect(&racked));
    Ok((network, racked.warnings))
}

fn up(racked: &Racked, lab: Lab, settings: &RealSettings, registry: Registry) -> Result<Network, String> {
    let base = match settings.rack.is_dir() {
        true => settings.rack.clone(),
        false => settings
            .rack
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."))
            .to_path_buf(),
    };
    let base = std::fs::canonicalize(&base).unwrap_or(base);
    let mut network = Network::new(lab, base, registry);
    network.make_hosts()?;
    let devices: Vec<Space> = racked
        .rack
        .devices
        .iter()
        .map(|device| device_space(&device.name.value))
        .collect::<Result<_, _>>()?;
    join(&mut network, &devices)?;
    network.configure_hosts()?;
    let logs = network.base.join("logs");
    std::fs::create_dir_all(&logs).map_err(|error| format!("`{}`: {error}", logs.display()))?;
    let mut agents = vec![];
    let app = racked.apps.first().ok_or("the rack has no app")?;
    for (number, (device, space)) in racked.rack.devices.iter().zip(&devices).enumerate() {
        let name = &device.name.value;
        if !app.placement.devices.iter().any(|used| used == name) {
            network.notes.push(format!("`{name}` runs no part of the program: it is not started"));
            // The device keeps its record: records are numbered like the rack's devices.
            let nowhere = (Ipv4Addr::UNSPECIFIED, 0).into();
            let record = SwitchRecord {
                name: name.clone(),
                device_id: 0,
                address: nowhere,
                thrift: None,
                program: PathBuf::from("-"),
            };
            network.switches.push(record);
            continue;
        }
        let failed = |error: io::Error| format!("device {name}: {error}");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut words = own_command();
        words.extend(["switch", "--grpc-server-stdin", "--device-id", "1"].map(ToString::to_string));
        for file in racked.rack.apps.iter().flat_map(|app| &app.handlers) {
            words.extend(["--handlers".to_string(), network.base.join(&file.value).display().to_string()]);
        }
        let node = NodeId::Device(rack_model::DeviceId(number as u32));
        for end in network.lab.ends(node) {
            words.extend(["-i".to_string(), format!("{}@{}", end.port, interface(&network.lab, end))]);
        }
        let launch = Launch {
            words,
            space: Some(space.clone()),
            listener: Some(listener),
            log: logs.join(format!("{name}.log")),
            mark: network.id.clone(),
            starts_again: true,
        };
        network.processes.push(Process::start(name, launch).map_err(failed)?);
        network.switches.push(SwitchRecord {
            name: name.clone(),
            device_id: 1,
            address,
            thrift: None,
            program: PathBuf::from("-"),
        });
        agents.push((name.clone(), address));
    }
    start_controller(&mut network, racked, settings, &agents, &logs)?;
    network.make_known()?;
    Ok(network)
}

/// Starts the controller, and waits until every device has its program and entries. The rack as one switch is the last of the switches.
fn start_controller(
    network: &mut Network,
    racked: &Racked,
    settings: &RealSettings,
    agents: &[(String, SocketAddr)],
    logs: &Path,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("controller: {error}");
    // Bound here and passed on: a controller that is started again has the same address.
    let listener = TcpListener::bind(settings.address).map_err(|error| {
        format!(
            "cannot listen on {}: {error}; choose another address with --grpc-server-addr",
            settings.address
        )
    })?;
    let address = listener.local_addr().map_err(failed)?;
    let mut words = own_command();
    words.extend([
        "switch".to_string(),
        settings.rack.display().to_string(),
        "--grpc-server-stdin".to_string(),
    ]);
    words.extend(
        agents.iter().flat_map(|(name, address)| ["--agent".to_string(), format!("{name}={address}")]),
    );
    words.extend(settings.state.iter().flat_map(|place| ["--state".to_string(), place.to_string()]));
    words.extend(settings.defines.iter().flat_map(|define| ["-D".to_string(), define.clone()]));
    let log = logs.join("controller.log");
    let launch = Launch {
        words,
        space: None,
        listener: Some(listener),
        log: log.clone(),
        mark: network.id.clone(),
        starts_again: true,
    };
    network.processes.push(Process::start("controller", launch).map_err(failed)?);
    let app = racked.apps.first().ok_or("the rack has no app")?;
    network.set_programs(racked.rack.devices.len(), Arc::clone(&app.whole));
    network.lab.switches.push(lab_model::Switch::new(crate::network::RACK.into()));
    network.switches.push(SwitchRecord {
        name: crate::network::RACK.to_string(),
        device_id: 1,
        address,
        thrift: None,
        program: racked.rack.apps.first().map(|app| app.program.value.as_str().into()).unwrap_or_default(),
    });
    let until = Instant::now() + PATIENCE;
    loop {
        let why = match waits_for(&address) {
            None => return Ok(()),
            Some(why) => why,
        };
        if Instant::now() > until {
            return Err(format!(
                "the devices are not in sync after {} s: {why}; see `{}`",
                PATIENCE.as_secs(),
                log.display()
            ));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The device that lacks something, or what else the rack waits for.
fn waits_for(address: &SocketAddr) -> Option<String> {
    let shown = Operator::connect(&address.to_string(), None, None).and_then(|mut operator| operator.show());
    match shown {
        Ok(shown) => {
            let stale = shown.devices.iter().find(|device| !device.stale.is_empty());
            let stale = stale.map(|device| format!("{}: {}", device.name, device.stale));
            let runs = shown.state() == State::Running;
            stale.or_else(|| (!runs).then(|| "the program does not run yet".to_string()))
        }
        Err(error) => Some(error.to_string()),
    }
}

/// Switches of fixed function have no process; the name of the whole rack is taken.
fn refuse(racked: &Racked) -> Result<(), Vec<Diagnostic>> {
    let is_legacy =
        |number: &usize| racked.rack.legacy(NodeId::Device(rack_model::DeviceId(*number as u32))).is_some();
    let refused = (0..racked.rack.devices.len()).filter(is_legacy).map(|number| {
        let name = &racked.rack.devices[number].name;
        let title = format!("`{}` cannot be a process", name.value);
        let problem =
            Diagnostic::error(codes::BRING_UP, title).at(name.span, "it is a switch of fixed function");
        problem.help("run the rack in virtual time: `p4rack up`")
    });
    let names = racked.rack.devices.iter().map(|device| &device.name);
    let taken = names
        .chain(racked.rack.hosts.iter().map(|host| &host.name))
        .filter(|name| name.value == crate::network::RACK);
    let taken = taken.map(|name| {
        Diagnostic::error(codes::BRING_UP, "`rack` is the name of the rack as one switch")
            .at(name.span, "give it another name")
    });
    let refused: Vec<Diagnostic> = refused.chain(taken).collect();
    if refused.is_empty() { Ok(()) } else { Err(refused) }
}

/// A namespace for a device.
fn device_space(name: &str) -> Result<Space, String> {
    let failed = |error: &dyn std::fmt::Display| format!("device {name}: {error}");
    let space = Space::new().map_err(|error| failed(&error))?;
    let set_up = space.within(|| {
        stack::without_ipv6();
        stack::loopback()
    });
    set_up.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
    Ok(space)
}

/// The interface at an end of a link. Each device has a namespace of its own, so names need not differ between devices.
fn interface(lab: &Lab, end: End) -> String {
    match end.node {
        NodeId::Host(_) => lab.interface(end),
        NodeId::Device(_) => format!("eth{}", end.port),
    }
}

/// A veth pair for each link.
fn join(network: &mut Network, devices: &[Space]) -> Result<(), String> {
    for link in network.lab.links.clone() {
        let ends = link.ends.map(|end| {
            let space = match end.node {
                NodeId::Host(id) => network.space(id.0 as usize).ok().cloned(),
                NodeId::Device(id) => devices.get(id.0 as usize).cloned(),
            };
            let mac = match end.node {
                NodeId::Host(id) if end.port == 0 => {
                    network.lab.hosts.get(id.0 as usize).and_then(|host| host.mac)
                }
                _ => None,
            };
            space.map(|space| (space, interface(&network.lab, end), mac))
        });
        let [Some(a), Some(b)] = ends else { return Err("a link has no end".to_string()) };
        let failed = |error: &dyn std::fmt::Display| format!("link {} - {}: {error}", a.1, b.1);
        let made = a.0.within(|| netlink::add_veth(&a.1, &b.1, &b.0, link.mtu));
        made.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
        for (space, name, mac) in [&a, &b] {
            let set_up = space.within(|| stack::interface(name, *mac));
            set_up.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
        }
        network.cabling.push(Cabling::Veth([(a.0, a.1), (b.0, b.1)]));
    }
    Ok(())
}

/// Notes on keys of the file that only have an effect in virtual time.
fn without_effect(racked: &Racked) -> Vec<String> {
    let rack = &racked.rack;
    let is_harmed = |link: &rack_model::Link| {
        link.delay > base_time::Duration::ZERO
            || [link.loss, link.corrupt, link.duplicate, link.reorder].iter().any(|share| share.ppb() > 0)
    };
    let mut notes = vec!["links have the rate of the machine".to_string()];
    if rack.links.iter().any(is_harmed) {
        notes.push("delays and losses of links have no effect".to_string());
    }
    if !rack.workloads.is_empty() || !rack.faults.is_empty() {
        notes.push("workloads and faults are not run: hosts have a shell".to_string());
    }
    if !rack.memberships.is_empty() {
        notes.push("groups do not change by themselves: `p4rack ctl group` changes them".to_string());
    }
    notes
}
