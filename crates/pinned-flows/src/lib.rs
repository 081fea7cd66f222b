//! The flows of a pinned program (`ir-pin`) as they move between the switch and its helpers: what to write to which table, and when.
//!
//! ```text
//! promote 10.1.0.1 -> 198.51.100.1     outbound_resident  insert 10.1.0.1, ... -> admit      each entry that the flow looks up
//!                                      flow_manager       insert 10.1.0.1, ... -> resident   when all are there
//! demote                               flow_manager       delete
//!                                      outbound_resident  delete                              unless another flow needs it
//! ```
//!
//! `flow-control` decides the order of the steps, `ir-touch` finds the entries that a flow looks up in the full [tables](mod@tables).
//! [`PinnedFlows`] joins them, without I/O: requests and ends of steps come in, [`Step`]s go out. Whoever carries a step
//! out may do it several times: writes are idempotent.
//!
//! The copy of a table that is copied whole is kept equal. Writes to such a table count as writes to something that each flow looks up.

mod classify;
mod flows;
mod tables;
mod text;

pub use classify::{Classifier, flow_bytes};
pub use flow_control::flows::MovedTo;
pub use flows::{Ended, PinnedFlows, Refusal, Step, StepId, Work, WriteNumber};
pub use tables::Flow;
pub use text::{flow, short, shown, value, words};
