//! `direct`: a region is at one device, and its number leads there.

use super::{EdgePolicy, PortKey, PortTable};
use crate::placement::Placement;
use crate::section::{SectionId, Sections};

pub struct Direct;

impl EdgePolicy for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn leads(&self, target: SectionId, sections: &Sections, placement: &Placement) -> bool {
        sections.get(target).device != placement.origin()
    }

    fn table(&self, targets: &[SectionId], sections: &Sections, _: &Placement) -> PortTable {
        let entry = |id: &SectionId| (u64::from(id.0), sections.get(*id).device);
        PortTable { key: PortKey::Region, entries: targets.iter().map(entry).collect() }
    }
}
