//! A group of servers that grows and shrinks while flows pass: every packet of a flow reaches the server that has its state.
//!
//! A hash of the flow gives a bucket, and the bucket's row the server. A bucket that moves keeps its previous server in the row. The
//! current server asks the previous one about each flow that it does not know; if the previous one has it, its packets go there.
//!
//! ```text
//! switch    pin of the flow, else row[hash mod buckets] = { current, previous, epoch }
//!   │ First { previous }
//!   v
//! current ── Probe ──> previous    has the flow: handles it, and Answer { owns } goes back; all later packets are Forwarded
//!         <─ Returned ──           has it not: the current server handles it, then the packets that it held meanwhile
//! Group   ── Settle ──> previous ── Settled { kept } ──>     pins for the flows that are kept, then previous := none
//!         ── Close ───> current  ── Closed ──>               nothing is between the two any more: the bucket may move again
//! ```
//!
//! Links keep the order of frames; all instructions of the controller pass through the switch, after the packets that it sent before.
//! `docs/internals/groups.md` gives the reasons.
//!
//! | module | holds |
//! |---|---|
//! | [`table`] | the switch: rows and pins |
//! | [`server`] | a server: flows that it owns, probes, holds, forwards |
//! | [`group`] | the controller: members, moves of buckets, pins, deaths |
//! | [`leases`] | which member may take numbers of which block |
//! | [`spread`] | which bucket is at which server: fewest moves to the wanted shares |
//! | [`scaling`] | when a group grows or shrinks by itself |
//! | [`wire`] | frames as bytes |
//! | [`filters`] | CLIP's own scheme, two Bloom filters; it is not exact: [`Group::filtered`] |

mod counters;
pub mod filters;
mod flows;
pub mod group;
pub mod leases;
mod roles;
mod row_state;
pub mod scaling;
pub mod server;
pub mod spread;
pub mod table;
pub mod wire;

pub use counters::{Counters, DROPS, Drops};
pub use group::{Command, Group, Refusal};
pub use roles::first_roles;
pub use server::{Effect, Limits, Server};
pub use table::{Dispatch, Row, RowId, Table, Write};

use std::collections::BTreeSet;

/// A server of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Member(pub u16);

/// How a packet came to a server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hop {
    /// From the switch, with the previous server of its row.
    First {
        /// Asked about a flow that is not known.
        previous: Option<Member>,
    },
    /// From the current server, which asks whether the flow is here.
    Probe {
        /// Gets the answer, or the packet.
        back: Member,
        /// Number of the question.
        number: u16,
    },
    /// From the current server, which knows that the flow is here.
    Forwarded {
        /// Gets the packet if the flow has ended.
        back: Member,
    },
    /// From the previous server: the flow is not there.
    Returned {
        /// The previous server.
        from: Member,
    },
}

/// A frame that reaches a server. `F` identifies a flow.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Frame<F, P> {
    /// A packet of a flow. The bucket is always that of the flow's hash.
    Packet { flow: F, bucket: u32, hop: Hop, packet: P },
    /// Does the receiver own the flow? It answers after all that came before. `is_last`: nothing of the flow is forwarded any more, so
    /// that packets that came directly may be handled.
    Ask { flow: F, bucket: u32, from: Member, number: u16, is_last: bool },
    /// The answer to a probe or to [`Frame::Ask`].
    Answer { flow: F, bucket: u32, from: Member, number: u16, owns: bool },
    /// An instruction of the controller.
    Instruction(Instruction<F>),
}

/// An instruction of the controller. Each may come more than once.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Instruction<F> {
    /// The servers that are alive. Those that are missing now have died, or have nothing left.
    Members { version: u32, alive: BTreeSet<Member> },
    /// To the previous server, after the last packet that it got as the current one: report the flows of the row, if they are at most
    /// `most`, and hold their packets that come directly until `current` says that it forwards no more.
    Settle { row: RowId<F>, epoch: u32, current: Member, most: usize },
    /// To the current server, after the last packet that named a previous one: have everything back that went to it. `kept` are the flows
    /// that stay there.
    Close { row: RowId<F>, epoch: u32, previous: Member, kept: Vec<(u32, F)> },
    /// Report those of these pinned flows that are not here any more.
    Check { flows: Vec<(u32, F)> },
    /// Take numbers of these blocks alone ([`leases`]), and report the blocks of which something is left. For the device of the server.
    Lease { version: u32, blocks: leases::Blocks },
}

/// A server's report to the controller.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Report<F> {
    /// The server knows the members.
    Members { version: u32 },
    /// Flows of the row, each with its bucket. All of them are held.
    Settled { row: RowId<F>, epoch: u32, kept: Vec<(u32, F)> },
    /// More flows of the row are alive than were asked for.
    Busy { row: RowId<F>, epoch: u32, count: usize },
    /// Nothing of the row is between the two servers.
    Closed { row: RowId<F>, epoch: u32 },
    /// A pinned flow has ended.
    Ended { bucket: u32, flow: F },
    /// The server takes numbers of the blocks of this version alone. `busy`: blocks of which something is left; `usable`: blocks of the version of which
    /// the device can use numbers.
    Leased { version: u32, busy: leases::Blocks, usable: u32 },
}
