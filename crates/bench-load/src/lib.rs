//! The benchmark programs, and what they are run on: entries and packets from a seed.
//!
//! A [`Program`] has its P4 source, the same job in C, and a function that makes a [`Load`] from a [`Shape`]. Everything
//! is drawn from the seed: the same shape gives the same bytes on every machine.
//!
//! ```
//! use bench_load::{Shape, program};
//! let router = program("router").unwrap();
//! let load = (router.load)(&Shape { packets: 100, ..Shape::default() });
//! assert_eq!(load.packets.len(), 100);
//! assert!(load.entries.len() > 1000);
//! ```

mod addresses;
mod entry;
mod frame;
mod program;
mod shape;
pub mod wire;

pub use program::{PROGRAMS, Program, program};
pub use shape::{Shape, Size};

/// The file that all programs include.
pub const HEADERS: &str = include_str!("../../../examples/bench/headers.p4");

/// C sources of the peers: names and texts. `peer.c` is the one to compile.
pub const C_FILES: [(&str, &str); 9] = [
    ("peer.c", include_str!("../../../examples/bench/c/peer.c")),
    ("peer.h", include_str!("../../../examples/bench/c/peer.h")),
    ("checksum.h", include_str!("../../../examples/bench/c/checksum.h")),
    ("crc.h", include_str!("../../../examples/bench/c/crc.h")),
    ("exact.h", include_str!("../../../examples/bench/c/exact.h")),
    ("lpm.h", include_str!("../../../examples/bench/c/lpm.h")),
    ("next_hops.h", include_str!("../../../examples/bench/c/next_hops.h")),
    ("trace.h", include_str!("../../../examples/bench/c/trace.h")),
    ("ternary.h", include_str!("../../../examples/bench/c/ternary.h")),
];

/// Host program of the DPDK pipelines.
pub const SWX_HOST: &str = include_str!("../../../examples/bench/swx/host.c");

/// Entries and packets for a program.
#[derive(Clone, Default, Debug)]
pub struct Load {
    /// Entries.
    pub entries: Vec<p4_entries::Statement>,
    /// Packets, sent in this order, repeatedly.
    pub packets: Vec<Packet>,
}

/// A packet that comes in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Port of arrival.
    pub port: u16,
    /// The frame without its check sequence.
    pub bytes: Vec<u8>,
}
