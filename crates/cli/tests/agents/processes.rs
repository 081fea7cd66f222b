//! A switch, its helpers and their controller as processes, with a socket at each of two ports of the switch.

use crate::setup::{PATIENCE, Switch, are_sound, ctl, free_tcp, free_udp, is_running, text};
use serde_json::Value;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub struct Processes {
    directory: PathBuf,
    /// Names of the switch and of its helpers.
    names: &'static [&'static str],
    /// As many as `names`.
    pub agents: Vec<Switch>,
    pub addresses: Vec<String>,
    pub controller: Switch,
    /// Ends of the two ports.
    pub ports: [UdpSocket; 2],
}

/// The controller of a directory's rack.
fn controller(directory: &Path, names: &[&str], addresses: &[String]) -> Switch {
    let mut args =
        vec![directory.display().to_string(), "--grpc-server-addr".to_string(), "127.0.0.1:0".to_string()];
    for (name, address) in names.iter().zip(addresses) {
        args.extend(["--agent".to_string(), format!("{name}={address}")]);
    }
    Switch::start(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

fn agent(address: &str, ports: &[String]) -> Switch {
    let ports = ports.iter().flat_map(|port| ["-i", port]);
    Switch::start(&["--grpc-server-addr", address].into_iter().chain(ports).collect::<Vec<_>>())
}

impl Processes {
    /// The rack of a directory, once it is sound. Port 1 of each helper is at a port of the switch, in order after the second of `ports`.
    pub fn new(directory: PathBuf, names: &'static [&'static str], ports: [u32; 2]) -> Processes {
        let addresses: Vec<String> = names.iter().map(|_| free_tcp()).collect();
        let mut of_switch = vec![];
        let first_helper = ports[1] + 1;
        let ports = ports.map(|number| {
            let (socket, device) = (UdpSocket::bind("127.0.0.1:0").unwrap(), free_udp());
            socket.connect(device).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
            of_switch.push(format!("{number}@udp:{device},{}", socket.local_addr().unwrap()));
            socket
        });
        let mut agents = vec![];
        for (number, address) in (first_helper..).zip(&addresses[1..]) {
            let (here, there) = (free_udp(), free_udp());
            of_switch.push(format!("{number}@udp:{here},{there}"));
            agents.push(agent(address, &[format!("1@udp:{there},{here}")]));
        }
        agents.insert(0, agent(&addresses[0], &of_switch));
        let controller = controller(&directory, names, &addresses);
        let rack = Processes { directory, names, agents, addresses, controller, ports };
        rack.is_ready();
        rack
    }

    pub fn kill_controller(&mut self) {
        self.controller.process.kill().unwrap();
        self.controller.process.wait().unwrap();
    }

    /// Another controller takes the place of one that has died.
    pub fn start_controller(&mut self) {
        self.controller = controller(&self.directory, self.names, &self.addresses);
    }

    pub fn kill(&mut self, agent: usize) {
        self.agents[agent].process.kill().unwrap();
        self.agents[agent].process.wait().unwrap();
    }

    /// The state of the rack, as its controller reports it.
    pub fn shown(&self) -> Value {
        self.shown_at(&self.controller.address)
    }

    /// The same of the process at an address.
    pub fn shown_at(&self, address: &str) -> Value {
        serde_json::from_str(&text(&ctl(address, &["show", "--json"]))).unwrap()
    }

    pub fn wait(&self, wanted: impl Fn(&Value) -> bool) {
        let begun = Instant::now();
        loop {
            let shown = self.shown();
            if wanted(&shown) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "it is still like this: {shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the program runs and all devices are right.
    pub fn is_ready(&self) {
        self.wait(|shown| is_running(shown) && are_sound(shown));
    }
}
