//! `examples/pias`: priorities beside exact counts of bytes, and short transfers with and without them.

use crate::support::{Both, both_engines, example};
use base_time::{Rng, Time};
use dataplane_api::Device;
use p4rack::up;
use protocol_trials::statistics::{mean, quantile};
use std::collections::BTreeMap;

/// The priority of a flow that has sent so many bytes.
fn priority(sent: u64) -> u8 {
    const MOST: [u64; 7] = [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];
    7 - MOST.iter().filter(|most| sent > **most).count() as u8
}

/// A packet of a flow to the receiver.
fn frame(flow: u32, protocol: u8, bytes: usize) -> Vec<u8> {
    let mut frame = vec![0; bytes];
    frame[5] = 9;
    frame[0] = 2;
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14] = 0x45;
    frame[23] = protocol;
    // Addresses and ports have three bits of the number each.
    for (at, shift) in [(29, 0), (33, 3), (35, 6), (37, 9)] {
        frame[at] = (flow >> shift & 7) as u8;
    }
    frame
}

#[test]
fn a_flow_sinks_with_its_bytes_and_errors_only_lower_it() {
    let mut devices = Both::new(both_engines(&example("pias")), 15_000);
    let mut sent: BTreeMap<(u32, u8), u64> = BTreeMap::new();
    let mut rng = Rng::new(1);
    let (mut lower, packets) = (0, 60_000);
    for _ in 0..packets {
        // A few flows send most.
        let flows = 1 << rng.below(13);
        let flow = rng.below(flows) as u32;
        let protocol = [6, 17][rng.index(2)];
        let bytes = 60 + rng.index(9000);
        let so_far = sent.entry((flow, protocol)).or_default();
        *so_far += bytes as u64;
        let found = devices.each(|device| {
            let queued = device.ingress(1, frame(flow, protocol, bytes), Time::ZERO);
            queued.first().map(|queued| queued.replica.priority)
        });
        let engine = found.expect("no packet is dropped");
        assert!(engine <= priority(*so_far), "{engine} after {so_far} bytes");
        lower += u32::from(engine < priority(*so_far));
    }
    assert!(sent.len() > 4000 && sent.values().any(|sent| *sent > 10_000_000));
    assert!(lower < packets / 100, "{lower} of {packets} packets");
    // Packets of no flow are urgent.
    for device in devices.both() {
        assert_eq!(device.ingress(1, frame(1, 1, 60), Time::ZERO)[0].replica.priority, 7);
    }
}

#[test]
fn short_transfers_overtake_long_ones() {
    let times = |file: &str| -> Vec<f64> {
        let mut running = up::bring_up(&example(file)).unwrap();
        running.emulator.keep_samples(true);
        running.run().unwrap();
        let mut samples = running.emulator.take_samples();
        samples.sort_by_key(|sample| (sample.from, sample.sequence));
        samples.iter().map(|sample| sample.received.since(sample.sent).as_ns() as f64 / 1e6).collect()
    };
    let (plain, pias) = (times("pias/plain.toml"), times("pias/RACK.toml"));
    assert_eq!((plain.len(), pias.len()), (800, 800));
    for (share, faster) in [(0.5, 1.0), (0.9, 1.4), (0.95, 1.5), (0.99, 1.5)] {
        let (plain, pias) = (quantile(&plain, share), quantile(&pias, share));
        assert!(plain > faster * pias, "{share}: {plain} {pias}");
    }
    assert!(mean(&plain) > 2.0 * mean(&pias), "{} {}", mean(&plain), mean(&pias));
}
