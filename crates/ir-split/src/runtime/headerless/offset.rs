//! `headerless-ipv4`: the position stands in IPv4's fragment offset.
//!
//! ```text
//! fragment offset (13 bits)    section                      no section needs the output port
//!                              section (4) | port (9)       some section needs it
//! ```
//!
//! Only packets with this header and with a zero there can be handed over, so the program has to keep others away from its cuts:
//! `if (hdr.ipv4.isValid() && hdr.ipv4.fragOffset == 0) { .. }`. The receiver puts the zero back. The header's checksum stays as
//! it is: it does not fit the header during the hand-over, and no device verifies it there.

use crate::analysis::Analysis;
use crate::arch::PORT_BITS;
use crate::flow::AtSection;
use crate::layout::Layout;
use crate::place::{HeaderIndex, Leaf, Places};
use crate::section::SectionId;
use base_diag::Diagnostic;
use base_diag::codes::headerless as codes;
use ir::{Program, Type};
use std::collections::BTreeMap;

/// Bits of the fragment offset.
pub const OFFSET_BITS: u32 = 13;

/// Bits in front of it in an IPv4 header.
const OFFSET_AT: u32 = 51;

/// Bits of an IPv4 header without options.
const IPV4_BITS: u32 = 160;

/// Bits for the section's number.
pub fn section_bits(layout: &Layout) -> u32 {
    if layout.ports.is_empty() { OFFSET_BITS } else { OFFSET_BITS - PORT_BITS }
}

/// The first header with IPv4's fields in the packet, and the leaf of its fragment offset.
pub fn fragment_offset(program: &Program, places: &Places) -> Option<(HeaderIndex, Leaf)> {
    places.of_packet().find_map(|(index, header)| {
        let (mut at, mut offset, mut version) = (0, None, false);
        for (number, field) in (0..).zip(program.fields(&header.ty)) {
            let Type::Bit(width) = *program.representation(&field.ty) else { break };
            version |= (at, width) == (0, 4) || (at, width) == (0, 8);
            offset = offset.or(((at, width) == (OFFSET_AT, OFFSET_BITS)).then_some(number));
            at += width;
        }
        let leaf = |number: u32| {
            let path: Vec<u32> = header.path.iter().copied().chain([number]).collect();
            places.leaf_at(crate::place::RoleKey::Headers, &path)
        };
        (version && at >= IPV4_BITS).then(|| offset.and_then(leaf)).flatten().map(|leaf| (index, leaf))
    })
}

/// Refuses cuts that other packets than unfragmented IPv4 may reach, and too many positions.
pub fn check(a: &Analysis<'_>, cuts: &BTreeMap<SectionId, AtSection>, layout: &Layout) -> Vec<Diagnostic> {
    let mut found = super::lanes::passes(a);
    let refuse = |id: SectionId, title: &str| {
        let section = a.sections.get(id);
        let label = format!("handed over to `{}`", a.placement.name(section.device));
        Diagnostic::error(codes::NO_OFFSET, title).at(super::place_of(a, id), label)
    };
    let points: Vec<SectionId> = cuts.keys().copied().collect();
    let Some((header, leaf)) = fragment_offset(&a.program, a.places()) else {
        let diagnostic = points.first().map(|&id| {
            refuse(id, "no header has a fragment offset")
                .note("the position of a hand-over stands in IPv4's fragment offset")
                .help("use `runtime = \"headerless\"` or \"full\"")
        });
        return found.into_iter().chain(diagnostic).collect();
    };
    let name = &a.places().header(header).name;
    let field = &a.places().info(leaf).name;
    if let Some((_, span)) = super::agreement::deciding(a).into_iter().find(|(read, _)| *read == leaf) {
        found.push(
            Diagnostic::error(codes::NO_OFFSET, "the parser reads the fragment offset")
                .at(span, "it would read the position of a hand-over here")
                .help("look at it in ingress, or use `runtime = \"headerless\"` or \"full\""),
        );
    }
    let (mut lacks_header, mut has_offset) = (false, false);
    for (&id, AtSection { facts, .. }) in cuts {
        // One cut is reported: the remedy, a condition, usually serves the others, too.
        if lacks_header || has_offset {
            break;
        }
        lacks_header = !facts.is_valid(header);
        has_offset = !facts.is_surely_zero(leaf);
        if !facts.is_valid(header) {
            found.push(
                refuse(id, "packets without an IPv4 header may reach a cut")
                    .note(format!("the position of a hand-over stands in `{field}`"))
                    .help(format!("enter the region only `if (hdr.{name}.isValid() && {field} == 0)`")),
            );
        } else if !facts.is_surely_zero(leaf) {
            found.push(
                refuse(id, "the fragment offset may not be zero at a cut")
                    .note(format!(
                        "the position of a hand-over stands in `{field}`, where fragments have their place"
                    ))
                    .help(format!("enter the region only `if ({field} == 0)`")),
            );
        }
    }
    let bits = section_bits(layout);
    if let Some(&last) = points.last()
        && last.0 >> bits != 0
    {
        found.push(
            refuse(last, "the fragment offset has too few positions")
                .note(format!("this is section {}, and {} are the most", last.0, (1u32 << bits) - 1))
                .help("cut the program at fewer places, or use `runtime = \"full\"`"),
        );
    }
    found
}
