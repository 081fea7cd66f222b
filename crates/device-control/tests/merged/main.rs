//! Merged registers, counters and direct counters on a switch and its helpers.

mod entries;
mod exact;
mod killed;
#[path = "../parts/mod.rs"]
mod parts;
mod program;
mod rig;
mod values;
