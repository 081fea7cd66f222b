//! Check that a split program equals the whole one.
//!
//! A [`Case`] is a program and its split. [`prove`] draws entries and packets from the program ([`generate`]), runs
//! both, and reports the first difference. [`mutants`] breaks a split on purpose, [`faults`] the splitter: a
//! proof that lets one live proves nothing.

pub mod case;
mod describe;
mod environment;
pub mod faults;
pub mod generate;
pub mod mutants;
pub mod network;
mod prove;
pub mod same;
pub mod whole;

pub use case::{Case, SetupError, link};
pub use environment::Answers;
pub use prove::{Difference, Effort, Failure, Tried, prove};
pub use same::{SameEffort, Unlike, same};
