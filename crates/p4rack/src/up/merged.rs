//! Merged objects of a rack that runs: what a device that restarts takes with it, and the traffic of the merge.

use controller::{Controller, DeviceId};
use std::collections::{BTreeMap, BTreeSet};

/// Counts of a failed device that the controller has not received, by object. `incarnation` and `counted` are its
/// agent's.
pub(super) fn unheard(
    controller: &Controller,
    device: DeviceId,
    incarnation: u64,
    mut counted: impl FnMut(u32) -> BTreeMap<u64, u128>,
) -> Vec<String> {
    let Some(rollout) = controller.rollout() else { return vec![] };
    let mut lost = vec![];
    for (object, taken) in controller.merge_taken(device, incarnation) {
        let known = |cell: &u64| taken.get(cell).copied().unwrap_or(0);
        let is_counter = rollout.merged_counters.contains(&object);
        let cells = counted(object).into_iter().filter(|(cell, own)| *own != known(cell));
        // A counter's cell, and that of an entry, has packets and bytes.
        let cells: BTreeSet<u64> = cells.map(|(cell, _)| if is_counter { cell / 2 } else { cell }).collect();
        let name = rollout.object_name(object);
        if !cells.is_empty() {
            let s = if cells.len() == 1 { "" } else { "s" };
            lost.push(format!("the last counts of {} cell{s} of `{name}` are lost", cells.len()));
        }
    }
    lost
}
