//! `examples/opensketch`: answers and reports beside exact counts.

use crate::support::{Both, both_engines, example};
use base_time::{Duration, Rng, Time};
use dataplane_api::Device;
use device::Switch;
use device_classes::DeviceClass;
use ir_value::Value;
use std::collections::BTreeMap;

const LIMIT: u32 = 1_000_000;

/// Addresses, protocol and ports.
type Flow = (u32, u32, u8, u16, u16);

fn frame((from, to, protocol, from_port, to_port): Flow, length: u16) -> Vec<u8> {
    let mut frame = vec![0; 80];
    frame[..15].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45]);
    frame[16..18].copy_from_slice(&length.to_be_bytes());
    frame[23] = protocol;
    frame[26..30].copy_from_slice(&from.to_be_bytes());
    frame[30..34].copy_from_slice(&to.to_be_bytes());
    frame[34..36].copy_from_slice(&from_port.to_be_bytes());
    frame[36..38].copy_from_slice(&to_port.to_be_bytes());
    frame
}

/// The class that the example's entries give a flow.
fn class((from, _, protocol, _, to_port): Flow) -> u8 {
    match (from, protocol, to_port) {
        (_, 6, 22) => 1,
        (0x0a00_0001, 6, _) => 2,
        _ => 0,
    }
}

/// Packets, bytes and bits of a class, as the switch answers them on the port of the query.
fn answer(switch: &mut Switch, class: u8, now: Time) -> [u32; 3] {
    let mut query = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0x88, 0xb7, class];
    query.resize(60, 0);
    let queued = switch.ingress(7, query, now);
    let sent = switch.drain(queued, now);
    assert_eq!((sent.len(), sent[0].port, sent[0].frame[14]), (1, 7, class));
    let number = |at: usize| u32::from_be_bytes(sent[0].frame[at..at + 4].try_into().expect("four bytes"));
    [number(16), number(20), number(24)]
}

fn heavy(switch: &mut Switch) -> Vec<(u8, Flow)> {
    let of = |digest: device::Digest| {
        let Value::Struct(fields) = digest.data else { panic!("{digest:?}") };
        let number = |at: usize| match &fields[at] {
            Value::Bits(bits) => bits.low_u64() as u32,
            other => panic!("{other:?}"),
        };
        let flow = (number(1), number(2), number(3) as u8, number(4) as u16, number(5) as u16);
        (number(0) as u8, flow)
    };
    switch.take_digests().into_iter().map(of).collect()
}

/// The number of flows that so many of 8,192 bits stand for.
fn flows(bits: u32) -> f64 {
    -8192.0 * (1.0 - f64::from(bits) / 8192.0).ln()
}

#[test]
fn classes_are_counted_and_heavy_flows_reported_once_in_a_window() {
    // The first window, with the controller's questions, and the beginning of the second.
    let mut switches = Both::new(both_engines(&example("opensketch")), 31_000);
    let mut rng = Rng::new(5);
    // A CRC gives numbers in sequence different bits: flows are random.
    let ends: Vec<(u32, u16)> = (0..2_500).map(|_| (rng.next_u64() as u32, rng.next_u64() as u16)).collect();
    for window in 1..5u64 {
        let mut bytes: BTreeMap<Flow, u32> = BTreeMap::new();
        let mut totals = [[0u32; 2]; 3];
        let mut late = 0;
        for packet in 0..30_000 {
            let now = Time::ZERO + Duration::from_us((window << 20) + packet);
            // A few flows send a third of all packets; their number differs from window to window.
            let number =
                if rng.chance(1, 3) { rng.below(3 + window) as u32 } else { rng.below(2_500) as u32 };
            let flow = (
                [0x0a00_0001, 0x0a00_0002][number as usize % 2],
                ends[number as usize].0,
                [6, 6, 6, 17][number as usize % 4],
                ends[number as usize].1,
                [22, 80, 443][number as usize % 3],
            );
            let length = 40 + rng.below(1461) as u16;
            let of = class(flow);
            let known = bytes.entry(flow).or_default();
            let before = *known;
            *known += u32::from(length);
            let passes = of > 0 && before <= LIMIT && *known > LIMIT;
            totals[usize::from(of)][0] += 1;
            totals[usize::from(of)][1] += u32::from(length);
            switches.each(|switch| {
                assert_eq!(switch.ingress(1, frame(flow, length), now).len(), 1, "it is forwarded");
                let wanted = if passes { vec![(of, flow)] } else { vec![] };
                assert_eq!(heavy(switch), wanted, "window {window}, packet {packet}");
            });
            late += u32::from(passes);
        }
        assert!(late >= 2, "{late} heavy flows");
        let now = Time::ZERO + Duration::from_us((window << 20) + 40_000);
        for number in [1, 2u8] {
            let [packets, sum, bits] = switches.each(|switch| answer(switch, number, now));
            assert_eq!([packets, sum], totals[usize::from(number)], "window {window}, class {number}");
            let truth = bytes.keys().filter(|flow| class(**flow) == number).count() as f64;
            // Four standard errors of linear counting with less than a flow for five bits are below 4 %.
            assert!(truth > 400.0 && (flows(bits) / truth - 1.0).abs() < 0.04, "{bits} bits, {truth} flows");
        }
        // No class 3, and nothing of a window that has passed.
        let next = Time::ZERO + Duration::from_us((window + 1) << 20);
        assert_eq!(switches.each(|switch| answer(switch, 3, now)), [0; 3]);
        assert_eq!(switches.each(|switch| answer(switch, 1, next)), [0; 3]);
    }
}

#[test]
fn a_limited_switch_measures() {
    let found = ir_limits::check(&example("opensketch").apps[0].whole, DeviceClass::FlexSwitch);
    assert!(found.is_empty(), "{found:#?}");
}
