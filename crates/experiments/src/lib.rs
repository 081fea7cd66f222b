//! What is measured.
//!
//! [`bench`] runs the data plane beside its peers, [`profile`] measures what network functions bear on this machine, and
//! [`reproduce`] repeats the figures and tables of papers in the emulator.

pub mod bench;
pub mod profile;
pub mod reproduce;

pub use bench_load;
