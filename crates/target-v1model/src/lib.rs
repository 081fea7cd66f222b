//! Programs for TNA and T2NA as programs for v1model.
//!
//! ```text
//! TNA       parser, ingress, deparser ──> traffic manager ──> parser, egress, deparser
//! v1model   first pass:  parser of ingress ─> ingress, code of its deparser ─> Manage, Send ─> Leave ─> recirculated
//!           second pass: parser of egress  ─> (to the chosen port)                          ─> egress, code of its deparser ─> Finish
//! ```
//!
//! v1model has one parser, so a packet passes the pipeline twice: ingress sends bytes to egress on Tofino, too. A packet
//! that bypasses egress, or whose egress does nothing, passes once. The traffic manager's knowledge of a packet stays with
//! it in a field list. `skeleton.p4` has the traffic manager as controls.
//!
//! **Invariant**: the packets, registers and counters of the converted program are those of the original one on a device
//! with the same entries. A construct for which this cannot be had is refused with its place.

mod calls;
mod context;
mod convert;
mod deparser;
mod functions;
mod halves;
mod instances;
mod parser;
mod pieces;
mod ports;
mod skeleton;
mod sums;
mod usage;
mod values;

pub use convert::{Converted, convert};
pub use instances::Initial;
pub use skeleton::COPIES;
