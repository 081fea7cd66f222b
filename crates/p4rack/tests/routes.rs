//! Hand-overs between devices without a link: what lies between them sends them on, and runs nothing on them.

use crate::support;

use base_diag::SourceMap;
use ir_prove::mutants::mutants;
use ir_prove::{Case, Effort, prove};
use ir_split::{DeviceIndex, Length, Placement, split};
use support::{case, compile_text, placement, small_program};

const INGRESS: &str =
    "meta.x = hdr.h.b; if (hdr.h.b > 60) { @region(\"R\") { meta.y = meta.x + 1; hdr.h.a = meta.x; }
    @region(\"S\") { hdr.h.b = meta.y + hdr.h.a; } } std.egress_spec = 2;";

const EGRESS: &str = "if (hdr.h.b > 3) { @region(\"T\") { hdr.h.b = hdr.h.b + meta.y; }
    @region(\"U\") { hdr.h.a = hdr.h.a + hdr.h.b; } }";

/// Devices by name, the first the tor; links between them; regions on them.
fn rack(names: &[&str], links: &[(usize, usize)], regions: &[(&str, usize)]) -> Placement {
    let index = |at: usize| DeviceIndex(at as u32);
    let ends = links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
    Placement {
        devices: names.iter().map(|name| (*name).into()).collect(),
        sites: regions.iter().map(|(region, at)| ((*region).into(), index(*at).into())).collect(),
        ports: ends.map(|(a, b)| ((index(a), index(b)), 300 + b as u64)).collect(),
        ..placement(&[])
    }
}

/// Proves a placement, reduced to the regions that the program has.
fn proved(ingress: &str, egress: &str, mut placement: Placement) -> Case {
    let source = small_program("", ingress, egress);
    placement.sites.retain(|region, _| source.contains(&format!("@region(\"{region}\")")));
    let case = case(compile_text(&source, &mut SourceMap::new()), placement);
    match prove(&case, &Effort { packets: 300, ..Effort::default() }) {
        Ok(tried) => assert!(tried.hops > 100, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
    case
}

fn star() -> Placement {
    rack(&["tor", "nic", "fpga"], &[(0, 1), (0, 2)], &[("R", 1), ("S", 2), ("T", 2), ("U", 1)])
}

#[test]
fn the_tor_sends_on_from_helper_to_helper() {
    proved(INGRESS, "", star());
    // Egress regions in front of the traffic manager, and after it.
    proved(INGRESS, EGRESS, star());
    proved("meta.y = hdr.h.a; std.egress_spec = 2;", EGRESS, star());
}

/// The one at the end of a line is only reached over the one before it, there and back.
#[test]
fn a_helper_sends_on_for_the_tor() {
    let line = rack(&["tor", "nic", "fpga"], &[(0, 1), (1, 2)], &[("R", 1), ("S", 2), ("T", 1), ("U", 2)]);
    proved(INGRESS, EGRESS, line);
}

/// Three links, over a helper and the tor.
#[test]
fn a_way_leads_over_several() {
    let regions = [("R", 1), ("S", 2), ("T", 3), ("U", 1)];
    proved(INGRESS, EGRESS, rack(&["tor", "nic", "fpga", "cpu"], &[(0, 1), (1, 3), (0, 2)], &regions));
}

/// The second switch has no link to the helpers: the first one forwards its hand-overs to them and back.
#[test]
fn a_switch_sends_on_for_another() {
    let mut placed = rack(
        &["tor", "nic", "fpga", "tor2"],
        &[(0, 1), (0, 2), (0, 3)],
        &[("R", 1), ("S", 2), ("T", 2), ("U", 1)],
    );
    placed.home.push(DeviceIndex(3));
    proved(INGRESS, EGRESS, placed);
}

#[test]
fn mutants_of_what_is_sent_on_are_caught() {
    mutants_are_noticed(&proved(INGRESS, EGRESS, star()));
}

fn mutants_are_noticed(case: &Case) {
    let mutants = mutants(&case.parts);
    let is_of = |mutant: &ir_prove::mutants::Mutant, device: usize| {
        mutant.name.starts_with(&format!("device {device}:"))
    };
    assert!((0..case.parts.len()).all(|device| mutants.iter().any(|mutant| is_of(mutant, device))));
    for mutant in mutants {
        let broken = Case { parts: mutant.parts, ..case.clone() };
        let noticed = prove(&broken, &Effort { packets: 300, ..Effort::default() }).is_err();
        assert!(noticed, "lived: {}", mutant.name);
    }
}

fn refusals(placement: &Placement) -> Vec<String> {
    let program = compile_text(&small_program("", INGRESS, EGRESS), &mut SourceMap::new());
    let refused = split(&program, placement).expect_err("it is refused");
    refused.iter().map(|found| format!("{} {}", found.code, found.title)).collect()
}

/// A switch between the tor and a helper runs nothing of the program: its part only sends on.
#[test]
fn who_runs_nothing_sends_on() {
    let regions = [("R", 1), ("S", 2), ("T", 2), ("U", 1)];
    let fabric = rack(&["tor", "nic", "fpga", "idle"], &[(0, 1), (0, 3), (3, 2)], &regions);
    let case = proved(INGRESS, EGRESS, fabric);
    mutants_are_noticed(&case);
}

/// Two ways of two links: the one over the device that runs something, or the faster one where that is known.
#[test]
fn of_ways_as_short_the_fastest_is_taken() {
    let links = [(0, 1), (1, 3), (0, 2), (2, 3)];
    let mut ring = rack(&["tor", "nic", "idle", "fpga"], &links, &[("R", 1), ("S", 3)]);
    let program = compile_text(&small_program("", INGRESS, ""), &mut SourceMap::new());
    let runs = |placement: &Placement| {
        let parts = split(&program, placement).unwrap().devices;
        parts.iter().map(Option::is_some).collect::<Vec<_>>()
    };
    assert_eq!(runs(&ring), [true, true, false, true]);
    let [tor, idle, fpga] = [0, 2, 3].map(DeviceIndex);
    for (pair, time_ps) in [((tor, idle), 5), ((idle, fpga), 5), ((fpga, idle), 5), ((idle, tor), 5)] {
        ring.lengths.insert(pair, Length { links: 1, time_ps });
    }
    assert_eq!(runs(&ring), [true, true, false, true], "others take no time");
    for pair in ring.ports.keys() {
        ring.lengths.entry(*pair).or_insert(Length { links: 1, time_ps: 6 });
    }
    assert_eq!(runs(&ring), [true; 4]);
}

#[test]
fn there_is_no_way_without_links() {
    let apart = rack(&["tor", "nic", "fpga"], &[(0, 1)], &[("R", 1), ("S", 2)]);
    let missing = ["P4R0508 no path from `nic` to `fpga`", "P4R0508 no path from `fpga` to `tor`"];
    assert_eq!(refusals(&apart), missing);
}

/// Each link on the way has to carry what passes.
#[test]
fn every_link_on_the_way_is_looked_at() {
    let [tor, nic, fpga] = [0, 1, 2].map(DeviceIndex);
    // From `nic` to `fpga` the first link is wide enough, the second is not.
    let long = [((tor, nic), 2000), ((nic, tor), 2000), ((tor, fpga), 1514), ((fpga, tor), 2000)];
    let regions = [("R", 1), ("S", 2), ("T", 1), ("U", 1)];
    let narrow = Placement {
        longest_frame: Some(1514),
        longest_on_link: long.into(),
        ..rack(&["tor", "nic", "fpga"], &[(0, 1), (0, 2)], &regions)
    };
    assert_eq!(refusals(&narrow), ["P4R0511 hand-overs to `S` do not fit their link"]);
}
