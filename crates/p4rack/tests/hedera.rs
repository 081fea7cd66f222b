//! `examples/hedera`: reports of large flows beside exact counts, and transfers that the controller places.

use crate::support::{Both, engines_of, example};
use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use control_writes::{ActionCall, Entry, EntryKey, Match, Run, Write};
use dataplane_api::Device;
use device::Switch;
use ir_value::Value;
use p4rack::up;
use protocol_trials::hedera::{Flow, Placeable, annealing, demands};
use rack_model::DeviceId;
use std::collections::{BTreeMap, BTreeSet};

/// A tenth of what an uplink takes in an interval of 2^15 us.
const LIMIT: u32 = 409_600;

/// Addresses, protocol, ports.
type Tuple = (u32, u32, u8, u16, u16);

/// Large flows that a device has reported, with their bytes.
fn large(switch: &mut Switch) -> Vec<(Tuple, u32)> {
    let of = |digest: device::Digest| {
        let Value::Struct(fields) = digest.data else { panic!("{digest:?}") };
        let at = |field: usize| match &fields[field] {
            Value::Bits(bits) => bits.low_u64() as u32,
            other => panic!("{other:?}"),
        };
        ((at(0), at(1), at(2) as u8, at(3) as u16, at(4) as u16), at(5))
    };
    switch.take_digests().into_iter().map(of).collect()
}

fn frame((from, to, protocol, source, destination): Tuple, bytes: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 1, 8, 0, 0x45];
    frame.resize(bytes, 0);
    frame[23] = protocol;
    frame[26..30].copy_from_slice(&from.to_be_bytes());
    frame[30..34].copy_from_slice(&to.to_be_bytes());
    frame[34..36].copy_from_slice(&source.to_be_bytes());
    frame[36..38].copy_from_slice(&destination.to_be_bytes());
    frame
}

/// The entry that sends a flow by an uplink.
fn place((from, to, protocol, source, destination): Tuple, path: usize) -> Write<ir::Name> {
    let key = [(32, from), (32, to), (8, protocol.into()), (16, source.into()), (16, destination.into())];
    let matches = key.map(|(width, value)| Match::Exact(Bits::new(width, value.into())));
    let call = ActionCall { action: "HederaIngress.via".into(), args: vec![Bits::new(2, path as u128)] };
    Write::Entry {
        table: "HederaIngress.placed".into(),
        key: EntryKey { matches: matches.into(), priority: 0 },
        to: Some(Box::new(Entry::new(Run::Action(call)))),
        count: None,
    }
}

#[test]
fn flows_are_reported_once_in_an_interval_when_they_are_large() {
    let mut devices = Both::new(engines_of(&example("hedera"), 0, 0), 15_000);
    let mut rng = Rng::new(4);
    let flows: Vec<Tuple> =
        (0..60).map(|n| (0x0a00_0101, 0x0a00_0201 + n, [6, 17][rng.index(2)], 1000 + n as u16, 80)).collect();
    // Bytes of a flow, halved once in an interval; the interval of its last packet, and of its last report.
    let mut known: BTreeMap<Tuple, (u32, u64, Option<u64>)> = BTreeMap::new();
    let (mut now, mut reports, mut ports) = (5_000_000u64, 0, BTreeMap::new());
    let mut placed: BTreeMap<Tuple, usize> = BTreeMap::new();
    for packet in 0..60_000 {
        now += if rng.chance(1, 3000) { rng.below(200_000) } else { rng.below(14) };
        // A few flows have most of the bytes.
        let flow = flows[if rng.chance(1, 2) { rng.index(3) } else { rng.index(60) }];
        let bytes = 60 + rng.index(1440);
        let interval = now >> 15;
        let (sum, last, reported) = known.entry(flow).or_insert((0, interval, None));
        *sum = sum.checked_shr((interval - *last) as u32).unwrap_or(0) + bytes as u32;
        *last = interval;
        let mut wanted = vec![];
        if *sum >= LIMIT && *reported != Some(interval) {
            *reported = Some(interval);
            wanted.push((flow, *sum));
            reports += 1;
        }
        if packet % 7000 == 6999 {
            let path = rng.index(2);
            placed.insert(flow, path);
            for device in devices.both() {
                device.write(&place(flow, path), Time::ZERO).unwrap();
            }
        }
        let port = devices.each(|device| {
            let at = Time::ZERO + Duration::from_us(now);
            let port = device.ingress(1, frame(flow, bytes), at).pop().unwrap().replica.port;
            assert_eq!(large(device), wanted, "{flow:?} at {now} us");
            port
        });
        match placed.get(&flow) {
            Some(path) => assert_eq!(port as usize, 11 + path),
            // By hash: always the same.
            None => assert_eq!(*ports.entry(flow).or_insert(port), port),
        }
    }
    let used: BTreeSet<u32> = ports.values().copied().collect();
    assert!(reports > 20 && used.len() == 2, "{reports} {used:?}");
}

/// Milliseconds until the last of four transfers has ended. The controller looks each 10 ms, if there is one.
fn last_ms(is_controlled: bool) -> u64 {
    let racked = example("hedera");
    let mut running = up::bring_up(&racked).unwrap();
    running.emulator.keep_samples(true);
    let mut rng = Rng::new(1);
    let mut known: BTreeSet<Tuple> = BTreeSet::new();
    let left = DeviceId(0);
    for look in 1..=40 {
        running.run_until(Time::ZERO + Duration::from_ms(10 * look)).unwrap();
        let found = running.with_switch(left, large).unwrap().unwrap();
        let more: BTreeSet<Tuple> = found.into_iter().map(|(flow, _)| flow).collect();
        if !is_controlled || more.is_subset(&known) {
            continue;
        }
        known.extend(more);
        let host = |address: u32| (address & 0xff) as usize + 4 * (address >> 8 & 1) as usize;
        let ends: Vec<Flow> =
            known.iter().map(|flow| Flow { from: host(flow.0), to: host(flow.1) }).collect();
        let paths = || vec![vec![0], vec![1]];
        let flows: Vec<Placeable> =
            demands(&ends).into_iter().map(|demand| Placeable { demand, paths: paths() }).collect();
        // An uplink has twice the rate of a host's link.
        let chosen = annealing(&flows, &[2.0; 2], &vec![0; flows.len()], 1000, &mut rng);
        for (flow, path) in known.iter().zip(chosen) {
            let write = place(*flow, path);
            let done = running.with_switch(left, |switch| switch.write(&write, Time::ZERO));
            assert_eq!(done.unwrap(), Some(Ok(())));
        }
    }
    running.run().unwrap();
    let samples = running.emulator.take_samples();
    assert_eq!(samples.len(), 4);
    samples.iter().map(|sample| sample.received.as_us() / 1000).max().unwrap()
}

#[test]
fn placed_flows_use_both_uplinks() {
    let (hashed, placed) = (last_ms(false), last_ms(true));
    // 20 MB take 320 ms at 500 Mbit/s. By hash, three flows share an uplink, where many of their packets are lost.
    assert!(placed < 450 && hashed > 600, "{hashed} {placed}");
}
