//! `full`: every live value and every header travels, in headers in front of the payload.
//!
//! ```text
//! frame of a hand-over    p4rack_t | p4rack_SECTION_t | the packet's valid headers | p4rack_pad_t | payload
//! ```
//!
//! `types` declares these headers, `parser` takes them, `hand_over` packs and unpacks values, `emit` writes them, and `pad` keeps
//! short ones from being padded by links.

mod emit;
mod hand_over;
mod pad;
mod parser;
mod types;

use super::{At, Runtime};
use crate::analysis::Analysis;
use crate::fit::{check_fit, too_long};
use crate::flow::AtSection;
use crate::generate::Generator;
use crate::layout::{Layout, NotCarried};
use crate::policy::EdgePolicy;
use crate::routes::Leg;
use crate::section::SectionId;
use base_diag::Diagnostic;
use ir::{ControlId, Expr, Stmt, build};
use p4_arch::Duty;

pub struct Full;

/// The bits of hand-overs to these sections, given what is live there.
pub fn layout(
    a: &Analysis<'_>,
    policies: &[&dyn EdgePolicy],
    entered: Vec<SectionId>,
    at: &[AtSection],
) -> Result<Layout, Vec<NotCarried>> {
    let kept = a.originals.as_deref().unwrap_or_default();
    let of_policies = policies.iter().flat_map(|policy| policy.fields(&a.program, a.placement)).collect();
    Layout::new(&a.program, a.places(), (&a.sections, entered), at, kept, of_policies)
}

impl Runtime for Full {
    fn name(&self) -> &'static str {
        "full"
    }

    fn layout(&self, a: &Analysis<'_>, policies: &[&dyn EdgePolicy]) -> Result<Layout, Vec<NotCarried>> {
        layout(a, policies, a.sections.resume_points(), &a.at)
    }

    fn header_bits(&self, layout: &Layout, section: SectionId) -> u32 {
        layout.common_bits() + layout.section_bits(section)
    }

    fn refuse(&self, a: &Analysis<'_>, layout: &Layout) -> Vec<Diagnostic> {
        let header_bytes = |leg: &Leg| u64::from(self.header_bits(layout, leg.section) / 8);
        check_fit(&a.sections, a.placement, &too_long(a, &header_bytes))
    }

    fn declare(&self, g: &mut Generator<'_>) {
        g.add_types();
    }

    fn parse(&self, g: &mut Generator<'_>) {
        g.add_parser_states();
    }

    fn is_hand_over(&self, g: &Generator<'_>, stage: Duty) -> Expr {
        build::is_valid(g.header_field(stage, g.common))
    }

    fn arrive(&self, g: &mut Generator<'_>) -> Vec<Stmt> {
        let mut stmts: Vec<Stmt> = g.cut.policies.iter().flat_map(|policy| policy.receive(g)).collect();
        for number in [Some(g.common), g.pad].into_iter().flatten() {
            let header = g.header_field(Duty::Ingress, number);
            let gone = build::set_valid(header.clone(), false);
            stmts.push(build::if_then(build::is_valid(header), vec![gone]));
        }
        stmts
    }

    fn begin(&self, g: &mut Generator<'_>) -> Vec<Stmt> {
        g.show_resubmitted().into_iter().chain(g.note_short()).chain(g.keep_originals()).collect()
    }

    fn resume(&self, g: &mut Generator<'_>, at: At, section: SectionId) -> Option<Stmt> {
        g.restore(at, section)
    }

    fn port_of(&self, g: &Generator<'_>, section: SectionId) -> Option<Expr> {
        let header = g.header_field(Duty::Ingress, *g.of_section.get(&section)?);
        let live = g.cut.layout.sections.get(&section).into_iter().flatten();
        let port = live.into_iter().find(|field| Some(field.leaf) == g.cut.port);
        Some(g.named_field(header, port.map_or("", |field| &field.name)))
    }

    fn save(&self, g: &mut Generator<'_>, at: At, section: SectionId) -> Vec<Stmt> {
        g.save_section(at, section)
    }

    fn send(&self, g: &mut Generator<'_>, stage: Duty, control: ControlId) -> Vec<Stmt> {
        g.send(stage, control)
    }

    fn emit(&self, g: &mut Generator<'_>) {
        g.write_deparser();
    }
}
