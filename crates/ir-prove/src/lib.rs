//! Check that a split program equals the whole one.
//!
//! A [`Case`] is a program and its split. [`prove`] draws entries and packets from the program ([`generate`]), runs
//! both, and reports the first difference. [`mutants`] breaks a split on purpose: a proof that lets a mutant live
//! proves nothing.

pub mod case;
mod describe;
pub mod generate;
pub mod mutants;
pub mod network;
mod prove;
pub mod same;

pub use case::{Case, Part, SetupError, link};
pub use prove::{Difference, Effort, Failure, Tried, prove};
pub use same::{SameEffort, Unlike, same};
