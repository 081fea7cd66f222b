//! The contracts between programs, devices and frame externs.
//!
//! Whoever runs programs (the reference interpreter, the engine) implements [`Device`]; whoever has packets (the
//! emulator, real ports, tests) drives it. Neither knows the other. Time and randomness come in as values.

mod arguments;
mod device;
mod frame_extern;
mod snapshot;

pub use arguments::{call_arguments, constructor_arguments};
pub use device::{
    Counters, Device, DropReason, EgressResult, EntryError, Output, Port, QueueRecord, Queued, QueuedPacket,
    Replica,
};
pub use frame_extern::{
    AllEmitted, Emitted, Emitter, FrameExtern, FrameExternError, FrameExternFactory, Registry, ResumeAt,
};
pub use snapshot::{SnapshotReader, SnapshotWriter};
