//! The resources of a Tofino 1 that a program takes.

use base_diag::codes::emulate::EMULATION;
use base_diag::{Diagnostic, SourceMap};
use ir::Program;
use rmt_fit::{Device, PipeReport, Report, Resource};
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
    Ok(first(fit.report(&map))?.total)
}

/// A program's placement, whether it fits or not.
///
/// # Errors
///
/// Those of the program.
pub fn placed(program: &Program, map: &SourceMap) -> Result<Report, Vec<Diagnostic>> {
    Ok(rmt_fit::fit(program, &device()?)?.report(map))
}

/// The placement of a program with one pipe, whether it fits or not.
///
/// # Errors
///
/// Those of the program.
pub fn pipe(program: &Program, map: &SourceMap) -> Result<PipeReport, Vec<Diagnostic>> {
    first(placed(program, map)?)
}

fn first(report: Report) -> Result<PipeReport, Vec<Diagnostic>> {
    report.pipes.into_iter().next().ok_or_else(|| failed("there is no pipe"))
}

fn device() -> Result<Device, Vec<Diagnostic>> {
    Device::built_in("tofino1").ok_or_else(|| failed("there is no Tofino 1"))
}

fn failed(why: &str) -> Vec<Diagnostic> {
    vec![Diagnostic::error(EMULATION, why)]
}
