//! `[rack]`: settings of the whole rack, which may be left out.
//!
//! ```toml
//! [rack]
//! name = "demo"             # in reports; default "rack"
//! seed = 1                  # seed of all random numbers: equal seeds give equal runs; default 0
//! until = "10ms"            # time at which a run ends at the latest; default: when nothing more happens
//! ```

use crate::{
    App, Control, Device, DeviceId, End, Fault, Group, Host, HostId, Job, Link, LinkId, Membership, Move,
    NodeId, Planning, Replace, Spanned, Stage, Workload,
};
use base_time::Time;

/// A rack as its file describes it; all lists are in the order of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rack {
    /// Name of the rack.
    pub name: Spanned<String>,
    /// The seed of all chance.
    pub seed: u64,
    /// When a run ends at the latest.
    pub until: Option<Time>,
    /// Devices.
    pub devices: Vec<Device>,
    /// Hosts.
    pub hosts: Vec<Host>,
    /// Links.
    pub links: Vec<Link>,
    /// Groups of servers.
    pub groups: Vec<Group>,
    /// Each device is a process of its own, and an agent beside it does its part of groups.
    pub has_agents: bool,
    /// Changes of their members, while it runs.
    pub memberships: Vec<Membership>,
    /// Programs.
    pub apps: Vec<App>,
    /// MapReduce jobs.
    pub jobs: Vec<Job>,
    /// Traffic.
    pub workloads: Vec<Workload>,
    /// Faults to inject.
    pub faults: Vec<Fault>,
    /// The channels between the controller and the agents.
    pub control: Control,
    /// Other plans, while it runs.
    pub replaces: Vec<Replace>,
    /// Flows that move while it runs.
    pub moves: Vec<Move>,
    /// The steps of its experiment, if it has one.
    pub stages: Vec<Stage>,
    /// Settings of the planner.
    pub plan: Planning,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            name: "rack".into(),
            seed: 0,
            until: None,
            devices: vec![],
            hosts: vec![],
            links: vec![],
            groups: vec![],
            has_agents: false,
            memberships: vec![],
            apps: vec![],
            jobs: vec![],
            workloads: vec![],
            faults: vec![],
            control: Control::default(),
            replaces: vec![],
            moves: vec![],
            stages: vec![],
            plan: Planning::default(),
        }
    }
}

impl Rack {
    /// From now on each device is a process of its own, as `p4rack switch` runs them.
    pub fn of_processes(&mut self) {
        for app in &mut self.apps {
            app.failover = app.failover_of_processes;
        }
        for group in &mut self.groups {
            group.pace = group.pace_of_processes;
        }
        self.has_agents = true;
    }

    /// From now on every link and every frame extern has its full rate.
    pub fn at_full_rate(&mut self) {
        for link in &mut self.links {
            link.rate = link.full_rate;
        }
        for (_, call) in self.devices.iter_mut().flat_map(|device| &mut device.calls) {
            call.rate = call.full_rate;
        }
    }

    /// The device called `name`.
    pub fn device(&self, name: &str) -> Option<DeviceId> {
        let at = self.devices.iter().position(|d| d.name.value == name)?;
        Some(DeviceId(at as u32))
    }

    /// The host called `name`.
    pub fn host(&self, name: &str) -> Option<HostId> {
        let at = self.hosts.iter().position(|h| h.name.value == name)?;
        Some(HostId(at as u32))
    }

    /// Apps of a device, by their positions in [`Rack::apps`]: the apps that name the device, or the only app. A legacy
    /// switch belongs to no app.
    pub fn apps_of(&self, device: DeviceId) -> impl Iterator<Item = usize> {
        (0..self.apps.len()).filter(move |app| self.is_of(device, *app))
    }

    /// True if a device is of an app.
    pub fn is_of(&self, device: DeviceId, app: usize) -> bool {
        let names_it = |app: &App| app.devices().any(|known| known.value == device);
        let is_named = self.apps.len() == 1 || self.apps.get(app).is_some_and(names_it);
        is_named && self.legacy(NodeId::Device(device)).is_none()
    }

    /// The name of a node; empty for one of another rack.
    pub fn node_name(&self, node: NodeId) -> &str {
        let name = match node {
            NodeId::Device(id) => self.devices.get(id.0 as usize).map(|d| &d.name),
            NodeId::Host(id) => self.hosts.get(id.0 as usize).map(|h| &h.name),
        };
        name.map_or("", |n| &n.value)
    }

    /// An end of a link as the file writes it: `h1`, `tor:1`.
    pub fn end_name(&self, end: End) -> String {
        match end.node {
            NodeId::Device(_) => format!("{}:{}", self.node_name(end.node), end.port),
            NodeId::Host(_) => self.node_name(end.node).to_string(),
        }
    }

    /// The link that is plugged into a port, and its other end.
    pub fn peer(&self, node: NodeId, port: u32) -> Option<(LinkId, End)> {
        let mut plugs = self.plugs();
        plugs.find(|(_, near, _)| (near.node, near.port) == (node, port)).map(|(id, _, far)| (id, far))
    }

    /// All links of a node: the port here, and the other end.
    pub fn links_of(&self, node: NodeId) -> impl Iterator<Item = (LinkId, u32, End)> {
        self.plugs().filter(move |(_, near, _)| near.node == node).map(|(id, near, far)| (id, near.port, far))
    }

    /// The links that lead from one node straight to another: the ports here and there.
    pub fn links_between(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = (LinkId, u32, u32)> {
        self.links_of(from)
            .filter(move |(.., far)| far.node == to)
            .map(|(id, port, far)| (id, port, far.port))
    }

    /// Each end of each link, with the other end.
    fn plugs(&self) -> impl Iterator<Item = (LinkId, End, End)> {
        let numbered = (0..).map(LinkId).zip(&self.links);
        numbered.flat_map(|(id, link)| {
            let [a, b] = link.ends;
            [(id, a, b), (id, b, a)]
        })
    }
}
