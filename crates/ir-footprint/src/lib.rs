//! Needs of a program's regions on a device, and the values that a cut around each would carry.
//!
//! [`footprint`] counts bits of tables and state objects, [`paths`] the needs of a packet on its path; [`analysis`]
//! combines both for each region, and [`region_graph`] draws it. [`nearest`] looks for a map that can be split near one
//! that cannot; [`overhead`] counts the costs of the runtime in a part.

pub mod analysis;
pub mod footprint;
pub mod nearest;
pub mod overhead;
pub mod paths;
pub mod region_graph;
