//! PSA by its specification (P4.org PSA 1.2): two pipelines of parser, control and deparser, around the packet
//! replication engine and before the queues.
//!
//! Differences from BMv2's `psa_switch`, where the specification is followed here: the ingress deparser runs for every
//! packet, dropped and resubmitted ones included (§6.2), a resubmitted packet keeps its ingress port, metadata from the
//! deparsers reaches the parsers (resubmit, recirculate and clone metadata), sessions have a class of service and can
//! truncate, a direct counter counts where `count` is called, misses for the default action, meters are colour-aware.
//! Values that the specification leaves undefined are zero.

mod half;
mod layout;
mod object;
mod packet;
mod pipeline;
mod stages;

pub use crate::half::Half;
pub use half::{HalfDone, HalfStart};
pub(crate) use layout::Layout;
pub(crate) use object::object;
pub(crate) use pipeline::PsaSwitch;
