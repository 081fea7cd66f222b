//! Where the packets of pinned apps were processed, for the report: hand-overs are counted on the links from the switch to its helpers.

use crate::rack::Racked;
use rack_emulator::{LinkReport, PinnedReport};
use std::collections::BTreeSet;

/// An app whose flows are pinned.
pub(super) struct PinnedApp {
    name: String,
    origins: BTreeSet<String>,
    helpers: Vec<String>,
    /// All devices of the app.
    devices: BTreeSet<String>,
}

impl PinnedApp {
    /// The pinned apps of a rack.
    pub(super) fn of(racked: &Racked) -> Vec<PinnedApp> {
        let pinned = racked.apps.iter().zip(&racked.rack.apps).filter(|(app, _)| app.pinned.is_some());
        let one = pinned.map(|(app, model)| {
            let placement = &app.placement;
            let region = app.pinned.as_ref().and_then(|pinned| pinned.region.clone()).unwrap_or_default();
            let helpers = placement.sites.get(&region).map_or(&[][..], |site| site.devices.as_slice());
            let parts = placement.devices.iter().zip(&app.parts).filter(|(_, part)| part.is_some());
            PinnedApp {
                name: model.name.value.clone(),
                origins: placement.origins().map(|device| placement.name(device).to_string()).collect(),
                helpers: helpers.iter().map(|device| placement.name(*device).to_string()).collect(),
                devices: parts.map(|(name, _)| name.to_string()).collect(),
            }
        });
        one.collect()
    }

    pub(super) fn report(&self, links: &[LinkReport]) -> PinnedReport {
        let sent = |is_it: &dyn Fn(&str, &str) -> bool| -> u64 {
            links.iter().filter(|link| is_it(node(&link.from), node(&link.to))).map(|link| link.frames).sum()
        };
        let packets = sent(&|from, to| self.origins.contains(to) && !self.devices.contains(from));
        let handed = sent(&|from, to| self.origins.contains(from) && self.devices.contains(to));
        let helper =
            |name: &String| (name.clone(), sent(&|from, to| self.origins.contains(from) && to == name));
        PinnedReport {
            app: self.name.clone(),
            packets,
            at_switch: packets.saturating_sub(handed),
            helpers: self.helpers.iter().map(helper).collect(),
        }
    }
}

/// The node of one end of a link: `tor` of `tor:1`.
fn node(end: &str) -> &str {
    end.split(':').next().unwrap_or(end)
}
