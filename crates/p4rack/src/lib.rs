//! The crates wired together: everything that reads files.
//!
//! [`rack`] goes from a RACK.toml to the program of each device; [`up`] runs it in virtual time; [`run`] runs one
//! program on one device; [`proof`] checks that the split changes nothing.

pub mod allocated;
pub mod bmv2;
pub mod captures;
pub mod compare;
pub mod ctl;
pub mod doctor;
pub mod entries;
pub mod files;
pub mod flows;
pub mod for_bmv2;
pub mod functions;
pub mod groups;
pub mod handlers;
pub mod hot;
pub mod idle;
pub mod job;
pub mod jobs;
pub mod merged;
pub mod pinned;
pub mod program_json;
pub mod proof;
pub mod rack;
pub mod replan;
pub mod run;
pub mod sources;
pub mod traffic;
pub mod up;
pub mod variants;
pub mod views;

pub use files::Disk;
pub use rack::{Racked, SplitApp, load};
