//! Do hand-overs fit the links?

use crate::analysis::Analysis;
use crate::place::HeaderIndex;
use crate::placement::DeviceIndex;
use crate::section::SectionId;

/// A hand-over that is longer than its link carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TooLong {
    /// One end of the link.
    pub from: DeviceIndex,
    /// The other.
    pub into: DeviceIndex,
    /// The section it is for.
    pub to: SectionId,
    /// The longest frame that comes in, in bytes.
    pub frame: u32,
    /// What may become of it.
    pub hand_over: u64,
    /// What the link carries.
    pub link: u32,
}

/// Looks at each link on the path of each hand-over, where its limit is known. `header_bytes` is what stands in front of the packet.
pub fn too_long(a: &Analysis<'_>, header_bytes: &dyn Fn(SectionId) -> u64) -> Vec<TooLong> {
    let (placement, places) = (a.placement, a.places());
    let originals = a.originals.as_deref().unwrap_or_default();
    let Some(frame) = placement.longest_frame else { return vec![] };
    let bytes = |index: HeaderIndex| a.program.bits(&places.header(index).ty).unwrap_or(0).div_ceil(8);
    let copies: u64 = originals.iter().map(|&index| bytes(index)).sum();
    let mut found = vec![];
    for leg in &a.routes.legs {
        let (from, into, to) = (leg.from, leg.to, leg.section);
        let Some(&link) = placement.longest_on_link.get(&(from, into)) else { continue };
        let facts = &a.at[to.0 as usize].facts;
        let made = places.of_packet().filter(|(index, _)| facts.may_be_made(*index));
        let grown: u64 = made.map(|(index, _)| bytes(index)).sum();
        let hand_over = u64::from(frame) + header_bytes(to) + grown + copies;
        let is_known = |t: &TooLong| (t.to, t.from, t.into) == (to, from, into);
        if hand_over > u64::from(link) && !found.iter().any(is_known) {
            found.push(TooLong { from, into, to, frame, hand_over, link });
        }
    }
    found
}
