//! `runtime = "auto"`: hand-overs carry as little as is exact.
//!
//! ```text
//! no header between any two devices     the position in the link, else in IPv4's fragment offset
//! a header for some devices             as few of them as are found: each in turn goes without one if the split stays possible
//! a header everywhere                   the rest
//! ```
//!
//! Whether hand-overs of a device can go without a header depends on the program and the links alone: the splitter
//! decides, and every choice that it accepts is exact.

use crate::Result;
use ir::Program;
use ir_split::{DeviceIndex, Placement, RuntimeName, Split, split};
use rack_model::{Cable, NodeId, Rack};
use std::collections::{BTreeMap, BTreeSet};

/// Splits a program, with `runtime = "auto"` by the lightest runtime for each device.
pub fn split_lightest(
    rack: &Rack,
    at: usize,
    program: &Program,
    placement: Placement,
) -> Result<(Placement, Split)> {
    let is_auto = rack.apps.get(at).is_some_and(|app| app.runtime == rack_model::Runtime::Auto);
    let mut best: Option<(Placement, Split)> = None;
    let lighter = [RuntimeName::Headerless, RuntimeName::HeaderlessIpv4];
    for runtime in lighter.into_iter().filter(|_| is_auto && !placement.sites.is_empty()) {
        let more_ports = match runtime {
            RuntimeName::Headerless => all_ports(rack, at),
            _ => BTreeMap::new(),
        };
        let start = Placement { runtime, more_ports, ..placement.clone() };
        let Some(found) = with_few_headers(program, &start) else { continue };
        let count = found.0.with_header.len();
        if best.as_ref().is_none_or(|(best, _)| count < best.with_header.len()) {
            best = Some(found);
        }
    }
    if let Some(best) = best {
        return Ok(best);
    }
    let made = split(program, &placement)?;
    Ok((placement, made))
}

/// The split with a header for no device, or for those that do not go without one; none if every device needs it.
fn with_few_headers(program: &Program, start: &Placement) -> Option<(Placement, Split)> {
    let tried = |with_header: BTreeSet<DeviceIndex>| {
        let placement = Placement { with_header, ..start.clone() };
        let made = split(program, &placement).ok()?;
        Some((placement, made))
    };
    if let Some(found) = tried(BTreeSet::new()) {
        return Some(found);
    }
    let devices = start.sites.values().filter_map(|site| site.devices.first());
    let roles: BTreeSet<DeviceIndex> = devices.map(|device| start.role(*device)).collect();
    let mut found = None;
    let mut left: BTreeSet<DeviceIndex> = roles.into_iter().filter(|role| *role != start.origin()).collect();
    for role in left.clone() {
        // Without any, it was tried above.
        if left.len() == 1 {
            break;
        }
        let fewer: BTreeSet<_> = left.iter().copied().filter(|other| *other != role).collect();
        if let Some(better) = tried(fewer.clone()) {
            (found, left) = (Some(better), fewer);
        }
    }
    found
}

/// The ports of all links between two devices of an app.
pub(crate) fn all_ports(rack: &Rack, at: usize) -> BTreeMap<(DeviceIndex, DeviceIndex), Vec<u64>> {
    let mut ports: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for Cable { ends: [a, b], .. } in rack.cables() {
        let (NodeId::Device(from), NodeId::Device(to)) = (a.node, b.node) else { continue };
        if rack.is_of(from, at) && rack.is_of(to, at) {
            for (start, end, port) in [(from, to, a.port), (to, from, b.port)] {
                ports.entry((DeviceIndex(start.0), DeviceIndex(end.0))).or_default().push(port.into());
            }
        }
    }
    ports
}
