//! The state that controllers have written, kept so that it outlives the process: an entity is noted when it changes, and
//! a reply waits until the notes before it are kept.
//!
//! ```text
//! a write changes entities ──> Notes ──> Batch ──> a Store (a file, etcd), several batches at once
//!         its reply ─────────> Waiting ─────────────────────┘ kept: the reply leaves
//! a process that starts <── SavedState <── Kept, the rows that were kept
//! ```
//!
//! A row is an entity by its query, both as P4Runtime's messages; rows in the order of their keys can be written to a
//! switch that has just been started, since what others refer to comes first. The state read back is the same message
//! that `p4rack ctl save` writes. Rows whose key begins with [`MERGE_ROWS`] are the merge's, of a rack: they are no entities, and stay as they are.
//!
//! **Invariant**: rows that were kept are the effect of whole batches, in the order in which they came.

mod batch;
mod kept;
mod notes;
mod store;
mod waiting;

pub use batch::Batch;
pub use kept::{Kept, Unreadable};
pub use notes::Notes;
pub use store::Store;
pub use waiting::Waiting;

/// Name and version of the form of a kept state, and of [`SavedState::format`](p4runtime_proto::p4rack::v1::SavedState::format).
pub const FORMAT: &str = "p4rack state 1";

/// First byte of the keys of what the controller of a rack knows of its devices' counts; ranks of entities are smaller.
pub const MERGE_ROWS: u8 = 0xf0;
