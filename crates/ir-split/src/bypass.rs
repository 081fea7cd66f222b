//! `bypass-empty`: control does not visit a device on which it has nothing to do.
//!
//! Before: `A: ..; goto ingress.2`, `ingress.2: goto B`, `B: ..`
//! After:  `A: ..; goto B`, `B: ..`
//!
//! Why: between two regions that follow one another there is nothing to come back for. A called region is entered from its
//! caller and gives control back to it, whatever there is to do.

use crate::section::{CallEnd, Code, Half, Section, SectionId, SectionKind, renumber};

/// Removes sections that only pass control on, and renumbers the others.
pub fn bypass_empty(mut list: Vec<Section>) -> Vec<Section> {
    let firsts = [Half::Ingress, Half::Egress].map(|half| list.iter().position(|s| s.half == half));
    let call = |id: SectionId| list[id.0 as usize].call;
    let is_caller = |section: &Section, next: SectionId| {
        section.call == Some(CallEnd::Return) || call(next) == Some(CallEnd::Handler)
    };
    let passes_to = |(at, section): (usize, &Section)| match section.code.as_slice() {
        _ if section.kind != SectionKind::Code || firsts.contains(&Some(at)) => None,
        [Code::Goto(next)] if !is_caller(section, *next) => Some(*next),
        _ => None,
    };
    let passes: Vec<Option<SectionId>> = list.iter().enumerate().map(passes_to).collect();
    let mut kept = 0;
    let mut new_id: Vec<SectionId> = vec![];
    for passed in &passes {
        new_id.push(SectionId(kept));
        kept += u32::from(passed.is_none());
    }
    // Control only goes to later sections.
    for at in (0..list.len()).rev() {
        if let Some(next) = passes[at] {
            new_id[at] = new_id[next.0 as usize];
        }
    }
    let mut at = 0;
    list.retain(|_| {
        at += 1;
        passes[at - 1].is_none()
    });
    list.iter_mut().for_each(|section| renumber(&mut section.code, &new_id));
    list
}
