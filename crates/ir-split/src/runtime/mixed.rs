//! `headerless` or `headerless-ipv4` for most devices, and `full` for some.
//!
//! ```text
//! parser     start                select(ingress_port) { p4rack_links: as in full; default: p4rack_other_start }
//!            p4rack_other_start   select(ingress_port) { p4rack_bare_links: p4rack_came; default: the program's start }
//! ingress    what has come        as in full if p4rack_t is valid; without a header if came == 1
//!            if (region == k)     p4rack_save_k(): bare := 1 if hand-overs to the device have no header
//!            if (leaving == 1)    bare == 0: p4rack_send(), the port by the edge's policy
//!                                 bare == 1: the port by the position
//! ```
//!
//! A device all of whose hand-overs are of one kind has the program of that runtime. The origin knows by the port which kind has
//! come, and by the next section which kind leaves. Where links pad, the packet's length travels in the
//! header of a packet that may leave without one afterwards: it may be too short for that.

use super::full::{self, Full};
use super::headerless::{Headerless, Position};
use super::{At, Runtime};
use crate::analysis::Analysis;
use crate::fit::{check_fit, too_long};
use crate::generate::{Cut, Generator};
use crate::layout::{Layout, NotCarried};
use crate::placement::DeviceIndex;
use crate::policy::EdgePolicy;
use crate::routes::Leg;
use crate::section::SectionId;
use base_diag::Diagnostic;
use ir::{ControlId, Expr, Stmt, build};
use p4_arch::{Duty, Meaning};
use std::collections::BTreeSet;

/// The runtime without a header for devices that are not in [`Placement::with_header`](crate::Placement::with_header).
pub struct Mixed(&'static Headerless);

pub static BY_PORT: Headerless = Headerless { position: Position::Port };
pub static BY_OFFSET: Headerless = Headerless { position: Position::FragmentOffset };
pub static MIXED_BY_PORT: Mixed = Mixed(&BY_PORT);
pub static MIXED_BY_OFFSET: Mixed = Mixed(&BY_OFFSET);

/// Metadata: the hand-over that leaves has no header.
const BARE: &str = "bare";

/// Sections that are entered over cuts with a header.
fn with_header(a: &Analysis<'_>) -> Vec<SectionId> {
    let device = |id: SectionId| a.sections.get(id).device;
    let has_header = |id: &SectionId| {
        let cuts = a.sections.cut_edges().into_iter();
        cuts.filter(|(_, to)| to == id).any(|(from, to)| a.placement.has_header(device(from), device(to)))
    };
    a.sections.resume_points().into_iter().filter(has_header).collect()
}

/// Sections from which a packet may come to a cut without a header.
fn before_bare_cuts(a: &Analysis<'_>) -> BTreeSet<SectionId> {
    let device = |id: SectionId| a.sections.get(id).device;
    let is_bare = |from, to| device(from) != device(to) && !a.placement.has_header(device(from), device(to));
    let edges: Vec<(SectionId, SectionId)> = a.sections.edges().collect();
    let mut found = BTreeSet::new();
    // In topological order, from the last one.
    for (id, _) in a.sections.iter().collect::<Vec<_>>().into_iter().rev() {
        let mut next = edges.iter().filter(|(from, _)| *from == id).map(|(_, to)| *to);
        if next.any(|to| is_bare(id, to) || found.contains(&to)) {
            found.insert(id);
        }
    }
    found
}

impl Runtime for Mixed {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn drops_short(&self) -> bool {
        true
    }

    fn of_device(&self, cut: &Cut<'_>, device: DeviceIndex) -> Option<&'static dyn Runtime> {
        let role = cut.placement.role(device);
        let of = |id: SectionId| cut.sections.get(id).device;
        let edges = cut.sections.cut_edges().into_iter();
        let own = edges.filter(|&(from, to)| of(from) == role || of(to) == role);
        let has: Vec<bool> = own.map(|(from, to)| cut.placement.has_header(of(from), of(to))).collect();
        match (has.contains(&true), has.contains(&false)) {
            (true, true) => None,
            (false, true) => Some(self.0),
            _ => Some(&Full),
        }
    }

    fn layout(&self, a: &Analysis<'_>, policies: &[&dyn EdgePolicy]) -> Result<Layout, Vec<NotCarried>> {
        let (entered, before) = (with_header(a), before_bare_cuts(a));
        let mut at = a.at.clone();
        for id in entered.iter().filter(|id| a.placement.pads && before.contains(id)) {
            at[id.0 as usize].live.live.extend(a.places().standard(Meaning::Length));
        }
        let mut layout = full::layout(a, policies, entered, &at)?;
        let bare = self.0.layout(a, policies)?;
        layout.ports = bare.ports;
        for (id, fields) in bare.sections {
            layout.sections.entry(id).or_insert(fields);
        }
        Ok(layout)
    }

    fn header_bits(&self, layout: &Layout, section: SectionId) -> u32 {
        Full.header_bits(layout, section)
    }

    fn refuse(&self, a: &Analysis<'_>, layout: &Layout) -> Vec<Diagnostic> {
        let mut found = self.0.check(a, layout);
        let header_bytes = |leg: &Leg| match a.placement.has_header(leg.from, leg.to) {
            true => u64::from(self.header_bits(layout, leg.section) / 8),
            false => 0,
        };
        found.extend(check_fit(&a.sections, a.placement, &too_long(a, &header_bytes)));
        found
    }

    fn declare(&self, g: &mut Generator<'_>) {
        Full.declare(g);
        g.add_position_metadata(&[BARE]);
    }

    fn parse(&self, g: &mut Generator<'_>) {
        g.note_hand_overs("bare_links");
        Full.parse(g);
    }

    fn is_hand_over(&self, g: &Generator<'_>, stage: Duty) -> Expr {
        build::or(Full.is_hand_over(g, stage), self.0.is_hand_over(g, stage))
    }

    fn arrive(&self, g: &mut Generator<'_>) -> Vec<Stmt> {
        let mut stmts = Full.arrive(g);
        if !g.entered_here_by(false).is_empty() {
            stmts.extend(self.0.arrive(g));
        }
        stmts
    }

    fn begin(&self, g: &mut Generator<'_>) -> Vec<Stmt> {
        Full.begin(g)
    }

    fn resume(&self, g: &mut Generator<'_>, at: At, section: SectionId) -> Option<Stmt> {
        Full.resume(g, at, section)
    }

    fn port_of(&self, g: &Generator<'_>, section: SectionId) -> Option<Expr> {
        Full.port_of(g, section)
    }

    fn save(&self, g: &mut Generator<'_>, at: At, section: SectionId) -> Vec<Stmt> {
        match g.entered_from_here_by(false).contains(&section) {
            true => g.leave_for(self.0.position, at, section, Some(BARE)),
            false => Full.save(g, at, section),
        }
    }

    fn send(&self, g: &mut Generator<'_>, stage: Duty, control: ControlId) -> Vec<Stmt> {
        if g.entered_from_here_by(true).is_empty() {
            return vec![];
        }
        let has_header = build::equals(g.position_field(stage, BARE), build::bits(1, 0));
        vec![build::if_then(has_header, Full.send(g, stage, control))]
    }

    fn find_port(&self, g: &mut Generator<'_>, targets: &[SectionId]) -> Vec<Stmt> {
        let bare = g.entered_from_here_by(false);
        let (bare, others): (Vec<_>, Vec<_>) = targets.iter().copied().partition(|id| bare.contains(id));
        let with_header = if others.is_empty() { vec![] } else { g.find_port(&others) };
        if bare.is_empty() {
            return with_header;
        }
        let is_bare = build::equals(g.position_field(Duty::Ingress, BARE), build::bits(1, 1));
        let by_position = g.find_lane(self.0.position, &bare);
        vec![build::if_else(is_bare, by_position, with_header)]
    }

    fn emit(&self, g: &mut Generator<'_>) {
        Full.emit(g);
    }
}
