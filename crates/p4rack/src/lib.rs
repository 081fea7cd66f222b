//! The compiler and the rack wired together: the one place that knows every crate.
//!
//! [`compile`](mod@compile) is the front end on one screen; [`rack`] goes from a RACK.toml to what each device runs;
//! [`up`] runs it in virtual time; [`run`] runs one program on one device; [`proof`] checks that the split changes nothing.

pub mod analysis;
pub mod bench;
pub mod bmv2;
pub mod captures;
mod chart;
pub mod compile;
pub mod control;
pub mod ctl;
pub mod doctor;
pub mod entries;
pub mod files;
pub mod footprint;
pub mod functions;
pub mod idle;
pub mod lowering;
mod markup;
pub mod nearest;
pub mod overhead;
pub mod p4info;
pub mod paths;
pub mod plan;
pub mod profile;
pub mod proof;
pub mod pushed;
pub mod rack;
pub mod region_graph;
pub mod reparse;
pub mod reproduce;
pub mod run;
pub mod sources;
pub mod traffic;
pub mod up;

pub use bench_load;
pub use compile::{Compiled, Until, compile};
pub use files::Disk;
pub use rack::{Racked, SplitApp, load};
