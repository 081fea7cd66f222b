//! The user's externs in plans: properties of devices that offer one, and costs of calls.

use plan_model::Prop;
use rack_model::{Call, Device, Rack};
use std::collections::BTreeSet;

/// Externs that the rack's devices offer.
pub(super) fn offered(rack: &Rack) -> impl Iterator<Item = &str> {
    rack.devices.iter().flat_map(|device| &device.externs).map(|name| name.value.as_str())
}

/// Property of a device that offers an extern.
pub(super) fn offer(name: &str) -> Prop {
    format!("offers.{name}").into()
}

/// Property needed by a call of an extern if calls take time.
pub(super) fn call_time(name: &str) -> Prop {
    format!("time.{name}").into()
}

/// Property of a device on which a call has this cost.
pub(super) fn takes(name: &str, call: Call) -> Prop {
    let rate = call.rate.map_or(String::new(), |rate| format!(".{rate}"));
    format!("takes.{name}.{}{rate}", call.time).into()
}

/// Cost of a call of an extern on a device: the device's own, or by default the extern's.
pub fn call_cost(device: &Device, name: &str) -> Call {
    if device.calls.iter().any(|(known, _)| known == name) {
        return device.call(name);
    }
    let declared = netfn_registry::all().value(name).map(|offer| offer.cost);
    Call { time: declared.unwrap_or_default(), ..Call::default() }
}

/// Externs with the cost of a call, for each device that offers them; empty if no call costs anything.
pub(super) fn calls(rack: &Rack) -> BTreeSet<(&str, Call)> {
    let all = rack.devices.iter().flat_map(|device| {
        device.externs.iter().map(|name| (name.value.as_str(), call_cost(device, &name.value)))
    });
    let all: BTreeSet<_> = all.collect();
    let costs = |name: &str| all.iter().any(|(known, call)| *known == name && *call != Call::default());
    all.iter().copied().filter(|(name, _)| costs(name)).collect()
}
