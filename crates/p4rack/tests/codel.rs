//! `examples/codel`: the program beside RFC 8289's pseudo-code, packet by packet, on random queues.

use crate::support::{both_engines, example};
use base_time::{Duration, Rng, Time};
use dataplane_api::{Device, QueueRecord, Queued};
use device::Switch;
use p4rack::up;
use protocol_trials::codel::{Codel, INTERVAL, Waiting};
use std::collections::VecDeque;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/codel");

/// A queue of the program.
struct Port {
    device: Switch,
    queue: VecDeque<(Queued, u64)>,
}

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

impl Port {
    fn enqueue(&mut self, number: u64, now: u64) {
        let frame = [[0; 14].as_slice(), &number.to_be_bytes()].concat();
        let packet = self.device.ingress(1, frame, at(now)).pop().unwrap();
        self.queue.push_back((packet, now));
    }

    /// Packets leave until one is delivered: how many were dropped, and its number.
    fn dequeue(&mut self, now: u64) -> (usize, Option<u64>) {
        let mut dropped = 0;
        while let Some((packet, since)) = self.queue.pop_front() {
            let depth_at_dequeue = self.queue.len() as u32;
            let record = QueueRecord { enqueued: at(since), depth_at_enqueue: 0, depth_at_dequeue };
            match self.device.egress(packet, record, at(now)).output {
                Some(output) => {
                    let number = output.frame[14..22].try_into().unwrap();
                    return (dropped, Some(u64::from_be_bytes(number)));
                }
                None => dropped += 1,
            }
        }
        (dropped, None)
    }
}

#[test]
fn every_packet_is_dropped_or_delivered_as_the_rfc_says() {
    let mut ports = both_engines(&example("codel")).map(|device| Port { device, queue: VecDeque::new() });
    let (mut codel, mut queue) = (Codel::default(), VecDeque::new());
    let mut rng = Rng::new(1);
    let (mut now, mut free, mut number) = (1_000u64, 0, 0);
    let (mut drops, mut most) = (0, 0);
    while number < 60_000 {
        // Phases of too many and too few packets, fast and slow links, and silence. Times are multiples of 500 us, so that they often meet
        // limits exactly; long phases have more drops than the table of square roots has rows.
        let service = 500 * (1 + rng.below(16));
        let gap = 2 * service * (40 + rng.below(80)) / 100 / 500;
        let packets = if rng.chance(1, 20) { 2000 } else { rng.below(150) };
        now += rng.below(2) * 500 * rng.below(4000);
        for _ in 0..packets {
            now += 500 * rng.below(gap + 1);
            while free <= now && !queue.is_empty() {
                let wanted = codel.dequeue(free, &mut queue);
                for port in &mut ports {
                    let (dropped, delivered) = port.dequeue(free);
                    assert_eq!((dropped, delivered), (wanted.0.len(), wanted.1), "at {free} us");
                }
                drops += wanted.0.len();
                most = most.max(codel.count());
                free += service;
            }
            free = free.max(now);
            if queue.len() < 1000 {
                queue.push_back(Waiting { number, since: now });
                ports.iter_mut().for_each(|port| port.enqueue(number, now));
            }
            number += 1;
        }
    }
    assert!(drops > 1000 && most > 256, "{drops} drops, {most} at most in a state");
}

#[test]
fn the_table_has_square_roots() {
    let text = std::fs::read_to_string(format!("{EXAMPLE}/codel.p4")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let (number, gap) = line.trim().strip_suffix(");")?.split_once(": gap_is(")?;
        Some((number.parse::<u64>().ok()?, gap.parse::<u64>().ok()?))
    });
    let wanted = (1..256).map(|number: u64| (number, (INTERVAL * INTERVAL / number).isqrt()));
    assert!(rows.eq(wanted));
    assert!(text.contains(&format!("default_action = gap_is({});", INTERVAL / 16)));
}

#[test]
fn the_delay_stays_low_and_without_it_the_queue_fills() {
    let run = |file: &str| up::bring_up(&example(file)).unwrap().run().unwrap().workloads;
    let [with, without] = ["codel/RACK.toml", "codel/tail-drop.toml"].map(run);
    // Transfers have as much of the link, pings wait 40 ms for cables and a few for the queue.
    let goodput = [&with, &without].map(|workloads| workloads[0].goodput_bits_per_s.unwrap());
    assert!(goodput[0] > goodput[1] * 95 / 100, "{goodput:?}");
    let median = [&with, &without].map(|workloads| workloads[1].latency.unwrap().median_ps / 1_000_000_000);
    assert!(median[0] < 50 && median[1] > 200, "{median:?}");
}
