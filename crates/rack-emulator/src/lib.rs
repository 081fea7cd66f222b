//! A whole rack in one process, in virtual time.
//!
//! [`Emulator`] takes a [`Rack`](rack_model::Rack) and something that runs as each of its devices, and lets
//! events happen in the order of (time, sequence). One seed, one result, byte for byte.
//!
//! The way of a packet: a host's queue, a wire (its rate, delay, loss, MTU), a device's backlog until one of its
//! `parallel` places is free, ingress, the service time, the queue of a port (8 priorities of the link's depth, the
//! highest first), egress when the wire is free, the next wire. Timers of devices run at their deadlines; what they
//! give goes into the queues.
//!
//! Ingress runs when a packet gets inside, and what comes of it is queued when its service time is over; egress
//! takes no time. Recirculated packets wait in the backlog like others.

mod build;
mod calendar;
mod conservation;
mod device;
mod emulator;
mod flow;
mod host;
mod latency;
mod log;
mod names;
mod outlet;
mod packet;
mod pcap;
mod place;
mod queue;
mod report;
mod stamp;
mod table;
mod transit;
mod violation;
mod wire;

pub use emulator::{BuildError, Emulator, PacketBalance, RackDevice, RunEnd};
pub use host::Received;
pub use log::LogHash;
pub use pcap::Pcap;
pub use report::{DeviceReport, DropReport, LatencyReport, LinkReport, RunReport, WorkloadReport};
pub use violation::Violation;
