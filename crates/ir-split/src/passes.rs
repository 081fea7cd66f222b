//! The passes of the preparation as steps of the pipeline: each does nothing to a program that is not cut.

use crate::analysis::Analysis;
use crate::attempt::Stop;
use crate::prepare::{
    bind, colours, counted, digests, effects, normalize as jumps, standard, tracked, varbit, wrap,
};
use ir::Program;
use std::rc::Rc;

/// The program for changes, if it is cut.
fn cut<'p>(a: &'p mut Analysis<'_>) -> Option<&'p mut Program> {
    a.is_cut().then(|| Rc::make_mut(&mut a.program))
}

pub fn normalize(a: &mut Analysis<'_>) -> Result<(), Stop> {
    if let Some(program) = cut(a) {
        jumps::normalize(program)?;
    }
    Ok(())
}

pub fn bind(a: &mut Analysis<'_>) -> Result<(), Stop> {
    if let Some(program) = cut(a) {
        bind::bind_whole_arguments(program);
    }
    Ok(())
}

pub fn wrap(a: &mut Analysis<'_>) -> Result<(), Stop> {
    let prefix = a.prefix.clone();
    if let Some(program) = cut(a) {
        wrap::wrap_whole_structs(program, &prefix);
    }
    Ok(())
}

pub fn carry_colours(a: &mut Analysis<'_>) -> Result<(), Stop> {
    if a.is_cut() && a.needs.colours {
        a.foreign = colours::note_colours(Rc::make_mut(&mut a.program), &a.prefix);
    }
    Ok(())
}

pub fn count(a: &mut Analysis<'_>) -> Result<(), Stop> {
    if a.is_cut() && a.needs.counted {
        counted::note_length(Rc::make_mut(&mut a.program), &a.prefix);
    }
    Ok(())
}

pub fn measure(a: &mut Analysis<'_>) -> Result<(), Stop> {
    if a.is_cut() {
        a.lengths = varbit::measure_varbits(Rc::make_mut(&mut a.program), &a.prefix)?;
    }
    Ok(())
}

pub fn track(a: &mut Analysis<'_>) -> Result<(), Stop> {
    if a.is_cut() && a.needs.tracked {
        tracked::track_length(Rc::make_mut(&mut a.program), &a.prefix, &a.lengths)?;
    }
    Ok(())
}

pub fn digest(a: &mut Analysis<'_>) -> Result<(), Stop> {
    for (control, is_cut) in [(a.ingress, a.cut.ingress), (a.egress, a.cut.egress)] {
        if is_cut {
            digests::record_digests(Rc::make_mut(&mut a.program), &a.prefix, control)?;
        }
    }
    Ok(())
}

pub fn effect(a: &mut Analysis<'_>) -> Result<(), Stop> {
    if a.is_cut() {
        let has_varbits = !a.lengths.is_empty();
        a.effects = effects::record_effects(Rc::make_mut(&mut a.program), &a.prefix, a.cut, has_varbits)?;
    }
    Ok(())
}

pub fn port(a: &mut Analysis<'_>) -> Result<(), Stop> {
    if a.cut.egress {
        a.port = standard::keep_port(Rc::make_mut(&mut a.program), &a.prefix);
    }
    Ok(())
}
