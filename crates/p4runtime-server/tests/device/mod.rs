//! A device that records requests, and fails on demand.

use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::from_text;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, P4Data};
use p4runtime_server::{Builder, Built, Status, Target};
use p4runtime_store::{Catalog, Change, Live, Numbers, Result, Within, fault};
use std::sync::Arc;

/// A device that records requests and sends prepared reports.
#[derive(Default)]
pub struct Device {
    /// Changes, in order, since somebody looked.
    pub changes: Vec<String>,
    /// Changes that are done before one is refused; it works as long as there is no number.
    pub breaks_after: Option<u32>,
    pub digests: Vec<(u32, P4Data)>,
    pub idle: Vec<(u32, EntryKey)>,
    pub counted: Count,
}

impl Live for Device {
    fn counter(&self, _: u32, index: u64) -> Result<Count> {
        Ok(if index == 0 { self.counted } else { Count::default() })
    }

    fn direct_counter(&self, _: u32, _: &EntryKey) -> Result<Count> {
        fault("not asked", "there are none")
    }

    fn register(&self, _: u32, _: u64) -> Result<Data> {
        fault("not asked", "there are none")
    }

    fn since_last_hit(&self, _: u32, _: &EntryKey) -> Result<u64> {
        Ok(7)
    }
}

impl Target for Device {
    fn apply(&mut self, catalog: &Catalog, change: &Change) -> Result<()> {
        match &mut self.breaks_after {
            Some(0) => {
                self.breaks_after = None;
                return fault("the device refused the change", "the device is broken")
                    .code(Code::Unavailable);
            }
            Some(left) => *left -= 1,
            None => {}
        }
        self.changes.push(shown(catalog, change)?);
        Ok(())
    }

    fn take_digests(&mut self, _: &Catalog) -> Vec<(u32, P4Data)> {
        std::mem::take(&mut self.digests)
    }

    fn take_idle(&mut self, _: &Catalog, _: base_time::Time) -> Vec<(u32, EntryKey)> {
        std::mem::take(&mut self.idle)
    }
}

/// A change of a table by its names; others as they are.
fn shown(catalog: &Catalog, change: &Change) -> Result<String> {
    let Change::Entry { table, key, to, .. } = change else { return Ok(format!("{change:?}")) };
    let table = catalog.name_of(control_writes::Kind::Table, *table)?;
    let key: Vec<String> = key.matches.iter().map(|m| format!("{m:?}")).collect();
    let becomes = if to.is_some() { "is set" } else { "is deleted" };
    Ok(format!("{table} [{}] {becomes}", key.join(", ")))
}

/// Makes devices of the text `program`.
pub struct Maker;

impl Builder for Maker {
    type Target = Device;

    fn build(&self, config: &ForwardingPipelineConfig) -> std::result::Result<Built<Device>, Status> {
        if config.p4_device_config != b"program".as_slice() {
            return Err(Status::new(Code::InvalidArgument, "`p4_device_config` is no program"));
        }
        let info = Arc::new(from_text(include_str!("../../testdata/info.txtpb")).expect("P4Info"));
        let numbers = Numbers::of(&info);
        let (plain, memory) = (Arc::clone(&info), u64::MAX);
        Ok(Built { target: Device::default(), plain, info, numbers, initial: vec![], memory })
    }
}
