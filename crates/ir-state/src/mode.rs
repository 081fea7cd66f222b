//! The mode of an object: found in the architecture's facts, or declared by an annotation.
//!
//! ```text
//! @merge("add")  register<bit<32>>(1024) seen;      merged, also "max", "min", "or"
//! @merge("max", reads = "stale")  ...               packets may show what they read from it, which may lack what others wrote a while ago
//! @sharded       register<bit<16>>(1024) state;     each cell belongs to one flow
//! @soft          register<bit<8>>(1024) cached;     may be lost; a frame extern or a value extern too, for spares
//! ```

use crate::facts::{is_pure, sharing};
use crate::overwritten::overwritten;
use crate::shown::{saturates, shown};
use base_diag::Diagnostic;
use base_diag::codes::check::BAD_ANNOTATION;
use base_diag::codes::split::{SEPARATED_STATE, STALE_READS};
use ir::{Annotation, AnnotationBody, ExternObject, Instance, InstanceId, Program, Type};
use p4_arch::StateMode;
use state_modes::{MERGES, Merge, Mode};

/// The mode of an object. A wrong declaration ([`check`]) counts as none.
pub fn mode_of(program: &Program, object: InstanceId) -> Mode {
    declared(program, program.instance(object)).ok().flatten().unwrap_or_else(|| found(program, object))
}

/// The values may be lost: a spare may do without those of the device before it.
pub fn is_soft(program: &Program, object: InstanceId) -> bool {
    let instance = program.instance(object);
    let is_said = || instance.annotations.iter().any(|annotation| annotation.name == "soft");
    mode_of(program, object) == Mode::Soft
        || is_own_memory(program.extern_object(instance.object)) && is_said()
}

/// Frame externs and value externs: each copy has a memory of its own.
fn is_own_memory(object: &ExternObject) -> bool {
    object.frame_extern().is_some() || object.value_extern().is_some()
}

/// The mode that follows from what the object is.
fn found(program: &Program, object: InstanceId) -> Mode {
    let object = program.extern_object(program.instance(object).object);
    match sharing(program, object) {
        None if is_pure(object) => Mode::Replicated,
        None => merge_of(object).map_or(Mode::Exclusive, Mode::Merged),
        Some(StateMode::Sum | StateMode::PerEntry) => Mode::Merged(Merge::Add),
        Some(StateMode::Control) => Mode::Replicated,
        Some(StateMode::Ordered) => Mode::Exclusive,
    }
}

/// How copies of the memory of a value extern become one, if its declaration says it.
fn merge_of(object: &ExternObject) -> Option<Merge> {
    object.value_extern()?;
    object.annotations.iter().find(|a| a.name == "merge").and_then(|a| Merge::of_name(a.as_str()?))
}

/// Packets only add to it: the order in which they use it does not show, and only the control plane reads it.
pub fn adds_up(program: &Program, object: InstanceId) -> bool {
    let kind = sharing(program, program.extern_object(program.instance(object).object));
    matches!(kind, Some(StateMode::Sum | StateMode::PerEntry))
}

/// True of registers whose copies the controller of a rack merges at an interval.
pub fn is_merged(program: &Program, object: InstanceId) -> bool {
    let declared = program.extern_object(program.instance(object).object);
    sharing(program, declared) == Some(StateMode::Ordered)
        && matches!(mode_of(program, object), Mode::Merged(_))
}

/// True of counters and direct counters with `@merge`, whose copies the controller merges too: all devices then show what all have counted. The copies of
/// other counters are added up when they are read.
pub fn is_merged_counter(program: &Program, object: InstanceId) -> bool {
    let instance = program.instance(object);
    let kind = sharing(program, program.extern_object(instance.object));
    matches!(kind, Some(StateMode::Sum | StateMode::PerEntry))
        && matches!(declared(program, instance), Ok(Some(Mode::Merged(_))))
}

/// The order in which packets use the object shows: all that the data plane reads. Only the control plane changes profiles.
pub fn order_matters(program: &Program, object: InstanceId) -> bool {
    let declared = program.extern_object(program.instance(object).object);
    // Copies of what is merged lack packets of other devices anyway.
    declared.user && !is_pure(declared)
        || sharing(program, declared) == Some(StateMode::Ordered) && !is_merged(program, object)
}

/// Whether copies of an object may be on several devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Apart {
    /// Copies are allowed.
    May,
    /// The object is on one device.
    MayNot,
    /// The mode would allow copies, but no runtime supports them yet.
    NotYet,
}

/// Whether copies of an object may be on several devices. A counter of entries is where its table is.
pub fn apart(program: &Program, object: InstanceId) -> Apart {
    let declared = program.extern_object(program.instance(object).object);
    match (sharing(program, declared), mode_of(program, object)) {
        _ if is_pure(declared) => Apart::May,
        _ if is_merged(program, object) => Apart::May,
        (Some(StateMode::Sum), _) => Apart::May,
        (Some(StateMode::PerEntry | StateMode::Control), _) | (_, Mode::Exclusive) => Apart::MayNot,
        (_, Mode::Replicated | Mode::Merged(_) | Mode::Sharded | Mode::Soft) => Apart::NotYet,
    }
}

/// The refusal of an object that would be on several devices: the one place that says what does not run yet.
pub fn refuse_apart(program: &Program, object: InstanceId, title: String) -> Diagnostic {
    let diagnostic = Diagnostic::error(SEPARATED_STATE, title);
    if apart(program, object) != Apart::NotYet {
        return diagnostic;
    }
    let why = match mode_of(program, object) {
        Mode::Merged(merge) => {
            format!("copies of externs are not merged yet, as `@merge(\"{}\")` asks", merge.name())
        }
        Mode::Sharded => "flows are not directed to copies of their own yet, as `@sharded` asks".to_string(),
        mode => format!("an object that is {} has one copy so far", mode.name()),
    };
    diagnostic.note(why)
}

/// Annotations that say a mode and cannot.
pub fn check(program: &Program) -> Vec<Diagnostic> {
    let all = (0..program.instances.len()).map(InstanceId::from);
    let wrong = |id: InstanceId| match declared(program, program.instance(id)) {
        Err(wrong) => Some(wrong),
        Ok(Some(Mode::Merged(merge))) => check_merged(program, id, merge),
        Ok(_) => None,
    };
    all.filter_map(wrong).collect()
}

/// A merged register of which packets do what its copies cannot follow.
fn check_merged(program: &Program, id: InstanceId, merge: Merge) -> Option<Diagnostic> {
    let instance = program.instance(id);
    let name = &instance.control_plane_name;
    if sharing(program, program.extern_object(instance.object)) != Some(StateMode::Ordered) {
        return None;
    }
    if let (Merge::Add, Some(span)) = (merge, saturates(program, id)) {
        let title = format!("`{name}` saturates, and cannot be added up");
        return Some(
            Diagnostic::error(BAD_ANNOTATION, title)
                .at(span, "this ends at the largest or smallest number")
                .at(instance.span, "its copies are added up, modulo the width of a cell")
                .note("how much a packet has added is not known from a cell that is full")
                .help("use `+` and wider cells, or leave out `@merge` and keep the register on one device"),
        );
    }
    if let (Merge::Add, Some(span)) = (merge, overwritten(program, id)) {
        let title = format!("`{name}` is overwritten, and cannot be added up");
        return Some(
            Diagnostic::error(BAD_ANNOTATION, title)
                .at(span, "this value is not computed from the cell's")
                .at(instance.span, "its copies are added up: each device counts its own additions")
                .note("a packet at one device cannot take back what packets at others have added meanwhile")
                .help("read the cell into a local variable, add to it, and write that back")
                .help("a control plane may write the cell, which all devices then show; or use `@merge(\"max\")`, `\"min\"` or `\"or\"`"),
        );
    }
    if instance.annotations.iter().any(reads_stale) {
        return None;
    }
    let (span, label) = shown(program, id)?;
    Some(
        Diagnostic::error(STALE_READS, format!("packets show what they read from `{name}`"))
            .at(span, label)
            .at(instance.span, "its copies are merged at an interval")
            .note("a packet at one device does not see earlier writes by packets at other devices, so its effect depends on time")
            .help(format!("write `@merge(\"{}\", reads = \"stale\")` if that is right", merge.name()))
            .help("or keep the value in a local variable that only becomes the next value of the cell"),
    )
}

/// The mode that an annotation says.
fn declared(program: &Program, instance: &Instance) -> Result<Option<Mode>, Diagnostic> {
    let said: Vec<(&Annotation, Option<Mode>)> =
        instance.annotations.iter().filter_map(|a| Some((a, mode_said(a)?))).collect();
    let [(annotation, mode), rest @ ..] = said.as_slice() else { return Ok(None) };
    let object = program.extern_object(instance.object);
    let wrong = |label: String| {
        let title = format!("`@{}` is not allowed here", annotation.name);
        Diagnostic::error(BAD_ANNOTATION, title).at(instance.span, label)
    };
    if let Some((second, _)) = rest.first() {
        return Err(wrong(format!("it has `@{}` too", second.name)).help("an object has one mode: keep one"));
    }
    let Some(mode) = mode else {
        let known: Vec<_> = MERGES.iter().map(|merge| format!("`@merge(\"{}\")`", merge.name())).collect();
        return Err(wrong("this is no operator".to_string()).help(format!("write {}", known.join(", "))));
    };
    match (sharing(program, object), mode) {
        (Some(StateMode::Sum), Mode::Merged(Merge::Add)) => Ok(Some(*mode)),
        (Some(StateMode::PerEntry), Mode::Merged(Merge::Add)) if has_entries(program, instance) => {
            Err(wrong("its table has entries of the program".to_string())
                .note("the controller numbers the entries that it writes, and devices count by these numbers")
                .note("without the annotation, its copies are added up when they are read")
                .help("leave it out, or let the control plane write the entries"))
        }
        (Some(StateMode::PerEntry), Mode::Merged(Merge::Add)) => Ok(Some(*mode)),
        (Some(StateMode::Sum | StateMode::PerEntry), _) => {
            Err(wrong(format!("a {} adds up", object.name)).help("leave it out, or write `@merge(\"add\")`"))
        }
        (Some(StateMode::Ordered), _) if object.name == "register" => {
            let cell = instance.type_args.first().map(|ty| program.representation(ty));
            match (mode, cell) {
                (Mode::Merged(_), Some(Type::Bit(bits @ 129..))) => {
                    Err(wrong(format!("its cells have {bits} bits"))
                        .note("cells of up to 128 bits can be merged")
                        .help("use one register for each half"))
                }
                (Mode::Merged(_), Some(Type::Bit(_))) | (Mode::Sharded | Mode::Soft, _) => Ok(Some(*mode)),
                _ => Err(wrong("its cells are no numbers".to_string())
                    .note("registers of `bit<N>` can be merged")
                    .help("use one register for each number")),
            }
        }
        (Some(StateMode::Ordered), Mode::Merged(_)) if object.name.ends_with("meter") => {
            Err(wrong(format!("this is a {}", object.name))
                .note("a meter decides by the rate of all packets, which no copy sees: two of them let twice the rate pass")
                .help("keep it on one device, or give each device its share of the rate"))
        }
        // One copy so far: the memory of a spare is another one ([`is_soft`]).
        (None, Mode::Soft) if is_own_memory(object) => Ok(None),
        _ => Err(wrong(format!("this is a {}", object.name)).note("it is for registers")),
    }
}

/// A counter of a table whose entries, or some of them, the program declares.
fn has_entries(program: &Program, instance: &Instance) -> bool {
    let tables = program.controls.iter().flat_map(|control| &control.tables);
    let is_it = |id: InstanceId| std::ptr::eq(program.instance(id), instance);
    let mut own = tables.filter(|table| table.counters.is_some_and(is_it));
    own.any(|table| !table.entries.is_empty())
}

/// The mode in an annotation; `None` inside if it names no operator, `None` outside if it says no mode.
fn mode_said(annotation: &Annotation) -> Option<Option<Mode>> {
    match annotation.name.as_str() {
        "merge" => Some(merge_said(annotation).map(|(merge, _)| Mode::Merged(merge))),
        "sharded" => Some(Some(Mode::Sharded)),
        "soft" => Some(Some(Mode::Soft)),
        _ => None,
    }
}

/// Operator of an `@merge`, and whether reads may be stale.
fn merge_said(annotation: &Annotation) -> Option<(Merge, bool)> {
    if let AnnotationBody::Tokens(text) = &annotation.body {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (operator, reads) = text.split_once(',')?;
        let operator = operator.strip_prefix('"')?.strip_suffix('"')?;
        return (reads == "reads=\"stale\"").then_some((Merge::of_name(operator)?, true));
    }
    Some((Merge::of_name(annotation.as_str()?)?, false))
}

/// True of `@merge("...", reads = "stale")`.
fn reads_stale(annotation: &Annotation) -> bool {
    annotation.name == "merge" && merge_said(annotation).is_some_and(|(_, is_stale)| is_stale)
}
