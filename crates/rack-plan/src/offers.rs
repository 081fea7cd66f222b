//! Frame externs in plans: what holds on a device that offers one, and what a call costs there.

use plan_model::Prop;
use rack_model::{Call, Rack};
use std::collections::BTreeSet;

/// Frame externs that the rack's devices offer.
pub(super) fn offered(rack: &Rack) -> impl Iterator<Item = &str> {
    rack.devices.iter().flat_map(|device| &device.externs).map(|name| name.value.as_str())
}

/// What holds on a device that offers a frame extern.
pub(super) fn offer(name: &str) -> Prop {
    format!("offers.{name}").into()
}

/// What a call of a frame extern needs besides, where calls take time.
pub(super) fn call_time(name: &str) -> Prop {
    format!("time.{name}").into()
}

/// What holds on a device on which a call costs so much.
pub(super) fn takes(name: &str, call: Call) -> Prop {
    let rate = call.rate.map_or(String::new(), |rate| format!(".{rate}"));
    format!("takes.{name}.{}{rate}", call.time).into()
}

/// Frame externs with what a call costs, on each device that offers them; none if no call costs anything.
pub(super) fn calls(rack: &Rack) -> BTreeSet<(&str, Call)> {
    let all = rack
        .devices
        .iter()
        .flat_map(|device| device.externs.iter().map(|name| (name.value.as_str(), device.call(&name.value))));
    let all: BTreeSet<_> = all.collect();
    let costs = |name: &str| all.iter().any(|(known, call)| *known == name && *call != Call::default());
    all.iter().copied().filter(|(name, _)| costs(name)).collect()
}
