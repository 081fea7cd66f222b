//! Cut a program into regions, find the values that cross the cuts, make each device's program.
//!
//! [`STEPS`] lists the steps in their order; `landings` and `auto` mark regions before the first.
//!
//! **Invariant**: nothing is duplicated and nothing is approximated. A packet that resumes on another device behaves as
//! if it had never left, or the split is refused with the value or object that prevents it.

mod access_order;
mod analysis;
mod arch;
mod attempt;
pub mod auto;
mod backward;
mod bypass;
mod check;
mod check_shape;
mod check_spares;
mod describe;
mod detour;
mod expressions;
mod facts;
mod field_lists;
mod fit;
mod flow;
mod forward;
mod generate;
mod group_edge;
mod group_rules;
mod handler_calls;
mod keep_order;
mod landings;
mod layout;
mod leaf_set;
mod mark;
mod name_flows;
mod names;
mod originals;
mod parsed;
mod parsed_again;
mod parser_places;
mod passes;
mod pipeline;
mod place;
mod placement;
mod policies;
mod policy;
mod prepare;
mod refuse;
mod routes;
mod runtime;
mod runtimes;
mod said_group;
mod section;
mod sent_edge;
mod show;
mod split;
mod state;
mod witness;

pub use arch::PORT_BITS;
pub use check::unknown_region;
pub use group_edge::{GroupEdge, GroupEntry};
pub use group_rules::{GroupRules, ScaleRules, Variant};
pub use handler_calls::handler_calls;
pub use landings::landings;
pub use layout::{APP_BITS, EPOCH_BITS, ETHER_TYPE, Form, Layout, LayoutField, LiveField, VERSION};
pub use mark::{Mark, marks};
pub use name_flows::{FlowsOf, name_flows};
pub use pipeline::{STEPS, Step, StepText, Traced, split, trace};
pub use placement::{DeviceIndex, GroupSetup, Length, Order, Placement, Policy, RuntimeName, Site};

pub use said_group::{LedGroup, ServedGroup};
pub use section::{CallEnd, Half, SectionId, SectionKind};
pub use sent_edge::SentEdge;
pub use split::{DeviceProgram, Edge, LastArgs, LinkEntry, Linkage, LiveValue, Part, SectionInfo, Split};
pub use state::uses_in_order;
