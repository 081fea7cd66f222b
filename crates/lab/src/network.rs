//! A lab that is up: namespaces, switches, links. Everything ends when it is dropped.

mod captures;
mod ends;
mod interfaces;
mod programs;
mod switches;

use self::captures::Captures;
use self::interfaces::{Interfaces, Watched};
use self::switches::{Share, listen};
use crate::build;
use crate::prepare::Prepared;
use crate::process::Process;
use crate::registry::{HostRecord, Record, Registry, SwitchRecord};
use crate::shared_address::SharedAddress;
use crate::space::Space;
use crate::stack;
use crate::wire::{Wire, WireCount};
use base_time::Rng;
use ir::Program;
use lab_model::{Lab, Origin};
use rack_model::NodeId;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::oneshot;

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
    /// The machine has an interface for each port of a switch.
    pub switch_interfaces: bool,
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
    /// Interfaces of switches on the machine.
    interfaces: Option<Interfaces>,
    captures: Option<Captures>,
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

/// How a link is made.
pub(crate) enum Cabling {
    /// By a thread.
    Wire(Wire),
    /// By the kernel: the namespaces and names of its ends.
    Veth([(Space, String); 2]),
}

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
        let (listeners, notes) = listen(&lab, settings.grpc_port)?;
        let mut network = Network::new(lab, directory, registry);
        network.notes = notes;
        network.programs = switches.iter().map(|ready| Some(Arc::clone(&ready.program))).collect();
        network.make_hosts()?;
        let mut plugged = network.plug(settings)?;
        let (front, fronts) = std::sync::mpsc::channel();
        let share = Share::of(settings, switches.len());
        for (number, (ready, listener)) in switches.into_iter().zip(listeners).enumerate() {
            let cables = std::mem::take(&mut plugged.cables[number]);
            let queues = Arc::clone(&plugged.queues[number]);
            network.start_switch(
                number,
                ready,
                listener,
                (cables, queues, started),
                &share,
                front.clone(),
            )?;
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
        if settings.switch_interfaces {
            network.interfaces = Some(Interfaces::create(network.watched())?);
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
            interfaces: None,
            captures: None,
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

    /// The links with the interfaces of switches.
    fn watched(&self) -> Vec<Watched> {
        let links = self.cabling.iter().zip(&self.lab.links);
        let watched = |(cabling, link): (&Cabling, &rack_model::Link)| match cabling {
            Cabling::Wire(wire) => {
                let switches = link.ends.into_iter().filter(|end| matches!(end.node, NodeId::Device(_)));
                Some((wire.lever(), switches.map(|end| self.lab.interface(end)).collect()))
            }
            Cabling::Veth(_) => None,
        };
        links.filter_map(watched).collect()
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
            let name = self.lab.interface(end);
            if let (NodeId::Device(_), Some(interfaces)) = (end.node, &self.interfaces) {
                interfaces.set(&name, !is_down)?;
            }
            if let NodeId::Host(id) = end.node {
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
