//! `return`: control goes back to the origin that the packet came from, whatever section runs there next.
//!
//! Hand-overs have a field of its own, `origin`: the number of the origin to return to. A helper of several origins
//! keeps it in its metadata and writes it into hand-overs that it sends.

use super::{EdgePolicy, PortKey, PortTable};
use crate::generate::Generator;
use crate::layout::{LayoutField, bits_for};
use crate::placement::{DeviceIndex, Placement};
use crate::section::{SectionId, Sections};
use ir::{Program, Stmt, build};
use p4_arch::Duty;

pub struct Return;

/// The field of hand-overs.
const ORIGIN: &str = "origin";

/// Origin in a hand-over from a helper of a single origin.
const ANY_ORIGIN: u64 = 0;

impl EdgePolicy for Return {
    fn name(&self) -> &'static str {
        "return"
    }

    fn leads(&self, target: SectionId, sections: &Sections, placement: &Placement) -> bool {
        sections.get(target).device == placement.origin()
    }

    fn table(&self, _: &[SectionId], _: &Sections, placement: &Placement) -> PortTable {
        PortTable { key: PortKey::Field(ORIGIN), entries: (0..).zip(placement.origins()).collect() }
    }

    fn fields(&self, _: &Program, placement: &Placement) -> Vec<LayoutField> {
        fields(placement)
    }

    fn keeps(&self, placement: &Placement, device: DeviceIndex) -> Vec<LayoutField> {
        let is_helper = placement.role(device) != placement.origin();
        let several = is_helper && placement.origins().nth(1).is_some();
        if several { fields(placement) } else { vec![] }
    }

    fn send(&self, g: &mut Generator<'_>, stage: Duty) -> Vec<Stmt> {
        let origin = g.common_field(stage, ORIGIN);
        let number = g.kept_field(stage, ORIGIN).unwrap_or_else(|| {
            let number = g.cut.placement.origin_number(g.device).unwrap_or(ANY_ORIGIN);
            build::bits(g.cut.layout.width_of(ORIGIN), number)
        });
        vec![build::assign(origin, number)]
    }

    fn receive(&self, g: &mut Generator<'_>) -> Vec<Stmt> {
        let Some(kept) = g.kept_field(Duty::Ingress, ORIGIN) else { return vec![] };
        let came = g.came_with_header(Duty::Ingress);
        vec![build::if_then(came, vec![build::assign(kept, g.common_field(Duty::Ingress, ORIGIN))])]
    }
}

fn fields(placement: &Placement) -> Vec<LayoutField> {
    let last = placement.origins().count().saturating_sub(1) as u64;
    vec![LayoutField { name: ORIGIN.into(), width: bits_for(last) }]
}
