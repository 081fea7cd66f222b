//! `group`: flows are divided among servers that come and go, and each flow stays at the server that has its state.
//!
//! The program leaves the flow in a field of its metadata that says so, `@flow("REGION", BUCKETS)`; for handlers, `name-flows` does.
//! `group.p4` finds the server: by the pin of the flow, or by the row of its bucket, and names the row's previous server. The fields of a
//! hand-over that begin with `group_` are for the servers, which are in front of their devices (crate `group-front`); frames between servers and
//! instructions of the controller come to the switch with a receiver, and pass. `docs/internals/groups.md` describes the protocol.
//!
//! ```text
//! origin   p4rack.group_flow = meta.flow;                                              as a hand-over is packed, in ingress or in egress
//!          p4rack_group.apply(EDGE, BUCKETS - 1, group_flow, group_to, group_other, group_bucket, leaves, port); if (leaves == 0) { drop }
//! ```
//!
//! A flow may be a leased block (`name-flows`): then it is at the server of the lease, which the table `leases` has; the group's controller moves leases.
//!
//! Calls of groups in `Placement::numbered` have a number, which their answers bring back. The switch remembers the numbers that are out, and drops
//! an answer whose number is not: it has come before. Servers drop calls that come twice (`group-front`).
//!
//! ```text
//! origin   leaves     p4rack_calls.apply(0, now, group_call, again);                       a number that is out now
//!          comes back p4rack_calls.apply(1, 0, group_call, again); if (again == 1) { drop }
//! server   the number of the hand-over that came goes into the one that leaves
//! ```
//!
//! Groups in `Placement::filtered` have CLIP's two Bloom filters in front of their rows (`server_groups::filters`): the previous server of a row gets the
//! packets of flows that the older filter has.
//!
//! After the region, control goes back, as with `call`. At first, the devices of a site share the buckets in turn.

mod edge;

use super::EdgePolicy;
use super::facts::{self, Fact, Kind};
use crate::analysis::Analysis;
use crate::generate::{Drop, Generator};
use crate::group_edge::EDGE_BITS;
use crate::layout::{CALL, LayoutField};
use crate::mark::Mark;
use crate::placement::{DeviceIndex, Placement, Policy};
use crate::section::{Half, SectionId, Sections};
use base_diag::{Diagnostic, codes};
use ir::{Callee, Expr, ExprKind, Program, Stmt, Type, build};
use p4_arch::{Duty, Meaning};
use server_groups::wire;
use std::collections::BTreeMap;

pub struct Group;

/// Metadata of a sender: the hand-over leaves.
const LEAVES: &str = "group_leaves";

const FLOW: &str = "group_flow";
const TO: &str = "group_to";
const OTHER: &str = "group_other";
const BUCKET: &str = "group_bucket";
const FLAG: &str = "group_flag";

/// Metadata of the switch: the answer has come before.
const AGAIN: &str = "group_again";

/// Bits of a call's number, and of the time that begins them (`group.p4`).
const CALL_BITS: u32 = 48;

/// Bits of a leased block's number.
const BLOCK_BITS: u32 = 16;

/// Flows with a pin.
const PINS: u32 = 4096;

/// The annotation of a region: `@flow("REGION", BUCKETS)`.
static KIND: Kind = Kind {
    policy: Policy::Group,
    annotation: "flow",
    most_bits: wire::MOST_FLOW_BITS,
    most: 1 << wire::BUCKET_BITS,
    is: "the flow of a packet",
    powers_of_two: true,
    code: codes::group::NOT_GROUPED,
    keeps_handlers: true,
    several_fields: false,
    leaves_from_egress: true,
};

impl EdgePolicy for Group {
    fn name(&self) -> &'static str {
        "group"
    }

    fn most_devices(&self) -> usize {
        wire::MOST_MEMBERS
    }

    fn gives_back(&self) -> bool {
        true
    }

    fn check_sites(&self, program: &Program, marks: &[Mark], placement: &Placement) -> Vec<Diagnostic> {
        facts::check_facts(&KIND, program, marks, placement)
    }

    fn check_cut(&self, a: &Analysis<'_>) -> Vec<Diagnostic> {
        facts::check_cut(&KIND, a)
    }

    fn leads(&self, target: SectionId, sections: &Sections, placement: &Placement) -> bool {
        placement.is_led_by(sections.get(target).device, Policy::Group)
    }

    fn hears(&self, target: SectionId, sections: &Sections, placement: &Placement) -> bool {
        self.leads(target, sections, placement)
    }

    fn fields(&self, program: &Program, placement: &Placement) -> Vec<LayoutField> {
        let widths = facts::of_kind(&KIND, program, placement).map(|fact| fact.width);
        let Some(flow) = widths.max() else { return vec![] };
        let all = [
            ("group_kind", wire::KIND_BITS),
            (TO, wire::MEMBER_BITS),
            (OTHER, wire::MEMBER_BITS),
            ("group_number", wire::NUMBER_BITS),
            (FLAG, 1),
            (BUCKET, wire::BUCKET_BITS),
            (FLOW, flow),
        ];
        let number = (!placement.numbered.is_empty()).then_some((CALL, CALL_BITS));
        all.into_iter().chain(number).map(|(name, width)| field(name, width)).collect()
    }

    fn keeps(&self, placement: &Placement, device: DeviceIndex) -> Vec<LayoutField> {
        let role = placement.role(device);
        if placement.numbered.contains(&role) {
            return vec![field(CALL, CALL_BITS)];
        }
        if role != placement.origin() || !placement.has_any(Policy::Group) {
            return vec![];
        }
        let again = (!placement.numbered.is_empty()).then(|| field(AGAIN, 1));
        std::iter::once(field(LEAVES, 1)).chain(again).collect()
    }

    fn send(&self, g: &mut Generator<'_>, stage: Duty) -> Vec<Stmt> {
        let fields = self.fields(g.cut.program, g.cut.placement);
        let flow = flow(g, stage);
        let filled = |f: LayoutField| {
            let zero = build::cast(build::bits(1, 0), Type::Bit(f.width));
            // An answer has the number of its call.
            let known = g.kept_field(stage, &f.name).or_else(|| flow.clone().filter(|_| f.name == FLOW));
            let value = known.unwrap_or(zero);
            build::assign(g.common_field(stage, &f.name), value)
        };
        fields.into_iter().map(filled).collect()
    }

    fn receive(&self, g: &mut Generator<'_>) -> Vec<Stmt> {
        let stage = Duty::Ingress;
        if g.cut.placement.numbered.is_empty() {
            return vec![];
        }
        let came = g.came_with_header(stage);
        let number = g.common_field(stage, CALL);
        if let Some(kept) = g.kept_field(stage, CALL) {
            return vec![build::if_then(came, vec![build::assign(kept, number)])];
        }
        let Some(again) = g.kept_field(stage, AGAIN) else { return vec![] };
        let sites = sites(g, &led_from_here(g));
        let (control, _) = g.bring(&source(g, &sites), "calls");
        let args = vec![build::bits(1, 1), build::bits(CALL_BITS, 0), number.clone(), again.clone()];
        let mut dropped = g.drop(Drop::Again);
        dropped.push(build::assign(g.region_of(stage), g.region_value(g.cut.layout.ended_region)));
        let is_again = build::equals(again, build::bits(1, 1));
        // Hand-overs of other regions have no number, and frames of another plan are dropped as unknown.
        let is_numbered = build::differs(number, build::bits(CALL_BITS, 0));
        let is_known = build::differs(g.region_of(stage), g.region_value(g.cut.layout.unknown_region));
        let answers = build::and(build::and(came, is_numbered), is_known);
        let stmts =
            vec![build::call(Callee::Control(control), vec![], args), build::if_then(is_again, dropped)];
        vec![build::if_then(answers, stmts)]
    }

    fn lead(&self, g: &mut Generator<'_>, own: &[SectionId]) -> Vec<Stmt> {
        let stage = Duty::Ingress;
        let sites = sites(g, own);
        let source = source(g, &sites);
        let (control, path) = g.bring(&source, "group");
        let Some(leaves) = g.kept_field(stage, LEAVES) else {
            return g.lacks("a field of the policy `group`".to_string(), vec![]);
        };
        let port = g.standard(stage, Meaning::ToPort);
        for site in &sites {
            edge::fill(g, &path, site);
        }
        let numbered = number_call(g, &sites, &source);
        let common = |name: &str| g.common_field(stage, name);
        let by_site = |of: &dyn Fn(&SiteOfGroup) -> Expr| {
            g.by_section(stage, sites.iter().map(|site| (&*site.sections, of(site))).collect())
        };
        let number = by_site(&|site| build::bits(EDGE_BITS, site.number));
        let last_bucket = by_site(&|site| build::bits(wire::BUCKET_BITS, site.fact.count - 1));
        // A hand-over of the program has no receiver yet; frames of servers and instructions name theirs.
        let is_fresh = build::equals(common(TO), build::bits(wire::MEMBER_BITS, 0));
        let mut args: Vec<Expr> = number.into_iter().chain(last_bucket).collect();
        args.push(common(FLOW));
        if blocks(&sites) > 0 {
            args.extend(by_site(&|site| block(site, common(FLOW))));
            args.push(common(FLAG));
        }
        args.extend([common(TO), common(OTHER), common(BUCKET), leaves.clone(), port]);
        let nobody = build::equals(leaves, build::bits(1, 0));
        let mut stmts: Vec<Stmt> =
            numbered.map(|call| build::if_then(is_fresh, vec![call])).into_iter().collect();
        stmts.push(build::call(Callee::Control(control), vec![], args));
        stmts.push(build::if_then(nobody, g.drop(Drop::NoPort)));
        stmts
    }
}

/// Hand-overs to one group.
struct SiteOfGroup {
    number: u64,
    devices: Vec<DeviceIndex>,
    sections: Vec<SectionId>,
    fact: Fact,
    /// Cells of each of a filter's arrays; 0 without filters.
    cells: u32,
}

fn field(name: &str, width: u32) -> LayoutField {
    LayoutField { name: name.into(), width }
}

/// Sections at groups that hand-overs of this device are for.
fn led_from_here(g: &Generator<'_>) -> Vec<SectionId> {
    let led = g.entered_from_here().into_iter();
    led.filter(|id| Group.leads(*id, g.cut.sections, g.cut.placement)).collect()
}

/// The flow of a packet that leaves a stage of the switch: of the call for which it leaves, or 0. `None` if this stage calls no group.
fn flow(g: &Generator<'_>, stage: Duty) -> Option<Expr> {
    let from_stage =
        |id: &SectionId| (g.cut.sections.get(*id).half == Half::Egress) == (stage == Duty::Egress);
    let all: Vec<SectionId> = g.entered_from_here().into_iter().filter(from_stage).collect();
    let led: Vec<SectionId> = led_from_here(g).into_iter().filter(from_stage).collect();
    if led.is_empty() || !g.is_origin() {
        return None;
    }
    let bits = Type::Bit(g.cut.layout.width_of(FLOW));
    let zero = build::cast(build::bits(1, 0), bits.clone());
    let of = |site: &SiteOfGroup| build::cast(site.fact.of(g.metadata(stage)), bits.clone());
    let sites = sites(g, &led);
    let known = sites.iter().map(|site| (&*site.sections, of(site)));
    let none: Option<(&[SectionId], Expr)> = (all.len() > led.len()).then_some((&[], zero));
    g.by_section(stage, known.chain(none).collect())
}

/// True if calls of the group have numbers.
fn is_numbered(g: &Generator<'_>, site: &SiteOfGroup) -> bool {
    let placement = g.cut.placement;
    site.devices.first().is_some_and(|device| placement.numbered.contains(&placement.role(*device)))
}

/// Gives a call its number, if its group wants one.
fn number_call(g: &mut Generator<'_>, sites: &[SiteOfGroup], source: &str) -> Option<Stmt> {
    let stage = Duty::Ingress;
    let again = g.kept_field(stage, AGAIN)?;
    let (control, _) = g.bring(source, "calls");
    let now = g.standard_field(stage, "ingress_global_timestamp", CALL_BITS);
    let args = vec![build::bits(1, 0), now, g.common_field(stage, CALL), again];
    let call = build::call(Callee::Control(control), vec![], args);
    let numbered = sites.iter().filter(|site| is_numbered(g, site));
    let numbered: Vec<SectionId> = numbered.flat_map(|site| site.sections.iter().copied()).collect();
    let all = numbered.len() == sites.iter().map(|site| site.sections.len()).sum::<usize>();
    if all { Some(call) } else { Some(build::if_then(g.leaves_for(stage, &numbered)?, vec![call])) }
}

/// Leased blocks of all groups together.
fn blocks(sites: &[SiteOfGroup]) -> u64 {
    sites.iter().map(|site| site.fact.blocks).sum()
}

/// The leased block that a flow names, 0 if it names none.
fn block(site: &SiteOfGroup, flow: Expr) -> Expr {
    let SiteOfGroup { fact, .. } = site;
    let none = build::bits(BLOCK_BITS, 0);
    if fact.blocks == 0 {
        return none;
    }
    let first = build::shift_right(flow.clone(), u64::from(fact.width) - 1);
    let is_leased = build::differs(first, build::cast(build::bits(1, 0), flow.ty.clone()));
    let number = build::cast(flow, Type::Bit(BLOCK_BITS));
    let ty = number.ty.clone();
    build::expr(ExprKind::Ternary(Box::new(is_leased), Box::new(number), Box::new(none)), ty)
}

/// The groups that hand-overs leave for.
fn sites(g: &Generator<'_>, own: &[SectionId]) -> Vec<SiteOfGroup> {
    let mut by_role: BTreeMap<DeviceIndex, Vec<SectionId>> = BTreeMap::new();
    for &id in own {
        by_role.entry(g.cut.sections.get(id).device).or_default().push(id);
    }
    let site = |(number, (role, sections)): (u64, (DeviceIndex, Vec<SectionId>))| {
        let region = &g.cut.sections.get(*sections.first()?).region;
        let fact = facts::of_region(&KIND, g.cut.program, region)?;
        let cells = g.cut.placement.filtered.get(&role).copied().unwrap_or(0);
        Some(SiteOfGroup { number, devices: g.cut.placement.players(role), sections, fact, cells })
    };
    (0..).zip(by_role).filter_map(site).collect()
}

fn source(g: &Generator<'_>, sites: &[SiteOfGroup]) -> String {
    let rows: u64 = sites.iter().map(|site| site.fact.count).sum();
    let members: usize = sites.iter().map(|site| site.devices.len()).sum();
    let arch = "#include <core.p4>\n#include <v1model.p4>";
    let flow_bits = g.cut.layout.width_of(FLOW);
    let all_bits = flow_bits.next_multiple_of(32);
    let words = (0..all_bits).step_by(32);
    let mix: String = words.map(|low| format!("h = h + all[{}:{low}]; MIX ", low + 31)).collect();
    let numbers = u8::from(!g.cut.placement.numbered.is_empty());
    // All filters are as large as the largest.
    let cell_bits = sites.iter().map(|site| site.cells).max().and_then(u32::checked_ilog2).unwrap_or(0);
    let (groups, all_cells) = (sites.len(), sites.len() << cell_bits);
    format!(
        "#define NUMBERS {numbers}\n#define CELL_BITS {cell_bits}\n#define ALL_CELLS {all_cells}\n#define GROUPS {groups}\n#define ROWS {rows}\n#define BLOCKS {}\n#define PINS {PINS}\n#define MEMBERS {members}\n#define FLOW_BITS {flow_bits}\n#define ALL_BITS {all_bits}\n\
         #define PORT_BITS {}\n{arch}\n{}",
        blocks(sites),
        crate::PORT_BITS,
        include_str!("group.p4").replace("            MIX_ALL", &format!("            {mix}")),
    )
}
