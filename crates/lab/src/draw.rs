//! `p4rack lab draw`: a lab as a picture.

use crate::find::find;
use crate::prepare::read;
use base_diag::{Diagnostic, SourceMap};
use lab_model::to_rack_text;
use rack_model::Mac;
use std::path::Path;

/// SVG of a lab: hosts with their addresses, switches with the programs that the description names, links. No program is read.
pub fn draw(path: &Path, map: &mut SourceMap) -> Result<String, Vec<Diagnostic>> {
    let found = find(path).map_err(|problem| vec![problem])?;
    let (lab, problems) = read(&found, map);
    let Some(mut lab) = lab else { return Err(problems) };
    // A rack's hosts have MAC addresses; the picture does not show them.
    for (number, host) in (1u32..).zip(&mut lab.hosts) {
        let [_, b, c, d] = number.to_be_bytes();
        host.mac = Some(Mac([2, 0, 0, b, c, d]));
    }
    let named = |switch: &lab_model::Switch| {
        let program = switch.program.as_ref().or(lab.program.as_ref());
        program.map_or(String::new(), |program| program.value.clone())
    };
    let programs: Vec<String> = lab.switches.iter().map(named).collect();
    let text = to_rack_text(&lab, &programs, &[]);
    let start = p4rack::sources::add("RACK.toml", &text, map).map_err(|problem| vec![problem])?;
    let (rack, problems) = rack_model::read_rack(&text, start);
    let Some(rack) = rack else { return Err(problems) };
    let file =
        |program: &String| Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let runs: Vec<Vec<String>> = programs.iter().map(|program| vec![file(program)]).collect();
    Ok(p4rack::up::picture(&rack, &runs))
}
