//! The benchmark programs: without a warning, each passes its STF test on the reference interpreter and as machine code,
//! and its load fits.

use base_diag::{SourceMap, Style, render};
use compiler::{Until, compile};
use experiments::bench::{Contestant, Interp, Native, Sharing};
use experiments::bench_load::wire::difference;
use experiments::bench_load::{PROGRAMS, Shape};
use p4_syntax::Options;
use p4rack::Disk;
use p4rack::run::{Engine, Job};
use std::path::Path;
use std::sync::Arc;

#[test]
fn each_passes_its_test() {
    for name in PROGRAMS.map(|p| p.name) {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bench").join(name);
        let path = dir.join(format!("{name}.p4")).display().to_string();
        let mut map = SourceMap::new();
        let compiled = compile(&path, &Disk, &Options::default(), Until::Elaborated, &mut map);
        let reported: String = compiled.diagnostics.iter().map(|d| render(d, &map, Style::Plain)).collect();
        assert!(reported.is_empty(), "{name}:\n{reported}");
        let program = compiled.program.expect("a program without errors");
        let test = std::fs::read_to_string(dir.join(format!("{name}.stf"))).expect("the test is there");
        let (file, problems) = p4_stf::parse(&test, 1);
        assert!(problems.is_empty(), "{name}: {problems:#?}");
        for engine in [Engine::Interp, Engine::Native] {
            let program = Arc::clone(&program);
            let job = Job {
                program,
                fillings: vec![],
                seed: 1,
                interval: None,
                cpu_port: Some(510),
                trace: false,
                engine,
                registry: netfn_registry::all(),
            };
            let (report, _) = job.test(&file, &mut |_| Ok(())).expect("the device can be made");
            assert!(report.passed(), "{name}, {engine:?}: {:#?}", report.problems);
        }
    }
}

#[test]
fn each_load_fits_and_both_engines_do_the_same_with_it() {
    let shape = Shape { packets: 300, flows: 2000, ..Shape::default() };
    for program in &PROGRAMS {
        let name = program.name;
        let load = Arc::new((program.load)(&shape));
        assert_eq!(load.packets, (program.load)(&shape).packets, "{name}");
        let outcome = Interp::new(program, &load).and_then(|mut i| i.check());
        let outcome = outcome.unwrap_or_else(|what| panic!("{name}: {what}"));
        // Faults are rare but there, and access lists drop some.
        let dropped = outcome.sent.iter().filter(|sent| sent.is_empty()).count();
        let most = if name == "firewall" { 200 } else { 90 };
        assert!((1..most).contains(&dropped), "{name}: {dropped} dropped");
        assert!(outcome.sent.iter().all(|sent| sent.len() <= 1), "{name}: floods");
        let mut native = Native::new(program, &load).unwrap_or_else(|what| panic!("{name}: {what}"));
        let sent = native.check().unwrap_or_else(|what| panic!("{name}: {what}"));
        assert_eq!(difference(&outcome, &sent), None, "{name}");
        let mut sharing = Sharing::workers(program, &load, 2).unwrap_or_else(|what| panic!("{name}: {what}"));
        let sent = sharing[0].check().unwrap_or_else(|what| panic!("{name}: {what}"));
        assert_eq!(difference(&outcome, &sent), None, "{name}, code for several workers");
        // The first writes of its entries, one by one; what was there does not change.
        let updates = native.updates(0).unwrap_or_else(|what| panic!("{name}: {what}")).expect("a count");
        assert!((1..=load.entries.len() as u64).contains(&updates.entries), "{name}: {updates:?}");
    }
}
