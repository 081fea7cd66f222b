//! Check that a split program equals the whole one.
//!
//! A [`Case`] is a program and its split. [`prove`] draws entries and packets from the program ([`generate`]), runs
//! both, and reports the first difference. [`prove_disturbed`] loses hand-overs and changes the plan meanwhile. [`mutants`] breaks a split on purpose, [`faults`] the splitter: a
//! proof that lets one live proves nothing.

pub mod case;
mod describe;
mod disturbed;
mod environment;
pub mod faults;
pub mod generate;
pub mod mutants;
mod prove;
mod record;
pub mod same;
mod split_run;
mod watched;
pub mod whole;

pub use case::{Case, SetupError, link};
pub use disturbed::prove_disturbed;
pub use environment::Answers;
pub use prove::{Difference, Effort, Failure, Tried, prove};
pub use record::{Cause, Record, Transaction};
pub use same::{SameEffort, Unlike, same};
pub use split_run::{Conditions, SplitRun, Unsettled};
