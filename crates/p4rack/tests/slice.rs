//! The slice's program on its way.

use base_diag::{SourceMap, Style, render};
use p4rack::{Disk, Until, compile};

#[test]
fn compiles() {
    let mut map = SourceMap::new();
    let main = format!("{}/../../examples/slice/slice.p4", env!("CARGO_MANIFEST_DIR"));
    let compiled = compile(&main, &Disk, &Default::default(), Until::Elaborated, &mut map);
    let text: String = compiled.diagnostics.iter().map(|d| render(d, &map, Style::Plain)).collect();
    assert!(compiled.program.is_some(), "{text}");
}
