//! Ports as batches of frames, and the loop that receives, runs and sends them.
//!
//! ```text
//!             ┌─ lane, a thread ─────────────────────────────────┐
//! Source ───> │ Batch ──> target_native::Worker ──> by port      │ ───> Sink
//! Source ───> │   └─ what a worker cannot do alone ─> Passed     │ ───> Sink
//!             └──────────────────────────────────────────────────┘
//! ```
//!
//! A [`Source`] gives frames in batches, a [`Sink`] takes them; each kind of port is a file:
//! [`capture`](CaptureSource), [`cable`], [`tap`](Tap), [`udp`](Udp), and interfaces by packet sockets or AF_XDP.
//! [`Lanes`] run to completion: a lane receives a batch, runs it and sends the results before it receives the next.
//! A run in virtual time has its frames from a [`TimedSource`], and writes them to [`CaptureFiles`].
//!
//! **Invariant**: frames stay in order from one source to one sink: a source belongs to one lane, and the results of a
//! packet are sent before those of later packets.
//!
//! **Invariant**: no frame is lost without being counted, by its port or by the lane.
//!
//! **Invariant**: a frame is copied where it enters memory and where it leaves it, and nowhere else. Cables hand over whole buffers; a socket reads
//! into the buffer in which the engine works.

// This is where frames come from: devices and time are outside of it.
#![allow(clippy::disallowed_methods)]

mod afxdp;
mod batch;
mod by_port;
mod cable;
mod capture;
mod capture_files;
mod lane;
mod lanes;
mod leaving;
mod link;
mod losses;
mod outlet;
mod packet;
mod path;
mod port;
mod recorded;
mod sampler;
mod spec;
mod tap;
mod timed;
mod tray;
mod udp;

pub use batch::{BATCH, Batch};
pub use cable::{Cable, Carrier, RingSink, RingSource, cable};
pub use capture::{CaptureSink, CaptureSource};
pub use capture_files::{CaptureFiles, Unwritable};
pub use control_writes::PortCount;
pub use lanes::{Lanes, Paused};
pub use losses::QUEUE_FULL;
pub use outlet::Ports;
pub use path::{Passed, Path};
pub use port::{Sink, Source, Wait};
pub use sampler::{Sample, Sampled, Sampler, Sampling};
pub use spec::{PortError, PortKind, PortSpec};
pub use tap::Tap;
pub use timed::{Filled, Moment, Results, TimedFrame, TimedSource};
pub use udp::Udp;
