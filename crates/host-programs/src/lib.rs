//! Programs of hosts. A *host program* is a workload at both ends of all its pairs of hosts: [`HostProgram`] is the
//! contract, each kind of workload a file, and [`KINDS`] the registry. `rack-model` reads a kind's keys by its
//! [`Kind`], `rack-emulator` runs its program; neither knows any kind by name.
//!
//! | file | `kind` |
//! |---|---|
//! | `ping` | `ping` |
//! | `udp` | `udp`, `poisson`, `onoff`, `zipf` |
//! | `request` | `request` |
//! | `memcached` | `memcached` |
//! | `tcp` | `tcp` |
//! | `qcn` | `qcn` |
//! | `seawall` | `seawall` |
//! | `pcap` | `pcap` |
//! | `reduce` | `reduce` |
//! | `explicit` | `rcp`, `xcp`, `pfabric`, `d3` |
//!
//! `flow_list` has the transfers of `tcp`, `rcp`, `xcp`, `pfabric` and `d3`. `streams`, `source` and `stamp` serve programs that send numbered packets and count each at the receiver; `packet`
//! and `station` build and parse frames; `pattern` fills and checks payloads; `tally` has the measurements.

pub mod explicit;
pub mod flow_list;
pub mod job_pairs;
pub mod kind;
pub mod latency;
mod mac;
pub mod memcached;
pub mod packet;
mod pattern;
pub mod pcap;
pub mod ping;
pub mod program;
pub mod qcn;
pub mod reduce;
pub mod request;
pub mod seawall;
pub mod source;
pub mod stamp;
pub mod station;
pub mod streams;
pub mod tally;
pub mod tcp;
pub mod udp;
mod unused;

pub use kind::{Kind, Load, Value};
pub use mac::Mac;
pub use program::{
    Arrival, Begun, Capture, Captures, Desk, Effects, Goodput, HostProgram, Pair, Report, Setup, Side,
    Socket, Sorted, StartError, Started, Taken,
};
pub use unused::Unused;

/// Every kind of workload that a rack file may name.
pub static KINDS: &[&Kind] = &[
    &ping::PING,
    &udp::UDP,
    &pcap::PCAP,
    &udp::POISSON,
    &udp::ON_OFF,
    &udp::ZIPF,
    &request::REQUEST,
    &memcached::MEMCACHED,
    &tcp::TCP,
    &reduce::REDUCE,
    &explicit::RCP,
    &explicit::XCP,
    &explicit::PFABRIC,
    &explicit::D3,
    &qcn::QCN,
    &seawall::SEAWALL,
];
