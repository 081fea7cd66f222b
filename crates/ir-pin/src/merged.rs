//! Registers with `@merge`: a packet may only add to a cell, since a copy has not seen the packets of the other place.
//!
//! ```text
//! allowed   seen.read(n, i); n = n + 1; seen.write(i, n);
//! refused   seen.read(n, i); if (n > 10) { mark_to_drop(...); }
//! ```

use base_diag::{Diagnostic, codes::pin as codes};
use ir::{InstanceId, Program};

/// Refuses a register whose values do more than to become its next values.
pub fn check(program: &Program, register: InstanceId) -> Result<(), Diagnostic> {
    let Some((span, label)) = ir_state::shown(program, register) else { return Ok(()) };
    let name = &program.instance(register).control_plane_name;
    Err(Diagnostic::error(codes::NOT_PINNED, format!("packets show what they read from `{name}`"))
        .at(span, label)
        .note(
            "a packet at the switch does not see what packets at helpers wrote, until the copies are merged",
        )
        .help("keep the value in a local variable that only becomes the next value of the cell")
        .help("or process all flows of the app at one place: `affinity = \"high\"` or `\"low\"`"))
}
