//! `runtime` and `with_header` of an app: what its hand-overs carry. The keys are described in `app.rs`.

use crate::app::Regions;
use crate::section::{Item, Reader, Section};
use crate::value;
use crate::{DeviceId, Spanned};

/// Runtime of hand-overs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Runtime {
    /// With a header.
    #[default]
    Full,
    /// As they are; the link says the position.
    Headerless,
    /// As they are; IPv4's fragment offset says the position.
    HeaderlessIpv4,
    /// The lightest that carries all hand-overs exactly, for each device.
    Auto,
}

const RUNTIMES: [(&str, Option<Runtime>); 4] = [
    ("full", Some(Runtime::Full)),
    ("headerless", Some(Runtime::Headerless)),
    ("headerless-ipv4", Some(Runtime::HeaderlessIpv4)),
    ("auto", Some(Runtime::Auto)),
];

/// The app's runtime, and the devices whose hand-overs have a header all the same.
pub(crate) fn read<'t>(
    r: &mut Reader,
    s: &mut Section<'t>,
    map: Option<&Regions>,
    device: impl Fn(&mut Reader, Item<'t>) -> Option<DeviceId>,
) -> (Runtime, Vec<Spanned<DeviceId>>) {
    let read = s.optional(r, "runtime", |r, i| value::choice(r, i, &RUNTIMES));
    let runtime = read.as_ref().map_or(Runtime::Full, |runtime| runtime.value);
    let has_none = !matches!(runtime, Runtime::Full | Runtime::Auto);
    if let (Some(Regions::Planned), Some(read)) = (map, &read)
        && has_none
    {
        let why = "say in `map` where they run, or use `runtime = \"auto\"`: the planner knows no links for positions";
        r.bad_value(read.span, "planned regions need hand-overs with a header", why);
    }
    let named = s.optional(r, "with_header", |r, i| value::list(r, i, device));
    let Some(Spanned { value: named, span }) = named else { return (runtime, vec![]) };
    if !has_none {
        let why = "name devices only with `runtime = \"headerless\"` or \"headerless-ipv4\"; \"auto\" finds them itself";
        r.bad_value(span, "all hand-overs of this runtime have a header", why);
    }
    if let Some(Regions::ByHand(map)) = map {
        let placed =
            |id| map.iter().any(|p| std::iter::once(&p.device).chain(&p.spares).any(|d| d.value == id));
        for device in named.iter().filter(|device| !placed(device.value)) {
            r.bad_value(device.span, "no region of the app runs there", "name devices of `map`");
        }
    }
    (runtime, named)
}
