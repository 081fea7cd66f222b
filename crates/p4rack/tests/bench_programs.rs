//! The benchmark programs: without a warning, and each passes its STF test on the reference interpreter.

use base_diag::{SourceMap, Style, render};
use p4_syntax::Options;
use p4rack::run::Job;
use p4rack::{Disk, Until, compile};
use std::path::Path;

const PROGRAMS: [&str; 8] = ["l2", "router", "acl", "firewall", "nat", "vxlan", "sketch", "dcswitch"];

#[test]
fn each_passes_its_test() {
    for name in PROGRAMS {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bench").join(name);
        let path = dir.join(format!("{name}.p4")).display().to_string();
        let mut map = SourceMap::new();
        let compiled = compile(&path, &Disk, &Options::default(), Until::Elaborated, &mut map);
        let told: String = compiled.diagnostics.iter().map(|d| render(d, &map, Style::Plain)).collect();
        assert!(told.is_empty(), "{name}:\n{told}");
        let program = compiled.program.expect("a program without errors");
        let test = std::fs::read_to_string(dir.join(format!("{name}.stf"))).expect("the test is there");
        let (file, problems) = p4_stf::parse(&test, 1);
        assert!(problems.is_empty(), "{name}: {problems:#?}");
        let job =
            Job { program, fillings: vec![], seed: 1, interval: None, cpu_port: Some(510), trace: false };
        let (report, _) = job.test(&file, &mut |_| Ok(())).expect("the device can be made");
        assert!(report.passed(), "{name}: {:#?}", report.problems);
    }
}
