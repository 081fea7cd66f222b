//! Do hand-overs fit the links?

use crate::analysis::Analysis;
use crate::place::HeaderIndex;
use crate::placement::{DeviceIndex, Placement};
use crate::routes::Leg;
use crate::section::{SectionId, Sections, first_span};
use base_diag::Diagnostic;
use base_diag::codes::split as codes;

/// A hand-over that is longer than its link carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TooLong {
    /// One end of the link.
    pub from: DeviceIndex,
    /// The other.
    pub into: DeviceIndex,
    /// The section it is for.
    pub to: SectionId,
    /// Length of the longest received frame in bytes.
    pub frame: u32,
    /// Longest hand-over of such a frame, in bytes.
    pub hand_over: u64,
    /// Longest frame that the link carries, in bytes.
    pub link: u32,
}

/// Looks at each link on the path of each hand-over, where its limit is known. `header_bytes` is the length of the
/// hand-over header.
pub fn too_long(a: &Analysis<'_>, header_bytes: &dyn Fn(&Leg) -> u64) -> Vec<TooLong> {
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
        let hand_over = u64::from(frame) + header_bytes(leg) + grown + copies;
        let is_known = |t: &TooLong| (t.to, t.from, t.into) == (to, from, into);
        if hand_over > u64::from(link) && !found.iter().any(is_known) {
            found.push(TooLong { from, into, to, frame, hand_over, link });
        }
    }
    found
}

/// Hand-overs that are too long for their links.
pub fn check_fit(sections: &Sections, placement: &Placement, found: &[TooLong]) -> Vec<Diagnostic> {
    let report = |t: &TooLong| {
        let to = sections.get(t.to);
        let (a, b) = (placement.name(t.from), placement.name(t.into));
        let more = t.hand_over - u64::from(t.frame);
        Diagnostic::error(codes::TOO_LONG, format!("hand-overs to `{}` do not fit their link", to.name))
            .at(first_span(&to.code), format!("it passes from `{a}` to `{b}` on its path to here"))
            .note(format!("a frame of {} bytes may become a hand-over of {}", t.frame, t.hand_over))
            .note(format!("the link from `{a}` to `{b}` carries frames of {} bytes", t.link))
            .help(format!(
                "raise the link's `mtu` by {}, lower that of the origin's other links by {more}, or accept that the longest \
                 frames are lost with `long_frames = \"drop\"` in the app",
                t.hand_over - u64::from(t.link)
            ))
    };
    found.iter().map(report).collect()
}
