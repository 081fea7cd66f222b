//! The state of a switch in etcd, for several controllers of which one leads.
//!
//! ```text
//! p4rack/NAME/leader/LEASE              a candidate: seconds of its lease, and its process; the one that was created first leads
//! p4rack/NAME/state/mark                number of the last transaction of a leader
//! p4rack/NAME/state/format              "p4rack state 1"
//! p4rack/NAME/state/generation          the program that runs: a new one has a new number, and rows of its own
//! p4rack/NAME/state/program/G/PIECE     p4.v1.ForwardingPipelineConfig
//! p4rack/NAME/state/rows/G/KEY/PIECE    rank, query -> p4.v1.Entity
//! p4rack/NAME/state/journal/NUMBER      transactions of a batch that does not fit into one
//! ```
//!
//! [`seek`] returns when this process leads. [`StateEtcd`] then reads the state and keeps batches. A batch is one
//! transaction. A larger one is written to the journal first, and a leader that finds a whole journal executes it again.
//! Both make their calls through a [`Cluster`]: [`Members`] is one over gRPC, and tests have one in virtual time.
//!
//! A leader writes its key four times in the length of its lease. Its key goes with the lease, or when the next candidate has not seen it change for
//! the lease's length: a new leader of etcd extends all leases.
//!
//! **Invariant**: a transaction takes effect only while its writer leads, at most once, and in the order of its writer's
//! transactions, however long it was under way: it compares the leader's key and the mark.

#![allow(clippy::disallowed_methods)]

mod access;
mod cluster;
mod layout;
mod leader;
mod leading;
mod members;
mod place;
mod store;

pub use cluster::{Cluster, EtcdError};
pub use layout::Layout;
pub use leader::{Lead, seek};
pub use leading::Leading;
pub use members::Members;
pub use place::{EtcdPlace, EtcdTls, EtcdUser};
pub use store::StateEtcd;

/// The part of etcd's API that a controller uses, generated.
#[allow(missing_docs, clippy::all)]
pub mod api {
    include!("../generated/client/etcdserverpb.rs");
}
