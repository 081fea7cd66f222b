//! The whole split on one screen: the steps in their order, over one [`Analysis`].
//!
//! A step may end the split (the program runs whole, or is refused) or ask for another preparation of the program
//! ([`Needs`]); then the steps run again from the first. A preparation that is only a *remedy* for a refusal counts if
//! it leads to a split; otherwise the first refusal is reported.

use crate::analysis::Analysis;
use crate::attempt::{CutHalves, Needs, Stop};
use crate::bypass::bypass_empty;
use crate::describe;
use crate::flow::Flow;
use crate::generate;
use crate::mark::{Mark, marks};
use crate::passes;
use crate::placement::{DeviceIndex, Order, Placement};
use crate::policies::LEADING;
use crate::prepare;
use crate::routes::Routes;
use crate::runtimes::runtime;
use crate::said_group::{say_groups, share_blocks};
use crate::section::{Half, SectionId, Sections};
use crate::split::Split;
use crate::state;
use crate::{access_order, arch, check, check_shape, detour, keep_order, names, originals, show};
use base_diag::Diagnostic;
use ir::Program;
use ir_state::Uses;
use p4_arch::Duty;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A step of the split.
#[derive(Clone, Copy)]
pub struct Step {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for the help text.
    pub about: &'static str,
    run: fn(&mut Analysis<'_>) -> Result<(), Stop>,
    text: fn(&Analysis<'_>) -> String,
}

type Run = fn(&mut Analysis<'_>) -> Result<(), Stop>;

const fn step(name: &'static str, about: &'static str, run: Run, text: fn(&Analysis<'_>) -> String) -> Step {
    Step { name, about, run, text }
}

/// All steps in their order.
#[rustfmt::skip]
pub const STEPS: &[Step] = &[
    step("mark", "find the regions and the halves that are cut", mark, show::marks),
    step("normalize", "turn jumps and calls into structured code", passes::normalize, show::program),
    step("need", "find which preparations are needed", need, show::needs),
    step("bind", "replace action parameters that are whole headers or metadata", passes::bind, show::program),
    step("wrap", "move whole structs that are used as values into structs of the runtime", passes::wrap, show::program),
    step("colours", "turn meter colours that actions of other tables read into values", passes::carry_colours, show::program),
    step("count", "turn the length that byte counters use into a value", passes::count, show::program),
    step("measure", "turn the length of each varbit into a value", passes::measure, show::program),
    step("track", "turn the length that egress sees into a value", passes::track, show::program),
    step("digest", "send digests at the end of their half", passes::digest, show::program),
    step("effect", "turn effects of the traffic manager into values", passes::effect, show::program),
    step("port", "turn the output port into a separate value", passes::port, show::program),
    step("hoist", "declare variables at control level", hoist, show::program),
    step("detour", "send packets that skip a region through its device", detour, show::program),
    step("section", "cut bodies where the device changes", section, show::sections),
    step("flow", "find known and live values at each section", flow, show::flow),
    step("state", "find the objects that each section uses", state, show::state),
    step("route", "find the path of each hand-over", route, show::routes),
    step("original", "find the headers of the packet as received", original, show::originals),
    step("layout", "lay out the bits of each hand-over", layout, show::layout),
    step("check", "run the checks", check_all, show::checks),
    step("describe", "name a writer and a reader of each carried value", describe, show::split),
    step("generate", "write a program for each device", generate, show::devices),
];

/// The text of the analysis after one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepText {
    /// The step's name.
    pub step: &'static str,
    /// The analysis after it.
    pub text: String,
}

/// A split with the text of some steps.
pub struct Traced {
    /// In the order of the steps; a step that was not reached has none.
    pub texts: Vec<StepText>,
    /// The split, or why there is none.
    pub outcome: Result<Split, Vec<Diagnostic>>,
}

/// Splits a program.
///
/// Gives one program for each device that has a part. All that is wrong with the program or the placement is
/// reported at once.
pub fn split(program: &Program, placement: &Placement) -> Result<Split, Vec<Diagnostic>> {
    trace(program, placement, &[]).outcome
}

/// Like [`split`], with the text of the steps that `shown` names.
pub fn trace(program: &Program, placement: &Placement, shown: &[&str]) -> Traced {
    let source = Rc::new(expanded(program));
    let mut needs = Needs::default();
    let mut first: Option<Traced> = None;
    loop {
        let mut analysis = Analysis::new(&source, placement, needs);
        let mut texts = vec![];
        let stop = run(&mut analysis, shown, &mut texts);
        let refused = match stop {
            Ok(()) => return Traced { texts, outcome: Ok(analysis.split) },
            Err(Stop::Whole) => return Traced { texts, outcome: Ok(Split::whole(&source, placement)) },
            Err(Stop::Again(more)) => {
                needs = more;
                continue;
            }
            Err(Stop::Refused(found)) => Traced { texts, outcome: Err(found) },
        };
        // Diagnostics are those of the program without remedies.
        let said = first.unwrap_or(refused);
        let Some(remedy) = analysis.remedy else { return said };
        (first, needs) = (Some(said), remedy);
    }
}

fn run(analysis: &mut Analysis<'_>, shown: &[&str], texts: &mut Vec<StepText>) -> Result<(), Stop> {
    for step in STEPS {
        let before = Rc::clone(&analysis.program);
        let result = (step.run)(analysis);
        if result.is_ok() && !Rc::ptr_eq(&before, &analysis.program) {
            verify(step.name, &analysis.program);
        }
        let stopped = result.and_then(|()| check::after(step.name, analysis).map_err(Stop::Refused));
        if shown.contains(&step.name) {
            texts.push(StepText { step: step.name, text: (step.text)(analysis) });
        }
        stopped?;
    }
    Ok(())
}

/// In debug builds the verifier follows every step that changes the program; a finding is a bug of the step.
fn verify(step: &str, program: &Program) {
    if cfg!(debug_assertions)
        && let Err(errors) = ir::verify::verify(program)
    {
        panic!("{step} produced a program that is not well formed: {errors:#?}");
    }
}

/// The program with its deparser's emits one by one.
fn expanded(program: &Program) -> Program {
    let mut expanded = program.clone();
    if let Some(id) = arch::control(program, Duty::Deparse) {
        ir_lower::expand_struct_emits(&mut expanded, id);
    }
    expanded
}

fn mark(a: &mut Analysis<'_>) -> Result<(), Stop> {
    a.marks = marks(&a.program)?;
    let is_away = |m: &&Mark| a.placement.device_of(&m.name) != a.placement.origin();
    let cut_half = |half: Half| a.marks.iter().filter(is_away).any(|m| m.half == half);
    a.cut = CutHalves { ingress: cut_half(Half::Ingress), egress: cut_half(Half::Egress) };
    a.prefix = if a.is_cut() { names::prefix(&a.program) } else { String::new() };
    Ok(())
}

/// Bytes that are counted after a cut are known from the sections alone, before anything is prepared for them.
fn need(a: &mut Analysis<'_>) -> Result<(), Stop> {
    let (Some(ingress), Some(egress)) =
        (arch::control(&a.program, Duty::Ingress), arch::control(&a.program, Duty::Egress))
    else {
        return Err(Stop::Whole);
    };
    (a.ingress, a.egress) = (ingress, egress);
    if a.is_cut() && !a.needs.counted && !runtime(a.placement).keeps_length() {
        let sections = sections_of(a);
        let uses = uses_of(a, &sections);
        a.needs.counted = !state::counted_behind_a_cut(&a.program, &sections, &uses).is_empty();
    }
    Ok(())
}

fn hoist(a: &mut Analysis<'_>) -> Result<(), Stop> {
    if a.is_cut() {
        for id in [a.ingress, a.egress] {
            ir_lower::hoist_body(Rc::make_mut(&mut a.program), id);
        }
    }
    Ok(())
}

fn detour(a: &mut Analysis<'_>) -> Result<(), Stop> {
    if a.is_cut() {
        for id in [a.ingress, a.egress] {
            let body = &mut Rc::make_mut(&mut a.program).controls[id.index()].body;
            detour::detour(body, a.placement, a.needs.detours);
        }
    }
    Ok(())
}

fn section(a: &mut Analysis<'_>) -> Result<(), Stop> {
    a.sections = sections_of(a);
    Ok(())
}

fn sections_of(a: &Analysis<'_>) -> Sections {
    let named = |half: Half| (arch::stage_name(&a.program, half.duty()), a.body(half));
    let sections = Sections::form(named(Half::Ingress), named(Half::Egress), a.placement);
    Sections { list: bypass_empty(sections.list) }.numbered()
}

fn flow(a: &mut Analysis<'_>) -> Result<(), Stop> {
    a.flow = Flow::new(Rc::clone(&a.program), a.port);
    a.at = a.flow.analyze(&a.sections, a.ingress, a.egress);
    Ok(())
}

fn state(a: &mut Analysis<'_>) -> Result<(), Stop> {
    a.uses = uses_of(a, &a.sections);
    if !runtime(a.placement).keeps_length() || arch::first_frame_extern(&a.program).is_some() {
        a.counted = state::counted_behind_a_cut(&a.program, &a.sections, &a.uses);
    }
    a.separated = state::separated(&a.program, &a.sections, &a.uses);
    if !a.is_cut() {
        return Ok(());
    }
    let is_direct = |s: &state::Separated| state::is_direct(&a.program, s.instance);
    if !a.needs.colours && a.separated.iter().any(is_direct) {
        a.remedy = Some(Needs { colours: true, ..a.needs });
    }
    if a.separated.is_empty() {
        a.overtaken = access_order::overtaken(&a.program, &a.sections, &a.uses);
    }
    let levels = [Half::Ingress, Half::Egress].map(|half| detour::levels(a.body(half), a.placement));
    let is_left = a.needs.detours < levels.into_iter().max().unwrap_or(0);
    if a.overtaken.is_some() && a.placement.detours && is_left {
        a.remedy = Some(Needs { detours: a.needs.detours + 1, ..a.needs });
    }
    Ok(())
}

/// The tables and objects that each section uses; parser and verification run before the first one.
fn uses_of(a: &Analysis<'_>, sections: &Sections) -> BTreeMap<SectionId, Uses> {
    let of_section = |section: &crate::section::Section| {
        let control = a.control(section.half);
        let mut uses = state::uses_of(&a.program, control, &section.code);
        prepare::forget_foreign(&mut uses, control, &a.foreign);
        uses
    };
    let mut uses: BTreeMap<SectionId, Uses> = sections.iter().map(|(id, s)| (id, of_section(s))).collect();
    if let Some(first) = uses.get_mut(&sections.first(Half::Ingress)) {
        first.instances.extend(state::used_before_ingress(&a.program));
    }
    uses
}

fn route(a: &mut Analysis<'_>) -> Result<(), Stop> {
    a.routes = Routes::new(&a.sections, a.placement);
    Ok(())
}

fn original(a: &mut Analysis<'_>) -> Result<(), Stop> {
    let only_clones = !a.cut.ingress && !a.effects.egress_clones;
    let reads_length = a.reads_length() && !runtime(a.placement).keeps_length();
    if a.is_cut() && reads_length && !only_clones {
        let stages: &[Duty] = if a.cut.egress { &[Duty::Ingress, Duty::Egress] } else { &[Duty::Ingress] };
        a.uncounted = check_shape::check_length(&a.program, a.places(), stages);
    }
    if a.keeps_originals() {
        a.originals = originals::originals(&a.flow, a.effects.restart.is_some());
    }
    if reads_length {
        let kept = a.originals.as_deref().unwrap_or_default();
        a.uncounted.extend(check_shape::check_kept_length(&a.program, a.places(), kept));
    }
    if !a.uncounted.is_empty() && !a.needs.tracked {
        return Err(Stop::Again(Needs { tracked: true, ..a.needs }));
    }
    Ok(())
}

fn layout(a: &mut Analysis<'_>) -> Result<(), Stop> {
    a.layout = runtime(a.placement).layout(a, LEADING);
    Ok(())
}

fn check_all(a: &mut Analysis<'_>) -> Result<(), Stop> {
    match a.found.is_empty() {
        true => Ok(()),
        false => Err(Stop::Refused(a.found.iter().map(|(_, diagnostic)| diagnostic.clone()).collect())),
    }
}

fn describe(a: &mut Analysis<'_>) -> Result<(), Stop> {
    a.deciding = keep_order::deciding(&a.flow, &a.sections, [a.ingress, a.egress]);
    a.split = describe::describe(a);
    if a.placement.order == Order::Keep {
        a.split.warnings.extend(check::check_flow_order(&a.deciding));
    }
    Ok(())
}

fn generate(a: &mut Analysis<'_>) -> Result<(), Stop> {
    if !a.is_cut() {
        a.split.devices = Split::whole(&a.source, a.placement).devices;
        return Ok(());
    }
    let Some(cut) = generate::Cut::new(a, LEADING, runtime(a.placement)) else { return Err(Stop::Whole) };
    let has_part = |device: DeviceIndex| {
        let runs_something = a.sections.list.iter().any(|s| s.device == a.placement.role(device));
        runs_something || a.routes.sent_on(device).next().is_some()
    };
    let devices = (0..a.placement.devices.len() as u32).map(DeviceIndex);
    let made = devices.map(|d| has_part(d).then(|| generate::device_program(&cut, d)).transpose());
    let mut made = made.collect::<Result<Vec<_>, _>>().map_err(|broken| Stop::Refused(vec![broken]))?;
    for device in made.iter_mut().flatten() {
        device.linkage.keeps_order = a.deciding.is_empty();
    }
    say_groups(&mut made, a.placement);
    share_blocks(&mut made);
    if made.iter().flatten().any(|device| prepare::is_torn(&device.program, &a.foreign)) {
        // Lending was a remedy that does not help: the refusal without it is reported.
        return Err(Stop::Refused(vec![]));
    }
    for device in made.iter().flatten() {
        verify("generate", &device.program);
    }
    a.split.devices = made;
    Ok(())
}
