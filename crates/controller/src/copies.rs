//! Objects with copies on several devices, beside the agent of one of them: what it has counted, and what it shows of the others'.

use crate::cells::Cells;
use flow_control::merge::{Agent, HubMessage, Kind, ToDevice, ToHub};
use p4runtime_server::Target;
use p4runtime_store::Store;
use std::collections::BTreeMap;

/// Copies of the program that runs.
#[derive(Default)]
pub struct Copies {
    /// The newest hub that has been heard.
    hub: u64,
    /// Number of the program among those that the device has run.
    program: u64,
    /// Incarnation of the program: larger than that of any earlier one.
    incarnation: u64,
    objects: BTreeMap<u32, Agent<u64>>,
    refused: u64,
}

impl Copies {
    /// Handles a hub's message to the device that runs its `program`th program. `now_us` is a time that goes on when the device begins
    /// anew. Gives the answer, if one is asked for.
    pub fn hear<T: Target>(
        &mut self,
        now_us: u64,
        program: u64,
        (store, target): (&Store, &mut T),
        frame: &[u8],
    ) -> Option<Vec<u8>> {
        let Some(message) = ToDevice::of(frame) else {
            self.refused += 1;
            return None;
        };
        if message.hub < self.hub {
            // It has ended; if it has not, its clock has gone back.
            self.refused += 1;
            return Some(ToHub { hub: self.hub, round: 0, objects: vec![] }.bytes());
        }
        if program != self.program || self.incarnation == 0 {
            // A clock may have gone back: the hub knows the incarnation before.
            let hub_message = message.objects.iter().map(|(.., hub_message)| match hub_message {
                HubMessage::Pull { incarnation, .. } => *incarnation,
                HubMessage::Merge(merge) => merge.incarnation,
            });
            let before = hub_message.max().unwrap_or(0).max(self.incarnation);
            let incarnation = now_us.max(before).saturating_add(1);
            let (hub, refused) = (message.hub, self.refused);
            *self = Copies { hub, program, incarnation, objects: BTreeMap::new(), refused };
        }
        if message.hub > self.hub {
            self.hub = message.hub;
            self.objects.values_mut().for_each(Agent::begin_with_another_hub);
        }
        let mut pushes = vec![];
        for (id, operator, hub_message) in message.objects {
            let Some(cells) = Cells::of(store.catalog(), id) else { continue };
            let entries = cells.entries(id, store);
            let is_here = |cell: &u64| cells.is_here(*cell, &entries);
            let kind = Kind { operator, width: cells.width };
            let copy = self.objects.entry(id).or_insert_with(|| Agent::new(kind, self.incarnation));
            match hub_message {
                HubMessage::Pull { incarnation, seen } => {
                    copy.named(incarnation, seen);
                    copy.keep(is_here);
                    pushes.push((id, copy.push_all(&cells.shown(id, &entries, target))));
                }
                HubMessage::Merge(merge) => {
                    copy.keep(is_here);
                    for (cell, change) in copy.merge_some(&merge, is_here) {
                        let Some(shown) = cells.one((id, cell), &entries, target) else { continue };
                        let change = cells.change((id, cell), kind.after(shown, change), &entries, target);
                        // The cell was read, and it has this width.
                        change.into_iter().for_each(|change| drop(target.apply(store.catalog(), &change)));
                    }
                }
            }
        }
        (!pushes.is_empty()).then(|| ToHub { hub: self.hub, round: message.round, objects: pushes }.bytes())
    }

    /// Messages that were malformed, or of a hub that has ended.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The number under which the device's `program`th program counts; 0 as long as no hub has asked.
    pub fn incarnation(&self, program: u64) -> u64 {
        if program == self.program { self.incarnation } else { 0 }
    }

    /// The own counts of the device's `program`th program in an object's cells that are not zero.
    pub fn counted<T: Target>(
        &self,
        program: u64,
        id: u32,
        (store, target): (&Store, &mut T),
    ) -> BTreeMap<u64, u128> {
        let Some(cells) = Cells::of(store.catalog(), id) else { return BTreeMap::new() };
        let shown = cells.shown(id, &cells.entries(id, store), target).into_iter();
        match self.objects.get(&id).filter(|_| program == self.program) {
            Some(copy) => shown.map(|(cell, shown)| (cell, copy.counted(&cell, shown))).collect(),
            None => shown.collect(),
        }
    }
}
