//! Sections for which packets arrive at a device, leave it, or pass through it.

use super::Generator;
use crate::placement::DeviceIndex;
use crate::section::{Half, SectionId};

impl Generator<'_> {
    /// Sections that packets come to this device for, over a cut.
    pub fn entered_here(&self) -> Vec<SectionId> {
        self.targets(|_, to| self.cut.sections.get(to).device == self.role())
    }

    /// Sections elsewhere that this device hands over to.
    pub fn entered_from_here(&self) -> Vec<SectionId> {
        self.targets(|from, _| self.cut.sections.get(from).device == self.role())
    }

    /// Sections that packets come to this device for, by hand-overs with a header or by those without.
    pub fn entered_here_by(&self, header: bool) -> Vec<SectionId> {
        let here = |id: SectionId| self.cut.sections.get(id).device == self.role();
        self.targets(|from, to| here(to) && self.has_header(from, to) == header)
    }

    /// Sections elsewhere that this device hands over to, with a header or without.
    pub fn entered_from_here_by(&self, header: bool) -> Vec<SectionId> {
        let here = |id: SectionId| self.cut.sections.get(id).device == self.role();
        self.targets(|from, to| here(from) && self.has_header(from, to) == header)
    }

    fn has_header(&self, from: SectionId, to: SectionId) -> bool {
        let device = |id| self.cut.sections.get(id).device;
        self.cut.placement.has_header(device(from), device(to))
    }

    /// The ends of these cuts, each once.
    fn targets(&self, wanted: impl Fn(SectionId, SectionId) -> bool) -> Vec<SectionId> {
        let edges = self.cut.sections.cut_edges().into_iter();
        let mut targets: Vec<_> = edges.filter(|&(from, to)| wanted(from, to)).map(|(_, to)| to).collect();
        targets.sort();
        targets.dedup();
        targets
    }

    /// Sections whose hand-overs this device forwards unchanged, with the number of the origin that the hand-over is
    /// for if that distinguishes it from one for this device.
    pub fn sent_on(&self) -> Vec<(SectionId, Option<u64>)> {
        let origin = |id: SectionId, target: DeviceIndex| {
            let is_ours = self.cut.sections.get(id).device == self.role();
            self.cut.placement.origin_number(target).filter(|_| is_ours)
        };
        let mut all: Vec<_> =
            self.cut.routes.sent_on(self.device).map(|(id, target)| (id, origin(id, target))).collect();
        // Hand-overs packed by egress are recirculated and find their port in the same way.
        all.extend(self.leaving_from_egress().into_iter().map(|id| (id, None)));
        let (sections, placement) = (self.cut.sections, self.cut.placement);
        let hears =
            |id: &SectionId| self.cut.policies.iter().any(|policy| policy.hears(*id, sections, placement));
        all.extend(self.entered_from_here().into_iter().filter(hears).map(|id| (id, None)));
        all.sort();
        all.dedup();
        all
    }

    /// Sections elsewhere that packets leave for from this device's egress: they come around once more to find their port.
    pub fn leaving_from_egress(&self) -> Vec<SectionId> {
        let egress = |id: &SectionId| self.is_origin() && self.cut.sections.get(*id).half == Half::Egress;
        self.entered_from_here().into_iter().filter(egress).collect()
    }

    /// True if the device hands packets over from egress: it then recirculates them.
    pub fn recirculates(&self) -> bool {
        !self.leaving_from_egress().is_empty()
    }

    /// Packets are recirculated by the program too, or start again.
    pub fn sends_around(&self) -> bool {
        let around =
            |f: &ir::ExternFunction| !f.user && f.name.starts_with("re") && f.name.contains("circulate");
        let resubmits = |f: &ir::ExternFunction| !f.user && f.name.starts_with("resubmit");
        self.cut.program.extern_functions.iter().any(|f| around(f) || resubmits(f))
    }
}
