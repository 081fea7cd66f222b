//! Calls and instances that can be run on TNA and T2NA.

use crate::check::{Unit, calls, units};
use base_diag::Diagnostic;
use base_diag::codes::tna as codes;
use ir::{Call, Callee, Program};

/// Extern functions.
const FUNCTIONS: [&str; 10] = [
    "funnel_shift_right",
    "invalidate",
    "is_validated",
    "max",
    "min",
    "port_metadata_unpack",
    "sizeInBits",
    "sizeInBytes",
    "static_assert",
    "verify",
];

/// Methods of extern objects, beside those of register actions.
const METHODS: &[(&str, &[&str])] = &[
    ("Checksum", &["add", "get", "subtract", "subtract_all_and_deposit", "update", "verify"]),
    ("Counter", &["count"]),
    ("Digest", &["pack"]),
    ("DirectCounter", &["count"]),
    ("DirectLpf", &["execute"]),
    ("DirectMeter", &["execute"]),
    ("DirectRegister", &["read", "write"]),
    ("DirectWred", &["execute"]),
    ("Hash", &["get"]),
    ("Lpf", &["execute"]),
    ("MathUnit", &["execute"]),
    ("Meter", &["execute"]),
    ("Mirror", &["emit"]),
    ("ParserCounter", &["decrement", "increment", "is_negative", "is_zero", "set"]),
    ("ParserPriority", &["set"]),
    ("Random", &["get"]),
    ("Register", &["read", "write"]),
    ("RegisterParam", &["read"]),
    ("Resubmit", &["emit"]),
    ("Wred", &["execute"]),
];

/// Extern objects without methods.
const WITHOUT_METHODS: [&str; 6] =
    ["ActionProfile", "ActionSelector", "Alpm", "Atcam", "CRCPolynomial", "IdleTimeout"];

fn is_register_action(object: &str) -> bool {
    object.starts_with("RegisterAction") || object.starts_with("DirectRegisterAction")
}

/// Whether instances of an extern object can be made.
fn knows_object(object: &str) -> bool {
    is_register_action(object)
        || WITHOUT_METHODS.contains(&object)
        || METHODS.iter().any(|(known, _)| *known == object)
}

/// Whether calls of a method can be run.
fn knows(object: &str, method: &str) -> bool {
    if is_register_action(object) {
        return matches!(method, "execute" | "execute_log" | "predicate");
    }
    METHODS.iter().any(|(known, methods)| *known == object && methods.contains(&method))
}

/// Refuses calls of functions that cannot be run.
pub(crate) fn check_call(_: &Program, _: Unit, call: &Call, name: &str) -> Option<Diagnostic> {
    (!FUNCTIONS.contains(&name)).then(|| refused(call, &format!("`{name}`")))
}

/// Refuses calls of methods that cannot be run, and frame externs.
pub(crate) fn check_instances(program: &Program) -> Result<(), Vec<Diagnostic>> {
    let mut problems: Vec<Diagnostic> = vec![];
    for instance in &program.instances {
        let object = program.extern_object(instance.object);
        if object.frame_extern().is_some() {
            let problem = Diagnostic::error(codes::EXTERN, "frame externs do not run on TNA")
                .at(instance.span, "made here")
                .help("write the program for v1model");
            problems.push(problem);
        } else if !object.user && !knows_object(&object.name) {
            let title = format!("`{}` cannot be run", object.name);
            let problem = Diagnostic::error(codes::EXTERN, title).at(instance.span, "it is not modelled");
            problems.push(problem);
        }
    }
    for unit in units(program) {
        calls(program, unit, &mut |call| {
            let Callee::Method(instance, method) = call.callee else { return };
            let Some(instance) = program.instances.get(instance.index()) else { return };
            let object = program.extern_object(instance.object);
            let Some(method) = object.methods.get(method as usize) else { return };
            if object.user || knows(&object.name, &method.name) {
                return;
            }
            let problem = refused(call, &format!("`{}` of `{}`", method.name, object.name));
            // A call in a block or action of which the program has copies is one place of the source.
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        });
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn refused(call: &Call, what: &str) -> Diagnostic {
    Diagnostic::error(codes::EXTERN, "this call cannot be run")
        .at(call.span, format!("{what} is not modelled"))
}
