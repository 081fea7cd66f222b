//! One network of devices, in virtual time: the one that the emulator of racks and the proofs of splits run in.
//!
//! A [`Network`] is devices, ends, and links between them; events happen in the order of (time, sequence). A [`World`] owns
//! it: hosts, logs and reports, or the record of a proof. [`Drive`] runs it, [`Steer`] changes devices and links meanwhile.
//!
//! The path of a packet: an end's queue, a wire (its rate, delay, loss, MTU), a device's backlog until one of its
//! `parallel` places is free, ingress, the service time, the queue of a port (8 priorities of the link's depth, the
//! highest first), egress when the wire is free, the next wire. Timers of devices run at their deadlines; their frames
//! go into the queues.
//!
//! A packet that finds its queue full is dropped, or, at a device that [`trims`](DeviceSettings::trims), leaves as a header by the highest priority.
//!
//! Ingress runs when a packet enters the device, and its results are queued when the service time is over; egress takes
//! no time. Recirculated packets wait in the backlog like others. Without delays, service times and limits, as in the
//! default [`WireSettings`] and [`DeviceSettings`], all effects of a frame happen at the moment of its arrival.

mod calendar;
mod conservation;
mod device;
mod drive;
mod medium;
mod network;
mod outlet;
mod place;
mod queue;
mod steer;
#[cfg(test)]
mod testing;
mod trim;
mod violation;
mod wire;
mod world;

pub use conservation::PacketBalance;
pub use device::{DeviceCounts, DeviceNode, DeviceSettings, Spent};
pub use drive::Drive;
pub use medium::{Harm, Medium, MediumCounts, SHORTEST_FRAME, Sent, WireSettings};
pub use network::{BuildError, EndCounts, EndNode, Link, Network, Node, Plug};
pub use outlet::{Outlet, Waiting};
pub use place::{Owner, Place, Reason};
pub use queue::PortQueue;
pub use steer::{Passed, Steer};
pub use trim::TRIMMED;
pub use violation::{Outcome, Violation};
pub use wire::Wire;
pub use world::World;
