//! `[control]`: the channels between the controller and the devices' agents. `[[replace]]`: a new plan for the running rack.
//!
//! ```toml
//! [control]
//! delay = "50us"            # delay of a message, one way; default 100us
//! loss = "1%"               # share of lost messages; default 0
//! merge = "1s"              # interval at which copies of merged registers become one value; default 1s
//! duplicate = "1%"          # share of the messages of the merge that arrive twice; default 0
//! jitter = "1ms"            # maximum additional random delay of such a message, so that their order changes; default 0
//!
//! [[replace]]
//! at = "20ms"               # start of the replacement: frames are held until no packet is inside and each device runs its new part
//! map = { Acl = "nic2" }    # devices of regions from then on, as in `[[app]]`
//! ```

use crate::app::{Policy, Regions, Usual, regions};
use crate::names::Names;
use crate::section::{Entry, Item, Reader, Section};
use crate::{Placement, Probability, Spanned, value};
use base_diag::Span;
use base_time::{Duration, Time};

/// The channels between the controller and the agents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Control {
    /// One-way delay of a message.
    pub delay: Duration,
    /// Share of lost messages.
    pub loss: Probability,
    /// Between two rounds of the merge.
    pub merge: Duration,
    /// Share of the messages of the merge that come twice. All other messages are calls over a connection.
    pub duplicate: Probability,
    /// The most that a message of the merge takes longer.
    pub jitter: Duration,
}

impl Default for Control {
    fn default() -> Control {
        Control {
            delay: Duration::from_us(100),
            loss: Probability::default(),
            merge: Duration::from_s(1),
            duplicate: Probability::default(),
            jitter: Duration::ZERO,
        }
    }
}

/// The controller has nothing else to do in a round.
const SHORTEST_MERGE: Duration = Duration::from_us(10);

/// Another plan, while the rack runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replace {
    /// When it is asked for.
    pub at: Time,
    /// Placement from then on; regions not listed run at the origin.
    pub map: Vec<Placement>,
    /// Place in the file.
    pub span: Span,
}

pub(crate) fn read(r: &mut Reader, entry: Entry<'_>) -> Control {
    let default = Control::default();
    let Some(mut s) = Section::new(r, "`[control]`".to_string(), entry.key_span, entry.item) else {
        return default;
    };
    let delay = s.optional(r, "delay", value::interval);
    let loss = s.optional(r, "loss", value::probability);
    let merge = s.optional(r, "merge", value::interval);
    let duplicate = s.optional(r, "duplicate", value::probability);
    let jitter = s.optional(r, "jitter", value::interval);
    s.finish(r);
    if let Some(merge) = &merge
        && merge.value < SHORTEST_MERGE
    {
        r.bad_value(merge.span, "copies are merged once in 10us at most", "write `merge = \"1ms\"`");
    }
    Control {
        delay: delay.map_or(default.delay, |delay| delay.value),
        loss: loss.map_or(default.loss, |loss| loss.value),
        merge: merge.map_or(default.merge, |merge| merge.value.max(SHORTEST_MERGE)),
        duplicate: duplicate.map_or(default.duplicate, |duplicate| duplicate.value),
        jitter: jitter.map_or(default.jitter, |jitter| jitter.value),
    }
}

pub(crate) fn read_replace(r: &mut Reader, item: Item<'_>, names: &Names) -> Option<Replace> {
    let mut s = Section::new(r, "this plan".to_string(), item.span, item)?;
    let at = s.required(r, "at", "\"20ms\"", value::time);
    let device = |r: &mut Reader, i: Item<'_>| {
        let name = value::string(r, i)?;
        names.device(r, Spanned::new(name.as_str(), i.span))
    };
    let map = s.required(r, "map", "{ Acl = \"nic\" }", |r, i| regions(r, i, &Usual::default(), device));
    s.finish(r);
    let map = map?;
    let Regions::ByHand(regions) = map.value else {
        r.bad_value(map.span, "a replacement plan must be an explicit map", "write `{ Acl = \"nic\" }`");
        return None;
    };
    if let Some(called) = regions.iter().find(|region| region.policy != Policy::Direct) {
        r.bad_value(called.device.span, "the policy cannot change while the rack runs", "leave `policy` out");
    }
    Some(Replace { at: at?.value, map: regions, span: item.span })
}
