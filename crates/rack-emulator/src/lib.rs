//! A whole rack in one process, in virtual time.
//!
//! [`Emulator`] takes a [`Rack`](rack_model::Rack) and something that runs as each of its devices, and lets
//! events happen in the order of (time, sequence). One seed, one result, byte for byte.
//!
//! Devices, links and queues are a [`device_network`]; this crate adds hosts and their workloads, faults, counters, the
//! log and reports.
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
mod circle;
mod control;
mod emulator;
mod event;
mod fault;
mod host;
mod log;
mod names;
mod node;
mod pcap;
mod pinned;
mod place;
mod report;
mod running;
mod sample;
mod sockets;
mod stages;
mod table;
mod timeline;
mod traffic;
mod violation;
mod watch;
mod world;

pub use circle::LoopReport;
pub use device_network::{Harm, Medium, MediumCounts, Passed, Reason, Sent, Spent};
pub use emulator::{BuildError, Emulator, PacketBalance, RackDevice, RunEnd};
pub use host::Received;
pub use host_programs::Captures;
pub use host_programs::latency::percentile;
pub use log::LogHash;
pub use node::medium;
pub use pcap::Pcap;
pub use pinned::{MoveReport, MoveTotals, PinnedReport, ShareReport};
pub use report::{
    DeviceReport, DropReport, EdgeReport, FaultReport, GroupReport, LatencyReport, LinkReport, NoteReport,
    RunReport, ServerReport, ValueReport, WatchReport, WorkloadReport,
};
pub use sample::Sample;
pub use stages::stage_table;
pub use table::{Table, rate_words, time_words};
pub use timeline::{Moment, Timeline};
pub use violation::Violation;
