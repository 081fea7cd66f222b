//! The interface to the switch that the Thrift services use.

use crate::Learning;
use control_writes::Crc;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{Entity, Update};
use p4runtime_proto::p4rack::v1::SavedState;
use p4runtime_server::Status;

/// A port of a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// Number.
    pub number: u32,
    /// Interface, or whatever it is.
    pub name: String,
    /// Something is at the other end.
    pub is_up: bool,
}

/// A call of a program that computes a hash or a checksum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Calculation {
    /// Name, as p4c gives it.
    pub name: String,
    /// Algorithm, as in BMv2's JSON: `crc32_custom`.
    pub algorithm: String,
}

/// The switch that the services control.
pub trait Switch {
    /// The P4Info of the program that runs; `None` without one.
    fn p4info(&mut self) -> Result<Option<P4Info>, Status>;

    /// Does all updates or none.
    fn write(&mut self, updates: Vec<Update>) -> Result<(), Status>;

    /// Reads the entities that match the queries.
    fn read(&mut self, queries: Vec<Entity>) -> Result<Vec<Entity>, Status>;

    /// The program that runs, and everything that differs from a switch that has just been started.
    fn state(&mut self) -> Result<SavedState, Status>;

    /// Registers and counters are reset.
    fn reset(&mut self) -> Result<(), Status>;

    /// Calculations of the program that runs.
    fn calculations(&mut self) -> Result<Vec<Calculation>, Status>;

    /// Sets the parameters of a calculation with a custom CRC of 16 or 32 bits.
    fn set_crc(&mut self, calculation: &str, width: u32, to: Crc) -> Result<(), Status>;

    /// Sets the number of packets that queues hold: one queue, those of a port, or all. 0 is the lowest priority.
    fn set_queue_depth(
        &mut self,
        port: Option<u32>,
        priority: Option<u32>,
        packets: u32,
    ) -> Result<(), Status>;

    /// Sets the packets per second of queues; 0 is no limit.
    fn set_queue_rate(
        &mut self,
        port: Option<u32>,
        priority: Option<u32>,
        packets: u64,
    ) -> Result<(), Status>;

    /// Changes the lists of digests that subscribers get; `None` if there is no address for subscribers.
    fn learning(&mut self, change: &mut dyn FnMut(&mut Learning) -> Option<Vec<u8>>) -> Option<()>;

    /// The ports.
    fn ports(&mut self) -> Result<Vec<Port>, Status>;

    /// A port more, by an interface.
    fn add_port(&mut self, number: u32, interface: &str) -> Result<(), Status>;

    /// A port less.
    fn remove_port(&mut self, number: u32) -> Result<(), Status>;

    /// Microseconds since the switch started, and since 1970.
    fn times_us(&mut self) -> (i64, i64);

    /// Something to be logged: that a call has no effect, or why one was refused.
    fn note(&mut self, method: &str, why: &str);
}
