//! What hostile, clumsy and unlucky clients do to the built command, which has 1 GB of memory: it goes on, gives back what it took,
//! and serves others meanwhile. How long those wait is told and not judged, as a test's machine may do anything else beside.
//!
//! The attacks are small; with `P4RACK_ALL=1`, as `./test --all` sets it, they are as large as those that were found to do harm.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod connections;
mod decoding;
mod externs;
mod leaks;
mod memory;
mod programs;
mod reads;
mod setup;
