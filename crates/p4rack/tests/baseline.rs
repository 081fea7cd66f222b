//! `examples/baseline`: bridging, routing, tunnels and flooding, as machine code and in the interpreter. The expected frames are in `packets.stf`.

use base_diag::{SourceMap, Style, render};
use p4_syntax::Options;
use p4rack::run::{Engine, Job, entries};
use std::path::Path;

#[test]
fn a_baseline_switch_bridges_routes_and_tunnels() {
    [Engine::Native, Engine::Interp].into_iter().for_each(|engine| test(engine, "baseline.p4", false));
}

#[test]
fn the_program_for_a_tofino_does_the_same() {
    [Engine::Native, Engine::Interp].into_iter().for_each(|engine| test(engine, "tofino.p4", false));
}

#[test]
fn a_converted_baseline_switch_does_the_same_on_a_tofino() {
    test(Engine::Interp, "baseline.p4", true);
}

/// Runs the packets; `converted`: through the converted program for TNA.
fn test(engine: Engine, program: &str, converted: bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/baseline");
    let mut map = SourceMap::new();
    let mut run = || {
        let program = folder.join(program).to_string_lossy().into_owned();
        let mut program =
            p4rack::rack::compile_program(&program, &Options::default(), &mut map, &mut vec![])?;
        if converted {
            let new = target_tna::convert(&program, target_tna::Options::default())?;
            program = compiler::reparse("baseline.tna.p4", &new.text, &mut map)?;
        }
        let mut read = |name| p4rack::sources::read(&folder.join(name), &mut map).map_err(|d| vec![d]);
        let ((filling, start), (test, from)) = (read("entries.toml")?, read("packets.stf")?);
        let fillings = vec![entries::read(&program, &folder.join("entries.toml"), &filling, start)?];
        let (test, problems) = p4_stf::parse(&test, from);
        assert!(problems.is_empty() && test.statements.len() > 10, "{problems:#?}");
        let registry = netfn_registry::all();
        let (interval, cpu_port) = (None, None);
        let job = Job { program, fillings, seed: 1, interval, cpu_port, trace: false, engine, registry };
        let (report, _) = job.test(&test, &mut |_| Ok(()))?;
        if report.passed() { Ok(()) } else { Err(report.problems) }
    };
    let result = run();
    let text = |found: &Vec<_>| found.iter().map(|d| render(d, &map, Style::Plain)).collect::<String>();
    assert!(result.is_ok(), "{engine:?}: {}", result.as_ref().err().map(text).unwrap_or_default());
}
