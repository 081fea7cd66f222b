//! The lab as data, and queries on it.

use base_time::Rate;
use rack_model::{DeviceId, End, HostId, Link, Mac, Network, NodeId, Spanned};
use std::net::IpAddr;

/// The rate of a link for which none is written: the machine's own.
pub const UNLIMITED: Rate = Rate::from_bits_per_s(100_000_000_000_000);

/// A lab; all lists are in the order of the file. Links name hosts and switches by their places in [`Lab::hosts`] and [`Lab::switches`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lab {
    /// The kind of file that describes it.
    pub origin: Origin,
    /// The program of switches that name none.
    pub program: Option<Spanned<String>>,
    /// Hosts.
    pub hosts: Vec<Host>,
    /// Switches.
    pub switches: Vec<Switch>,
    /// Links. A host's ports count from 0, in the order of its links.
    pub links: Vec<Link>,
    /// Programs that run beside the lab: controllers.
    pub scripts: Vec<Script>,
    /// Frames of every switch port are recorded.
    pub records: bool,
}

/// A program that is started when the lab is up, outside of its hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// For a shell.
    pub command: String,
    /// File of its output, if the description names one.
    pub output: Option<String>,
}

/// The kind of file that describes a lab, and with it the habits of its users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// p4lang's tutorials: P4Runtime on 50051 and on, device ids from 0, hosts with an `eth0`.
    Tutorial,
    /// p4-utils: P4Runtime on 9559 and on, device ids from 1, hosts with an `h1-eth0`.
    P4Utils,
    /// `RACK.toml`: P4Runtime on 50051 and on, device ids from 1, hosts with an `eth0`.
    Rack,
}

/// A host: a network stack of Linux, with a shell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// Name of the host.
    pub name: Spanned<String>,
    /// The address of its first interface; by the system if none is given.
    pub mac: Option<Mac>,
    /// The addresses of its first interface.
    pub addresses: Vec<Network>,
    /// Gateway to other networks.
    pub gateway: Option<Gateway>,
    /// Neighbours that it knows without asking.
    pub neighbours: Vec<Neighbour>,
    /// Commands that run when the lab is up.
    pub commands: Vec<String>,
}

/// The gateway to other networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gateway {
    /// IP address of the gateway.
    Address(IpAddr),
    /// Every address of other networks is reached by frames to this MAC address.
    Mac(Mac),
}

/// An entry of a host's neighbour table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// IP address.
    pub address: IpAddr,
    /// MAC address.
    pub mac: Mac,
}

/// A P4 switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Switch {
    /// Name of the switch.
    pub name: Spanned<String>,
    /// Program, as the file names it: source, or a compiler's output (`build/basic.json`).
    pub program: Option<Spanned<String>>,
    /// Preprocessor macros with their texts, as -D takes them.
    pub defines: Vec<String>,
    /// Directories of included files, as written.
    pub include: Vec<String>,
    /// Files of entries, in the order of writing.
    pub entries: Vec<Entries>,
    /// The port of packet-in and packet-out.
    pub cpu_port: Option<u32>,
    /// A port with an interface in the machine's namespace, where controllers receive and send frames as they are.
    pub control_port: Option<u32>,
    /// Priorities with a queue behind each port.
    pub priority_queues: u8,
    /// P4Runtime's device id.
    pub device_id: u64,
    /// The TCP port of P4Runtime.
    pub grpc_port: u16,
}

impl Switch {
    /// A switch without program and entries.
    pub fn new(name: Spanned<String>) -> Switch {
        let (defines, include, entries) = (vec![], vec![], vec![]);
        Switch {
            name,
            program: None,
            defines,
            include,
            entries,
            cpu_port: None,
            control_port: None,
            priority_queues: 8,
            device_id: 0,
            grpc_port: 0,
        }
    }
}

/// A file that fills a switch, as the lab's file names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entries {
    /// The tutorials' `sN-runtime.json`.
    Runtime(Spanned<String>),
    /// Commands of `simple_switch_CLI`.
    Commands(Spanned<String>),
    /// Any form that `p4rack run --entries` reads.
    Any(Spanned<String>),
}

impl Entries {
    /// The file.
    pub fn file(&self) -> &Spanned<String> {
        match self {
            Entries::Runtime(file) | Entries::Commands(file) | Entries::Any(file) => file,
        }
    }
}

impl Origin {
    /// The TCP port of the first switch.
    pub fn first_port(self) -> u16 {
        match self {
            Origin::P4Utils => 9559,
            Origin::Tutorial | Origin::Rack => 50051,
        }
    }

    /// The device id of the first switch.
    pub fn first_id(self) -> u64 {
        match self {
            Origin::Tutorial => 0,
            Origin::P4Utils | Origin::Rack => 1,
        }
    }
}

impl Lab {
    /// A lab with nothing in it.
    pub fn new(origin: Origin) -> Lab {
        Lab {
            origin,
            program: None,
            hosts: vec![],
            switches: vec![],
            links: vec![],
            scripts: vec![],
            records: true,
        }
    }

    /// Numbers the switches as the format's users are used to: by name, numbers in names by their value.
    pub(crate) fn number_switches(&mut self) {
        let mut order: Vec<usize> = (0..self.switches.len()).collect();
        order.sort_by_key(|at| natural(&self.switches[*at].name.value));
        for (number, at) in (0..).zip(order) {
            let switch = &mut self.switches[at];
            switch.device_id = self.origin.first_id() + u64::from(number);
            switch.grpc_port = self.origin.first_port().saturating_add(number);
        }
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host.name.value == name)
    }

    /// The switch of this name.
    pub fn switch(&self, name: &str) -> Option<usize> {
        self.switches.iter().position(|switch| switch.name.value == name)
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let host = self.host(name).map(|at| NodeId::Host(HostId(at as u32)));
        host.or_else(|| self.switch(name).map(|at| NodeId::Device(DeviceId(at as u32))))
    }

    /// A node's name; empty for one of another lab.
    pub fn node_name(&self, node: NodeId) -> &str {
        let name = match node {
            NodeId::Host(id) => self.hosts.get(id.0 as usize).map(|host| &host.name),
            NodeId::Device(id) => self.switches.get(id.0 as usize).map(|switch| &switch.name),
        };
        name.map_or("", |name| &name.value)
    }

    /// The names of all nodes, hosts first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let hosts = self.hosts.iter().map(|host| host.name.value.as_str());
        hosts.chain(self.switches.iter().map(|switch| switch.name.value.as_str()))
    }

    /// The interface at an end of a link: `eth0` or `h1-eth0` of a host, `s1-eth1` of a switch's port 1.
    pub fn interface(&self, end: End) -> String {
        match (end.node, self.origin) {
            (NodeId::Host(_), Origin::Tutorial | Origin::Rack) => format!("eth{}", end.port),
            _ => format!("{}-eth{}", self.node_name(end.node), end.port),
        }
    }

    /// The ends of a node's links.
    pub fn ends(&self, node: NodeId) -> impl Iterator<Item = End> {
        self.links.iter().flat_map(|link| link.ends).filter(move |end| end.node == node)
    }

    /// The links between two nodes, by their places.
    pub fn links_between(&self, one: NodeId, other: NodeId) -> impl Iterator<Item = usize> {
        let joins = move |link: &Link| {
            let [a, b] = link.ends;
            (a.node, b.node) == (one, other) || (b.node, a.node) == (one, other)
        };
        self.links.iter().enumerate().filter(move |(_, link)| joins(link)).map(|(at, _)| at)
    }
}

/// Text and numbers by turns, so that `s10` comes after `s9`.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = vec![];
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (word, more) = rest.split_at(text);
        let digits = more.find(|c: char| !c.is_ascii_digit()).unwrap_or(more.len());
        let (number, more) = more.split_at(digits);
        parts.push((word.to_string(), number.parse().unwrap_or(0)));
        rest = more;
    }
    parts
}
