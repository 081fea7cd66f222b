//! Union keys (ExoPlane §4.1): the inputs of a packet on which the keys of a v1model program's tables and objects depend.
//!
//! ```text
//! meta.port = hdr.tcp.dst;                              // the parser
//! table out { key = { hdr.ipv4.src: exact; meta.port: exact; } ... }        out     hdr.ipv4.src, hdr.tcp.dst
//! action nat(bit<32> addr) { hdr.ipv4.dst = addr; }     // of an entry of out
//! table routes { key = { hdr.ipv4.dst: lpm; } ... }                         routes  hdr.ipv4.dst or the entry of out
//!                                                                           union key  hdr.ipv4.dst, hdr.ipv4.src, hdr.tcp.dst
//! ```
//!
//! Packets that are equal in the union key are one *flow*: they use the same keys, as long as entries are the same. The
//! slice follows data, through assignments, calls and copies of headers. A condition decides whether a key is used, or which of two
//! values it has; the inputs of conditions are listed apart ([`Keys::conditions`]). The entry that a packet hits is a function of the
//! keys that found it. A key that depends on more than packet and entries, such as a clock or a register, is an [`Obstacle`].

mod again;
mod annotations;
mod calls;
mod formula;
mod input;
mod keys;
mod known;
mod roots;
mod shards;
mod text;
mod union_key;
mod values;
mod walk;

pub use formula::{Choice, Hash, Hashed, Part as HashedPart, Test};
pub use input::{Input, Inputs};
pub use keys::{Affinity, Key, Keyed, Keys, Obstacle, Place, Reason, keys};
pub use roots::param_of;
pub use shards::{Sharding, shardings};
pub use union_key::{Part, ShardKey, Source, Step, UnionKey};
