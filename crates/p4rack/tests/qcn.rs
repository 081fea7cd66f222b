//! `examples/qcn`: each notification beside the equations, and senders that obey them.

use crate::support::engines_of;
use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use dataplane_api::{Device, QueueRecord};
use p4rack::{Racked, rack, up};
use std::path::Path;

/// Packets at which a queue is to stay.
const EQUILIBRIUM: i64 = 25;
/// Distances of samples by the feedback in eighths of the largest.
const DISTANCES: [u32; 8] = [150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500];

fn racked(form: &str) -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/qcn/RACK.toml");
    let defines: Vec<String> =
        Some(form).filter(|form| !form.is_empty()).map(str::to_string).into_iter().collect();
    rack::load(&path, &defines, &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"))
}

/// The quantised feedback.
fn quantised(feedback: i64) -> i64 {
    ((feedback.max(0) + 1) / 2).min(63)
}

/// The first bytes of a notification for a packet, and as much of the packet as fits.
fn notification(packet: &[u8], feedback: i64, (offset, delta): (i64, i64)) -> Vec<u8> {
    let mut frame = packet[6..12].to_vec();
    frame.extend([2, 0, 0, 0, 0xff, 0xfe, 0x22, 0xe7]);
    frame.extend((feedback as u16).to_be_bytes());
    frame.extend([2, 0, 0, 0, 0xff, 0xfe, 0, 9]);
    frame.extend((offset as i16).to_be_bytes());
    frame.extend((delta as i16).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(&packet[..6]);
    frame.extend([0, 64]);
    frame.extend(&packet[14..]);
    frame.truncate(102);
    frame
}

fn compare(form: &str) {
    let mut devices = engines_of(&racked(form), 0, 0);
    let mut rng = Rng::new(12);
    let (mut left, mut old, mut queue, mut samples) = (0u32, 0i64, 20i64, [0; 3]);
    for number in 0..40_000u64 {
        // A queue that drifts, and jumps at times.
        queue = (queue + rng.below(7) as i64 - 3).clamp(0, 300);
        if rng.chance(1, 500) {
            queue = rng.below(150) as i64;
        }
        let from = 1 + rng.below(4) as u8;
        let mut packet = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, from, 8, 0, 0x45];
        packet.resize(60 + rng.index(1440), number as u8);
        let is_sample = left <= packet.len() as u32;
        let (offset, delta) = (queue - EQUILIBRIUM, queue - old);
        let feedback = offset + 2 * delta;
        let by = if form == "EXACT" { quantised(feedback) } else { quantised(offset) };
        left = if is_sample { DISTANCES[by as usize / 8] } else { left - packet.len() as u32 };
        let mut wanted = vec![];
        if is_sample {
            old = queue;
            samples[usize::from(feedback > 0)] += 1;
            samples[2] += u32::from(by > 15);
            if feedback > 0 {
                wanted.push((u32::from(from), notification(&packet, quantised(feedback), (offset, delta))));
            }
        }
        let at = Time::ZERO + Duration::from_us(number);
        for device in &mut devices {
            let queued = device.ingress(from.into(), packet.clone(), at).pop().unwrap();
            let record = QueueRecord { enqueued: at, depth_at_enqueue: 0, depth_at_dequeue: queue as u32 };
            let result = device.egress(queued, record, at);
            assert_eq!(result.output.unwrap().frame, packet);
            let sent: Vec<(u32, Vec<u8>)> = result
                .requeued
                .into_iter()
                .map(|clone| device.egress(clone, QueueRecord::default(), at).output.unwrap())
                .map(|output| (output.port, output.frame))
                .collect();
            assert_eq!(sent, wanted, "packet {number}, queue {queue}");
        }
    }
    assert!(samples.iter().all(|count| *count > 50), "{samples:?}");
    // Other ports are no congestion points.
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45];
    packet.resize(1500, 0);
    for device in &mut devices {
        for _ in 0..300 {
            let queued = device.ingress(2, packet.clone(), Time::ZERO).pop().unwrap();
            let record = QueueRecord { depth_at_dequeue: 200, ..QueueRecord::default() };
            assert!(device.egress(queued, record, Time::ZERO).requeued.is_empty());
        }
    }
}

#[test]
fn samples_of_a_congested_queue_send_notifications() {
    compare("");
    compare("EXACT");
}

#[test]
fn notifications_keep_the_queue_short_and_the_link_busy() {
    for form in ["", "EXACT"] {
        let report = up::bring_up(&racked(form)).unwrap().run().unwrap();
        let queue = report.links.iter().find(|link| link.from == "tor:9").unwrap();
        let goodput = report.workloads[0].goodput_bits_per_s.unwrap();
        // 1,400 of 1,466 bytes on the wire are payload.
        assert!(goodput > 880_000_000, "{form}: {goodput}");
        // 3.8 Gbit/s fill the queue once, until the first notifications are back.
        assert!(queue.mean_queue_milli < 50_000 && queue.refused < 400, "{form}: {queue:?}");
    }
}
