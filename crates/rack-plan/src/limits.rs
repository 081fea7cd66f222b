//! Code that devices cannot run because of their class: a Tofino does not multiply.
//!
//! A section whose code a class lacks needs `runs.SECTION`, which a rule for each other class gives. Whether a device offers
//! the functions that a program declares itself is another rule's: see `offers`. Accesses to register arrays are not checked
//! here, since the code that the splitter adds to a part has no places that would distinguish its calls.

use super::Result;
use super::cut::Cut;
use base_diag::codes::limits;
use base_diag::{Diagnostic, Span};
use ir::Program;
use ir_split::{Placement, Split};
use plan_model::Prop;
use rack_model::{DeviceClass, Rack};

/// Code that a class cannot run.
pub(super) struct Beyond {
    /// The place of the section in the cut; `None`: the code that stays at the origin.
    pub section: Option<usize>,
    /// The class.
    pub class: DeviceClass,
    /// Diagnostics for the operations that the device lacks.
    pub why: Vec<Diagnostic>,
}

/// Property of a class that can run a section.
pub(super) fn runs(section: &str) -> Prop {
    format!("runs.{section}").into()
}

/// Operations of a part that the class lacks. Code that the splitter adds has no place and does not count: the policy for spares shifts by
/// variables.
fn lacking(program: &Program, class: DeviceClass) -> Vec<Diagnostic> {
    let mut found = ir_limits::check_but_own_functions(program, class);
    let has_place = |diagnostic: &Diagnostic| diagnostic.labels.iter().any(|label| label.span != Span::NONE);
    found.retain(|diagnostic| diagnostic.code == limits::LACKING_OPERATION && has_place(diagnostic));
    found
}

/// Sections that some of the classes cannot run, and what the class of the origin cannot run of the code that stays there.
pub(super) fn beyond(cut: &Cut, classes: &[DeviceClass], origin: DeviceClass) -> Vec<Beyond> {
    let mut found = vec![];
    for (at, device) in cut.split.devices.iter().enumerate() {
        let Some(part) = device else { continue };
        let sections =
            cut.split.sections.iter().enumerate().filter(|(_, section)| section.device.0 as usize == at);
        let sections: Vec<usize> = sections.map(|(place, _)| place).collect();
        // Device 0 is the origin.
        let classes = if at == 0 { std::slice::from_ref(&origin) } else { classes };
        for class in classes {
            let why = lacking(&part.program, *class);
            if why.is_empty() {
                continue;
            }
            match at {
                0 => found.push(Beyond { section: None, class: *class, why }),
                _ => found.extend(sections.iter().map(|place| Beyond {
                    section: Some(*place),
                    class: *class,
                    why: why.clone(),
                })),
            }
        }
    }
    found
}

/// Tables whose keys have match kinds that their device lacks.
fn lacking_kinds(rack: &Rack, split: &Split) -> Vec<Diagnostic> {
    let mut found = vec![];
    for (device, part) in rack.devices.iter().zip(&split.devices) {
        let (Some(kinds), Some(part)) = (&device.match_kinds, part) else { continue };
        let tables = part.program.controls.iter().flat_map(|control| &control.tables);
        for (table, key) in tables.flat_map(|table| table.keys.iter().map(move |key| (table, key))) {
            let kind = key.match_kind.name();
            // The selector is part of the action profile.
            if key.match_kind == ir::MatchKind::Selector || kinds.value.iter().any(|known| known == kind) {
                continue;
            }
            let device = &device.name.value;
            let title = format!("device `{device}` has no {kind} match");
            let diagnostic = Diagnostic::error(limits::LACKING_OPERATION, title)
                .at(kinds.span, format!("supports {}", kinds.value.join(", ")))
                .note(format!("`{}` of table `{}` is matched so", key.name, table.control_plane_name));
            let diagnostic =
                if table.span.is_none() { diagnostic } else { diagnostic.at(table.span, "in this table") };
            found.push(diagnostic.help("place the table on another device, or change the match kind"));
        }
    }
    found
}

/// Errors for code that a placement gives to devices that cannot run it: their class lacks an operation, or they lack a match kind.
pub fn check_limits(rack: &Rack, placement: &Placement, split: &Split) -> Result<()> {
    let parts = rack.devices.iter().zip(&split.devices).zip(&placement.devices);
    let found = parts.flat_map(|((device, part), name)| {
        let found = part.iter().flat_map(|part| lacking(&part.program, device.class));
        found.map(move |diagnostic| diagnostic.note(format!("device `{name}` is to run it")))
    });
    let mut found: Vec<Diagnostic> = found.collect();
    found.extend(lacking_kinds(rack, split));
    if found.is_empty() { Ok(()) } else { Err(found) }
}
