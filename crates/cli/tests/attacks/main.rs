//! Attacks of hostile, clumsy and unlucky clients on the built command, which has 1 GB of memory: it keeps running,
//! frees the memory it took, and serves others meanwhile. The waits of other clients are printed but not judged, since
//! a test's machine may have other load.
//!
//! The attacks are small; with `P4RACK_ALL=1`, as `./test --all` sets it, they are as large as those that once did
//! harm.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod configs;
mod connections;
mod decoding;
mod entities;
mod externs;
mod frames;
mod honest;
mod labs;
mod leaks;
mod memory;
mod operators;
mod programs;
mod raw;
mod reads;
mod sessions;
mod setup;
mod slow;
