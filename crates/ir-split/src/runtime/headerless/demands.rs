//! Constructs that no hand-over without a header supports, whatever the values.

use crate::analysis::Analysis;
use crate::arch;
use crate::placement::{DeviceIndex, Policy};
use crate::section::first_span;
use base_diag::codes::headerless as codes;
use base_diag::{Diagnostic, Span};
use ir::{Callee, Program, StmtKind, visit};
use p4_arch::CutCall;

/// Refuses placements and programs that need a header.
pub fn check(a: &Analysis<'_>, runtime: &str) -> Vec<Diagnostic> {
    if !a.is_cut() {
        return vec![];
    }
    let needs = |what: &str, span: Span, label: String, note: &str| {
        Diagnostic::error(codes::NEEDS_HEADER, format!("{what} needs a header"))
            .at(span, label)
            .note(note)
            .note(format!("the runtime `{runtime}` has none"))
            .help("use `runtime = \"full\"`")
    };
    let mut found = vec![];
    for (region, site) in &a.placement.sites {
        let policy = site.policy.rules().name();
        let bare = |device: &DeviceIndex| !a.placement.has_header(a.placement.origin(), *device);
        if !matches!(site.policy, Policy::Direct | Policy::Call) && site.devices.first().is_some_and(bare) {
            let span = a.marks.iter().find(|mark| mark.name == *region).map_or(Span::NONE, |mark| mark.span);
            let label = format!("`{region}` is placed under it");
            found.push(needs(
                &format!("the policy `{policy}`"),
                span,
                label,
                "its fields are in every hand-over",
            ));
        }
    }
    let second = a.placement.origins().nth(1);
    if let Some(second) = second {
        let label = format!("`{}` is another", a.placement.name(second));
        let note = "a hand-over to a helper names the origin that it returns to";
        found.push(needs("a second origin", Span::NONE, label, note));
    }
    if a.cut.egress {
        let egress = a.marks.iter().find(|mark| {
            mark.half == crate::section::Half::Egress
                && a.placement.device_of(&mark.name) != a.placement.origin()
        });
        let span = egress.map_or(Span::NONE, |mark| mark.span);
        let note = "the queue and the output port of a packet in egress are nowhere in it";
        found.push(needs(
            "a region of egress on another device",
            span,
            "runs after the traffic manager".into(),
            note,
        ));
    }
    if a.keeps_originals() {
        let calls = [CutCall::Clone, CutCall::OldClone, CutCall::Resubmit];
        let span = first_call(&a.source, &calls).map_or(Span::NONE, |(span, _)| span);
        let note =
            "a clone or a resubmission starts from the packet as received, which the receiver does not see";
        found.push(needs("the packet as received", span, "ingress clones or resubmits packets".into(), note));
    }
    let around = [CutCall::Recirculate, CutCall::Resubmit];
    if let Some((span, name)) = first_call(&a.source, &around) {
        let note = "a packet that comes around shows no port of a link, and no position";
        let label = format!("the program calls `{name}`");
        found.push(needs("a packet that is sent around", span, label, note));
    }
    found.extend(short_frames(a, runtime));
    found
}

/// The first call of such a function in the program's controls, and the function's name.
fn first_call<'p>(program: &'p Program, wanted: &[CutCall]) -> Option<(Span, &'p str)> {
    let mut found = None;
    let bodies = program
        .controls
        .iter()
        .flat_map(|control| control.actions.iter().map(|action| &action.body).chain([&control.body]));
    for body in bodies {
        visit::stmts(body, &mut |stmt| {
            let StmtKind::Call(ir::Call { callee: Callee::ExternFunction(f), .. }) = &stmt.kind else {
                return;
            };
            let function = &program.extern_functions[f.index()];
            if arch::call(function).is_some_and(|call| wanted.contains(&call)) && found.is_none() {
                found = Some((stmt.span, function.name.as_str()));
            }
        });
    }
    found
}

/// Links pad frames shorter than 60 bytes, and nothing says how long such a frame was.
fn short_frames(a: &Analysis<'_>, runtime: &str) -> Vec<Diagnostic> {
    if !a.placement.pads {
        return vec![];
    }
    let short = |span: Span, label: String| {
        Diagnostic::error(codes::SHORT_FRAMES, "hand-overs may be shorter than links carry unpadded")
            .at(span, label)
            .note("a link pads frames shorter than 60 bytes, and the padding would pass for payload")
            .note(format!("the runtime `{runtime}` carries no length"))
    };
    let mut found = vec![];
    if a.placement.short_frames {
        let cut = a.sections.resume_points().first().map(|id| first_span(&a.sections.get(*id).code));
        found.push(
            short(cut.unwrap_or(Span::NONE), "entered over a link that pads".into())
                .note("a link of the origin to a host does not pad: frames of any length come by it")
                .help("leave `pad` of the hosts' links at `true`, set `pad = false` for those between devices, or use `runtime = \"full\"`"),
        );
    }
    if let Some(instance) = arch::first_frame_extern(&a.program) {
        let label = format!("`{}` gives frames of any length", instance.control_plane_name);
        found.push(short(instance.span, label).help(
            "set `pad = false` for the links between the app's devices, if they do not pad, or use `runtime = \"full\"`",
        ));
    }
    found
}
