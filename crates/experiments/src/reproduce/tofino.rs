//! The resources of a Tofino 1 that a program takes.

use base_diag::codes::emulate::EMULATION;
use base_diag::{Diagnostic, SourceMap};
use ir::Program;
use rmt_fit::{Device, Report, Resource};
use std::collections::BTreeMap;

/// Units of each resource, by the model of `p4rack fit`.
///
/// # Errors
///
/// Those of the program, and why it does not fit.
pub fn used(name: &str, program: &str) -> Result<BTreeMap<Resource, u32>, Vec<Diagnostic>> {
    let mut map = SourceMap::new();
    let program = compiler::reparse(name, program, &mut map)?;
    let fit = rmt_fit::fit(&program, &device()?)?;
    if !fit.fits() {
        return Err(fit.diagnostics(&map));
    }
    let report = fit.report(&map);
    report.pipes.into_iter().next().map(|pipe| pipe.total).ok_or_else(|| failed("there is no pipe"))
}

/// A program's placement, whether it fits or not.
///
/// # Errors
///
/// Those of the program.
pub fn placed(program: &Program, map: &SourceMap) -> Result<Report, Vec<Diagnostic>> {
    Ok(rmt_fit::fit(program, &device()?)?.report(map))
}

fn device() -> Result<Device, Vec<Diagnostic>> {
    Device::built_in("tofino1").ok_or_else(|| failed("there is no Tofino 1"))
}

fn failed(why: &str) -> Vec<Diagnostic> {
    vec![Diagnostic::error(EMULATION, why)]
}
