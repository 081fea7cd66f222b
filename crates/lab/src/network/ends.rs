//! Hosts with their interfaces, and the ends of links.

use super::captures::Captures;
use super::{Network, Settings};
use crate::space::Space;
use crate::stack;
use crate::wire::End;
use agent::{QueueDepths, cable};
use dataplane_ports::{Cable, Tap};
use rack_model::{End as Plug, NodeId};
use std::io;
use std::sync::Arc;

/// Frames that wait between a switch and a link.
const WAITING: usize = 1024;

/// Highest number of queues of a switch: v1model has 512 ports.
const MOST_QUEUES: u32 = 4096;

/// The ends of all links.
pub(super) struct Plugged {
    /// For each switch.
    pub(super) cables: Vec<Vec<(u32, Cable)>>,
    /// For each switch.
    pub(super) queues: Vec<Arc<QueueDepths>>,
    /// For each link.
    pub(super) ends: Vec<[End; 2]>,
}

impl Network {
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
    pub(super) fn plug(&mut self, settings: &Settings) -> Result<Plugged, String> {
        let mut plugged = Plugged {
            cables: self.lab.switches.iter().map(|_| vec![]).collect(),
            queues: (0..self.lab.switches.len()).map(|at| Arc::new(self.queues(at))).collect(),
            ends: vec![],
        };
        if let Some(directory) = &settings.pcaps {
            self.captures = Some(Captures::claim(directory, &mut self.notes)?);
        }
        for link in &self.lab.links {
            let [a, b] = link.ends;
            let ends = [self.end(a, &mut plugged)?, self.end(b, &mut plugged)?];
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

    fn end(&self, end: Plug, plugged: &mut Plugged) -> Result<End, String> {
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
                other.captures = self.captures.as_ref().map(|captures| captures.open(&name)).transpose()?;
                Ok(other)
            }
        }
    }

    /// Linux deletes the routes and neighbours of an interface that goes down; this restores those of the start.
    pub(super) fn restore_routes(&self, host: usize) {
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
}
