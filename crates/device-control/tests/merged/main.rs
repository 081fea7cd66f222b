//! Merged registers and counters on a switch and its helpers.

mod exact;
mod killed;
mod program;
mod rig;
mod values;
