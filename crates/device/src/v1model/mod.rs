//! v1model as `simple_switch` runs it: parser, checksums, ingress, traffic manager, egress, deparser.

mod calculations;
mod egress;
mod frames;
mod half;
mod ingress;
mod layout;
mod object;
mod packet;
mod stages;
mod switch;
mod traffic;

pub use calculations::{Calculation, calculations};
pub(crate) use frames::deadline;
pub use half::{Called, Carried, Egress, Ingress, Kept, Received, Work};
pub(crate) use layout::Layout;
pub(crate) use object::object;
pub use packet::{Packet, QueueMetadata};
pub(crate) use switch::V1Switch;
