//! The fat tree: its files equal the generator's output, its pings are answered, and transfers cross a larger one. `P4RACK_ALL`: 1,024 of them.

use base_diag::SourceMap;
use base_time::{Duration, Time};
use host_programs::Load;
use host_programs::tcp::TCP;
use p4rack::{Racked, rack, up};
use rack_emulator::RunReport;
use rack_model::{HostId, NodeId, Probability, Rack, generate};
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

/// A fat tree with k = 8 has 80 switches and 128 hosts. Pings among all hosts, and transfers by TCP from the first two pods to the last two.
#[test]
fn a_larger_tree_carries_pings_and_transfers() {
    let directory = std::env::temp_dir().join(format!("p4rack-fat-tree-8-{}", std::process::id()));
    for file in generate::fat_tree(8).unwrap() {
        let path = directory.join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file.text).unwrap();
    }
    // Hosts 0 to 31 are those of pods 0 and 1, hosts 96 to 127 those of pods 6 and 7.
    let senders = if features::is_long() { 32 } else { 8 };
    let with_transfers = |rack: &mut Rack| {
        let mut transfers = rack.workloads[0].clone();
        rack.workloads.truncate(1);
        transfers.name = "transfers".into();
        transfers.from.value = (0..senders).map(HostId).collect();
        transfers.to.value = (0..senders).map(|host| HostId(127 - host)).collect();
        transfers.load = Load::new(&TCP, 1, 100_000);
        // After the pings, which queues could drop.
        transfers.load.start = Time::ZERO + Duration::from_ms(20);
        transfers.load.stagger = Duration::from_us(1);
        rack.workloads.push(transfers);
    };
    let path = directory.join("RACK.toml");
    let racked = rack::load_as(&path, &[], &mut SourceMap::new(), &with_transfers, &mut |_| ())
        .unwrap_or_else(|found| panic!("{found:#?}"));
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!((racked.rack.devices.len(), racked.rack.hosts.len()), (80, 128));
    let mut running = up::bring_up(&racked).unwrap();
    running.emulator.keep_samples(true);
    let report = running.run().unwrap();
    let [pings, transfers] = report.workloads.as_slice() else { panic!("{report:?}") };
    assert_eq!((pings.received, pings.lost, transfers.corrupted), (128 * 127, 0, 0));
    let samples = running.emulator.take_samples();
    let times = samples.iter().filter(|sample| sample.workload == 1);
    let times: Vec<Duration> = times.map(|sample| sample.received.since(sample.sent)).collect();
    assert_eq!(times.len() as u32, senders * senders);
    // 100 kB take 80 us at 10 Gbit/s.
    assert!(times.iter().all(|time| *time > Duration::from_us(80)));
    // Every link of every core switch carries frames.
    let core: Vec<u64> = report
        .links
        .iter()
        .filter(|link| link.from.starts_with("core-") || link.to.starts_with("core-"))
        .map(|link| link.frames)
        .collect();
    assert!(core.len() == 2 * 16 * 8 && core.iter().all(|frames| *frames > 0), "{core:?}");
}
