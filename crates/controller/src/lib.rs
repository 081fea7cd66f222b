//! Many devices as one switch: desired state, ordered writes, rollback. A state machine without I/O.
//!
//! ```text
//! northbound controllers   ══ Call, messages ══> Controller ══ Ask ══> an agent beside each device
//! <══ Output ══════════            <═ Answer, device messages ═════
//! ```
//!
//! Northbound controllers see one P4Runtime server with the whole program's P4Info: [`p4runtime_server::Server`], whose
//! device is the desired state. A call is a [`task`](mod@task): it checks the request against the desired state, asks
//! the agents of the devices concerned, and rolls back if one of them fails. Calls with disjoint resources run
//! concurrently ([`claim`](mod@claim)), others in the order of arrival ([`schedule`](mod@schedule)); the number of
//! waiting calls is bounded.
//!
//! Modules: [`part`] lists each device's objects; `spread` splits an update for the devices and `gather` combines
//! values of their data planes; `work` names the calls, and `write`, `config`, `adopt` and `repair` do them; `state`
//! lasts from one call to the next, `patience` measures response times. [`agent`] carries out requests on one device,
//! with [`lease`] for held frames. [`merged`](mod@merged) makes one value of the copies of a register, with `copies` beside each agent. [`edges`](mod@edges) decides when a device that has failed is used again.

mod adopt;
mod agent;
mod ask;
mod call;
mod cells;
mod claim;
mod config;
mod controller;
mod copied;
mod copies;
mod desired;
mod edge;
mod edges;
mod gather;
mod holdings;
mod idle;
mod lease;
mod limits;
mod merge_calls;
mod merge_rows;
mod merged;
mod numbers;
mod order;
mod part;
mod patience;
mod repair;
mod schedule;
mod spread;
mod stale;
mod state;
mod steer;
mod storing;
mod task;
mod thresholds;
mod timing;
mod trace;
mod trial;
mod watch;
mod work;
mod write;

pub use agent::{Agent, Effect};
pub use ask::{Answer, Ask, AskId, DeviceId, Heard, Holdings, Kinds};
pub use call::{Call, Output, QueueChange, QueueLimit, Reply, Steer, Ticket};
pub use control_writes::PortCount;
pub use controller::Controller;
pub use copies::Copies;
pub use edge::{Edge, EdgeRegisters, shortest};
pub use edges::EdgeState;
pub use failover::Kept;
pub use holdings::everything_held;
pub use lease::Held;
pub use limits::Limits;
pub use merged::{CopyState, MergeState, MergeTraffic};
pub use part::{EdgesTo, Part, PlanChange, Planner, RegionMap, Rollout, TableSizes, Wires};
pub use storing::Rows;
pub use timing::Timing;
pub use trial::Tried;
