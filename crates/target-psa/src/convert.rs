//! The conversion on one screen.

use crate::check::{check, elsewhere, has_code};
use crate::frame::frame;
use crate::rewrite;
use base_diag::Diagnostic;
use base_diag::codes::run::NOT_SUPPORTED;
use ir::{Arch, Program};

/// The output metadata of the main control.
pub(crate) const OUTPUT: &str = "pna_main_output_metadata_t";

/// Fields for requests in the output metadata: drop the packet, pass it again, its port.
pub(crate) fn fields() -> [&'static str; 3] {
    ["p4rack_drops", "p4rack_repeats", "p4rack_port"]
}

/// Converts a program for PNA; returns its source for PSA.
///
/// Decided here, where PNA's architecture file says nothing: a packet without a call of `send_to_port`, `drop_packet` or `recirculate` is dropped;
/// all ports lead to the network (`NET_TO_HOST`), and no packet is looped back; a recirculated packet keeps its port of arrival.
pub fn convert(program: &Program) -> Result<String, Vec<Diagnostic>> {
    check(program)?;
    ir_lower::check_inlining(program)?;
    let Arch::Pna { dpdk } = program.arch else { return Ok(String::new()) };
    let has_pre = program.stage("pre_control").is_some_and(|stage| has_code(program, stage));
    let mut program = program.clone();
    // Requests are fields of a parameter of the main control: all its code has to see it.
    for pass in [
        ir_lower::hoist_effects,
        ir_lower::eliminate_exits,
        ir_lower::eliminate_returns,
        ir_lower::inline_functions,
        ir_lower::inline_controls,
    ] {
        let _ = pass(&mut program);
    }
    let at = rewrite::extend(&mut program);
    let Some(at) = at else {
        return Err(vec![Diagnostic::error(NOT_SUPPORTED, format!("`{OUTPUT}` is no struct"))]);
    };
    rewrite::calls(&mut program, at);
    rewrite::rename(&mut program);
    let mut found = elsewhere(&program);
    found.extend(target_p4::check(&program));
    if !found.is_empty() {
        return Err(found);
    }
    program.arch = Arch::Psa { dpdk };
    program.annotations.clear();
    frame(&target_p4::print(&program), has_pre)
        .ok_or_else(|| vec![Diagnostic::error(NOT_SUPPORTED, "`main` is no `PNA_NIC` of four blocks")])
}
