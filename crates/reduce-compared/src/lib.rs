//! Systems that reduce pairs on their path, beside each other: the same data, the same network in virtual time, each system's packets and machines.
//!
//! | module | holds |
//! |---|---|
//! | [`data`] | words, arrays, and the serial fold that every result is compared with |
//! | [`network`] | hosts, one or two tiers of switches, links with queues, marks and losses |
//! | [`agg`] | AGG's real mappers and reducer around the model of its switch; the same machines without a switch |
//! | [`daiet`] | DAIET as published, and with collisions that overflow |
//! | [`printed`] | P4COM as its paper prints it |
//! | [`switchml`] | SwitchML |
//! | [`trial`] | one job by one system |
//!
//! **Invariant**: the other systems keep the faults of their papers and programs; tests show each of them.

pub mod agg;
pub mod daiet;
pub mod data;
pub mod network;
pub mod printed;
pub mod switchml;
pub mod trial;

pub use data::Data;
pub use network::{Links, Load, Shape};
pub use trial::{Mode, Outcome, Trial};
