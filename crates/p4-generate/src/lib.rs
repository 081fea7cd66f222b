//! Random programs, and what every program has to satisfy.
//!
//! [`generate`] makes a well-typed, terminating v1model program from a seed; [`inputs`] fills its tables and draws
//! packets for it; [`check`] compiles it, prints it, runs both, and reports the first difference; [`shrink`] makes a
//! program with a difference small; [`killed`] and [`hunt`] report how soon a broken pass is
//! noticed. The same seed gives the same program, packets and verdict on every machine.

pub mod check;
mod config;
mod feature;
pub mod inputs;
pub mod merged;
mod mutants;
pub mod pinned;
mod program;
mod shrink;
pub mod split;
mod stf;
mod text;
mod tree;

pub use config::Config;
pub use feature::{Coverage, Feature};
pub use mutants::{MISREADINGS, Misreading, Mutant, hunt, hunt_native, killed, mutants};
pub use program::{Generated, generate};
pub use shrink::{Shrunk, shrink};
