//! Source text to elaborated program, for tests.

use base_diag::{Severity, SourceMap, Style, render};
use p4_arch::Texts;
use p4_syntax::Options;

/// The elaborated program, without spans; or what is wrong.
pub fn compile(source: &str) -> Result<ir::Program, String> {
    let mut map = SourceMap::new();
    let texts = [("test.p4", source)];
    let mut program = ir_elaborate::program("test.p4", &Texts(&texts), &Options::default(), &mut map)
        .map_err(|found| {
            let errors = found.iter().filter(|d| d.severity == Severity::Error);
            errors.map(|d| render(d, &map, Style::Plain)).collect::<String>()
        })?;
    ir::text::erase_spans(&mut program);
    Ok(program)
}
