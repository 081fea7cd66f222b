//! What a program says of shards, and what a placement with shards needs.

use crate::mark::Mark;
use crate::placement::{DeviceIndex, Placement, Policy};
use crate::prepare::role_type;
use crate::section::{Half, SectionId, Sections, first_span};
use base_diag::{Diagnostic, codes::pin as codes};
use ir::{AnnotationValue, InstanceId, Program, Role, Type};
use ir_state::{Apart, Mode, Uses, adds_up, apart, mode_of, refuse_apart};
use std::collections::BTreeMap;

/// The field of metadata that has the number of a packet's shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fact {
    /// Its number.
    pub field: usize,
    /// In bits.
    pub width: u32,
    /// Numbers are less.
    pub count: u64,
}

/// Shards are numbered by 16 bits.
const MOST_SHARDS: u64 = 1 << 16;

/// `@shard("REGION", COUNT)` of a field of metadata.
pub(super) fn of_region(program: &Program, region: &str) -> Option<Fact> {
    let fields = program.fields(&role_type(program, Role::Metadata)?).iter().enumerate();
    let mut facts = fields.filter_map(|(at, field)| {
        let Type::Bit(width @ 1..=16) = field.ty else { return None };
        let count =
            field.annotations.iter().filter(|a| a.name == "shard").find_map(|a| match a.body.values() {
                [AnnotationValue::Str(known), AnnotationValue::Int(count)] if known == region => {
                    u64::try_from(count).ok()
                }
                _ => None,
            });
        Some(Fact { field: at, width, count: count.filter(|count| (1..=MOST_SHARDS).contains(count))? })
    });
    facts.next()
}

/// Regions whose flows are divided say by which number, and those on the same devices by the same.
pub(super) fn check_facts(program: &Program, marks: &[Mark], placement: &Placement) -> Vec<Diagnostic> {
    let mut known: BTreeMap<DeviceIndex, (&ir::Name, Fact)> = BTreeMap::new();
    let mut found = vec![];
    for name in sharded(placement) {
        let mark = marks.iter().find(|mark| mark.name == *name);
        let refuse = |title: String| {
            let diagnostic = Diagnostic::error(codes::NOT_SHARDED, title);
            mark.into_iter().fold(diagnostic, |d, mark| d.at(mark.span, "this runs on several devices"))
        };
        let Some(fact) = of_region(program, name) else {
            let title = format!("nothing says which device gets a packet for region `{name}`");
            found.push(refuse(title).note("the policy `shard` divides flows by a number that the program computes before the region").help(
                format!("write `@shard(\"{name}\", COUNT)` before the field of metadata that has it, a number of up to 16 bits"),
            ));
            continue;
        };
        let (first, of_first) = *known.entry(placement.device_of(name)).or_insert((name, fact));
        if of_first != fact {
            let title = format!("`{name}` is divided by another number than `{first}`");
            let help = "mark one field of metadata for both, or place them on different devices";
            found.push(
                refuse(title)
                    .note("both run on the same devices, and a packet stays on one of them")
                    .help(help),
            );
        }
    }
    found
}

/// The number is still a field of its own.
pub(super) fn check_lost(program: &Program, placement: &Placement) -> Vec<Diagnostic> {
    let lost = sharded(placement).filter(|name| of_region(program, name).is_none());
    let report = |name: &ir::Name| {
        let title = format!("the number of a packet's shard for `{name}` is hidden");
        Diagnostic::error(codes::NOT_SHARDED, title)
            .note("the program uses its metadata as one value, so that its fields move into another struct")
            .help("use the fields of the metadata one by one")
    };
    lost.map(report).collect()
}

/// Regions whose flows are divided.
fn sharded(placement: &Placement) -> impl Iterator<Item = &ir::Name> {
    placement.sites.iter().filter(|(_, site)| site.policy == Policy::Shard).map(|(name, _)| name)
}

/// Only ingress of an origin knows the number.
pub(super) fn check_entry(sections: &Sections, placement: &Placement) -> Vec<Diagnostic> {
    let mut found: BTreeMap<SectionId, SectionId> = BTreeMap::new();
    for (before, to) in sections.cut_edges() {
        let (from, at) = (sections.get(before), sections.get(to));
        let is_known =
            from.device == placement.origin() && from.half == Half::Ingress && at.half == Half::Ingress;
        if placement.is_sharded(at.device) && !is_known {
            found.entry(to).or_insert(before);
        }
    }
    let report = |(to, before): (&SectionId, &SectionId)| {
        let (at, from) = (sections.get(*to), sections.get(*before));
        Diagnostic::error(
            codes::NOT_SHARDED,
            format!("`{}` is not entered from the switch's ingress", at.name),
        )
        .at(first_span(&at.code), "this runs on several devices")
        .at(first_span(&from.code), format!("control comes from `{}`", placement.name(from.device)))
        .note("the number of a packet's shard does not travel: only the switch knows it, and only in ingress")
        .help("place what runs before it at the switch, or both on one device")
    };
    found.iter().map(report).collect()
}

/// Objects that several devices cannot have in parts.
pub(super) fn check_state(
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
    };
    let is_divided = |id: &SectionId| {
        let role = sections.get(*id).device;
        placement.is_sharded(role) && placement.players(role).len() > 1
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
        diagnostic.code = codes::NOT_SHARDED;
        diagnostic
            .at(instance.span, format!("each of {} would have one", names.join(", ")))
            .help("`@sharded` if each cell belongs to flows of one shard, `@soft` if the values may be lost; or place the region on one device")
    };
    found.iter().map(report).collect()
}
