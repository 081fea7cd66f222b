//! Union keys (ExoPlane §4.1): which inputs of a packet the keys of a v1model program's tables and objects depend on.
//!
//! ```text
//! meta.port = hdr.tcp.dst;                              // the parser
//! table out { key = { hdr.ipv4.src: exact; meta.port: exact; } ... }        out   hdr.ipv4.src, hdr.tcp.dst
//! action nat(bit<32> addr) { hdr.ipv4.dst = addr; }     // by an entry of out
//! table routes { key = { hdr.ipv4.dst: lpm; } ... }                         routes   hdr.ipv4.dst or data of out
//!                                                                           union key   hdr.ipv4.dst, hdr.ipv4.src, hdr.tcp.dst
//! ```
//!
//! Two packets that are equal in the union key use the same keys, as long as entries are the same: they are one *flow*. The
//! slice follows data, through assignments, calls and copies of whole headers; a condition decides whether a key is used, not which.
//! Data of an entry is a function of the keys that found the entry. What a key may depend on besides packet and entries, such as a clock
//! or a register, is an [`Obstacle`].

mod input;
mod keys;
mod known;
mod union_key;
mod walk;

pub use input::Input;
pub use keys::{Key, Keyed, Keys, Obstacle, Place, keys};
pub use union_key::{Part, ShardKey, Source, Step, UnionKey};
