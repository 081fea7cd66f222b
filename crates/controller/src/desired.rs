//! The desired state, as the device of the northbound server. Only requests that no rack could carry out fail here:
//! agents are asked elsewhere.

use crate::gather::Gathered;
use crate::part::{Planner, RegionMap, Rollout};
use crate::schedule::TaskId;
use base_time::Time;
use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, P4Data};
use p4runtime_server::{Ahead, Builder, Built, Status, Target};
use p4runtime_store::{Catalog, Change, Live, Result, Within, fault};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Makes desired states of configurations.
pub(crate) struct Plans<P> {
    pub(crate) planner: P,
    epoch: Cell<u64>,
}

impl<P> Plans<P> {
    pub(crate) fn new(planner: P) -> Plans<P> {
        Plans { planner, epoch: Cell::new(0) }
    }
}

impl<P: Planner> Plans<P> {
    /// Slow part of the next plan, with the present placement or with this map.
    pub(crate) fn ahead_by(
        &self,
        config: &ForwardingPipelineConfig,
        map: Option<&RegionMap>,
    ) -> Option<Ahead> {
        let ahead = self.planner.ahead(config, map, self.epoch.get() + 1)?;
        // No other plan has this epoch.
        self.epoch.set(self.epoch.get() + 1);
        Some(ahead)
    }
}

/// Desired state of a rack, and its last reports.
pub(crate) struct Desired {
    pub(crate) rollout: Arc<Rollout>,
    pub(crate) catalog: Catalog,
    /// Values of the data planes, as last read.
    pub(crate) gathered: Gathered,
    /// Changes since reads have begun to gather values, by read.
    pub(crate) journals: BTreeMap<TaskId, Vec<Change>>,
    pub(crate) digests: Vec<(u32, P4Data)>,
    pub(crate) idle: Vec<(u32, EntryKey)>,
}

impl<P: Planner> Builder for Plans<P> {
    type Target = Desired;

    fn keeps(&self, config: &ForwardingPipelineConfig) -> bool {
        self.planner.keeps(config)
    }

    fn ahead(&self, config: &ForwardingPipelineConfig) -> Option<Ahead> {
        self.ahead_by(config, None)
    }

    fn build(&self, config: &ForwardingPipelineConfig) -> std::result::Result<Built<Desired>, Status> {
        self.epoch.set(self.epoch.get() + 1);
        let rollout = Arc::new(self.planner.plan(config, self.epoch.get())?);
        let (info, plain) = (rollout.info.clone(), rollout.plain.clone());
        let (initial, numbers, memory) = (rollout.initial.clone(), rollout.numbers, rollout.memory);
        let catalog = Catalog::new(plain.clone());
        let (gathered, journals) = (Gathered::default(), BTreeMap::new());
        let target = Desired { rollout, catalog, gathered, journals, digests: vec![], idle: vec![] };
        Ok(Built { target, info, plain, numbers, initial, memory })
    }
}

impl Target for Desired {
    fn apply(&mut self, _: &Catalog, change: &Change) -> Result<()> {
        if let Change::CloneSession { to: Some(to), .. } = change
            && to.packet_length_bytes > 0
            && !self.rollout.cuts_clones
        {
            let why = "the program is split, and what a truncated clone would be is not known: egress clones \
                       or reads a length that v1model does not count, or the parser does more than extract each \
                       header once, in one order";
            return fault("clones cannot be truncated here", why).code(Code::Unimplemented);
        }
        self.gathered.note(change);
        self.journals.values_mut().for_each(|journal| journal.push(change.clone()));
        Ok(())
    }

    fn take_digests(&mut self, _: &Catalog) -> Vec<(u32, P4Data)> {
        std::mem::take(&mut self.digests)
    }

    fn take_idle(&mut self, _: &Catalog, _: Time) -> Vec<(u32, EntryKey)> {
        std::mem::take(&mut self.idle)
    }
}

impl Live for Desired {
    fn counter(&self, counter: u32, index: u64) -> Result<Count> {
        Ok(self.gathered.counter(counter, index))
    }

    fn counters(&self, counter: u32, cells: Range<u64>, give: &mut dyn FnMut(u64, Count)) -> Result<()> {
        self.gathered.counters(counter, cells, give);
        Ok(())
    }

    fn registers(&self, register: u32, cells: Range<u64>, give: &mut dyn FnMut(u64, Data)) -> Result<()> {
        self.gathered.registers(register, cells, give);
        Ok(())
    }

    fn direct_counter(&self, table: u32, key: &EntryKey) -> Result<Count> {
        Ok(self.gathered.direct_counter(table, key))
    }

    fn register(&self, register: u32, index: u64) -> Result<Data> {
        match self.gathered.register(register, index) {
            Some(data) => Ok(data),
            // No device has it: the program does not use it.
            None => self.catalog.register_zero(register),
        }
    }

    fn memory(&self, object: u32) -> Result<Vec<u8>> {
        Ok(self.gathered.memory(object).unwrap_or_default().to_vec())
    }

    fn since_last_hit(&self, table: u32, key: &EntryKey) -> Result<u64> {
        Ok(self.gathered.since_last_hit(table, key))
    }
}
