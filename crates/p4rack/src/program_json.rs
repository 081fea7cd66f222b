//! `build/NAME.json` as the argument of a switch: p4rack's has the program in it, p4c's has none that p4rack can run.

use crate::sources;
use base_diag::{Diagnostic, SourceMap, codes};
use base_json::Kind;
use compiler::reparse;
use device_control::program_in_json;
use ir::Program;
use std::path::Path;
use std::sync::Arc;

/// The program in a file that `p4rack compile` or a lab wrote. The JSON of p4c is refused.
pub fn read(path: &Path, map: &mut SourceMap) -> Result<Arc<Program>, Vec<Diagnostic>> {
    let text = sources::text(path).map_err(|why| vec![sources::unreadable(path, why)])?;
    let name = path.display().to_string();
    match program_in_json(&text) {
        Some(program) => reparse(&name, &program, map),
        None => Err(vec![refused(path, source(&text))]),
    }
}

fn refused(path: &Path, source: Option<String>) -> Diagnostic {
    let title = "BMv2 JSON is not a program for p4rack";
    let problem = Diagnostic::error(codes::emulate::UNREADABLE_FILE, title).note(format!(
        "`{}` was not written by p4rack; the JSON of p4c lacks parts of the source that p4rack needs",
        path.display()
    ));
    problem.help(match source {
        Some(source) => {
            format!("give the source, `{source}`, or the JSON that `p4rack compile {source} -o build` writes")
        }
        None => "give the P4 source, or the JSON that `p4rack compile` writes".to_string(),
    })
}

/// The file that p4c says it compiled.
fn source(text: &str) -> Option<String> {
    let Kind::Object(members) = base_json::parse(text, 1).ok()?.kind else { return None };
    let program = members.into_iter().find(|member| member.name == "program")?;
    match program.value.kind {
        Kind::String(text) if text.ends_with(".p4") => Some(text),
        _ => None,
    }
}
