//! What the regions of a program need on a device, and what a cut around each would carry.
//!
//! [`footprint`] counts bits of tables and state objects, [`paths`] what a packet needs on its way; [`analysis`] puts both
//! together for each region, and [`region_graph`] draws it. [`nearest`] looks for a map that can be split beside one that
//! cannot; [`overhead`] counts what the runtime costs in a part.

pub mod analysis;
pub mod footprint;
pub mod nearest;
pub mod overhead;
pub mod paths;
pub mod region_graph;
