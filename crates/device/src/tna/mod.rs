//! TNA and T2NA, the native architectures of Tofino 1 and 2: parser, control and deparser twice, and the traffic manager
//! between them.
//!
//! ```text
//! frame ─> [metadata, port or resubmit data] frame ─> ingress parser, ingress, ingress deparser
//!                                                                  │ mirror, digest, resubmit, drop
//!            traffic manager: unicast, multicast, copy to CPU  <───┘
//!                  │ bypass_egress ─────────────────────────────────────────────────────> frame
//!                  └─> [metadata] frame ─> egress parser, egress, egress deparser ─> drop, mirror, frame
//! ```
//!
//! The parsers find the switch's metadata before the frame, as on the hardware: nothing else crosses from stage to
//! stage but bytes, and from block to block but headers, the program's metadata and the intrinsic metadata. Sources: the
//! public architecture file of open-p4studio, and the model of p4c's test generator. docs/tna.md lists what the hardware
//! leaves open and what is decided here.

mod filters;
mod generator;
mod half;
mod hash;
mod layout;
mod math;
mod object;
mod packet;
mod pipeline;
mod stages;
mod state;

pub use crate::half::Half;
pub(crate) use generator::Generator;
pub use half::{HalfDone, HalfStart};
pub use hash::HashUnit;
pub use layout::{EGRESS_DEPARSER, INGRESS_DEPARSER, TO_MANAGER, from_parser, generation};
pub(crate) use layout::{Layout, check_pipes};
pub use math::MathUnit;
pub(crate) use object::object;
pub(crate) use pipeline::TofinoSwitch;
