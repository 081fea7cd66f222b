//! References for protocols that P4 programs implement: their equations in floating point, without tables, registers or headers, and a network
//! of a few lines that runs them. Tests compare the programs, in the emulator, with both.
//!
//! | | |
//! |---|---|
//! | [`codel`] | CoDel as RFC 8289 writes it |
//! | [`d3`] | what a port gives to requests by D3 |
//! | [`hedera`] | demands of large flows, and paths for them |
//! | [`rcp`] | the rate that a port offers, by RCP's two formulas |
//! | [`rcp_network`] | senders, one bottleneck and its queue, packet by packet |
//! | [`xcp`] | the coefficients that a port gives by XCP |
//! | [`statistics`] | completion times of two schemes: distance of distributions, bootstrap intervals |

pub mod codel;
pub mod d3;
pub mod hedera;
pub mod rcp;
pub mod rcp_network;
pub mod statistics;
pub mod xcp;
