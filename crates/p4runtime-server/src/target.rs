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
    /// Does a change, as a whole or not at all. It has been checked against the P4Info.
    fn apply(&mut self, catalog: &Catalog, change: &Change) -> Result<()>;

    /// The digests that the data plane sent since the last time, by their ids; some may be lost.
    fn take_digests(&mut self, catalog: &Catalog) -> Vec<(u32, P4Data)>;

    /// The entries that were idle for their time by `now`, by table; each once until it is hit or idle again.
    fn take_idle(&mut self, catalog: &Catalog, now: Time) -> Vec<(u32, EntryKey)>;
}

/// Work for another thread.
pub type Ahead = Box<dyn FnOnce() + Send>;

/// A program that ran, to be dropped.
pub type Retired = Box<dyn Send>;

/// Makes devices of configurations.
pub trait Builder {
    /// Kind of device that it makes.
    type Target: Target + Send + 'static;

    /// True if a configuration means the program that runs, whatever its `p4_device_config` is.
    fn keeps(&self, _config: &ForwardingPipelineConfig) -> bool {
        false
    }

    /// Slow part of [`build`](Builder::build), so that frames pass meanwhile: after it, `build` is quick. `None` if it
    /// is quick anyway.
    fn ahead(&self, _config: &ForwardingPipelineConfig) -> Option<Ahead> {
        None
    }

    /// Drops a program that ran, with all of its entries. That takes long if there are many, and frames pass meanwhile if it is done on
    /// another thread.
    fn retire(&self, old: Retired) {
        drop(old);
    }

    /// The device that a configuration describes, with the program's own entries and nothing else.
    fn build(&self, config: &ForwardingPipelineConfig) -> std::result::Result<Built<Self::Target>, Status>;
}

/// A device, new.
pub struct Built<T> {
    /// The device.
    pub target: T,
    /// P4Info of the program.
    pub info: Arc<P4Info>,
    /// The P4Info with all values as numbers, as the device uses it.
    pub plain: Arc<P4Info>,
    /// The numbers that the program's architecture has room for.
    pub numbers: Numbers,
    /// The program's own entries, as if a controller had written them in numbers.
    pub initial: Vec<Update>,
    /// Limit for the memory that the program and its entities take, in bytes.
    pub memory: u64,
}
