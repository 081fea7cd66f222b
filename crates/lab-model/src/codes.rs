//! Codes of diagnostics about labs.

use base_diag::Code;

/// The file that describes a lab has a mistake.
pub const DESCRIPTION: Code = Code(901);
/// A lab cannot be brought up.
pub const BRING_UP: Code = Code(902);
