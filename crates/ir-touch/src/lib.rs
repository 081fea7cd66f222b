//! Touch sets (ExoPlane §4.2): every entry and every miss that a packet of a flow may look up.
//!
//! ```text
//! flow       hdr.ipv4.dst = 10.0.0.2, hdr.ipv4.src = 10.0.0.1
//! touch set  I.nat     10.0.0.1, 10.0.0.2    entry 3
//!            I.routes  10.0.0.2              entry 0
//!            I.checks  192.0.2.1             a miss        the source that entry 3 of I.nat writes
//! ```
//!
//! The reference interpreter runs the program on the full tables, as they are desired. Parts of the union key are given; what a packet
//! has besides is left open. A condition that depends on something open goes both ways: the [program](mod@open) is
//! rewritten so that it takes the next bit of a list of choices, and all lists are tried that lead to different paths. Paths that
//! no packet of the flow takes may be among them, as when two conditions contradict each other, so a touch set may be too large,
//! but never too small.
//!
//! Not supported: programs that clone, resubmit or recirculate packets, sub-parsers, and open conditions in functions.

mod open;
mod slice;
mod touch;

pub use touch::{FlowTables, TooMany, Touched};
