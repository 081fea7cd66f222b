//! Cut a program into regions, find what crosses the cuts, make each device's program.
//!
//! ```text
//! program + placement
//!   auto       regions that nobody marked
//!   landings   regions that `flyto` calls begin
//!   mark       @region blocks
//!   emits      the deparser's headers one by one
//!   hoist      locals of the bodies beside the tables
//!   detour     arms without a region pass by its device, where packets may not overtake
//!   section    bodies cut where the device changes (bypass: nobody is visited for nothing)
//!   flow       facts forward, live values backward (facts, forward, backward; place numbers the values)
//!   state      every state object at one device
//!   routes     hand-overs link by link, over devices in between
//!   layout     what a hand-over carries
//!   check      what cannot be exact is refused
//!   generate   a program for each device
//! ```
//!
//! **Invariant**: nothing is duplicated and nothing is approximated. A packet that resumes on another device behaves
//! as if it had never left, or the split is refused with the value or object that stands in the way.

mod access_order;
pub mod auto;
mod backward;
mod bypass;
mod check;
mod check_shape;
mod detour;
mod emits;
mod facts;
mod field_lists;
mod fit;
mod flow;
mod forward;
mod generate;
mod hoist;
mod keep_order;
mod landings;
mod layout;
mod leaf_set;
mod limits;
mod mark;
mod names;
mod originals;
mod parsed;
mod parsed_again;
mod parser_places;
mod place;
mod placement;
mod prepare;
mod routes;
mod section;
mod state;
mod v1model;
mod witness;

pub use check::unknown_region;
pub use generate::{DeviceProgram, LinkEntry, Linkage};
pub use landings::landings;
pub use layout::{APP_BITS, EPOCH_BITS, ETHER_TYPE, Form, Layout, LayoutField, LiveField, VERSION};
pub use limits::Limits;
pub use mark::{Mark, marks};
pub use placement::{DeviceIndex, Length, Order, Placement};
pub use section::{CallEnd, Half, SectionId, SectionKind};
pub use state::uses_in_order;
pub use v1model::PORT_BITS;

use base_diag::{Diagnostic, Span};
use ir::{ControlId, Name, Program, StageKind};
use place::Places;
use prepare::Noted;
use section::Sections;
use std::collections::BTreeMap;

/// A program split over devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split {
    /// What each device of the placement runs; `None` for one that has no part.
    pub devices: Vec<Option<DeviceProgram>>,
    /// The sections, in topological order.
    pub sections: Vec<SectionInfo>,
    /// Control may pass from one section to another; from the end of ingress to egress, too.
    pub edges: Vec<(SectionId, SectionId)>,
    /// Bits of the part that all hand-overs have.
    pub common_bits: u32,
    /// The fields of that part.
    pub common: Vec<LayoutField>,
    /// Control-plane names of the counters and meters that count bytes behind a cut: their devices have to know
    /// `@counted_length`.
    pub counted_behind_a_cut: Vec<Name>,
    /// What is not as the placement asks, and does not hinder.
    pub warnings: Vec<Diagnostic>,
}

impl Split {
    /// Edges whose ends are on different devices.
    pub fn cut_edges(&self) -> Vec<(SectionId, SectionId)> {
        let device = |id: SectionId| self.sections[id.0 as usize].device;
        self.edges.iter().copied().filter(|(from, to)| device(*from) != device(*to)).collect()
    }
}

/// A section as users see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SectionInfo {
    /// `Acl`, `ingress.2`
    pub name: Name,
    /// The region it belongs to.
    pub region: Name,
    /// Before or behind the traffic manager.
    pub half: Half,
    /// Code, or the end of its half.
    pub kind: SectionKind,
    /// Where it runs.
    pub device: DeviceIndex,
    /// Its part in a call, if it has one.
    pub call: Option<CallEnd>,
    /// Control-plane names of the tables it applies.
    pub tables: Vec<Name>,
    /// Control-plane names of the state objects it uses.
    pub state: Vec<Name>,
    /// What a hand-over to it carries beside the headers. `None` if no cut leads to it.
    pub live: Option<Vec<LiveValue>>,
}

impl SectionInfo {
    /// The end of a half to which no cut leads: it is where the half is.
    pub fn is_plain_end(&self) -> bool {
        self.kind == SectionKind::End && self.live.is_none()
    }
}

/// A value that travels, as users see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveValue {
    /// As the program names it.
    pub name: String,
    /// Its bits.
    pub bits: u32,
    /// The last statement in front of the section that writes it, if the program does.
    pub writer: Option<Span>,
    /// The first statement at or behind the section that reads it, if the program does.
    pub reader: Option<Span>,
}

/// Splits a program.
///
/// Gives one program for each device that has a part. All that is wrong with the program or the placement is
/// reported at once.
pub fn split(program: &Program, placement: &Placement) -> Result<Split, Vec<Diagnostic>> {
    split_noting(program, placement, Noted::default())
}

/// `noted` says what the program needs beside its cuts.
fn split_noting(program: &Program, placement: &Placement, noted: Noted) -> Result<Split, Vec<Diagnostic>> {
    let expanded = expanded(program);
    let program = &expanded;
    let marks = marks(program)?;
    let mut wrong = check::check_placement(&marks, placement);
    let is_away = |m: &&Mark| placement.device_of(&m.name) != placement.origin;
    let cut_half = |half: Half| marks.iter().filter(is_away).any(|m| m.half == half);
    let halves = prepare::CutHalves { ingress: cut_half(Half::Ingress), egress: cut_half(Half::Egress) };
    let is_cut = halves.ingress || halves.egress;
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let (Some(mut ingress), Some(mut egress)) =
        (program.stage_control("ingress"), program.stage_control("egress"))
    else {
        return Ok(whole(program, placement));
    };
    let mut hoisted = program.clone();
    let mut prefix = String::new();
    let mut lengths = prepare::Lengths::new();
    let mut orders = prepare::Orders::default();
    let mut port = None;
    let mut lent = prepare::Lent::new();
    if is_cut {
        wrong.extend(check::check_stages(program));
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let prepared = prepare::prepare(program, names::prefix(program), halves, noted)?;
        wrong.extend(check::check_program(&prepared.program));
        // Inlining has renumbered the controls.
        let now = |stage: &str, before: ControlId| prepared.program.stage_control(stage).unwrap_or(before);
        (ingress, egress) = (now("ingress", ingress), now("egress", egress));
        (hoisted, prefix) = (prepared.program, prepared.prefix);
        (lengths, orders, port) = (prepared.lengths, prepared.orders, prepared.port);
        lent = prepared.lent;
        hoist::hoist_locals(&mut hoisted.controls[ingress.index()]);
        hoist::hoist_locals(&mut hoisted.controls[egress.index()]);
        for id in [ingress, egress] {
            detour::detour(&mut hoisted.controls[id.index()].body, placement, noted.detours);
        }
    }
    let places = Places::new(&hoisted);
    let flow = flow::Flow::new(&hoisted, &places, port);
    let body = |id: ControlId| &hoisted.control(id).body;
    let sections = Sections::form(("ingress", body(ingress)), ("egress", body(egress)), placement);
    let at = flow.analyze(&sections, ingress, egress);
    let mut uses: BTreeMap<SectionId, state::Uses> = sections
        .iter()
        .map(|(id, s)| {
            let control = if s.half == Half::Ingress { ingress } else { egress };
            let mut uses = state::uses_of(&hoisted, control, &s.code);
            prepare::forget_lent(&mut uses, control, &lent);
            (id, uses)
        })
        .collect();
    if let Some(first) = uses.get_mut(&sections.first(Half::Ingress)) {
        first.instances.extend(state::used_before_ingress(&hoisted));
    }
    let counted = state::counted_behind_a_cut(&hoisted, &sections, &uses);
    if is_cut && !noted.counted && !counted.is_empty() {
        return split_noting(&expanded, placement, Noted { counted: true, ..noted });
    }
    let routes = routes::Routes::new(&sections, placement);
    wrong.extend(check::check_links(&sections, placement, &routes));
    wrong.extend(check::check_twins(&hoisted, &sections, placement, &uses));
    let separated = state::separated(&hoisted, &sections, &uses);
    if is_cut && !noted.lent && separated.iter().any(|s| state::is_direct(&hoisted, s.instance)) {
        // Only where nothing else stands in the way: what is said of the program is said of it as it is.
        if let Ok(split) = split_noting(&expanded, placement, Noted { lent: true, ..noted }) {
            return Ok(split);
        }
    }
    wrong.extend(check::check_state(&hoisted, &sections, placement, &separated));
    if is_cut {
        wrong.extend(check::check_bytes(&hoisted, &counted, &sections));
        let overtaken = access_order::overtaken(&hoisted, &sections, &uses);
        if let Some(found) = overtaken.filter(|_| separated.is_empty()) {
            let levels = [ingress, egress].map(|id| detour::levels(body(id), placement));
            if placement.detours && noted.detours < levels.into_iter().max().unwrap_or(0) {
                let more = Noted { detours: noted.detours + 1, ..noted };
                if let Ok(split) = split_noting(&expanded, placement, more) {
                    return Ok(split);
                }
            }
            wrong.push(check::check_order(&hoisted, placement, &found));
        }
    }
    let reads_length = |half: Half| {
        let live = &at[sections.first(half).0 as usize].live.live;
        places.standard("packet_length").is_some_and(|leaf| live.contains(leaf))
    };
    let mut uncounted = vec![];
    if is_cut && reads_length(Half::Egress) {
        let cut_stages: &[&str] = if halves.egress { &["ingress", "egress"] } else { &["ingress"] };
        let only_clones = !halves.ingress && !orders.egress_clones;
        if !only_clones {
            uncounted.extend(check_shape::check_length(&hoisted, &places, cut_stages));
        }
    }
    let mut kept = vec![];
    if orders.clones_original || orders.restart.is_some() {
        match originals::originals(&flow, orders.restart.is_some()) {
            Ok(found) => kept = found,
            Err(refused) => wrong.extend(refused),
        }
    }
    if is_cut {
        wrong.extend(check_shape::check_headers(&hoisted, &places));
    }
    if reads_length(Half::Egress) {
        uncounted.extend(check_shape::check_kept_length(&hoisted, &places, &kept));
    }
    if !uncounted.is_empty() && !noted.tracked {
        return split_noting(&expanded, placement, Noted { tracked: true, ..noted });
    }
    wrong.extend(uncounted);
    if orders.clones_original || orders.restart.is_some() {
        wrong.extend(check_shape::check_verified(&hoisted));
    }
    if orders.clones_original {
        let first = &at[sections.first(Half::Egress).0 as usize].live;
        wrong.extend(check_shape::check_stale(&flow, &first.hidden));
    }
    let layout = match Layout::new(&hoisted, &places, &sections, &at, placement, &kept) {
        Ok(layout) => layout,
        Err(refused) => {
            wrong.extend(check::check_carried(&flow, &sections, &refused));
            return Err(wrong);
        }
    };
    let too_long = fit::too_long(&hoisted, &places, &at, &layout, &kept, placement, &routes);
    wrong.extend(check::check_fit(&sections, placement, &too_long));
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let deciding = keep_order::deciding(&flow, &sections, [ingress, egress]);
    let keeps = placement.order == Order::Keep;
    let warnings = check::check_flow_order(&deciding).filter(|_| keeps);
    let mut result = describe(&flow, &sections, &layout, &uses, (ingress, egress));
    result.warnings.extend(warnings);
    result.counted_behind_a_cut =
        counted.iter().map(|(instance, _)| hoisted.instance(*instance).control_plane_name.clone()).collect();
    if !is_cut {
        result.devices = whole(program, placement).devices;
        return Ok(result);
    }
    let parser = program.stages.iter().find_map(|s| match s.kind {
        StageKind::Parse(id) => Some(id),
        _ => None,
    });
    let Some(parser) = parser else { return Ok(whole(program, placement)) };
    let first = &at[sections.first(Half::Egress).0 as usize].live;
    let length = places.standard("packet_length");
    let cut = generate::Cut {
        program: &hoisted,
        places: &places,
        sections: &sections,
        layout: &layout,
        placement,
        routes: &routes,
        ingress,
        egress,
        parser,
        prefix: &prefix,
        lengths: &lengths,
        orders: &orders,
        originals: &kept,
        lent: &lent,
        reads_length: length.is_some_and(|leaf| first.live.contains(leaf)),
        reads_hidden: first.hidden.iter().next().is_some(),
        port: flow.port(),
        parsed_bytes: parsed::parsed_bytes(&hoisted),
    };
    let has_part = |device: DeviceIndex| {
        let runs_something = sections.list.iter().any(|s| s.device == placement.role(device));
        runs_something || routes.sent_on(device).next().is_some()
    };
    let devices = (0..placement.devices.len() as u32).map(DeviceIndex);
    result.devices = devices.map(|d| has_part(d).then(|| generate::device_program(&cut, d))).collect();
    for device in result.devices.iter_mut().flatten() {
        device.linkage.keeps_order = deciding.is_empty();
    }
    if result.devices.iter().flatten().any(|device| prepare::is_torn(&device.program, &lent)) {
        // The caller has a reason of its own.
        return Err(vec![]);
    }
    Ok(result)
}

/// The program with its deparser's emits one by one.
fn expanded(program: &Program) -> Program {
    let mut expanded = program.clone();
    if let Some(id) = program.stage_control("deparser") {
        expanded.controls[id.index()].body = emits::expand_emits(program, &program.control(id).body);
    }
    expanded
}

/// The whole program at the origin.
fn whole(program: &Program, placement: &Placement) -> Split {
    let part = DeviceProgram { program: program.clone(), linkage: Linkage::default() };
    let mut devices = vec![None; placement.devices.len()];
    for origin in placement.origins() {
        if let Some(device) = devices.get_mut(origin.0 as usize) {
            *device = Some(part.clone());
        }
    }
    Split {
        devices,
        sections: vec![],
        edges: vec![],
        common_bits: 0,
        common: vec![],
        counted_behind_a_cut: vec![],
        warnings: vec![],
    }
}

fn describe(
    flow: &flow::Flow<'_>,
    sections: &Sections,
    layout: &Layout,
    uses: &BTreeMap<SectionId, state::Uses>,
    (ingress, egress): (ControlId, ControlId),
) -> Split {
    let program = flow.program;
    let witnesses = witness::Witnesses::new(flow, sections, (ingress, egress));
    let live_value = |id: SectionId, field: &LiveField| LiveValue {
        name: flow.places.info(field.leaf).name.clone(),
        bits: field.width,
        writer: witnesses.writer(id, field.leaf),
        reader: witnesses.reader(id, field.leaf),
    };
    let info = |(id, s): (SectionId, &section::Section)| {
        let control = program.control(if s.half == Half::Ingress { ingress } else { egress });
        let used = &uses[&id];
        SectionInfo {
            name: s.name.clone(),
            region: s.region.clone(),
            half: s.half,
            kind: s.kind,
            device: s.device,
            call: s.call,
            tables: used
                .tables
                .iter()
                .map(|t| control.tables[t.index()].control_plane_name.clone())
                .collect(),
            state: used.instances.iter().map(|i| program.instance(*i).control_plane_name.clone()).collect(),
            live: layout.sections.get(&id).map(|fields| fields.iter().map(|f| live_value(id, f)).collect()),
        }
    };
    Split {
        devices: vec![],
        sections: sections.iter().map(info).collect(),
        edges: sections.edges().collect(),
        common_bits: layout.common_bits(),
        common: layout.common.clone(),
        counted_behind_a_cut: vec![],
        warnings: vec![],
    }
}
