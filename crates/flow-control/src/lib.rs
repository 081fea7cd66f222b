//! Flows that move between a switch and its helpers. State machines without I/O.
//!
//! Programs with much state keep all of it at helpers, and a part of it at a fast switch with little memory. Flows with
//! many packets are processed at the switch, all others at a helper. These modules choose the flows, and move them
//! while packets pass; they know neither P4Runtime nor the meaning of entries.
//!
//! | module | decides |
//! |---|---|
//! | [`flows`] | what happens to a flow from its first packet to its last: joins the following |
//! | [`pending`] | packets of a flow that wait for a decision |
//! | [`popularity`] | which flows are worth a place at the switch |
//! | [`sketch`] | which flows of a helper have many packets |
//! | [`moves`] | the order of writes when flows move, and when entries are written that have copies at the switch |
//! | [`merge`] | how copies of a counter on several devices become one value |
//! | [`shards`] | which helper serves a flow, and which one backs it up |
//!
//! [`history`] checks recorded histories of writes and packets.

mod copies;
pub mod flows;
pub mod history;
mod locks;
pub mod merge;
pub mod moves;
pub mod pending;
pub mod popularity;
pub mod shards;
pub mod sketch;
