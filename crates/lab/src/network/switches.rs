//! Switches: agents as threads of this process, each with its TCP ports and its share of memory.

use super::{Network, Running, Settings};
use crate::graph;
use crate::prepare::Ready;
use crate::registry::SwitchRecord;
use crate::stack;
use agent::{QueueDepths, Setup, Switch as Runs};
use bmv2_thrift::{NotificationsAddress, NotificationsListener};
use dataplane_ports::{Cable, PortKind, PortSpec, Tap};
use lab_model::Lab;
use p4runtime_grpc::{Budget, Front, Limits, most_files};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;
use tokio::sync::oneshot;

/// The TCP port for Thrift of the first switch.
const THRIFT: u16 = 9090;

/// A switch's share of what the process may use.
pub(super) struct Share {
    seed: u64,
    limits: Limits,
    budget: Budget,
    /// Files that each switch may open.
    files: usize,
    give_back: fn(),
}

impl Share {
    pub(super) fn of(settings: &Settings, switches: usize) -> Share {
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
    pub(super) fn of_address(&self) -> (Limits, Budget) {
        (self.limits.within(self.files), self.budget.clone())
    }
}

impl Network {
    pub(super) fn start_switch(
        &mut self,
        number: usize,
        ready: Ready,
        p4runtime: TcpListener,
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
            listener: Some(p4runtime),
            ports: control.iter().cloned().collect(),
            cables,
            started: Some(started),
            queue_depths,
            cpu_port: switch.cpu_port,
            priority_queues: switch.priority_queues,
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
}

/// Listener of a switch's Thrift services: on port 9090 plus its number, or on a free port.
fn thrift(number: usize) -> io::Result<(TcpListener, SocketAddr)> {
    let port = u16::try_from(number).ok().and_then(|number| THRIFT.checked_add(number)).unwrap_or(0);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let listener = listener.or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Listeners of the switches' P4Runtime servers. If a port that users expect is in use, all switches get free ports, and a note says so; ports that the user
/// asked for must be free. The listeners stay open, so another lab that starts at the same time does not get the same ports.
pub(super) fn listen(lab: &Lab, wanted: Option<u16>) -> Result<(Vec<TcpListener>, Vec<String>), String> {
    let bind = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|_| port);
    let first = lab.origin.first_port();
    let port = |switch: &lab_model::Switch| match wanted {
        Some(0) => 0,
        Some(base) => base.saturating_add(switch.grpc_port - first),
        None => switch.grpc_port,
    };
    let taken = match lab.switches.iter().map(|switch| bind(port(switch))).collect() {
        Ok(listeners) => return Ok((listeners, vec![])),
        Err(taken) => taken,
    };
    if wanted.is_some() {
        return Err(format!("TCP port {taken} is in use: choose others with --grpc-port"));
    }
    let any: Result<Vec<TcpListener>, u16> = lab.switches.iter().map(|_| bind(0)).collect();
    let any = any.map_err(|_| "no TCP port is free for P4Runtime".to_string())?;
    let note =
        format!("TCP port {taken} is in use, by another lab perhaps: P4Runtime is on other ports here");
    Ok((any, vec![note]))
}
