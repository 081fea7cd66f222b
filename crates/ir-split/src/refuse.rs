//! The diagnostic for forms that no cut keeps exact.

use base_diag::codes::split as codes;
use base_diag::{Diagnostic, Span};

/// A mistake of the splitter's own: something is not there that the steps before have made or checked.
pub fn broken(what: &str) -> Diagnostic {
    Diagnostic::error(codes::NOT_SPLIT_YET, "internal error of the splitter")
        .note(format!("{what} is missing"))
        .note("this is a bug of p4rack: please report it with the program and its placement")
        .help("place all regions on one device to run the program whole")
}

/// Refuses the construct at `span`.
pub fn unsupported(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(codes::NOT_SPLIT_YET, "this program cannot be split yet")
        .at(span, what)
        .note("p4rack refuses a cut that is not exact, and never approximates")
        .help("place all regions on one device to run the program whole")
}
