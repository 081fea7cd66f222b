//! Experiments and measurements.
//!
//! [`bench`] runs the data plane beside its peers, [`profile`] measures the rates that network functions sustain on
//! this machine, and [`reproduce`] repeats the figures and tables of papers in the emulator. [`command`] has the command lines.

pub mod bench;
pub mod command;
pub mod profile;
pub mod reproduce;

pub use bench_load;
