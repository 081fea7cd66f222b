//! `examples/faircloud`: priorities beside exact sets of peers.

use crate::support::{both_engines, example};
use base_time::{Duration, Rng, Time};
use dataplane_api::Device;
use device_classes::DeviceClass;
use p4rack::up;
use std::collections::{BTreeMap, BTreeSet};

fn frame(from: u32, to: u32) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..15].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0, 0x45]);
    frame[26..30].copy_from_slice(&from.to_be_bytes());
    frame[30..34].copy_from_slice(&to.to_be_bytes());
    frame
}

/// Peers of machines, by window.
#[derive(Default)]
struct Peers(BTreeMap<(u32, u64), BTreeSet<u32>>);

impl Peers {
    /// A packet: the number of peers in this window or the one before.
    fn add(&mut self, machine: u32, peer: u32, window: u64) -> usize {
        self.0.entry((machine, window)).or_default().insert(peer);
        let of = |window: u64| self.0.get(&(machine, window)).map_or(0, BTreeSet::len);
        of(window).max(of(window - 1))
    }
}

/// The priority of a pair by its weight, of which the largest is 2.
fn priority(weight: f64) -> u8 {
    let least = [1.5, 1.0, 0.75, 0.5, 0.25, 0.125, 0.0625];
    7 - least.iter().filter(|least| weight <= **least).count() as u8
}

#[test]
fn priorities_are_those_of_exact_counts_but_for_neighbours() {
    let mut devices = both_engines(&example("faircloud"));
    let mut rng = Rng::new(4);
    let (mut to, mut from) = (Peers::default(), Peers::default());
    let (mut now, mut off, mut seen) = (10u64 << 20, 0, BTreeMap::new());
    let packets = 40_000;
    for _ in 0..packets {
        now += rng.below(if now >> 20 & 7 == 0 { 2000 } else { 200 });
        // Machines with one peer, with some and with many.
        let reach = 1 << rng.below(7);
        let source = 0x0a00_0000 + reach as u32 * 8 + rng.below(4) as u32;
        let destination = 0x0a01_0000 + rng.below(reach) as u32 * 8 + (source & 3);
        let window = now >> 20;
        let numbers = (to.add(source, destination, window), from.add(destination, source, window));
        let wanted = priority(1.0 / numbers.0 as f64 + 1.0 / numbers.1 as f64);
        let sent = frame(source, destination);
        let found = devices.each_mut().map(|device| {
            device.ingress(1, sent.clone(), Time::ZERO + Duration::from_us(now))[0].replica.priority
        });
        assert_eq!(found[0], found[1]);
        assert!(found[0].abs_diff(wanted) <= 1, "{numbers:?}: {} instead of {wanted}", found[0]);
        off += u32::from(found[0] != wanted);
        *seen.entry(found[0]).or_insert(0) += 1;
    }
    assert!(off < packets / 10, "{off}");
    assert!(seen.len() >= 6, "{seen:?}");
}

#[test]
fn a_machine_with_one_peer_goes_before_one_with_many() {
    let report = up::bring_up(&example("faircloud")).unwrap().run().unwrap();
    let times: Vec<u64> =
        report.workloads.iter().map(|load| load.latency.unwrap().max_ps / 1_000_000_000).collect();
    // 10 MB alone take 84 ms.
    assert!(times[0] < 95 && times[1] > 160, "{times:?}");
}

#[test]
fn the_table_has_quotients() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/faircloud/faircloud.p4");
    let text = std::fs::read_to_string(path).unwrap();
    let row = |line: &str| -> Option<[u32; 3]> {
        let (range, weight) = line.trim().strip_suffix(");")?.split_once(": weighs(")?;
        let (from, to) = range.split_once(" .. ")?;
        Some([from.parse().ok()?, to.parse().ok()?, weight.parse().ok()?])
    };
    let rows: Vec<[u32; 3]> = text.lines().filter_map(row).collect();
    assert!(rows.len() == 12 && rows[0][0] == 1);
    assert!(rows.windows(2).all(|pair| pair[1][0] == pair[0][1] + 1), "{rows:?}");
    // Rounded to whole numbers, between the quotients at both ends.
    assert!(
        rows.iter().all(|[from, to, weight]| (128 / to..=128_u32.div_ceil(*from)).contains(weight)),
        "{rows:?}"
    );
}

#[test]
fn a_limited_switch_weighs() {
    let found = ir_limits::check(&example("faircloud").apps[0].whole, DeviceClass::FlexSwitch);
    assert!(found.is_empty(), "{found:#?}");
}
