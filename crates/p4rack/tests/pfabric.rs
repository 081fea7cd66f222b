//! `examples/pfabric`: priorities beside the table of ranges, packets that overtook others beside a sorted queue, and completion times.

use crate::support::{both_engines, example};
use base_time::Time;
use dataplane_api::Device;
use p4rack::{Racked, up};
use protocol_trials::statistics::{mean, quantile};
use rack_model::LinkId;
use std::collections::BTreeMap;

/// Place of the receiver's link, the delay of a link and the time in the switch, in nanoseconds.
const SINK: u32 = 8;
const DELAY: u64 = 40_000;
const SERVICE: u64 = 1000;

/// The priority of a packet of a transfer with so many packets left.
fn priority(left: u32) -> u8 {
    let least = [4, 8, 16, 32, 64, 256, 1024];
    7 - least.iter().filter(|least| left >= **least).count() as u8
}

#[test]
fn less_left_is_more_urgent() {
    let mut devices = both_engines(&example("pfabric"));
    let mut frame = vec![0; 100];
    frame[..15].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0, 0x45]);
    frame[23] = 17;
    let steps = (0..2100).chain([1 << 16, u32::MAX]);
    for left in steps {
        for (port, wanted) in [(9302u16, priority(left)), (9303, 7)] {
            frame[36..38].copy_from_slice(&port.to_be_bytes());
            frame[46..50].copy_from_slice(&left.to_be_bytes());
            for device in &mut devices {
                let queued = device.ingress(1, frame.clone(), Time::ZERO).pop().unwrap();
                assert_eq!(queued.replica.priority, wanted, "{left} left, port {port}");
            }
        }
    }
}

/// A packet to the receiver: when it came into the queue, when it left, packets that are left of its transfer, and the transfer.
#[derive(Debug)]
struct Passed {
    came: u64,
    left: u64,
    remaining: u32,
    transfer: (u32, u32),
}

/// Packets to the receiver in the order in which they left.
fn passed(racked: &Racked) -> Vec<Passed> {
    let mut running = up::bring_up(racked).unwrap();
    let links = racked.rack.links.len() as u32;
    (0..links).for_each(|link| running.emulator.record(LinkId(link)));
    running.run().unwrap();
    let word =
        |frame: &[u8], at: usize| frame[at..at + 4].iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    let mut seen = |link: u32| {
        let recording = running.emulator.take_recording(LinkId(link)).unwrap();
        let mut reader = base_pcap::Reader::new(recording.as_slice()).unwrap();
        let mut all = vec![];
        while let Some(frame) = reader.read(|frame| (frame.nanos, frame.bytes.to_vec())).unwrap() {
            if frame.1[36..38] == 9302u16.to_be_bytes() {
                all.push(frame);
            }
        }
        all
    };
    let came: BTreeMap<Vec<u8>, u64> =
        (0..links).filter(|link| *link != SINK).flat_map(&mut seen).map(|(ns, frame)| (frame, ns)).collect();
    let of = |(ns, frame): (u64, Vec<u8>)| Passed {
        came: came[&frame] + SERVICE,
        left: ns - DELAY - 8 * (frame.len() as u64 + 24),
        remaining: word(&frame, 46),
        transfer: (word(&frame, 26), word(&frame, 50)),
    };
    seen(SINK).into_iter().map(of).collect()
}

#[test]
fn packets_overtake_as_in_a_sorted_queue_but_for_ranges() {
    let packets = passed(&example("pfabric"));
    let (mut waited, mut inverted) = (0, 0);
    for (at, packet) in packets.iter().enumerate() {
        // Packets that were in the queue and left later. One that comes while another leaves does not stop it.
        let later = packets[at + 1..].iter().take(4000);
        let mut waiting = later
            .filter(|other| other.came + 2 < packet.left && other.transfer != packet.transfer)
            .peekable();
        waited += u32::from(waiting.peek().is_some());
        let mut is_inverted = false;
        for other in waiting {
            assert!(priority(other.remaining) <= priority(packet.remaining), "{packet:?} before {other:?}");
            is_inverted |= other.remaining < packet.remaining;
        }
        inverted += u32::from(is_inverted);
    }
    assert!(packets.len() > 15_000 && waited > 1000);
    assert!(inverted < waited / 4, "{inverted} of {waited}");
}

#[test]
fn short_transfers_are_faster_than_by_equal_shares() {
    let times = |file: &str| -> Vec<f64> {
        let mut running = up::bring_up(&example(file)).unwrap();
        running.emulator.keep_samples(true);
        running.run().unwrap();
        let samples = running.emulator.take_samples();
        samples.iter().map(|sample| sample.received.since(sample.sent).as_ns() as f64 / 1e6).collect()
    };
    let [sorted, shared, tcp] = ["pfabric", "rcp", "rcp/tcp.toml"].map(times);
    let figures =
        [&sorted, &shared, &tcp].map(|times| (mean(times), quantile(times, 0.5), quantile(times, 0.99)));
    assert_eq!((sorted.len(), shared.len()), (800, 800));
    assert!(
        figures[0].0 < figures[1].0 && figures[0].1 < figures[1].1 && 2.0 * figures[0].0 < figures[2].0,
        "{figures:?}"
    );
}
