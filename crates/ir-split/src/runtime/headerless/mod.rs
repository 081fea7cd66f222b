//! `headerless` and `headerless-ipv4`: nothing stands in front of the packet.
//!
//! ```text
//! frame of a hand-over    the packet, as the program's own deparser writes it
//! headerless              the port by which it comes names the section, and the output port if that is decided
//! headerless-ipv4         IPv4's fragment offset does: section | output port, if some section needs it (9 bits)
//! ```
//!
//! The receiver parses the packet again with the program's own parser. Whatever it does not find there or in the position
//! cannot get over the cut, and is refused: `values` live values, `agreement` packets that would be parsed differently, `demands`
//! constructs that need a header at all, `lanes` and `offset` positions that the ports or the field cannot hold.
//! `code` writes the parts of a device's program.

mod agreement;
mod code;
mod demands;
mod lanes;
mod offset;
mod ports;
mod values;

use super::{At, Runtime};
use crate::analysis::Analysis;
use crate::fit::{check_fit, too_long};
use crate::flow::AtSection;
use crate::generate::Generator;
use crate::layout::{Layout, NotCarried, bits_for};
use crate::placement::DeviceIndex;
use crate::policy::EdgePolicy;
use crate::section::{SectionId, first_span};
use crate::witness::Witnesses;
use base_diag::{Diagnostic, Span};
use ir::{ControlId, Expr, Stmt, build};
use p4_arch::Duty;
use std::collections::BTreeMap;

/// Where the position of a hand-over is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// In the link: each position has a pair of ports of its own.
    Port,
    /// In IPv4's fragment offset.
    FragmentOffset,
}

/// A runtime without a header.
pub struct Headerless {
    pub position: Position,
}

impl Headerless {
    /// Values that get lost over the cuts without a header, and constructs and positions that they do not support.
    pub fn check(&self, a: &Analysis<'_>, layout: &Layout) -> Vec<Diagnostic> {
        let found = demands::check(a, self.name());
        if !found.is_empty() || !a.is_cut() {
            return found;
        }
        let cuts = at_cuts(a);
        let controls = [a.ingress, a.egress];
        let since = a.flow.since_parsed(&a.sections, a.ingress, a.egress);
        let since = a.flow.over_cuts(&a.sections, controls, is_bare(a), |id| since[id.0 as usize].clone());
        let witnesses = Witnesses::new(&a.flow, &a.sections, (a.ingress, a.egress));
        let mut found = values::check(a, &cuts, &since, &witnesses, self.name());
        found.extend(agreement::check(a, &since, &witnesses));
        found.extend(match self.position {
            Position::Port => lanes::check(a, &ports::over_cuts(a), layout),
            Position::FragmentOffset => offset::check(a, &cuts, layout),
        });
        found
    }
}

/// Facts and live values at each section that is entered over a cut without a header, on the paths over such cuts alone.
fn at_cuts(a: &Analysis<'_>) -> BTreeMap<SectionId, AtSection> {
    let at = |id: SectionId| a.at[id.0 as usize].facts.clone();
    let facts = a.flow.over_cuts(&a.sections, [a.ingress, a.egress], is_bare(a), at);
    let live = |id: SectionId| a.at[id.0 as usize].live.clone();
    facts.into_iter().map(|(id, facts)| (id, AtSection { facts, live: live(id) })).collect()
}

/// True for a cut from one device to another whose hand-overs have no header.
fn is_bare(a: &Analysis<'_>) -> impl Fn(DeviceIndex, DeviceIndex) -> bool {
    |from, to| from != to && !a.placement.has_header(from, to)
}

/// A place in the program for a cut to this section: its first statement, or the first before the cut.
fn place_of(a: &Analysis<'_>, id: SectionId) -> Span {
    let here = first_span(&a.sections.get(id).code);
    let before = a.sections.cut_edges().into_iter().filter(|(_, to)| *to == id);
    let spans = before.map(|(from, _)| first_span(&a.sections.get(from).code));
    [here].into_iter().chain(spans).find(|span| !span.is_none()).unwrap_or(here)
}

impl Runtime for Headerless {
    fn name(&self) -> &'static str {
        match self.position {
            Position::Port => "headerless",
            Position::FragmentOffset => "headerless-ipv4",
        }
    }

    fn keeps_length(&self) -> bool {
        true
    }

    fn layout(&self, a: &Analysis<'_>, _: &[&dyn EdgePolicy]) -> Result<Layout, Vec<NotCarried>> {
        let unknown_region = a.sections.list.len() as u64;
        let by_position = at_cuts(a).into_iter().map(|(id, at)| (id, values::by_position(a, &at)));
        let sections: BTreeMap<_, _> = by_position.collect();
        let values = ports::over_cuts(a).into_iter();
        let needed =
            values.filter(|(id, _)| sections.get(id).is_some_and(|by_position| !by_position.is_empty()));
        let ports = needed.map(|(id, ports)| (id, ports.known.into_iter().collect())).collect();
        Ok(Layout {
            sections,
            ports,
            unknown_region,
            ended_region: unknown_region + 1,
            region_bits: bits_for(unknown_region + 1),
            ..Layout::default()
        })
    }

    fn header_bits(&self, _: &Layout, _: SectionId) -> u32 {
        0
    }

    fn refuse(&self, a: &Analysis<'_>, layout: &Layout) -> Vec<Diagnostic> {
        let mut found = self.check(a, layout);
        found.extend(check_fit(&a.sections, a.placement, &too_long(a, &|_| 0)));
        found
    }

    fn declare(&self, g: &mut Generator<'_>) {
        g.insert_types(vec![]);
        g.declare_metadata(vec![]);
        g.add_position_metadata(&[]);
    }

    fn parse(&self, g: &mut Generator<'_>) {
        g.note_hand_overs("links");
    }

    fn is_hand_over(&self, g: &Generator<'_>, stage: Duty) -> Expr {
        let field = if stage == Duty::Compute { g.leaving_of(stage) } else { g.came_of(stage) };
        build::equals(field, build::bits(1, 1))
    }

    fn arrive(&self, g: &mut Generator<'_>) -> Vec<Stmt> {
        g.find_position(self.position)
    }

    fn begin(&self, _: &mut Generator<'_>) -> Vec<Stmt> {
        vec![]
    }

    fn resume(&self, _: &mut Generator<'_>, _: At, _: SectionId) -> Option<Stmt> {
        None
    }

    fn port_of(&self, _: &Generator<'_>, _: SectionId) -> Option<Expr> {
        None
    }

    fn save(&self, g: &mut Generator<'_>, at: At, section: SectionId) -> Vec<Stmt> {
        g.leave_for(self.position, at, section, None)
    }

    fn send(&self, _: &mut Generator<'_>, _: Duty, _: ControlId) -> Vec<Stmt> {
        vec![]
    }

    fn find_port(&self, g: &mut Generator<'_>, targets: &[SectionId]) -> Vec<Stmt> {
        g.find_lane(self.position, targets)
    }

    fn emit(&self, _: &mut Generator<'_>) {}
}
