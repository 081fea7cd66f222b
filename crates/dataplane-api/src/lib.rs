//! The contracts between programs, devices and externs of the user's own.
//!
//! Whoever runs programs (the reference interpreter, the engine) implements [`Device`]; whoever has packets (the
//! emulator, real ports, tests) drives it. Neither knows the other. Time and randomness come in as values.

mod arguments;
mod device;
mod extern_error;
mod frame_extern;
mod leased;
mod registry;
mod snapshot;
mod value_extern;

pub use arguments::{call_arguments, constructor_arguments};
pub use device::{
    Became, Counters, Departed, Device, DropReason, EgressResult, EntryError, Output, Port, QueueRecord,
    Queued, QueuedPacket, Replica,
};
pub use extern_error::ExternError;
pub use frame_extern::{AllEmitted, Emitted, Emitter, FrameExtern, FrameExternFactory, ResumeAt};
pub use leased::Leased;
pub use registry::Registry;
pub use snapshot::{SnapshotReader, SnapshotWriter};
pub use value_extern::{
    Direction, Effect, Form, Method, Mirrored, Mirrors, NoMirrors, SharedCalls, ValueExtern,
    ValueExternFactory, ValueOffer, ValueType,
};
