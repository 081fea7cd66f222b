//! The fat tree: its files equal the generator's output, and its pings are answered.

use base_diag::SourceMap;
use p4rack::{Racked, rack, up};
use rack_emulator::RunReport;
use rack_model::{NodeId, Probability, generate};
use std::path::{Path, PathBuf};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn load(path: &Path) -> Racked {
    rack::load(path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"))
}

fn run(racked: &Racked) -> RunReport {
    up::bring_up(racked).unwrap().run().unwrap()
}

#[test]
fn the_example_is_what_the_generator_writes() {
    for file in generate::fat_tree(4).unwrap() {
        let path = example("fat-tree").join(&file.path);
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == file.text, "run: p4rack generate-rack fat-tree --k 4 -o examples/fat-tree");
    }
}

#[test]
fn all_pings_come_back_and_links_are_what_they_are_set_to() {
    let mut racked = load(&example("fat-tree"));
    let report = run(&racked);
    let [pings, across, background] = report.workloads.as_slice() else { panic!("{report:?}") };
    assert_eq!((pings.received, across.received, background.received), (240, 16, 1000));
    assert!(report.devices.iter().all(|device| device.engine == "native"));
    // 98 + 24 bytes at 10 Gbit/s on six links of 500 ns, five switches of 1 us; there and back.
    let one_way = 6 * (97_600 + 500_000) + 5 * 1_000_000;
    assert_eq!(pings.latency.unwrap().max_ps.max(2 * one_way), pings.latency.unwrap().max_ps);
    assert_eq!(across.latency.unwrap().min_ps, 2 * one_way);
    // Hosts miss the frames that links lose: 5 % of the host's own link, in one direction.
    let host = NodeId::Host(racked.rack.host("h-3-1-1").unwrap());
    let link = racked.rack.links_of(host).next().unwrap().0;
    racked.rack.links[link.0 as usize].loss = Probability::parse("5%").unwrap();
    let lossy = run(&racked);
    let lost: u64 = lossy.links.iter().map(|link| link.lost).sum();
    let missed: u64 = lossy.workloads.iter().map(|workload| workload.lost).sum();
    assert_eq!(lost, missed);
    assert!((30..75).contains(&lossy.workloads[2].lost), "{} of 1000 at 5 %", lossy.workloads[2].lost);
    // The rate of a slower link is the rate of what comes.
    racked.rack.links[link.0 as usize].loss = Probability::ZERO;
    racked.rack.links[link.0 as usize].rate = "1Gbit/s".parse().unwrap();
    let slow = run(&racked);
    let goodput = slow.workloads[2].goodput_bits_per_s.unwrap();
    // 1000 of 1066 bytes on the wire are payload; pings have their part.
    assert!((930_000_000..938_100_000).contains(&goodput), "{goodput}");
}

#[test]
fn flows_are_spread_over_all_ways_up() {
    let report = run(&load(&example("fat-tree")));
    let up: Vec<u64> = report
        .links
        .iter()
        .filter(|link| link.from.starts_with("agg-") && link.to.starts_with("core-"))
        .map(|link| link.frames)
        .collect();
    assert_eq!(up.len(), 16);
    assert!(up.iter().filter(|frames| **frames > 0).count() >= 14, "{up:?}");
}

#[test]
fn racks_of_one_switch_and_sizes_that_cannot_be() {
    let files = generate::star(2, 3).unwrap();
    let (rack, diagnostics) = rack_model::read_rack(&files[0].text, 1);
    assert_eq!((diagnostics.len(), rack.map(|r| (r.devices.len(), r.hosts.len()))), (0, Some((3, 3))));
    for k in [0, 1, 3, 66] {
        assert!(generate::fat_tree(k).is_err());
    }
    assert!(generate::star(0, 1).is_err());
    for k in [2, 6, 64] {
        let files = generate::fat_tree(k).unwrap();
        assert_eq!(files.len() as u32, 2 + k * k + k * k / 4);
    }
    let (rack, diagnostics) = rack_model::read_rack(&generate::fat_tree(6).unwrap()[0].text, 1);
    assert!(diagnostics.is_empty());
    assert_eq!(rack.unwrap().hosts.len(), 54);
}
