//! Planning problems as data.
//!
//! ```text
//! variables with units ─┐
//! rules ────────────────┼─> Model ──> plan-search
//! programs, region graphs ──┤
//! devices, ports, links ┘
//! ```
//!
//! [`read_rules`] reads the text form of variables and rules; [`flightplan`] the original files of Flightplan's
//! planner.

pub mod flightplan;
mod model;
mod names;
mod quantity;
mod rule;
mod rule_text;
mod signature;

pub use model::{App, Device, Edge, Link, Model, Port, Region};
pub use names::find_name;
pub use quantity::{Factor, Unit};
pub use rule::{Bound, Change, Compare, Effect, Prop, Rule, print_effect, print_rule, print_rules};
pub use rule_text::{MAX_VARIABLES, read_rules};
pub use signature::{ROLES, Role, Scope, Signature, VarId, Variable};
