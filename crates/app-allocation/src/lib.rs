//! Allocation of flows: which flows of which app a switch processes, and which its helpers (ExoPlane, section 5).
//!
//! ```text
//! apps: shares of flows, sizes by place ─┐
//! switch: memories                       ├─> items (app, class, flows at the switch) ─> choose ─> Allocation
//! classes of helpers: memories, rates    ┘                                                   └─> why_not, margins
//! ```
//!
//! Flows of an app cost the same, so the most popular ones are at the switch (exchange argument), and an allocation is one number of flows for each app, and the class of helpers that
//! holds all of its flows. Helpers of a class are equal and share flows by a hash, so only the class matters. With `W` an app's share of the traffic, `F(n)` the
//! share of its n most popular flows, and `T` the traffic:
//!
//! ```text
//! minimise    sum over apps of  W (F(n) L_switch + (1 - F(n)) L_class)
//! subject to  sum of units_switch(n)                    <= capacity           each memory of the switch
//!             sum of units_class((1 + replicas) flows)  <= N capacity / (1 + imbalance)
//!             sum of W (1 - F(n)) T                     <= (N - spare) rate / (1 + imbalance)
//! ```
//!
//! `units` are whole blocks, and a part that does not grow counts once. Everything is an integer, so the optimum is exact and the same on every machine.

mod allocate;
mod choose;
mod distribution;
mod drift;
mod margin;
mod multipliers;
mod options;
mod power;
pub mod problem;
mod throughput;
mod why_not;

pub use allocate::{Allocation, AppPlan, NoAllocation, Objective, Used, WHOLE, allocate};
pub use choose::Effort;
pub use distribution::{BadDistribution, Distribution, MOST_FLOWS, MOST_SKEW, ONE};
pub use drift::{Drift, WEIGHT};
pub use margin::{Margin, More, margins};
pub use options::Limit;
pub use problem::{Affinity, App, Class, Object, Place, Problem, Quantum, Row};
pub use why_not::{Alone, Relaxation, TooLarge, WhyNot, why_not};
