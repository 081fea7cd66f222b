//! A lab that is up: namespaces, switches, links. Everything ends when it is dropped.

use crate::build;
use crate::graph;
use crate::prepare::{Prepared, Ready};
use crate::printed::Printed;
use crate::process::Process;
use crate::registry::{HostRecord, MARK, Record, Registry, SwitchRecord};
use crate::shared_address::SharedAddress;
use crate::space::{Space, own_sys};
use crate::stack;
use crate::wire::{End, Wire, WireCount};
use agent::{QueueDepths, Setup, Switch as Runs, cable};
use base_time::Rng;
use bmv2_thrift::{NotificationsAddress, NotificationsListener};
use dataplane_ports::{Cable, CaptureSink, PortKind, PortSpec, Tap};
use ir::Program;
use lab_model::{Lab, Origin};
use p4runtime_grpc::{Budget, Front, Limits, most_files};
use rack_model::{End as Plug, NodeId};
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::oneshot;

/// The TCP port for Thrift of the first switch.
const THRIFT: u16 = 9090;

/// Frames that wait between a switch and a link.
const WAITING: usize = 1024;

/// How a lab is brought up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The TCP port of the first switch, if not that of the description.
    pub grpc_port: Option<u16>,
    /// Directory of captures of switch ports; `None` for no captures.
    pub pcaps: Option<PathBuf>,
    /// The seed of all chance.
    pub seed: u64,
    /// Memory for the programs and entries of all switches, in bytes.
    pub memory: u64,
    /// Returns memory of the calling thread to the system that other threads have freed.
    pub give_back: fn(),
    /// Files that controllers of the description's kind look for are written.
    pub for_controllers: bool,
}

/// A lab that is up.
pub struct Network {
    /// Description of the lab.
    pub lab: Lab,
    /// Id of the lab.
    pub id: String,
    /// Commands run here.
    pub base: PathBuf,
    /// Deviations from what users expect, such as a TCP port that was in use.
    pub notes: Vec<String>,
    /// One for each switch: where it serves P4Runtime, and its program.
    pub switches: Vec<SwitchRecord>,
    programs: Vec<Option<Arc<Program>>>,
    hosts: Vec<Space>,
    /// One for each link. Ended before the switches, whose cables they hold.
    pub(crate) cabling: Vec<Cabling>,
    running: Vec<Running>,
    /// P4Runtime for all switches.
    shared_address: Option<SharedAddress>,
    /// Agents and their controller.
    pub(crate) processes: Vec<Process>,
    /// Entry of the lab in the registry.
    pub registry: Registry,
}

/// A switch's share of what the process may use.
struct Share {
    seed: u64,
    limits: Limits,
    budget: Budget,
    /// Files that each switch may open.
    files: usize,
    give_back: fn(),
}

impl Share {
    fn of(settings: &Settings, switches: usize) -> Share {
        // The address of all switches is one more.
        let files = most_files() / (switches + 1);
        let memory = settings.memory / switches.max(1) as u64;
        Share {
            seed: settings.seed,
            limits: Limits { memory, ..Limits::default() },
            budget: Budget::default(),
            files,
            give_back: settings.give_back,
        }
    }

    /// Limits of the address of all switches.
    fn of_address(&self) -> (Limits, Budget) {
        (self.limits.within(self.files), self.budget.clone())
    }
}

/// How a link is made.
pub(crate) enum Cabling {
    /// By a thread.
    Wire(Wire),
    /// By the kernel: the namespaces and names of its ends.
    Veth([(Space, String); 2]),
}

/// Highest number of queues of a switch: v1model has 512 ports.
const MOST_QUEUES: u32 = 4096;

/// Name of a whole rack among the switches.
pub(crate) const RACK: &str = "rack";

/// A switch's threads.
struct Running {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

impl Network {
    /// Brings a lab up. If something fails, nothing of it is left.
    pub fn up(prepared: Prepared, settings: &Settings, registry: Registry) -> Result<Network, String> {
        let Prepared { lab, switches, base, .. } = prepared;
        let (started, rng) = (Instant::now(), Rng::new(settings.seed));
        let directory = std::fs::canonicalize(&base).unwrap_or_else(|_| base.clone());
        let (ports, notes) = grpc_ports(&lab, settings.grpc_port)?;
        let mut network = Network::new(lab, directory, registry);
        network.notes = notes;
        network.programs = switches.iter().map(|ready| Some(Arc::clone(&ready.program))).collect();
        network.make_hosts()?;
        let mut plugged = network.plug(settings)?;
        let (front, fronts) = std::sync::mpsc::channel();
        let share = Share::of(settings, switches.len());
        for (number, (ready, port)) in switches.into_iter().zip(ports).enumerate() {
            let cables = std::mem::take(&mut plugged.cables[number]);
            let queues = Arc::clone(&plugged.queues[number]);
            network.start_switch(number, ready, port, (cables, queues, started), &share, front.clone())?;
        }
        // `fronts` ends when the last sender is gone.
        drop(front);
        let devices: Vec<u64> = network.lab.switches.iter().map(|switch| switch.device_id).collect();
        let shared_address = SharedAddress::serve(
            devices.into_iter().zip(fronts),
            settings.grpc_port == Some(0),
            share.of_address(),
        );
        network.shared_address =
            Some(shared_address.map_err(|error| format!("P4Runtime for all switches: {error}"))?);
        for (link, ends) in network.lab.links.iter().zip(plugged.ends) {
            let name =
                format!("{}-{}", network.lab.interface(link.ends[0]), network.lab.interface(link.ends[1]));
            let wire = Wire::join(link, ends, &rng.split(&name), started);
            network.cabling.push(Cabling::Wire(wire.map_err(|error| format!("link {name}: {error}"))?));
        }
        network.make_known()?;
        network.run_commands();
        if settings.for_controllers && network.lab.origin == Origin::P4Utils {
            let wrong = build::write_graph(&network);
            network.notes.extend(wrong);
        }
        network.start_scripts();
        Ok(network)
    }

    /// A lab before its hosts and switches are brought up.
    pub(crate) fn new(lab: Lab, base: PathBuf, registry: Registry) -> Network {
        Network {
            id: Registry::own_id(),
            base,
            notes: vec![],
            switches: vec![],
            programs: vec![],
            hosts: vec![],
            cabling: vec![],
            running: vec![],
            shared_address: None,
            processes: vec![],
            registry,
            lab,
        }
    }

    /// The devices of a rack have parts of a program; the rack, after them, has all of it.
    pub(crate) fn set_programs(&mut self, devices: usize, whole: Arc<Program>) {
        self.programs = vec![None; devices];
        self.programs.push(Some(whole));
    }

    /// Lets other processes find the lab.
    pub(crate) fn make_known(&self) -> Result<(), String> {
        self.registry.add(&self.record()).map_err(|error| format!("the lab cannot be registered: {error}"))
    }

    /// Address of P4Runtime for all switches, if the lab has one.
    pub fn p4runtime(&self) -> Option<SocketAddr> {
        self.shared_address.as_ref().map(|shared| shared.address)
    }

    /// The description of the lab for other processes.
    pub fn record(&self) -> Record {
        let hosts = self.lab.hosts.iter().zip(&self.hosts);
        let host = |(host, space): (&lab_model::Host, &Space)| HostRecord {
            name: host.name.value.clone(),
            mac: host.mac.map(|mac| mac.to_string()),
            addresses: host.addresses.iter().map(|network| network.address).collect(),
            namespace: space.path(),
        };
        Record {
            id: self.id.clone(),
            process: std::process::id(),
            directory: self.base.clone(),
            hosts: hosts.map(host).collect(),
            p4runtime: self.p4runtime(),
            switches: self.switches.clone(),
        }
    }

    /// Makes a namespace for each host.
    pub(crate) fn make_hosts(&mut self) -> Result<(), String> {
        for host in &self.lab.hosts {
            let name = &host.name.value;
            let failed = |error: &dyn std::fmt::Display| format!("host {name}: {error}");
            let space = Space::new().map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "network namespaces may not be created here: run it as root, `sudo p4rack lab`"
                        .to_string()
                }
                _ => failed(&format!("no network namespace: {error}")),
            })?;
            let set_up = space.within(|| {
                stack::without_ipv6();
                stack::loopback()
            });
            set_up.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
            self.hosts.push(space);
        }
        Ok(())
    }

    /// Opens both ends of every link.
    fn plug(&self, settings: &Settings) -> Result<Plugged, String> {
        let mut plugged = Plugged {
            cables: self.lab.switches.iter().map(|_| vec![]).collect(),
            queues: (0..self.lab.switches.len()).map(|at| Arc::new(self.queues(at))).collect(),
            ends: vec![],
        };
        if let Some(directory) = &settings.pcaps {
            std::fs::create_dir_all(directory)
                .map_err(|error| format!("`{}`: {error}", directory.display()))?;
        }
        for link in &self.lab.links {
            let [a, b] = link.ends;
            let ends = [self.end(a, settings, &mut plugged)?, self.end(b, settings, &mut plugged)?];
            plugged.ends.push(ends);
        }
        self.configure_hosts()?;
        Ok(plugged)
    }

    /// Addresses, routes and neighbours of the hosts, whose interfaces are up.
    pub(crate) fn configure_hosts(&self) -> Result<(), String> {
        for (at, (host, space)) in self.lab.hosts.iter().zip(&self.hosts).enumerate() {
            let node = NodeId::Host(rack_model::HostId(at as u32));
            let Some(first) = self.lab.ends(node).find(|end| end.port == 0) else { continue };
            let name = self.lab.interface(first);
            let configured =
                space.within(|| stack::configure(host, &name)).map_err(|error| error.to_string());
            configured.and_then(|done| done).map_err(|why| format!("host {}: {why}", host.name.value))?;
        }
        Ok(())
    }

    /// Queue depths of a switch's ports, up to the highest port that programs can name.
    fn queues(&self, switch: usize) -> QueueDepths {
        let node = NodeId::Device(rack_model::DeviceId(switch as u32));
        let highest = self.lab.ends(node).map(|end| end.port).max();
        QueueDepths::new(highest.map_or(0, |port| port.saturating_add(1).min(MOST_QUEUES)))
    }

    fn end(&self, end: Plug, settings: &Settings, plugged: &mut Plugged) -> Result<End, String> {
        let name = self.lab.interface(end);
        match end.node {
            NodeId::Host(id) => {
                let host = &self.lab.hosts[id.0 as usize];
                // A host's MAC address is that of its first interface.
                let mac = host.mac.filter(|_| end.port == 0);
                let opened = self.hosts[id.0 as usize].within(|| {
                    let tap = Tap::open(&name).map_err(|error| format!("/dev/net/tun: {error}"))?;
                    stack::interface(&name, mac)?;
                    Ok(tap)
                });
                let opened: Result<Tap, String> =
                    opened.map_err(|error| error.to_string()).and_then(|done| done);
                let tap = opened.map_err(|why| format!("host {}, {name}: {why}", host.name.value))?;
                Ok(End::new(Box::new(tap.clone()), Box::new(tap)))
            }
            NodeId::Device(id) => {
                let (inside, outside) = cable(WAITING);
                plugged.cables[id.0 as usize].push((end.port, inside));
                let queues = Arc::clone(&plugged.queues[id.0 as usize]);
                let mut other = End::of_cable(outside, queues, end.port);
                if let Some(directory) = &settings.pcaps {
                    other.captures = Some(captures(directory, &name)?);
                }
                Ok(other)
            }
        }
    }

    fn start_switch(
        &mut self,
        number: usize,
        ready: Ready,
        port: u16,
        (cables, queue_depths, started): (Vec<(u32, Cable)>, Arc<QueueDepths>, Instant),
        share: &Share,
        front: Sender<Front>,
    ) -> Result<(), String> {
        let control = self.control(number);
        let switch = &self.lab.switches[number];
        let name = switch.name.value.clone();
        let (listener, thrift) = thrift(number).map_err(|error| format!("switch {name}: Thrift: {error}"))?;
        let setup = Setup {
            thrift: Some(listener),
            notifications: self.notifications(&name),
            front: Some(front),
            device_id: switch.device_id,
            address: (Ipv4Addr::LOCALHOST, port).into(),
            ports: control.iter().cloned().collect(),
            cables,
            started: Some(started),
            queue_depths,
            cpu_port: switch.cpu_port,
            seed: share.seed.wrapping_add(number as u64),
            limits: share.limits,
            budget: share.budget.clone(),
            files: share.files,
            give_back: share.give_back,
            ..Setup::new(Runs::Filled(ready.program, ready.updates))
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let (address_sender, addresses) = std::sync::mpsc::sync_channel(1);
        let run = move || {
            let bound = move |address: SocketAddr| {
                // The starter may have ended.
                let _ = address_sender.send(address);
            };
            let ended = agent::run_until(move || async { drop(stopped.await) }, setup, bound);
            ended.map(drop).map_err(|error| error.to_string())
        };
        let thread =
            std::thread::Builder::new().name(name.clone()).spawn(run).map_err(|error| error.to_string())?;
        let mut running = Running { stop: Some(stop), thread: Some(thread) };
        let Ok(address) = addresses.recv() else {
            let ended = running.thread.take().and_then(|thread| thread.join().ok());
            let why = ended.and_then(Result::err).unwrap_or_else(|| "its thread has ended early".to_string());
            return Err(format!("switch {name}: {why}"));
        };
        for command in &ready.commands {
            crate::dump::switch_cli(&thrift, command)
                .map_err(|why| format!("switch {name}: {command}: {why}"))?;
        }
        if control.is_some() {
            stack::without_ipv6_on(&graph::control_interface(&name));
        }
        self.switches.push(SwitchRecord {
            name,
            device_id: switch.device_id,
            address,
            thrift: Some(thrift),
            program: ready.file,
        });
        self.running.push(running);
        Ok(())
    }

    /// Socket for clients that read digests; without it they use P4Runtime.
    fn notifications(&self, switch: &str) -> Option<NotificationsListener> {
        let path = self.registry.socket(&self.id, switch).ok()?;
        NotificationsListener::bind(&NotificationsAddress::Ipc(path)).ok()
    }

    /// A switch's port for controllers, if it has one and its interface can be made. The interface exists once the
    /// switch has started.
    fn control(&mut self, switch: usize) -> Option<PortSpec> {
        let switch = &self.lab.switches[switch];
        let interface = graph::control_interface(&switch.name.value);
        let spec =
            PortSpec { port: switch.control_port?, kind: PortKind::Tap(interface.clone()), record: None };
        match Tap::open(&interface) {
            Ok(_) => Some(spec),
            Err(error) => {
                let port = spec.port;
                let name = &switch.name.value;
                let note =
                    format!("{name} has no interface `{interface}` for controllers, port {port}: {error}");
                self.notes.push(note);
                None
            }
        }
    }

    /// Runs the commands of the hosts. Their output is shown; a failure does not end the lab.
    fn run_commands(&mut self) {
        for at in 0..self.lab.hosts.len() {
            for command in self.lab.hosts[at].commands.clone() {
                let done = self.output(at, &["bash", "-c", &command]);
                let name = &self.lab.hosts[at].name.value;
                match done {
                    Ok((true, _)) => {}
                    Ok((false, text)) => {
                        self.notes.push(format!("{name}: `{command}` failed: {}", text.trim()))
                    }
                    Err(error) => self.notes.push(format!("{name}: `{command}` failed: {error}")),
                }
            }
        }
    }

    /// Starts the programs beside the lab. Their output goes to files: `logs/script-1.log` and on, if the description names none.
    fn start_scripts(&mut self) {
        for (number, script) in (1..).zip(&self.lab.scripts) {
            let file = script.output.clone().unwrap_or_else(|| format!("logs/script-{number}.log"));
            let file = self.base.join(file);
            let start = || {
                file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                let out = File::create(&file)?;
                let wrong = out.try_clone()?;
                let mut command = self.command(&["bash", "-c", &script.command]);
                command.stdin(Stdio::null()).stdout(out).stderr(wrong).spawn()
            };
            self.notes.push(match start() {
                Ok(_) => format!("`{}` is running: {}", script.command, file.display()),
                Err(error) => format!("`{}` is not running: {}: {error}", script.command, file.display()),
            });
        }
    }

    /// Runs a program in a host and waits for it: whether it succeeded, and its output.
    pub fn output(&self, host: usize, words: &[&str]) -> io::Result<(bool, String)> {
        let (mut command, printed) = (self.command(words), Printed::new()?);
        command.stdin(Stdio::null()).stdout(printed.end()?).stderr(printed.end()?);
        let status = self.space(host)?.within(|| {
            own_sys();
            command.status()
        })??;
        Ok((status.success(), printed.text()?))
    }

    /// Starts a program in a host, with this process's input and output.
    pub fn start(&self, host: usize, words: &[&str]) -> io::Result<Child> {
        let mut command = self.command(words);
        self.space(host)?.within(|| {
            own_sys();
            command.spawn()
        })?
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words.first().copied().unwrap_or("true"));
        command.args(words.iter().skip(1)).current_dir(&self.base).env(MARK, &self.id);
        command
    }

    /// The program that a switch had at the start.
    pub fn program(&self, switch: usize) -> Option<&Program> {
        self.programs.get(switch)?.as_deref()
    }

    /// The namespace of a host.
    pub fn space(&self, host: usize) -> io::Result<&Space> {
        self.hosts.get(host).ok_or_else(|| io::Error::other("there is no such host"))
    }

    /// The first address of a host.
    pub fn address(&self, host: usize) -> Option<IpAddr> {
        self.lab.hosts.get(host)?.addresses.first().map(|network| network.address)
    }

    /// Takes a link down or up, with the interfaces of its hosts.
    pub fn set_link(&self, link: usize, is_down: bool) -> Result<(), String> {
        let (Some(cabling), Some(about)) = (self.cabling.get(link), self.lab.links.get(link)) else {
            return Err("there is no such link".to_string());
        };
        match cabling {
            Cabling::Wire(wire) => wire.set_down(is_down),
            Cabling::Veth(ends) => {
                for (space, name) in ends {
                    space.within(|| stack::set_up(name, !is_down)).map_err(|error| error.to_string())??;
                }
            }
        }
        for end in about.ends {
            if let NodeId::Host(id) = end.node {
                let name = self.lab.interface(end);
                let space = self.space(id.0 as usize).map_err(|error| error.to_string())?;
                space.within(|| stack::set_up(&name, !is_down)).map_err(|error| error.to_string())??;
                // The kernel has removed the routes of an interface that was down.
                if !is_down {
                    self.restore_routes(id.0 as usize);
                }
            }
        }
        Ok(())
    }

    /// Linux deletes the routes and neighbours of an interface that goes down; this restores those of the start.
    fn restore_routes(&self, host: usize) {
        let about = &self.lab.hosts[host];
        let node = NodeId::Host(rack_model::HostId(host as u32));
        let first = self.lab.ends(node).find(|end| end.port == 0).map(|end| self.lab.interface(end));
        if let (Some(name), Ok(space)) = (first, self.space(host)) {
            let _ = space.within(|| stack::restore(about, &name));
        }
        for command in &about.commands {
            let words = command.split_whitespace().collect::<Vec<_>>();
            if matches!(words.first(), Some(&("route" | "ip" | "arp"))) {
                let _ = self.output(host, &["bash", "-c", command]);
            }
        }
    }

    /// Whether a link is down, and its counters. The kernel's links are not counted here: `ip -s link` in a host does.
    pub fn link(&self, link: usize) -> Option<(bool, Option<[WireCount; 2]>)> {
        self.cabling.get(link).map(|cabling| match cabling {
            Cabling::Wire(wire) => (wire.is_down(), Some(wire.counts())),
            Cabling::Veth(ends) => (!ends.iter().all(|(space, name)| is_up(space, name)), None),
        })
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Agents end before the registry kills the marked processes, so that running calls complete.
        while let Some(process) = self.processes.pop() {
            drop(process);
        }
        self.registry.remove(&self.id);
        self.cabling.clear();
        for running in &mut self.running {
            let _ = running.stop.take().map(|stop| stop.send(()));
        }
        for running in &mut self.running {
            // One that panicked has ended, too.
            let _ = running.thread.take().map(JoinHandle::join);
        }
        // Streams end with their switches.
        self.shared_address = None;
    }
}

/// True if an interface and its peer are up.
fn is_up(space: &Space, name: &str) -> bool {
    let found = space.within(|| linux_net::find(name)).and_then(|found| found);
    found.is_ok_and(|link| link.is_some_and(|link| link.is_up))
}

/// The ends of all links.
struct Plugged {
    /// For each switch.
    cables: Vec<Vec<(u32, Cable)>>,
    /// For each switch.
    queues: Vec<Arc<QueueDepths>>,
    /// For each link.
    ends: Vec<[End; 2]>,
}

/// Captures of frames sent and received on a switch's port, named as BMv2 does.
fn captures(directory: &Path, interface: &str) -> Result<(CaptureSink, CaptureSink), String> {
    let open = |way: &str| {
        let path = directory.join(format!("{interface}_{way}.pcap"));
        CaptureSink::create(&path).map_err(|error| format!("`{}`: {error}", path.display()))
    };
    Ok((open("out")?, open("in")?))
}

/// Listener of a switch's Thrift services: on port 9090 plus its number, or on a free port.
fn thrift(number: usize) -> io::Result<(TcpListener, SocketAddr)> {
    let port = u16::try_from(number).ok().and_then(|number| THRIFT.checked_add(number)).unwrap_or(0);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let listener = listener.or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// The TCP ports of the switches. If one of those that users expect is taken, free ones are used, and that is said; ports that the user asked for must be free.
fn grpc_ports(lab: &Lab, wanted: Option<u16>) -> Result<(Vec<u16>, Vec<String>), String> {
    let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    let first = lab.origin.first_port();
    let ports: Vec<u16> = lab
        .switches
        .iter()
        .map(|switch| match wanted {
            Some(0) => 0,
            Some(base) => base.saturating_add(switch.grpc_port - first),
            None => switch.grpc_port,
        })
        .collect();
    let taken = ports.iter().find(|port| **port != 0 && !is_free(**port));
    match (taken, wanted) {
        (None, _) => Ok((ports, vec![])),
        (Some(taken), Some(_)) => Err(format!("TCP port {taken} is in use: choose others with --grpc-port")),
        (Some(taken), None) => {
            let note = format!(
                "TCP port {taken} is in use, by another lab perhaps: P4Runtime is on other ports here"
            );
            Ok((vec![0; ports.len()], vec![note]))
        }
    }
}
