//! The commands of `p4rack-experiments`, one file for each.

pub mod bench;
pub mod profile;
pub mod profile_app;
pub mod reproduce;
pub mod traffic;
