//! P4Runtime 1.5 as a state machine without I/O.
//!
//! ```text
//! controllers ──message, write, read, set_config──> Server ──Change──> Target, a device
//!             <─────────── Output, Status ─────────
//! ```
//!
//! A [`Server`] owns the entities that controllers have written (`p4runtime-store`) and the device, which a [`Builder`]
//! makes from a configuration. Its caller, a gRPC service or a test, passes requests, streams, frames and time, and
//! carries out the [`Output`]s.

mod arbitration;
mod batch;
mod config;
mod configured;
mod digests;
mod journal;
mod outcomes;
mod packet_io;
mod pieces;
mod reading;
mod reads;
mod replay;
mod requests;
mod roles;
mod server;
mod status;
mod target;

pub use arbitration::StreamId;
pub use batch::SLICE;
pub use config::Prepared;
pub use outcomes::Outcomes;
pub use pieces::Pieces;
pub use reading::{Read, Reading};
pub use requests::LiveQueries;
pub use server::{Output, Server};
pub use status::Status;
pub use target::{Ahead, Builder, Built, Retired, Target};
