//! Interfaces of the server to devices.

use crate::status::Status;
use base_time::Time;
use control_writes::EntryKey;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, P4Data, Update};
use p4runtime_store::{Catalog, Change, Live, Numbers, Result};
use std::sync::Arc;

/// A device with a program, or several that look like one.
pub trait Target: Live {
    /// Applies a change, as a whole or not at all. The change has been checked against the P4Info.
    fn apply(&mut self, catalog: &Catalog, change: &Change) -> Result<()>;

    /// The digests that the data plane has sent since the last call, by id; some may be lost.
    fn take_digests(&mut self, catalog: &Catalog) -> Vec<(u32, P4Data)>;

    /// The entries whose idle timeout has expired by `now`, by table; each once until it is hit or its timeout expires again.
    fn take_idle(&mut self, catalog: &Catalog, now: Time) -> Vec<(u32, EntryKey)>;
}

/// Work for another thread.
pub type Ahead = Box<dyn FnOnce() + Send>;

/// A program that ran, to be dropped.
pub type Retired = Box<dyn Send>;

/// Builds devices from configurations.
pub trait Builder {
    /// Kind of device that the builder makes.
    type Target: Target + Send + 'static;

    /// True if a configuration means the running program, regardless of its `p4_device_config`.
    fn keeps(&self, _config: &ForwardingPipelineConfig) -> bool {
        false
    }

    /// The slow part of [`build`](Builder::build), during which frames may pass: after it, `build` is quick. `None` if `build`
    /// is quick anyway.
    fn ahead(&self, _config: &ForwardingPipelineConfig) -> Option<Ahead> {
        None
    }

    /// Drops a replaced program with its entries. Dropping many entries takes long; frames pass meanwhile if it happens on
    /// another thread.
    fn retire(&self, old: Retired) {
        drop(old);
    }

    /// The device that a configuration describes, with the program's own entries and nothing else.
    fn build(&self, config: &ForwardingPipelineConfig) -> std::result::Result<Built<Self::Target>, Status>;
}

/// A newly built device.
pub struct Built<T> {
    /// The device.
    pub target: T,
    /// P4Info of the program.
    pub info: Arc<P4Info>,
    /// The P4Info with all values as numbers, as the device uses it.
    pub plain: Arc<P4Info>,
    /// Limits of numbers in the program's architecture.
    pub numbers: Numbers,
    /// The program's own entries, as if a controller had written them in numbers.
    pub initial: Vec<Update>,
    /// Upper bound of the memory of the program and its entities, in bytes.
    pub memory: u64,
}
