//! Experiments and measurements.
//!
//! [`bench`] runs the data plane beside its peers, [`profile`] measures the rates that network functions sustain on
//! this machine, [`app_profile`] the resources and the speed of a program, and [`reproduce`] repeats the figures and tables of papers in the emulator. [`command`] has the command lines.

pub mod app_profile;
pub mod bench;
pub mod command;
pub mod profile;
pub mod reproduce;

pub use bench_load;
