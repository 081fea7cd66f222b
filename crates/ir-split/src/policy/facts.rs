//! The metadata field that identifies flows for a policy, and the checks of a placement with such a policy.

use crate::analysis::Analysis;
use crate::mark::Mark;
use crate::name_flows::BLOCKS;
use crate::placement::{DeviceIndex, Placement, Policy};
use crate::prepare::role_type;
use crate::section::{Half, SectionId, Sections, first_span};
use crate::state::is_handler;
use base_diag::{Code, Diagnostic};
use ir::{AnnotationValue, Expr, Field, InstanceId, Program, Role, Type, build};
use ir_state::{Apart, Mode, Uses, adds_up, apart, mode_of, refuse_apart};
use std::collections::BTreeMap;

/// A policy that divides flows by a field of metadata, and how it speaks of it.
pub(super) struct Kind {
    pub policy: Policy,
    /// `@ANNOTATION("REGION", COUNT)` stands before the field.
    pub annotation: &'static str,
    /// Bits of the field.
    pub most_bits: u32,
    /// The largest `COUNT`.
    pub most: u64,
    /// Only powers of two can be counts.
    pub powers_of_two: bool,
    /// Meaning of the field, for messages.
    pub is: &'static str,
    /// Code of its mistakes.
    pub code: Code,
    /// A handler has the state of each flow at the device of the flow.
    pub keeps_handlers: bool,
    /// Regions on the same devices may be divided by different fields.
    pub several_fields: bool,
    /// Hand-overs of the switch's egress have the field, too.
    pub leaves_from_egress: bool,
}

impl Kind {
    fn may_be(&self, count: u64) -> bool {
        (1..=self.most).contains(&count) && (!self.powers_of_two || count.is_power_of_two())
    }
}

/// The field of metadata, which may lie in a struct of the metadata.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fact {
    /// The fields that lead to it, outermost first: numbers and types.
    path: Vec<(usize, Type)>,
    /// In bits.
    pub width: u32,
    /// Number from the annotation.
    pub count: u64,
    /// Leased blocks that the field may name, with the first bit set; 0 if it never does.
    pub blocks: u64,
}

impl Fact {
    /// The field of this metadata.
    pub fn of(&self, metadata: Expr) -> Expr {
        self.path.iter().fold(metadata, |outer, (at, ty)| build::field(outer, *at, ty.clone()))
    }
}

/// The field for a region.
pub(super) fn of_region(kind: &Kind, program: &Program, region: &str) -> Option<Fact> {
    within(kind, program, region, &role_type(program, Role::Metadata)?)
}

/// The same, in a struct of the metadata.
fn within(kind: &Kind, program: &Program, region: &str, whole: &Type) -> Option<Fact> {
    let found = |(at, field): (usize, &Field)| {
        let Type::Bit(width) = field.ty else {
            let mut fact = within(kind, program, region, &field.ty)?;
            fact.path.insert(0, (at, field.ty.clone()));
            return Some(fact);
        };
        let said = |name: &str| {
            let own = field.annotations.iter().filter(|a| a.name == name);
            own.filter_map(|a| match a.body.values() {
                [AnnotationValue::Str(known), AnnotationValue::Int(count)] if known == region => {
                    u64::try_from(count).ok()
                }
                _ => None,
            })
            .next()
        };
        let blocks = said(BLOCKS).filter(|_| kind.keeps_handlers).unwrap_or(0).min(1 << 16);
        let count = said(kind.annotation).filter(|count| kind.may_be(*count))?;
        let is_one = (1..=kind.most_bits).contains(&width);
        is_one.then(|| Fact { path: vec![(at, field.ty.clone())], width, count, blocks })
    };
    program.fields(whole).iter().enumerate().find_map(found)
}

/// Regions whose flows are divided say by which number. A region inside of another one on the same devices says the same number, and so do
/// all regions on the same devices unless the policy takes several.
pub(super) fn check_facts(
    kind: &Kind,
    program: &Program,
    marks: &[Mark],
    placement: &Placement,
) -> Vec<Diagnostic> {
    let mut known: BTreeMap<DeviceIndex, &ir::Name> = BTreeMap::new();
    let mut found = vec![];
    for name in divided(kind, placement) {
        let mark = marks.iter().find(|mark| mark.name == *name);
        let refuse = |title: String| {
            let diagnostic = Diagnostic::error(kind.code, title);
            mark.into_iter().fold(diagnostic, |d, mark| d.at(mark.span, "this runs on several devices"))
        };
        let Some(fact) = of_region(kind, program, name) else {
            let title = format!("the device is not determined for packets of region `{name}`");
            let Kind { policy, annotation, most_bits, is, .. } = kind;
            let policy = policy.rules().name();
            found.push(refuse(title).note(format!("the policy `{policy}` divides flows by {is}, which the program computes before the region")).help(
                format!("write `@{annotation}(\"{name}\", COUNT)` before the field of metadata that has it, of up to {most_bits} bits"),
            ));
            continue;
        };
        let first = *known.entry(placement.device_of(name)).or_insert(name);
        let around = mark.and_then(|mark| mark.inside.as_ref());
        let around = around.filter(|outer| placement.device_of(outer) == placement.device_of(name));
        let other = if kind.several_fields { around } else { Some(first) };
        if let Some(other) = other
            && of_region(kind, program, other).is_some_and(|of_other| of_other != fact)
        {
            found.push(refuse_other(refuse(other_title(name, other))));
        }
    }
    found
}

fn other_title(name: &str, first: &str) -> String {
    format!("`{name}` is divided by another field than `{first}`")
}

fn refuse_other(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic
        .note("a packet comes from one to the other on the same devices, and stays on one of them")
        .help("mark one field of metadata for both, or place them on different devices")
}

/// Control that stays on its device comes to no region that another field divides.
fn check_stays(
    kind: &Kind,
    program: &Program,
    sections: &Sections,
    placement: &Placement,
) -> Vec<Diagnostic> {
    let mut found = vec![];
    for (from, to) in sections.edges() {
        let (from, to) = (sections.get(from), sections.get(to));
        let stays = from.device == to.device && placement.is_led_by(to.device, kind.policy);
        let of = |region: &str| of_region(kind, program, region);
        if stays && from.region != to.region && of(&from.region) != of(&to.region) {
            let diagnostic = Diagnostic::error(kind.code, other_title(&to.region, &from.region))
                .at(first_span(&to.code), "this runs on several devices");
            found.push(refuse_other(diagnostic));
        }
    }
    found
}

/// Refuses cuts under the policy that are not exact.
pub(super) fn check_cut(kind: &Kind, a: &Analysis<'_>) -> Vec<Diagnostic> {
    let mut found = check_lost(kind, &a.program, a.placement);
    found.extend(check_entry(kind, &a.sections, a.placement));
    found.extend(check_stays(kind, &a.program, &a.sections, a.placement));
    found.extend(check_state(kind, &a.program, &a.sections, a.placement, &a.uses));
    found
}

/// The fields of all regions under the policy.
pub(super) fn of_kind(kind: &Kind, program: &Program, placement: &Placement) -> impl Iterator<Item = Fact> {
    divided(kind, placement).filter_map(|name| of_region(kind, program, name))
}

/// The number is still a field.
fn check_lost(kind: &Kind, program: &Program, placement: &Placement) -> Vec<Diagnostic> {
    let lost = divided(kind, placement).filter(|name| of_region(kind, program, name).is_none());
    let report = |name: &ir::Name| {
        let title = format!("{} for `{name}` is hidden", kind.is);
        Diagnostic::error(kind.code, title)
            .note("the program uses its metadata as one value, so that its fields move into another struct")
            .help("use the fields of the metadata one by one")
    };
    lost.map(report).collect()
}

/// Regions whose flows are divided.
fn divided<'p>(kind: &Kind, placement: &'p Placement) -> impl Iterator<Item = &'p ir::Name> {
    let policy = kind.policy;
    placement.sites.iter().filter(move |(_, site)| site.policy == policy).map(|(name, _)| name)
}

/// Only an origin knows the number: in ingress, and in egress if hand-overs from there have it.
fn check_entry(kind: &Kind, sections: &Sections, placement: &Placement) -> Vec<Diagnostic> {
    let mut found: BTreeMap<SectionId, SectionId> = BTreeMap::new();
    for (before, to) in sections.cut_edges() {
        let (from, at) = (sections.get(before), sections.get(to));
        let is_known = from.device == placement.origin()
            && from.half == at.half
            && (from.half == Half::Ingress || kind.leaves_from_egress);
        if placement.is_led_by(at.device, kind.policy) && !is_known {
            found.entry(to).or_insert(before);
        }
    }
    let report = |(to, before): (&SectionId, &SectionId)| {
        let (at, from) = (sections.get(*to), sections.get(*before));
        let halves = if kind.leaves_from_egress { "switch" } else { "switch's ingress" };
        let knows = if kind.leaves_from_egress { "" } else { ", and only in ingress" };
        Diagnostic::error(kind.code, format!("`{}` is not entered from the {halves}", at.name))
            .at(first_span(&at.code), "this runs on several devices")
            .at(first_span(&from.code), format!("control comes from `{}`", placement.name(from.device)))
            .note(format!("{} does not travel: only the switch knows it{knows}", kind.is))
            .help("place what runs before it at the switch, or both on one device")
    };
    found.iter().map(report).collect()
}

/// Objects that several devices cannot have in parts.
fn check_state(
    kind: &Kind,
    program: &Program,
    sections: &Sections,
    placement: &Placement,
    uses: &BTreeMap<SectionId, Uses>,
) -> Vec<Diagnostic> {
    let mut found: BTreeMap<InstanceId, SectionId> = BTreeMap::new();
    let may = |object: &InstanceId| {
        apart(program, *object) == Apart::May
            || adds_up(program, *object)
            || matches!(mode_of(program, *object), Mode::Replicated | Mode::Sharded | Mode::Soft)
            || (kind.keeps_handlers && is_handler(program, *object))
    };
    let is_divided = |id: &SectionId| {
        let role = sections.get(*id).device;
        placement.is_led_by(role, kind.policy) && placement.players(role).len() > 1
    };
    for (&id, used) in uses.iter().filter(|(id, _)| is_divided(id)) {
        for &object in used.instances.keys().filter(|object| !may(object)) {
            found.entry(object).or_insert(id);
        }
    }
    let report = |(&object, &id): (&InstanceId, &SectionId)| {
        let (instance, section) = (program.instance(object), sections.get(id));
        let names = placement.players(section.device);
        let names: Vec<_> = names.into_iter().map(|device| format!("`{}`", placement.name(device))).collect();
        let title = format!("`{}` cannot be divided among devices", instance.control_plane_name);
        let mut diagnostic = refuse_apart(program, object, title);
        diagnostic.code = kind.code;
        diagnostic
            .at(instance.span, format!("each of {} would have one", names.join(", ")))
            .help("`@sharded` if each cell belongs to flows of one shard, `@soft` if the values may be lost; or place the region on one device")
    };
    found.iter().map(report).collect()
}
