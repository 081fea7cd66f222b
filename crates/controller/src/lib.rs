//! Many devices as one switch: desired state, ordered writes, rollback. A state machine without I/O.
//!
//! ```text
//! controllers of the north ══ Call, messages ══> Controller ══ Ask ══> an agent beside each device
//!                          <══ Output ══════════            <═ Answer, what a device tells ═
//! ```
//!
//! The north sees one P4Runtime server with the whole program's P4Info: [`p4runtime_server::Server`], whose device is the
//! desired state. A call is a [`task`](mod@task): it checks the request against the desired state, asks the agents of the devices
//! that hold a part of what is written, and either all have done it or everything is as it was. Calls that touch different
//! things are done at one time ([`claim`](mod@claim)), others in the order in which they come ([`schedule`](mod@schedule)); what waits is bounded.
//!
//! The way through the modules: [`part`] says what each device holds; `spread` takes an update apart for the devices and
//! `gather` brings together what their data planes have written; `work` names the calls, and `write`, `config`, `adopt` and `repair` do them; `state` has all
//! that lasts from one call to the next, `patience` how long answers take. [`agent`] is the other side: asks to a server that
//! steers one device, with [`lease`] for how long it keeps frames out.

mod adopt;
mod agent;
mod ask;
mod call;
mod claim;
mod config;
mod controller;
mod desired;
mod gather;
mod holdings;
mod idle;
mod lease;
mod part;
mod patience;
mod repair;
mod schedule;
mod spread;
mod state;
mod steer;
mod task;
mod timing;
mod trace;
mod work;
mod write;

pub use agent::{Agent, Effect};
pub use ask::{Answer, Ask, AskId, DeviceId, Heard, Holdings, Kinds};
pub use call::{Call, Output, Reply, Steer, Ticket};
pub use control_writes::PortCount;
pub use controller::Controller;
pub use holdings::everything_held;
pub use lease::Held;
pub use part::{Part, Planner, RegionMap, Rollout, Wires};
pub use timing::Timing;
