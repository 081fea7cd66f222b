//! Do hand-overs fit the links?

use crate::flow::AtSection;
use crate::layout::Layout;
use crate::place::{HeaderIndex, Places};
use crate::placement::{DeviceIndex, Placement};
use crate::section::{SectionId, Sections};
use ir::Program;

/// A hand-over that is longer than its link carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TooLong {
    /// Where it comes from.
    pub from: DeviceIndex,
    /// The section it is for.
    pub to: SectionId,
    /// The longest frame that comes in, in bytes.
    pub frame: u32,
    /// What may become of it.
    pub hand_over: u64,
    /// What the link carries.
    pub link: u32,
}

/// Looks at each cut edge whose link has a known limit.
pub fn too_long(
    program: &Program,
    places: &Places,
    sections: &Sections,
    at: &[AtSection],
    layout: &Layout,
    originals: &[HeaderIndex],
    placement: &Placement,
) -> Vec<TooLong> {
    let Some(frame) = placement.longest_frame else { return vec![] };
    let bytes = |index: HeaderIndex| program.bits(&places.header(index).ty).unwrap_or(0).div_ceil(8);
    let copies: u64 = originals.iter().map(|&index| bytes(index)).sum();
    let mut found = vec![];
    for (from, to) in sections.cut_edges() {
        let devices = (sections.get(from).device, sections.get(to).device);
        let Some(&link) = placement.longest_on_link.get(&devices) else { continue };
        let facts = &at[to.0 as usize].facts;
        let made = places.of_packet().filter(|(index, _)| facts.may_be_made(*index));
        let grown: u64 = made.map(|(index, _)| bytes(index)).sum();
        let ours = u64::from((layout.common_bits() + layout.section_bits(to)) / 8);
        let hand_over = u64::from(frame) + ours + grown + copies;
        if hand_over > u64::from(link) && !found.iter().any(|t: &TooLong| t.to == to && t.from == devices.0) {
            found.push(TooLong { from: devices.0, to, frame, hand_over, link });
        }
    }
    found
}
