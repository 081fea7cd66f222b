//! Packet pinning (ExoPlane §3 and §4): from a program, one that processes each packet either at the switch or at helpers.
//!
//! The pinned program is an ordinary one. The splitter cuts it at its region, and the interpreter gives it a meaning.
//!
//! ```text
//! if (meta.pinned == 0) {
//!     if (flow_manager.apply().miss) { hash(meta.shard, HashAlgorithm.crc32, 16w0, { ... }, 16w6); }
//! }
//! if (meta.pinned == 1) {
//!     the body, over the resident copies: sessions_resident.apply(); ...
//! } else {
//!     @region("external") { the body: sessions.apply(); ... }
//! }
//! ```
//!
//! **Contract.** Say that a flow's packets have the same key of the flow manager. If every entry that packets of the resident flows hit is in
//! the resident copies, and the resident copies have no other entries than the originals, the pinned program does what the program does: the
//! same frames, digests and drops, and the values of each merged object and its copy together are those of the object.
//!
//! Egress, the parser and the checksums run at the switch for all packets, and so do their tables and objects.
//!
//! A packet that comes to ingress again, by a resubmission or recirculation, stays where it was: `pinned` and `shard` are in every field list
//! that the program names. The flow manager could have changed meanwhile, and the packet would be split over two devices.

mod body;
mod copies;
mod hot;
mod key;
mod merged;
mod metadata;
mod objects;
mod pin;
mod request;

pub use hot::{hot, look_up};
pub use pin::pin;
pub use request::{Affinity, CopyOf, Pinned, Request, Resident, Shards};

/// Appended to the name of a table, action or object: its copy for resident flows.
pub const SUFFIX: &str = "_resident";
