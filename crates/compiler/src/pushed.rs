//! Pipeline config for a controller to push: P4Info, and the device config that `p4rack switch` accepts with it.

use crate::p4info::{self, Form, What};
use crate::reparse::reparse;
use base_diag::{Diagnostic, SourceMap};
use ir::Program;

/// The two halves of a `ForwardingPipelineConfig`.
pub struct Pushed {
    /// P4Info in the form that was asked for.
    pub p4info: Vec<u8>,
    /// `p4_device_config`: the elaborated program as one text of P4-16 that includes nothing but its architecture.
    pub device_config: String,
    /// The device config inside the JSON that clients of BMv2 read tables from, and push as a file `NAME.json`.
    pub as_json: String,
}

/// Both for a program. A program that `p4rack switch` could not run, or that source cannot express, is refused.
pub fn pushed(program: &Program, form: Form) -> Result<Pushed, Vec<Diagnostic>> {
    device::check_architecture(program).map_err(|refused| vec![refused])?;
    let wrong = target_p4::check(program);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let p4info = p4info::file(program, What::P4Info, form)?;
    let device_config = target_p4::print(program);
    let mut map = SourceMap::new();
    let again = reparse("p4_device_config.p4", &device_config, &mut map);
    let again =
        again.map_err(|found| found.into_iter().map(|problem| printed(problem, &map)).collect::<Vec<_>>())?;
    let calculations = device::v1model::calculations(&again)
        .into_iter()
        .map(|of| bmv2::Calculation { name: of.name, algorithm: of.algorithm })
        .collect::<Vec<_>>();
    let as_json = bmv2::description(&::p4info::p4info(program)?, &calculations, Some(&device_config));
    Ok(Pushed { p4info, device_config, as_json })
}

/// A problem of the printed program. Its places are not those of the user's files, so they become notes.
fn printed(mut problem: Diagnostic, map: &SourceMap) -> Diagnostic {
    for label in std::mem::take(&mut problem.labels) {
        if let Some(place) = map.position(map.call_site(label.span).lo) {
            let (line, text) = (place.line, map.text(label.span));
            problem = problem.note(format!("in line {line} of the device config, `{text}`: {}", label.text));
        }
    }
    problem.note("p4rack wrote this line from the program: please report it")
}
