//! Diagnostics of the elaborator.

use base_diag::codes::elaborate as codes;
use base_diag::{Diagnostic, Span};

/// `what` is in the language, but not in the elaborated IR yet.
pub(crate) fn not_supported(what: &str, span: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_SUPPORTED, format!("{what}: not supported yet")).at(span, "used here")
}

/// The implementation of a method writes what it can only read.
pub(crate) fn captured_write(span: Span) -> Diagnostic {
    let title = "a method's implementation cannot write variables of the block around it";
    Diagnostic::error(codes::NOT_SUPPORTED, title)
        .at(span, "written here")
        .help("give the value back as the method's result, and assign it where the method is called")
}

/// A value must be known at compile time, and is not.
pub(crate) fn not_constant(what: &str, span: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_CONSTANT, format!("{what} must be known at compile time"))
        .at(span, "depends on a value of the packet, or has no value")
        .help("use literals, `const` values and constructor parameters")
}

/// The values of a `@tick` are wrong.
pub(crate) fn wrong_tick(span: Span, why: String) -> Diagnostic {
    Diagnostic::error(codes::BAD_TICK, "a tick has wrong values")
        .at(span, why)
        .help("write `@tick(\"100us\", 510, \"0001\")`: a period of at least 1us, an ingress port, a frame in hexadecimal")
}

/// Calls or instances nested deeper than the elaborator goes.
pub(crate) fn too_deep(limit: usize, span: Span) -> Diagnostic {
    Diagnostic::error(codes::TOO_DEEP, "calls or instances are nested too deeply")
        .at(span, "this one is one too many")
        .note(format!("at most {limit} may be inside one another"))
}

/// More functions and instances than any program needs.
pub(crate) fn too_many(limit: usize, span: Span) -> Diagnostic {
    Diagnostic::error(codes::TOO_DEEP, "too many functions and instances")
        .at(span, "this one is one too many")
        .note(format!("a program has at most {limit} when everything that is in each instance is counted"))
}

/// One control-plane name for two things.
pub(crate) fn duplicate_name(kind: &str, name: &str, first: Span, second: Span) -> Diagnostic {
    Diagnostic::error(codes::DUPLICATE_NAME, format!("two {kind}s have the control-plane name `{name}`"))
        .at(second, "this one too")
        .at(first, "the first one")
        .help("give one of them another name with `@name(\"...\")`")
}

/// A direct object that belongs to no table, and has the name of another object.
pub(crate) fn idle_direct_object(name: &str, span: Span) -> Diagnostic {
    let title = format!("two extern instances have the control-plane name `{name}`");
    Diagnostic::warning(codes::DUPLICATE_NAME, "control-name", title)
        .at(span, "this one belongs to no table")
        .note("a direct object works through its table: without one it does nothing, and no control plane sees it")
        .help("name it in a property of its table, or take it away")
}

/// A parameter of a stage that is no struct.
pub(crate) fn stage_parameter(arch: &str, var: &ir::Var, role: ir::Role, noun: &str) -> Diagnostic {
    let (what, help) = match role {
        ir::Role::Headers => ("headers", "struct headers_t { ethernet_t ethernet; }"),
        _ => ("metadata", "struct metadata_t { bit<9> port; }"),
    };
    Diagnostic::error(codes::STAGE_PARAMETER, format!("the {what} `{}` must be a struct", var.name))
        .at(var.span, format!("this is {noun}"))
        .note(format!("{what} of {arch} are one struct, the same in all blocks"))
        .help(format!("declare one: `{help}`"))
}

/// A `static_assert` that constructor arguments make false.
pub(crate) fn assertion_failed(span: Span) -> Diagnostic {
    Diagnostic::error(codes::STATIC_ASSERT, "static assertion failed").at(span, "false for this instance")
}

/// A table property whose value is of another kind.
pub(crate) fn table_property(name: &str, wants: &str, span: Span) -> Diagnostic {
    Diagnostic::error(codes::TABLE_PROPERTY, format!("table property `{name}` wants {wants}"))
        .at(span, "this is something else")
}

/// A direct object that belongs to another table already.
pub(crate) fn shared_direct_object(object: &str, table: &str, span: Span) -> Diagnostic {
    Diagnostic::error(codes::TABLE_PROPERTY, format!("`{object}` belongs to another table already"))
        .at(span, format!("`{table}` has it"))
        .note("a direct counter, meter or register has one cell for each entry of one table")
        .help("declare one for each table")
}

/// An entry with a mask that its key does not match.
pub(crate) fn mask(why: &str, rule: &str, span: Span) -> Diagnostic {
    Diagnostic::error(base_diag::codes::run::BAD_ENTRY, "the entry does not fit its table")
        .at(span, why)
        .note(rule)
        .help("give the key the match kind `ternary`")
}

/// An entry without the priority that the other entries need, or with one out of range.
pub(crate) fn priority(title: &str, label: &str, span: Span) -> Diagnostic {
    Diagnostic::error(codes::PRIORITY, title)
        .at(span, label)
        .note("a priority is a number from 1 to 2147483647 (P4-16 §14.2.1.4)")
}

/// No `main`.
pub(crate) fn no_main() -> Diagnostic {
    Diagnostic::error(codes::NO_MAIN, "the program has no `main` package")
        .note(
            "`main` selects the parsers and controls that run; a program without `main` can only be checked",
        )
        .help("add `V1Switch(...) main;` with the blocks of the program")
}
