//! Switch that runs a device's program: owned, or shared with workers on other threads.

use super::Controlled;
use base_time::Time;
use dataplane_api::{Device as _, Output};
use device::Switch;
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::Status;
use std::ops::{Deref, DerefMut};
use std::sync::MutexGuard;
use target_native::{Fate, Packet, Shared, Worker};

/// The switch with its engine.
pub(super) enum Running {
    Own(Box<Switch>),
    Shared(Box<Sharing>),
}

/// A switch that workers use, too.
pub(super) struct Sharing {
    shared: Shared,
    /// For frames that are run here.
    worker: Worker,
    packet: Packet,
}

/// A device's switch. Workers see writes to its tables when the device [publishes](Controlled::publish) them.
pub enum SwitchMut<'s> {
    /// An owned switch.
    Own(&'s mut Switch),
    /// No other thread uses the switch meanwhile.
    Shared(MutexGuard<'s, Switch>),
}

/// A switch, for reading.
pub enum SwitchRef<'s> {
    /// An owned switch.
    Own(&'s Switch),
    /// No other thread uses the switch meanwhile.
    Shared(MutexGuard<'s, Switch>),
}

impl Deref for SwitchMut<'_> {
    type Target = Switch;

    fn deref(&self) -> &Switch {
        match self {
            SwitchMut::Own(switch) => switch,
            SwitchMut::Shared(switch) => switch,
        }
    }
}

impl DerefMut for SwitchMut<'_> {
    fn deref_mut(&mut self) -> &mut Switch {
        match self {
            SwitchMut::Own(switch) => switch,
            SwitchMut::Shared(switch) => switch,
        }
    }
}

impl Deref for SwitchRef<'_> {
    type Target = Switch;

    fn deref(&self) -> &Switch {
        match self {
            SwitchRef::Own(switch) => switch,
            SwitchRef::Shared(switch) => switch,
        }
    }
}

impl Running {
    pub(super) fn share(shared: Shared) -> Running {
        let worker = shared.worker();
        Running::Shared(Box::new(Sharing { shared, worker, packet: Packet::default() }))
    }
}

impl Controlled {
    /// The switch. Controllers do not see writes that bypass the server.
    pub fn switch(&mut self) -> SwitchMut<'_> {
        match &mut self.running {
            Running::Own(switch) => SwitchMut::Own(switch),
            Running::Shared(sharing) => SwitchMut::Shared(sharing.shared.lock()),
        }
    }

    /// The switch, for reading.
    pub fn view(&self) -> SwitchRef<'_> {
        match &self.running {
            Running::Own(switch) => SwitchRef::Own(switch),
            Running::Shared(sharing) => SwitchRef::Shared(sharing.shared.lock()),
        }
    }

    /// Refuses a port that the program's architecture cannot number, and the one that means "drop": nothing ever leaves by it.
    pub(super) fn may_have(&self, port: u32) -> Result<(), Status> {
        let numbers = *self.view().port_numbers();
        let refused = |why: String| Err(Status::new(Code::InvalidArgument, why));
        match numbers.check_port(port) {
            Err(error) => refused(format!(
                "{}{}",
                error.message,
                error.help.map_or(String::new(), |help| format!(": {help}"))
            )),
            Ok(()) if numbers.drop_port() == Some(port) => {
                refused(format!("port {port} means drop: no frame can leave on it"))
            }
            Ok(()) => Ok(()),
        }
    }

    /// The state that workers on other threads may run frames with, if it is for them.
    pub fn shared(&self) -> Option<&Shared> {
        match &self.running {
            Running::Own(_) => None,
            Running::Shared(sharing) => Some(&sharing.shared),
        }
    }

    /// Makes writes visible to the following frames.
    pub(super) fn publish(&self) {
        if let Some(shared) = self.shared() {
            shared.publish();
        }
    }

    /// Runs a frame and all resulting packets to their ends: see [`Switch::process`].
    pub fn process(&mut self, port: u32, frame: &[u8], now: Time) -> Vec<Output> {
        let Sharing { worker, packet, .. } = match &mut self.running {
            Running::Own(switch) => return switch.process(port, frame, now),
            Running::Shared(sharing) => &mut **sharing,
        };
        if !packet.receive(port, frame) {
            return worker.frame(port, frame, now);
        }
        let mut outputs = worker.process(std::slice::from_mut(packet), now);
        if let Fate::Sent(port) = packet.fate() {
            outputs.push(Output { port, frame: packet.frame().to_vec() });
        }
        outputs
    }

    /// Runs the timers that are due, and all resulting packets to their ends.
    pub(super) fn run_timers(&mut self, now: Time) -> Vec<Output> {
        match &mut self.running {
            Running::Own(switch) => {
                let queued = switch.tick(now);
                switch.drain(queued, now)
            }
            Running::Shared(sharing) => sharing.worker.tick(now),
        }
    }

    /// From now on, digests are kept for BMv2's clients.
    pub(super) fn learn(&mut self) {
        self.learned.get_or_insert_default();
    }

    /// The digests kept for BMv2's clients.
    pub(super) fn take_learned(&mut self) -> Vec<(i32, Vec<u8>)> {
        self.learned.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The digests of packets since the last time.
    pub(super) fn reported_digests(&mut self) -> Vec<device::Digest> {
        let mut digests = self.switch().take_digests();
        digests
            .extend(self.shared().map(Shared::take_reports).into_iter().flat_map(|reports| reports.digests));
        digests
    }
}
