//! Exact placement of region graphs on networks.
//!
//! ```text
//! Model ─ Problem ──> search ──> front of plans         every plan is judged once more by `judge`
//!          │  derivations of each region on each class
//!          │  routes and capacities
//!          └  order of regions
//! ```
//!
//! A plan is worked out region by region. Partial plans (*labels*) with the same regions are compared: one that is no better in
//! any way, up to an exchange of equal devices, is dropped; so is one whose best end is known to be no better than a plan that was found.
//! All numbers are integers; nothing depends on the order of a hash or on how floats round.

mod anneal;
mod bound;
mod cells;
mod charges;
mod compare;
mod cuts;
pub mod derive;
mod equal;
mod expand;
mod explain;
mod fit;
mod forced;
mod front;
mod gap;
mod goal;
mod head;
mod home;
pub mod judge;
mod knapsack;
mod label;
mod least;
mod objective;
mod ordered;
mod outcome;
mod overflow;
mod pack;
mod price;
mod problem;
mod remaining;
mod room;
pub mod route;
mod rows;
mod scarce;
mod scopes;
mod search;
mod state;
pub mod why;
mod within_group;

pub use derive::{Derivation, Proof};
pub use explain::explain;
pub use front::Front;
pub use goal::{Goal, Progress, Stop};
pub use judge::{Judged, Plan, Violation, judge};
pub use objective::{Measure, Objective};
pub use ordered::Ordered;
pub use problem::{Arc, MAX_DEVICES, MAX_REGIONS, Node, Offer, Problem, Settings, Tiers};
pub use scopes::Scopes;
pub use search::{Fault, Found, Switches, search, search_near, search_with};
pub use state::State;
