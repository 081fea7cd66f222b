//! Every program of the interpreter's `testdata` with its packets, on both engines: `NAME.p4` with `NAME.stf`, filled
//! from `NAME.toml` if that exists; digests, log lines and idle entries are those of `NAME.log`.
//!
//! The expected output comes from the definitions of v1model and PSA, not from p4rack's output. `UPDATE_EXPECT=1`
//! writes the logs anew.

use base_diag::{SourceMap, Style, render};
use p4_syntax::Options;
use p4rack::run::{Engine, Job, entries, text};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ir-interp/testdata")
}

/// The tests' names, sorted.
fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("testdata").map(|f| f.expect("a file").path());
    let tests = files.filter(|p| p.extension().is_some_and(|e| e == "stf"));
    let mut names: Vec<_> =
        tests.map(|p| p.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Runs a test. Returns its log, or an error.
fn run(name: &str, engine: Engine) -> Result<String, String> {
    let path = |extension: &str| folder().join(format!("{name}.{extension}"));
    let mut map = SourceMap::new();
    let mut log = String::new();
    let mut run = || {
        let program = path("p4").to_string_lossy().into_owned();
        let program = p4rack::rack::compile_program(&program, &Options::default(), &mut map, &mut vec![])?;
        let mut fillings = vec![];
        if path("toml").exists() {
            let (text, start) = p4rack::sources::read(&path("toml"), &mut map).map_err(|d| vec![d])?;
            fillings.push(entries::read(&program, &path("toml"), &text, start)?);
        }
        let registry = netfn_registry::all();
        let job = Job {
            program,
            fillings,
            seed: 1,
            interval: None,
            cpu_port: None,
            trace: false,
            engine,
            registry,
        };
        let (text, start) = p4rack::sources::read(&path("stf"), &mut map).map_err(|d| vec![d])?;
        let (test, problems) = p4_stf::parse(&text, start);
        if !problems.is_empty() {
            return Err(problems);
        }
        let (report, _) = job.test(&test, &mut |step| {
            log.push_str(&text::messages(step));
            Ok(())
        })?;
        if report.passed() { Ok(()) } else { Err(report.problems) }
    };
    let result = run();
    let reported = |problems: Vec<base_diag::Diagnostic>| {
        problems.iter().map(|d| render(d, &map, Style::Plain)).collect::<String>()
    };
    result.map(|()| log).map_err(reported)
}

#[test]
fn every_packet_test_passes_on_both_engines() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut wrong = String::new();
    let names = names();
    assert!(names.len() > 20, "{names:?}");
    for name in &names {
        for engine in [Engine::Interp, Engine::Native] {
            let log = match run(name, engine) {
                Ok(log) => log,
                Err(problems) => {
                    wrong.push_str(&format!("{name} on {engine:?}:\n{problems}\n"));
                    continue;
                }
            };
            let golden = folder().join(format!("{name}.log"));
            let wanted = std::fs::read_to_string(&golden).unwrap_or_default();
            if update && engine == Engine::Interp && log != wanted {
                std::fs::write(&golden, &log).expect("a log");
            } else if log != wanted {
                wrong.push_str(&format!("{name} on {engine:?}: logs\n{log}instead of\n{wanted}\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
