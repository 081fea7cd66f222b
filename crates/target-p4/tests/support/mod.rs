//! Source text to elaborated program, for tests.

use base_diag::{Severity, SourceMap, Style, render};
use p4_arch::Texts;
use p4_syntax::Options;

/// The elaborated program, without spans; or what is wrong.
pub fn compile(source: &str) -> Result<ir::Program, String> {
    compile_from("test.p4", &[("test.p4", source)])
}

/// The same of one of several files.
pub fn compile_from(main: &str, files: &[(&str, &str)]) -> Result<ir::Program, String> {
    let mut map = SourceMap::new();
    let mut program =
        ir_elaborate::program(main, &Texts(files), &Options::default(), &mut map).map_err(|found| {
            let errors = found.iter().filter(|d| d.severity == Severity::Error);
            errors.map(|d| render(d, &map, Style::Plain)).collect::<String>()
        })?;
    ir::text::erase_spans(&mut program);
    Ok(program)
}
