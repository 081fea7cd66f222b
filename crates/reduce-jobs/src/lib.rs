//! MapReduce jobs as text, and what runs them.
//!
//! ```text
//! dataset d1 = "10.0.1.1:/data/part1"
//! dataset d2 = "10.0.1.2:/data/part2"
//! mapper  m1 = words(d1)
//! mapper  m2 = words(d2)
//! reducer counts = add(m1, m2, at = "10.0.0.1", rounds = 8)
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`syntax`] | text to statements |
//! | [`job`] | the model of a job |
//! | [`check`] | statements to a job |
//! | [`pairs`] | data to pairs, equal keys combined |
//! | [`network`] | keys and values to the pairs of packets, in chunks, and back |
//! | [`topology`] | hosts, switches, links |
//! | [`plan`] | which switches fold which channels; programs, entries, routes |

pub mod check;
pub mod job;
mod lexer;
pub mod network;
pub mod pairs;
pub mod plan;
mod rounds;
pub mod syntax;
pub mod topology;

pub use check::check;
pub use job::Job;
pub use plan::{Plan, plan};
pub use topology::Topology;
