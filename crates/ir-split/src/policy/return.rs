//! `return`: control goes back to the origin that the packet came from, whatever section runs there next.

use super::{EdgePolicy, PortKey, PortTable};
use crate::placement::Placement;
use crate::section::{SectionId, Sections};

pub struct Return;

impl EdgePolicy for Return {
    fn name(&self) -> &'static str {
        "return"
    }

    fn leads(&self, target: SectionId, sections: &Sections, placement: &Placement) -> bool {
        sections.get(target).device == placement.origin()
    }

    fn table(&self, _: &[SectionId], _: &Sections, placement: &Placement) -> PortTable {
        PortTable { key: PortKey::Origin, entries: (0..).zip(placement.origins()).collect() }
    }
}
