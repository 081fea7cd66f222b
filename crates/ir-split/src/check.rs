//! Programs that cannot be cut exactly, refused with the place and the reason.

use crate::access_order::Overtaken;
use crate::analysis::Analysis;
use crate::arch::{self, Effect, function_effect, object_effect};
use crate::check_shape::{check_headers, check_shape, check_stale, check_verified};
use crate::check_spares;
use crate::flow::Flow;
use crate::layout::{APP_BITS, NotCarried};
use crate::mark::Mark;
use crate::placement::{DeviceIndex, Placement};
use crate::policies::LEADING;
use crate::refuse::unsupported;
use crate::routes::Routes;
use crate::runtimes::runtime;
use crate::section::{Half, SectionId, Sections, first_span};
use crate::state::{Separated, is_handler};
use base_diag::codes::split as codes;
use base_diag::{Diagnostic, Span};
use ir::{Arch, Block, Callee, Expr, ExprKind, InstanceId, Program, Stmt, StmtKind, visit};
use ir_state::{Apart, Uses, apart, is_merged, order_matters, refuse_apart};
use p4_arch::Duty;
use std::collections::BTreeMap;

/// A check.
pub struct Check {
    /// As the text form shows it.
    pub name: &'static str,
    /// A fact that holds if it finds nothing.
    pub about: &'static str,
    /// The step after which it runs.
    after: &'static str,
    /// If it refuses, later checks are meaningless.
    stops: bool,
    run: fn(&Analysis<'_>) -> Vec<Diagnostic>,
}

const fn check(
    name: &'static str,
    about: &'static str,
    after: &'static str,
    run: fn(&Analysis<'_>) -> Vec<Diagnostic>,
) -> Check {
    Check { name, about, after, stops: false, run }
}

/// All checks, in the order in which their findings are reported.
#[rustfmt::skip]
pub const CHECKS: &[Check] = &[
    Check { stops: true, ..check("placement", "every region that is placed is marked", "mark", |a| check_placement(&a.marks, a.placement)) },
    Check { stops: true, ..check("spares", "devices with spares have one place each", "mark", |a| check_spares::check_sites(a.placement)) },
    Check { stops: true, ..check("sites", "each policy finds what it needs", "mark", |a| LEADING.iter().flat_map(|policy| policy.check_sites(&a.program, &a.marks, a.placement)).collect()) },
    check("modes", "annotations of state name existing modes", "mark", |a| ir_state::check(&a.program)),
    Check { stops: true, ..check("stages", "the program has all parts of a v1model pipeline", "mark", |a| if_cut(a, || check_stages(&a.program))) },
    check("program", "every call and jump can be cut", "port", |a| if_cut(a, || check_program(&a.program))),
    check("links", "a path joins the ends of every cut edge", "layout", |a| check_links(&a.sections, a.placement, &a.routes)),
    check("spare link", "links join senders with preferred devices and spares", "layout", |a| check_spares::check_links(&a.sections, a.placement)),
    check("spare data", "what spares may lack is replicated or soft", "layout", |a| check_spares::check_state(&a.program, &a.sections, a.placement, &a.uses)),
    check("policies", "each policy can lead its hand-overs exactly", "layout", |a| LEADING.iter().flat_map(|policy| policy.check_cut(a)).collect()),
    check("origins", "no helper of several origins holds state", "layout", |a| check_origins(&a.program, &a.sections, a.placement, &a.uses)),
    check("state", "every object is on one device, and no packet leaves the device between two uses", "layout", |a| check_state(&a.program, &a.sections, a.placement, &a.separated)),
    check("bytes", "the length of every counted packet is known", "layout", |a| if_cut(a, || check_bytes(&a.program, &a.counted, &a.sections))),
    check("order", "all packets use all objects in one order", "layout", |a| a.overtaken.iter().map(|found| check_order(&a.program, a.placement, found)).collect()),
    check("originals", "the original packet can be restored", "layout", |a| a.originals.as_ref().err().cloned().unwrap_or_default()),
    check("headers", "headers are whole bytes", "layout", |a| if_cut(a, || check_headers(&a.program, a.places()))),
    check("length", "egress sees the packet's own length", "layout", |a| a.uncounted.clone()),
    check("verified", "no header changes while checksums are verified", "layout", |a| if a.keeps_originals() { check_verified(&a.program) } else { vec![] }),
    check("stale", "a clone needs nothing from invalid headers", "layout", |a| if a.effects.clones_original { check_stale(&a.flow, &a.at_start(Half::Egress).live.hidden) } else { vec![] }),
    check("carried", "every live value has a form in a header", "layout", |a| a.layout.as_ref().err().map_or(vec![], |refused| check_carried(&a.flow, &a.sections, refused))),
    check("fit", "hand-overs fit their links", "layout", |a| a.layout.as_ref().map_or(vec![], |layout| runtime(a.placement).refuse(a, layout))),
];

fn if_cut(a: &Analysis<'_>, check: impl FnOnce() -> Vec<Diagnostic>) -> Vec<Diagnostic> {
    if a.is_cut() { check() } else { vec![] }
}

/// Runs the checks that follow a step; an error holds all that was found if nothing can follow.
pub fn after(step: &str, a: &mut Analysis<'_>) -> Result<(), Vec<Diagnostic>> {
    for check in CHECKS.iter().filter(|check| check.after == step) {
        let found = (check.run)(a);
        if check.stops && !found.is_empty() {
            return Err(found);
        }
        a.found.extend(found.into_iter().map(|diagnostic| (check.name, diagnostic)));
    }
    Ok(())
}

/// Refuses programs that are not for v1model.
pub fn check_stages(program: &Program) -> Vec<Diagnostic> {
    let mut found = vec![];
    if !matches!(program.arch, Arch::V1Model(_)) {
        found.push(unsupported(Span::NONE, "only v1model programs are split"));
        return found;
    }
    for stage in [Duty::Ingress, Duty::Egress, Duty::Deparse] {
        if arch::control(program, stage).is_none() {
            found.push(unsupported(
                Span::NONE,
                &format!("the program has no {}", arch::stage_name(program, stage)),
            ));
        }
    }
    found
}

/// Refuses a prepared program with constructs that the splitter does not support, whatever the placement.
pub fn check_program(program: &Program) -> Vec<Diagnostic> {
    let mut found = check_shape(program);
    for function in &program.functions {
        check_block(program, &function.body, false, &mut found);
    }
    for stage in [Duty::Ingress, Duty::Egress] {
        let Some(id) = arch::control(program, stage) else { continue };
        let control = program.control(id);
        check_block(program, &control.body, true, &mut found);
        for action in &control.actions {
            check_block(program, &action.body, false, &mut found);
        }
    }
    let mut once = vec![];
    for diagnostic in found {
        // The copies of an action are one place of the source.
        if !once.contains(&diagnostic) {
            once.push(diagnostic);
        }
    }
    once
}

fn check_block(program: &Program, block: &Block, is_body: bool, found: &mut Vec<Diagnostic>) {
    visit::stmts(block, &mut |stmt| check_stmt(program, stmt, is_body, found));
    visit::all_exprs(block, &mut |expr| check_expr(program, expr, found));
}

fn check_stmt(program: &Program, stmt: &Stmt, is_body: bool, found: &mut Vec<Diagnostic>) {
    match &stmt.kind {
        StmtKind::Exit => found.push(unsupported(stmt.span, "`exit` ends the program on all devices")),
        StmtKind::Return(_) if is_body => {
            found.push(unsupported(stmt.span, "`return` skips regions of other devices"));
        }
        StmtKind::Call(call) => check_call(program, call, found),
        _ => {}
    }
}

fn check_expr(program: &Program, expr: &Expr, found: &mut Vec<Diagnostic>) {
    match &expr.kind {
        ExprKind::Call(call) => check_call(program, call, found),
        ExprKind::LastIndex(_) => {
            found.push(unsupported(expr.span, "`lastIndex` is read outside the parser"))
        }
        _ => {}
    }
}

fn check_call(program: &Program, call: &ir::Call, found: &mut Vec<Diagnostic>) {
    match &call.callee {
        Callee::ExternFunction(f) => {
            let function = &program.extern_functions[f.index()];
            if function_effect(function) == Effect::Unsupported {
                found.push(unsupported(call.span, &format!("`{}` is called", function.name)));
            }
        }
        Callee::Method(instance, _) => {
            let object = program.extern_object(program.instance(*instance).object);
            if object_effect(program, object) == Effect::Unsupported {
                found.push(unsupported(call.span, &format!("a {} is used", object.name)));
            }
        }
        Callee::Control(_) | Callee::Parser(_) => {
            found.push(unsupported(call.span, "another block is applied"))
        }
        Callee::ParamMethod(..) => found.push(unsupported(call.span, "an extern parameter is used")),
        Callee::Function(_) | Callee::Action(_) => {}
    }
}

/// A placement names a region that the program, which has these, does not have.
pub fn unknown_region(name: &str, marks: &[Mark]) -> Diagnostic {
    let title = format!("the program has no region `{name}`");
    let diagnostic = Diagnostic::error(codes::UNKNOWN_REGION, title).suggest_or(
        name,
        marks.iter().map(|m| m.name.as_str()),
        |d| d.help("mark a block with `@region(\"Name\")`"),
    );
    let names: Vec<_> = marks.iter().map(|m| format!("`{}`", m.name)).collect();
    match names.is_empty() {
        true => diagnostic,
        false => diagnostic.note(format!("its regions are: {}", names.join(", "))),
    }
}

/// Mistakes in the placement itself.
pub fn check_placement(marks: &[Mark], placement: &Placement) -> Vec<Diagnostic> {
    let mut found = vec![];
    for name in placement.sites.keys() {
        if marks.iter().any(|m| m.name == *name) {
            continue;
        }
        found.push(unknown_region(name, marks));
    }
    for (name, site) in &placement.sites {
        let (count, most) = (site.devices.len(), site.policy.rules().most_devices());
        if count > most {
            let title = format!("region `{name}` is placed at {count} devices");
            let policy = site.policy.rules().name();
            let device = if most == 1 { "device" } else { "devices" };
            found.push(
                Diagnostic::error(codes::NOT_SPLIT_YET, title)
                    .note(format!("the policy `{policy}` leads to {most} {device} at most"))
                    .help("place it on one device"),
            );
        }
    }
    if placement.app >> APP_BITS != 0 {
        let title = format!("app number {} is too large", placement.app);
        found.push(
            Diagnostic::error(codes::LAYOUT, title).note(format!("hand-overs have {APP_BITS} bits for it")),
        );
    }
    found
}

/// Cut edges that no links carry.
pub fn check_links(sections: &Sections, placement: &Placement, routes: &Routes) -> Vec<Diagnostic> {
    let report = |&(a, b, to): &(DeviceIndex, DeviceIndex, SectionId)| {
        let (from, at) = (placement.name(a), placement.name(b));
        Diagnostic::error(codes::NO_LINK, format!("no path from `{from}` to `{at}`"))
            .note(format!("control passes from `{from}` to section `{}` at `{at}`", sections.get(to).name))
            .note("hand-overs use links between devices of the app")
            .help("add a link between the two devices, or place the region elsewhere")
    };
    routes.missing.iter().map(report).collect()
}

/// Warns about packets of one flow that may take different paths.
pub fn check_flow_order(deciding: &[Span]) -> Option<Diagnostic> {
    let mut diagnostic =
        Diagnostic::warning(codes::FLOW_ORDER, "flow-order", "packets of one flow may overtake one another");
    for span in deciding {
        diagnostic = diagnostic.at(*span, "this sends packets over different devices");
    }
    let diagnostic = diagnostic
        .note(
            "it depends on more than the port and the headers of a packet: state, time, randomness or lengths",
        )
        .help("run the decision on the same device as the code after it, or set `order = \"any\"` in the app");
    (!deciding.is_empty()).then_some(diagnostic)
}

/// Checks state at a helper of several origins, each of which is an independent switch.
pub fn check_origins(
    program: &Program,
    sections: &Sections,
    placement: &Placement,
    uses: &BTreeMap<SectionId, Uses>,
) -> Vec<Diagnostic> {
    if placement.origins().nth(1).is_none() {
        return vec![];
    }
    let mut found: BTreeMap<InstanceId, SectionId> = BTreeMap::new();
    for (&id, used) in uses {
        let at_helper = sections.get(id).device != placement.origin();
        let is_shared = |i: &InstanceId| {
            at_helper && (order_matters(program, *i) || is_merged(program, *i))
                || apart(program, *i) == Apart::NotYet
        };
        let shared = used.instances.keys().filter(|i| is_shared(i));
        shared.for_each(|&instance| {
            found.entry(instance).or_insert(id);
        });
    }
    let names: Vec<_> = placement.origins().map(|d| format!("`{}`", placement.name(d))).collect();
    let report = |(&instance, &id): (&InstanceId, &SectionId)| {
        let (object, section) = (program.instance(instance), sections.get(id));
        let title = format!("`{}` would be shared by several switches", object.control_plane_name);
        let place = match section.device == placement.origin() {
            true => format!("each of {} would have one", names.join(" and ")),
            false => format!("it would be on `{}`", placement.name(section.device)),
        };
        refuse_apart(program, instance, title)
            .at(object.span, place)
            .at(first_span(&section.code), format!("used in `{}`", section.name))
            .note(format!(
                "packets of {} arrive there, and each switch runs the program separately",
                names.join(" and ")
            ))
            .help("place the region at the origins, or give each origin its own helper")
    };
    found.iter().map(report).collect()
}

/// State objects that the placement pulls apart.
pub fn check_state(
    program: &Program,
    sections: &Sections,
    placement: &Placement,
    separated: &[Separated],
) -> Vec<Diagnostic> {
    let report = |s: &Separated| {
        let instance = program.instance(s.instance);
        let (first, second) = (sections.get(s.first), sections.get(s.second));
        let (a, b) = (placement.name(first.device), placement.name(second.device));
        let why = match a == b {
            true => format!("a packet leaves `{a}` between the two uses"),
            false => format!("it would have to be on `{a}` and on `{b}`"),
        };
        let title = format!("`{}` is used across a cut", instance.control_plane_name);
        refuse_apart(program, s.instance, title)
            .at(instance.span, why)
            .at(first_span(&first.code), format!("used in `{}`", first.name))
            .at(first_span(&second.code), format!("and in `{}`", second.name))
            .help(match is_handler(program, s.instance) {
                true => "let a packet call it at one of the places only, or mark it `@pure` if its answer depends on nothing but the request",
                false => "place both regions on one device, without another region between them",
            })
    };
    separated.iter().map(report).collect()
}

/// Objects that packets may use in opposite orders.
pub fn check_order(program: &Program, placement: &Placement, found: &Overtaken) -> Diagnostic {
    let name = |i: ir::InstanceId| program.instance(i).control_plane_name.clone();
    let title = format!("packets may overtake between `{}` and `{}`", name(found.first), name(found.second));
    let mut diagnostic = Diagnostic::error(codes::OVERTAKING, title)
        .at(program.instance(found.first).span, "used by packets that then reach the other object")
        .at(program.instance(found.second).span, "and this one by packets that arrive over a cut");
    for path in &found.paths {
        let devices: Vec<_> = path.iter().map(|d| format!("`{}`", placement.name(*d))).collect();
        diagnostic = diagnostic.note(format!("a path between them: {}", devices.join(", ")));
    }
    diagnostic.note("two packets could use them in opposite orders, which never happens on one device").help(
        "place the regions that use them on one device, or send all packets over the same path between them",
    )
}

/// Counters and meters of bytes after a cut, in a program with frame externs: frames that these give start with nothing noted.
pub fn check_bytes(
    program: &Program,
    counted: &[(ir::InstanceId, SectionId)],
    sections: &Sections,
) -> Vec<Diagnostic> {
    if arch::first_frame_extern(program).is_none() {
        return vec![];
    }
    let report = |&(instance, id): &(ir::InstanceId, SectionId)| {
        let object = program.instance(instance);
        let title = format!("`{}` counts bytes after a cut", object.control_plane_name);
        Diagnostic::error(codes::COUNTS_BYTES, title)
            .at(object.span, "it would see the length of the hand-over")
            .at(first_span(&sections.get(id).code), format!("used in `{}`", sections.get(id).name))
            .note("the length of frames emitted by a frame extern is not known over a cut")
            .help("count packets, or use it before control leaves the origin")
    };
    counted.iter().map(report).collect()
}

/// Live values without a form in a header.
pub fn check_carried(flow: &Flow, sections: &Sections, refused: &[NotCarried]) -> Vec<Diagnostic> {
    let report = |r: &NotCarried| {
        let info = flow.places.info(r.leaf);
        let section = sections.get(r.section);
        Diagnostic::error(codes::LAYOUT, format!("`{}` cannot be carried over a cut", info.name))
            .at(first_span(&section.code), format!("it is live where `{}` starts", section.name))
            .note("values of type bit, int, bool, newtype and serializable enum are carried")
            .help("turn it into a bit or a number before the cut")
    };
    refused.iter().map(report).collect()
}
