//! Programs of devices: a split, printed as P4 and compiled again.

use crate::reparse::reparse;
use base_diag::{Diagnostic, SourceMap};
use ir::Program;
use ir_split::{Part, Placement, Split, split};
use std::sync::Arc;

/// A split, the parts compiled from its printed sources, and those sources.
pub type Parts = (Split, Vec<Option<Part>>, Vec<Option<String>>);

/// Splits a program, prints each part as P4, and compiles the printed text: devices run exactly what is printed.
pub fn make_parts(
    program: &Program,
    placement: &Placement,
    map: &mut SourceMap,
) -> Result<Parts, Vec<Diagnostic>> {
    let split = split(program, placement)?;
    let (parts, texts) = print_parts(&split, placement, map)?;
    Ok((split, parts, texts))
}

/// Compiled part and source text of each device; `None` where a device has no part.
pub type Printed = (Vec<Option<Part>>, Vec<Option<String>>);

/// The parts of a split program, compiled from their printed text.
pub fn print_parts(
    split: &Split,
    placement: &Placement,
    map: &mut SourceMap,
) -> Result<Printed, Vec<Diagnostic>> {
    let (mut parts, mut texts): Printed = (vec![], vec![]);
    for (device, name) in split.devices.iter().zip(&placement.devices) {
        let Some(device) = device else {
            parts.push(None);
            texts.push(None);
            continue;
        };
        // Only the whole program translates strings: devices use numbers.
        let plain = p4info::untranslated(&device.program);
        let program = plain.as_ref().unwrap_or(&device.program);
        let wrong = target_p4::check(program);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let text = target_p4::print(program);
        let equal = texts.iter().position(|known| known.as_ref() == Some(&text));
        let program = match equal.and_then(|at| parts.get(at)?.as_ref()) {
            Some(Part { program, .. }) => Arc::clone(program),
            None => reparse(&format!("{name}.p4"), &text, map)?,
        };
        parts.push(Some(Part { program, linkage: device.linkage.clone() }));
        texts.push(Some(text));
    }
    Ok((parts, texts))
}
