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
//!
//! ```
//! use rack_emulator::Emulator;
//! let text = r#"
//! host.h1 = { mac = "02:00:00:00:00:01", ip = "10.0.0.1/24" }
//! host.h2 = { mac = "02:00:00:00:00:02", ip = "10.0.0.2/24" }
//! link = [{ ends = ["h1", "h2"], rate = "1Gbit/s", delay = "10us" }]
//! workload = [{ kind = "ping", from = "h1", to = "h2", count = 3 }]
//! "#;
//! let (rack, _) = rack_model::read_rack(text, 1);
//! let mut emulator = Emulator::new(&rack.unwrap(), vec![]).unwrap();
//! emulator.run().unwrap();
//! let ping = &emulator.report().workloads[0];
//! // 98 bytes and 24 of Ethernet's overhead take 976 ns; and 10 us of delay; there and back.
//! assert_eq!((ping.received, ping.latency.unwrap().min_ps), (3, 21_952_000));
//! ```

mod build;
mod calendar;
mod circle;
mod conservation;
mod control;
mod device;
mod emulator;
mod fault;
mod host;
mod log;
mod medium;
mod names;
mod outlet;
mod pcap;
mod place;
mod queue;
mod report;
mod running;
mod sample;
mod stages;
mod table;
mod timeline;
mod traffic;
mod transit;
mod violation;
mod watch;
mod wire;

pub use circle::LoopReport;
pub use control::Passed;
pub use emulator::{BuildError, Emulator, PacketBalance, RackDevice, RunEnd, Spent};
pub use host::Received;
pub use host_programs::Captures;
pub use host_programs::latency::percentile;
pub use log::LogHash;
pub use medium::{Harm, Medium, MediumCounts, Sent};
pub use pcap::Pcap;
pub use report::{
    DeviceReport, DropReport, FaultReport, LatencyReport, LinkReport, NoteReport, RunReport, ValueReport,
    WatchReport, WorkloadReport,
};
pub use sample::Sample;
pub use stages::stage_table;
pub use table::{Table, rate_words, time_words};
pub use timeline::{Moment, Timeline};
pub use violation::Violation;
