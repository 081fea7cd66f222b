//! Merged registers of a rack that runs: what a device that restarts takes with it, and the traffic of the merge.

use super::switches::Plan;
use controller::{Controller, DeviceId};
use std::collections::BTreeMap;

/// Counts of a failed device that the controller has not received, by register. `counted` gives what the device
/// itself has counted of a register.
pub(super) fn unheard(
    controller: &Controller<Plan>,
    device: DeviceId,
    mut counted: impl FnMut(u32) -> BTreeMap<u64, u128>,
) -> Vec<String> {
    let Some(rollout) = controller.rollout() else { return vec![] };
    let mut lost = vec![];
    for (register, taken) in controller.merge_taken(device) {
        let known = |cell: &u64| taken.get(cell).copied().unwrap_or(0);
        let cells = counted(register).into_iter().filter(|(cell, own)| *own != known(cell)).count();
        let named = rollout.info.registers.iter().filter_map(|register| register.preamble.as_ref());
        let name = named.into_iter().find(|named| named.id == register).map_or("?", |named| &named.name);
        if cells > 0 {
            let s = if cells == 1 { "" } else { "s" };
            lost.push(format!("the last counts of {cells} cell{s} of `{name}` are lost"));
        }
    }
    lost
}
