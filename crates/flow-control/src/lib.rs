//! Flows that move between a switch and its helpers. State machines without I/O.
//!
//! Programs with much state keep all of it at helpers, and a part of it at a fast switch with little memory. Flows whose packets are
//! many are processed at the switch, all others at a helper. These modules decide which, and move flows while packets pass;
//! they know neither P4Runtime nor what the entries mean.
//!
//! | module | decides |
//! |---|---|
//! | [`pending`] | what happens to packets of a flow that nobody has decided about |
//! | [`popularity`] | which flows are worth a place at the switch |
//! | [`moves`] | the order of writes when flows move, and when entries are written that have copies at the switch |
//! | [`merge`] | how copies of a counter on several devices become one value |
//! | [`shards`] | which helper serves a flow, and which one backs it up |

mod copies;
mod locks;
pub mod merge;
pub mod moves;
pub mod pending;
pub mod popularity;
pub mod shards;
