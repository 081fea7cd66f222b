//! Control-plane operations on a switch, by control-plane names: tables, value sets, objects, replication.

mod objects;
mod tables;

pub use self::tables::TableEntry;
use crate::Access;
use crate::ports::PortNumbers;
use crate::replication::Session;
use crate::reports::Digest;
use crate::switch::Switch;
use crate::trace::Event;
use dataplane_api::{EntryError, Port};
use ir::Program;

impl Switch {
    /// Sets the members of a multicast group: port and replica id, in the order of replication.
    pub fn multicast_group_set(&mut self, group: u32, members: Vec<(Port, u16)>) {
        self.core.replication.set_group(group, members);
    }

    /// Sets where the members of a multicast group go while their ports are down: port and replica id, the best first, by the
    /// members' places.
    pub fn multicast_backups_set(&mut self, group: u32, backups: Vec<Vec<(Port, u16)>>) {
        self.core.replication.set_backups(group, backups);
    }

    /// Sets where the clones of a session go; `None` removes it.
    pub fn clone_session_set(&mut self, session: u32, to: Option<Session>) {
        match to {
            Some(to) => {
                self.core.replication.sessions.insert(session, to);
            }
            None => {
                self.core.replication.sessions.remove(&session);
            }
        }
    }

    /// Switches the trace on or off.
    pub fn set_trace(&mut self, on: bool) {
        self.core.state.trace.switch(on);
    }

    /// Takes the trace since the last call, at most the last 2^20 events.
    pub fn take_trace(&mut self) -> Vec<Event> {
        self.core.state.trace.take()
    }

    /// Switches the log of accesses on or off. It has no bound: take it from time to time.
    pub fn set_access_log(&mut self, on: bool) {
        self.core.state.accesses.on = on;
    }

    /// Takes which state objects were touched since the last time, in order.
    pub fn take_accesses(&mut self) -> Vec<Access> {
        self.core.state.accesses.take()
    }

    /// Takes the digests sent since the last time; of more than 4096 the oldest are kept.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        self.core.state.take_digests()
    }

    /// Takes the lines of `log_msg` since the last call, at most the last 4096.
    pub fn take_log(&mut self) -> Vec<String> {
        self.core.state.take_log()
    }

    /// The numbers that ports and multicast groups can have.
    pub fn port_numbers(&self) -> &PortNumbers {
        &self.core.numbers
    }

    /// Refuses a port that the architecture's type cannot hold.
    pub fn check_port(&self, port: Port) -> Result<(), EntryError> {
        self.core.numbers.check_port(port)
    }

    /// Refuses a multicast group that the architecture's type cannot hold.
    pub fn check_group(&self, group: u32) -> Result<(), EntryError> {
        self.core.numbers.check_group(group)
    }

    /// The program that runs.
    pub fn program(&self) -> &std::sync::Arc<Program> {
        &self.core.program
    }
}
