//! Programs for v1model as programs for TNA, so that a Tofino can run them.
//!
//! ```text
//! v1model   parser ─> ingress ─> traffic manager ─> egress ─> deparser
//! TNA       TofinoParser: parser ─> TofinoIngress: ingress, choice of the port, egress ─> TofinoDeparser: deparser ─> traffic manager
//! ```
//!
//! The blocks of the program stay as they are, with their tables' names, and blocks for TNA apply them. `egress` runs before the traffic manager,
//! which is the same for a packet with one destination; the packet then bypasses the egress pipeline.
//!
//! **Invariant**: for the same entries, the new program sends the same packets, and has the same registers and counters, except
//! for packets that the parser rejects: a Tofino drops them. A construct for which this cannot be had is refused with its place.

mod accesses;
mod bridge;
mod carries;
mod check;
mod checksums;
mod conditions;
mod convert;
mod digests;
mod direct_counters;
mod externs;
mod fences;
mod frame;
mod hashes;
mod lengths;
mod original;
mod parser_bits;
mod parser_errors;
mod parser_masks;
mod parser_writes;
mod remainders;
mod selectors;
mod steps;
mod sums;
mod times;
mod verified;

pub use convert::{Converted, Options, convert};
