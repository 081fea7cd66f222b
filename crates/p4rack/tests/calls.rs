//! Called regions: control returns to the device around them before anything else runs.

use crate::support;

use base_diag::SourceMap;
use ir_prove::mutants::mutants;
use ir_prove::{Case, Effort, prove};
use ir_split::{CallEnd, DeviceIndex, Placement, Policy, Site, Split, split};
use support::{case, compile_text, placement, small_program};

const INGRESS: &str =
    "meta.x = hdr.h.b; if (hdr.h.b > 60) { @region(\"R\") { meta.y = meta.x + 1; hdr.h.a = meta.x; }
    @region(\"S\") { hdr.h.b = meta.y + hdr.h.a; } } std.egress_spec = 2;";

/// A region at a device, called or not.
fn site(region: &str, device: DeviceIndex, calls: &[&str]) -> (ir::Name, Site) {
    let policy = if calls.contains(&region) { Policy::Call } else { Policy::Direct };
    (region.into(), Site::new(device, policy))
}

/// A tor with two helpers that only it is linked with.
fn star(calls: &[&str]) -> Placement {
    let [tor, nic, fpga] = [0, 1, 2].map(DeviceIndex);
    Placement {
        devices: vec!["tor".into(), "nic".into(), "fpga".into()],
        sites: [("R", nic), ("S", fpga)].map(|(region, at)| site(region, at, calls)).into(),
        ports: [((tor, nic), 300), ((nic, tor), 1), ((tor, fpga), 301), ((fpga, tor), 1)].into(),
        ..placement(&[])
    }
}

fn proved(source: &str, placement: Placement) -> Case {
    let case = case(compile_text(source, &mut SourceMap::new()), placement);
    if let Err(failure) = prove(&case, &Effort { packets: 300, ..Effort::default() }) {
        panic!("{}", failure.describe());
    }
    case
}

/// The sections that control passes between over cuts, by name.
fn cut_edges(split: &Split) -> Vec<String> {
    let name = |at: u32| split.sections[at as usize].name.as_str();
    split.cut_edges().iter().map(|(from, to)| format!("{} -> {}", name(from.0), name(to.0))).collect()
}

/// Behind `R` there is nothing to do at the tor: it only sends on.
#[test]
fn helpers_that_are_called_are_called_by_the_tor() {
    let source = small_program("", INGRESS, "");
    let program = compile_text(&source, &mut SourceMap::new());
    let passing = split(&program, &star(&[])).expect("the tor sends on");
    assert_eq!(cut_edges(&passing), ["ingress -> R", "R -> S", "S -> ingress.2"]);
    let called = split(&program, &star(&["R"])).expect("it is called");
    let edges = ["ingress -> R", "R -> ingress.2", "ingress.2 -> S", "S -> ingress.3"];
    assert_eq!(cut_edges(&called), edges);
    let ends: Vec<_> = called.sections.iter().filter_map(|s| Some((s.name.as_str(), s.call?))).collect();
    assert_eq!(ends, [("R", CallEnd::Handler), ("ingress.2", CallEnd::Return)]);
    proved(&source, star(&["R"]));
}

/// A call is entered from the device around it, and its successor, which follows directly, from the helper itself.
#[test]
fn a_called_region_is_entered_from_its_caller() {
    let program = compile_text(&small_program("", INGRESS, ""), &mut SourceMap::new());
    let called = split(&program, &star(&["S"])).expect("it is called");
    assert_eq!(cut_edges(&called), ["ingress -> R", "R -> ingress.2", "ingress.2 -> S", "S -> ingress.3"]);
}

/// A helper calls another helper at the end of its own region, also in and after egress.
#[test]
fn helpers_call_helpers() {
    let ingress = "meta.x = hdr.h.b; @region(\"R\") { meta.y = meta.x + 1; @region(\"S\") { hdr.h.a = meta.y; meta.x = 7; } }
        std.egress_spec = 2; hdr.h.b = meta.x;";
    let egress = "if (hdr.h.b > 3) { @region(\"T\") { hdr.h.b = hdr.h.b + meta.y; } @region(\"U\") { hdr.h.a = hdr.h.a + hdr.h.b; } }";
    let [nic, fpga] = [1, 2].map(DeviceIndex);
    let mut placed = star(&["S", "T", "U"]);
    placed.sites.extend([("T", nic), ("U", fpga)].map(|(region, at)| site(region, at, &["T", "U"])));
    placed.ports.extend([((nic, fpga), 2), ((fpga, nic), 2)]);
    proved(&small_program("", ingress, egress), placed);
}

/// Two switches call the same helpers: each call returns to its caller.
#[test]
fn two_switches_call_the_same_helpers() {
    let [tor2, nic, fpga] = [3, 1, 2].map(DeviceIndex);
    let mut placed = star(&["R", "S"]);
    placed.devices.push("tor2".into());
    placed.home.push(tor2);
    placed.ports.extend([((tor2, nic), 300), ((nic, tor2), 2), ((tor2, fpga), 301), ((fpga, tor2), 2)]);
    proved(&small_program("", INGRESS, ""), placed);
}

/// The proof notices each fault that is made in the parts of a split with calls.
#[test]
fn mutants_of_calls_are_caught() {
    let case = proved(&small_program("", INGRESS, ""), star(&["R", "S"]));
    let mutants = mutants(&case.parts);
    assert!(mutants.len() > 5, "only {} mutants", mutants.len());
    for mutant in mutants {
        let broken = Case { parts: mutant.parts, ..case.clone() };
        let noticed = prove(&broken, &Effort { packets: 300, ..Effort::default() }).is_err();
        assert!(noticed, "lived: {}", mutant.name);
    }
}
