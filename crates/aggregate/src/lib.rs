//! Key-value pairs of a MapReduce job, reduced on their path through a switch, exactly once (P4COM). State machines without
//! I/O: time and packets are arguments, packets are results. `docs/internals/aggregate.md` has the protocol and its reasons.
//!
//! ```text
//! Mapper ── DATA ──> switch: folds pairs into slots ── OVERFLOW: the pairs that found no slot ──> Reducer
//!        <── ACK ────┘ everything was folded                          OPEN, CLOSE, READ, CLEAR <──┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`op`] | the operators: ADD, MAX, MIN, OR |
//! | [`key`] | where a key belongs: lane, slot and tag |
//! | [`layout`] | sizes that a switch program, its mappers and its reducer agree on |
//! | [`packet`] | the packets, AGG version 3 |
//! | [`pack`] | pairs to rounds of packets, in hash order |
//! | [`estimate`] | how many rounds a job should have |
//! | [`congestion`] | how many packets a mapper may have in flight: ECN, round-trip time, losses |
//! | [`datagram`] | datagrams in frames |
//! | [`mapper`] | the sending side of one channel |
//! | [`reducer`] | the master: generations, boot numbers, banks, commits |
//! | [`program`] | the switch program of jobs, as P4, and its entries |
//! | [`switchml`] | a switch program for SwitchML's workers and their packets |
//! | [`switch`] | what the switch program does, as a model to compare it with |
//! | [`traffic`] | bytes of a whole job on the reducer's link |
//! | [`union`] | an estimate of the distinct keys of several mappers |
//!
//! **Invariant**: a committed round is the exact fold of its pairs, whatever is lost, doubled, overtaken or restarted.
//!
//! **Invariant**: no packet makes a machine panic, or grow beyond what its configuration allows.

pub mod congestion;
pub mod datagram;
pub mod estimate;
pub mod key;
pub mod layout;
pub mod mapper;
pub mod op;
pub mod pack;
pub mod packet;
pub mod program;
pub mod reducer;
mod requests;
pub mod switch;
pub mod switchml;
mod timer;
pub mod traffic;
mod trip;
pub mod union;

pub use congestion::Congestion;
pub use datagram::Datagram;
pub use key::{Place, Slot};
pub use layout::Layout;
pub use mapper::Mapper;
pub use op::Op;
pub use packet::{Kind, Packet, Pair};
pub use reducer::Reducer;
pub use switch::{Direction, Switch};
