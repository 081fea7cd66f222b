//! Rules for placements with spares: each device has one place, links join senders with all targets, and state may differ.

use crate::placement::{DeviceIndex, Placement, Policy, Site};
use crate::section::{SectionId, Sections};
use base_diag::{Diagnostic, codes::split as codes};
use ir::{InstanceId, Program};
use ir_state::{Apart, Mode, Uses, adds_up, apart, is_soft, mode_of, refuse_apart};
use std::collections::{BTreeMap, BTreeSet};

/// Sites that share a device share all of them: a device has the same part as its spares.
pub fn check_sites(placement: &Placement) -> Vec<Diagnostic> {
    let mut known: BTreeMap<DeviceIndex, &Site> = BTreeMap::new();
    let mut found = vec![];
    for (name, site) in &placement.sites {
        let mut seen = BTreeSet::new();
        for &device in &site.devices {
            let is_alone = site.devices.len() == 1;
            // Each site is compared with the first that has the device: equal lists are equal to one another.
            let first = *known.entry(device).or_insert(site);
            let others = first.devices.as_slice();
            let is_divided = |site: &Site| Some(site.policy).filter(|policy| policy.divides());
            let why = match () {
                () if !seen.insert(device) => "it is named twice",
                () if !is_alone && placement.home.contains(&device) => "it is an origin",
                () if is_divided(first) != is_divided(site) => "other regions have it under another policy",
                () if first.replicas != site.replicas => {
                    "other regions have it with another number of replicas"
                }
                () if others != site.devices.as_slice() && !(is_alone && others.len() == 1) => {
                    "other regions have it without the same devices in the same order"
                }
                () => continue,
            };
            let title = format!("`{}` cannot be a device of region `{name}`", placement.name(device));
            found.push(Diagnostic::error(codes::NOT_SPLIT_YET, title).note(why).help(
                "devices that stand in for one another, or divide flows, run the same regions: name the same devices for each",
            ));
        }
    }
    found
}

/// A sender sees the failure of a target on the link to it.
pub fn check_links(sections: &Sections, placement: &Placement) -> Vec<Diagnostic> {
    let mut missing = BTreeSet::new();
    for (before, section) in sections.cut_edges() {
        let role = sections.get(section).device;
        let is_group = placement.is_led_by(role, Policy::Group);
        let is_led = is_group || placement.has_spares(role);
        for from in placement.players(sections.get(before).device).into_iter().filter(|_| is_led) {
            let apart = |to: &DeviceIndex| {
                let joins = |pair| placement.ports.contains_key(&pair);
                !joins((from, *to)) || !joins((*to, from))
            };
            missing.extend(placement.players(role).into_iter().filter(apart).map(|to| (from, to)));
        }
    }
    let report = |&(from, to): &(DeviceIndex, DeviceIndex)| {
        let (a, b) = (placement.name(from), placement.name(to));
        Diagnostic::error(codes::NO_LINK, format!("no link from `{a}` to `{b}`"))
            .note("`failover` notices a failure on the link between the two")
            .help("add a link between the two devices, or name another spare")
    };
    missing.iter().map(report).collect()
}

/// Objects that a spare would not have as the preferred device left them.
pub fn check_state(
    program: &Program,
    sections: &Sections,
    placement: &Placement,
    uses: &BTreeMap<SectionId, Uses>,
) -> Vec<Diagnostic> {
    let mut found: BTreeMap<InstanceId, SectionId> = BTreeMap::new();
    // Counts of all copies are added, those of entries, too: each device has the table.
    let is_free = |object: &InstanceId| {
        apart(program, *object) == Apart::May
            || adds_up(program, *object)
            || mode_of(program, *object) == Mode::Replicated
            || is_soft(program, *object)
    };
    for (&id, used) in uses.iter().filter(|(id, _)| placement.has_spares(sections.get(**id).device)) {
        for &object in used.instances.keys().filter(|object| !is_free(object)) {
            found.entry(object).or_insert(id);
        }
    }
    let report = |(&object, &id): (&InstanceId, &SectionId)| {
        let (instance, section) = (program.instance(object), sections.get(id));
        let title = format!("a spare would lack what `{}` holds", instance.control_plane_name);
        let names = placement.players(section.device);
        let names: Vec<_> = names.into_iter().map(|device| format!("`{}`", placement.name(device))).collect();
        let declared = &program.extern_object(instance.object).annotations;
        let help = match declared.iter().any(|annotation| annotation.name == "remote") {
            true => {
                "write `@idempotent` before the handler's declaration if a spare may answer without its memory, or place the handler on one device"
            }
            false => {
                "write `@soft` before the declaration if the values may be lost, or place the region on one device"
            }
        };
        refuse_apart(program, object, title)
            .at(instance.span, format!("each of {} would have one", names.join(", ")))
            .note("packets write it, and a spare takes over without the values")
            .help(help)
    };
    found.iter().map(report).collect()
}
