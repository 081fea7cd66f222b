//! What a controller pushes: P4Info, and the device config that `p4rack switch` takes with it.

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
}

/// Both for a program. What cannot be said as source, or cannot run on a device, is told.
pub fn pushed(program: &Program, form: Form) -> Result<Pushed, Vec<Diagnostic>> {
    let wrong = target_p4::check(program);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let p4info = p4info::file(program, What::P4Info, form)?;
    let device_config = target_p4::print(program);
    reparse("p4_device_config.p4", &device_config, &mut SourceMap::new())?;
    Ok(Pushed { p4info, device_config })
}
