//! The slice's program on its way.

use base_diag::{SourceMap, Style, render};
use ir::Program;
use ir_prove::{Case, Effort, Part, prove};
use ir_split::{DeviceIndex, Placement, split};
use p4rack::{Disk, Until, compile};
use std::sync::Arc;

fn program() -> Arc<Program> {
    let mut map = SourceMap::new();
    let main = format!("{}/../../examples/slice/slice.p4", env!("CARGO_MANIFEST_DIR"));
    let compiled = compile(&main, &Disk, &Default::default(), Until::Elaborated, &mut map);
    let text: String = compiled.diagnostics.iter().map(|d| render(d, &map, Style::Plain)).collect();
    compiled.program.unwrap_or_else(|| panic!("{text}"))
}

fn placement(helper: &[&str]) -> Placement {
    let (tor, nic) = (DeviceIndex(0), DeviceIndex(1));
    Placement {
        devices: vec!["tor".into(), "nic".into()],
        regions: helper.iter().map(|r| ((*r).into(), nic)).collect(),
        ports: [((tor, nic), 300), ((nic, tor), 301)].into(),
        ..Placement::whole("tor")
    }
}

fn case(helper: &[&str]) -> Case {
    let whole = program();
    let placement = placement(helper);
    let made = split(&whole, &placement).unwrap_or_else(|d| panic!("{d:#?}"));
    let mut registry = dataplane_api::Registry::default();
    netfn_beacon::register(&mut registry);
    let parts = made.devices.into_iter().map(|d| {
        d.map(|d| {
            if let Err(e) = ir::verify::verify(&d.program) {
                panic!("{helper:?}: {e:#?}");
            }
            Part { program: Arc::new(d.program), linkage: d.linkage }
        })
    });
    Case { whole, parts: parts.collect(), placement, registry }
}

#[test]
fn every_combination_of_cuts_is_equal() {
    let regions = ["Sample", "Acl", "Mark", "Out"];
    for mask in 0..16 {
        let helper: Vec<&str> = (0..4).filter(|i| mask & (1 << i) != 0).map(|i| regions[i]).collect();
        match prove(&case(&helper), &Effort { packets: 1000, ..Effort::default() }) {
            Ok(tried) => println!("{helper:?}: {tried:?}"),
            Err(failure) => {
                panic!("{helper:?}: {} {} {:x?}", failure.proof, failure.round, failure.difference)
            }
        }
    }
}

#[test]
fn every_mutant_is_caught() {
    let mut lived = vec![];
    for helper in [&["Acl", "Out"][..], &["Mark"], &["Sample", "Mark"]] {
        let case = case(helper);
        for mutant in ir_prove::mutants::mutants(&case.parts) {
            let broken = Case { parts: mutant.parts, ..case.clone() };
            match prove(&broken, &Effort::default()) {
                Err(failure) if matches!(failure.difference, ir_prove::Difference::Setup(_)) => {
                    panic!("{}: {:?}", mutant.name, failure.difference)
                }
                Err(_) => {}
                Ok(tried) => lived.push(format!("{helper:?} {}: {tried:?}", mutant.name)),
            }
        }
    }
    assert!(lived.is_empty(), "{lived:#?}");
}
