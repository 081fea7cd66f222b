//! The mode of an object: found in the architecture's facts, or declared by an annotation.
//!
//! ```text
//! @merge("add")  register<bit<32>>(1024) seen;      merged, also "max", "min", "or"
//! @sharded       register<bit<16>>(1024) state;     each cell belongs to one flow
//! @soft          register<bit<8>>(1024) cached;     may be lost
//! ```

use crate::facts::{is_pure, sharing};
use base_diag::Diagnostic;
use base_diag::codes::{check::BAD_ANNOTATION, split::SEPARATED_STATE};
use ir::{Annotation, ExternObject, Instance, InstanceId, Program, Type};
use p4_arch::StateMode;
use state_modes::{MERGES, Merge, Mode};

/// The mode of an object. What is declared wrongly ([`check`]) is not declared.
pub fn mode_of(program: &Program, object: InstanceId) -> Mode {
    declared(program, program.instance(object)).ok().flatten().unwrap_or_else(|| found(program, object))
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

/// The order in which packets use the object shows: all that the data plane reads. Only the control plane changes profiles.
pub fn order_matters(program: &Program, object: InstanceId) -> bool {
    let object = program.extern_object(program.instance(object).object);
    object.user && !is_pure(object) || sharing(program, object) == Some(StateMode::Ordered)
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
            format!("nothing merges its copies yet, as `@merge(\"{}\")` asks", merge.name())
        }
        Mode::Sharded => "nothing takes each flow to its own copy yet, as `@sharded` asks".to_string(),
        mode => format!("an object that is {} has one copy as yet", mode.name()),
    };
    diagnostic.note(why)
}

/// Annotations that say a mode and cannot.
pub fn check(program: &Program) -> Vec<Diagnostic> {
    program.instances.iter().filter_map(|instance| declared(program, instance).err()).collect()
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
        (Some(StateMode::Sum | StateMode::PerEntry), Mode::Merged(Merge::Add)) => Ok(Some(*mode)),
        (Some(StateMode::Sum | StateMode::PerEntry), _) => {
            Err(wrong(format!("a {} adds up", object.name)).help("leave it out, or write `@merge(\"add\")`"))
        }
        (Some(StateMode::Ordered), _) if object.name == "register" => {
            let cell = instance.type_args.first().map(|ty| program.representation(ty));
            match (mode, cell) {
                (Mode::Merged(_), Some(Type::Bit(_))) | (Mode::Sharded | Mode::Soft, _) => Ok(Some(*mode)),
                _ => Err(wrong("its cells are no numbers".to_string())
                    .note("registers of `bit<N>` can be merged")
                    .help("use one register for each number")),
            }
        }
        _ => Err(wrong(format!("this is a {}", object.name)).note("it is for registers")),
    }
}

/// The mode in an annotation; `None` inside if it names no operator, `None` outside if it says no mode.
fn mode_said(annotation: &Annotation) -> Option<Option<Mode>> {
    match annotation.name.as_str() {
        "merge" => Some(annotation.as_str().and_then(Merge::of_name).map(Mode::Merged)),
        "sharded" => Some(Some(Mode::Sharded)),
        "soft" => Some(Some(Mode::Soft)),
        _ => None,
    }
}
