//! Queues behind the ports of a single device: programs see them, and their packets leave by priority.

use crate::setup::{Bench, both, device_with_queues};
use base_time::Duration;
use controller::{QueueChange, QueueLimit, Steer};

/// A frame for a port, with a priority.
fn frame(port: u8, priority: u8) -> String {
    format!("{port:02x}{priority:02x}00 00 0000 0000 00000000")
}

/// Port, priority, the depths of the queue before and after the packet, and the time in it in microseconds.
fn leaves(port: u8, priority: u8, [before, after]: [u16; 2], waited: u32) -> String {
    format!("{port}: {port:02x}{priority:02x}00{priority:02x}{before:04x}{after:04x}{waited:08x}\n")
}

fn set(bench: &mut Bench, port: Option<u32>, priority: Option<u32>, limit: QueueLimit) {
    assert_eq!(bench.steer(Steer::SetQueues(QueueChange { port, priority, limit })), "OK\n");
}

fn ms(n: u64) -> Duration {
    Duration::from_ms(n)
}

#[test]
fn packets_leave_by_priority_and_at_the_rate_of_their_queue() {
    let mut bench = device_with_queues("queues.p4", 8);
    assert!(bench.runs_in_lanes());
    assert_eq!(bench.packet(1, &frame(2, 3)), leaves(2, 3, [0, 0], 0));
    // From 1 ms on, one packet each 10 ms.
    set(&mut bench, Some(2), None, QueueLimit::Rate(100));
    assert!(!bench.runs_in_lanes());
    for priority in [0, 0, 7, 7] {
        assert_eq!(bench.packet(1, &frame(2, priority)), "");
    }
    // Other ports have no limit.
    assert_eq!(bench.packet(1, &frame(3, 0)), leaves(3, 0, [0, 0], 0));
    assert_eq!(bench.deadline(), ms(11));
    assert_eq!(bench.wait(ms(5)), leaves(2, 7, [0, 1], 7_000) + &leaves(2, 0, [0, 1], 9_000));
    assert_eq!(bench.deadline(), ms(21));
    assert_eq!(bench.wait(ms(9)), "");
    assert_eq!(bench.metric("frames_queued"), 2);
    assert_eq!(bench.wait(ms(1)), leaves(2, 7, [1, 0], 16_000) + &leaves(2, 0, [1, 0], 18_000));
    set(&mut bench, None, None, QueueLimit::Rate(0));
    assert!(bench.runs_in_lanes());
    assert_eq!(bench.packet(1, &frame(2, 0)), leaves(2, 0, [0, 0], 0));
}

#[test]
fn a_queue_that_is_full_loses_packets_and_so_does_a_priority_without_a_queue() {
    let mut bench = device_with_queues("queues.p4", 2);
    set(&mut bench, Some(2), Some(0), QueueLimit::Rate(100));
    set(&mut bench, Some(2), Some(0), QueueLimit::Depth(2));
    for priority in [0, 0, 0, 2] {
        assert_eq!(bench.packet(1, &frame(2, priority)), "");
    }
    // The queue of the other priority has no rate.
    assert_eq!(bench.packet(1, &frame(2, 1)), leaves(2, 1, [0, 0], 0));
    let lost = |bench: &mut Bench, place| bench.metric(&format!("frames_lost_total {place}"));
    assert_eq!(lost(&mut bench, "full queues of ports"), 1);
    assert_eq!(lost(&mut bench, "priorities without a queue"), 1);
    let change = QueueChange { port: None, priority: Some(2), limit: QueueLimit::Depth(1) };
    assert_eq!(
        bench.steer(Steer::SetQueues(change)),
        "OUT_OF_RANGE: there is no queue of priority 2: ports have 2 queues, and 0 is the lowest priority\n"
    );
    assert_eq!(bench.wait(ms(100)).lines().count(), 2);
}

#[test]
fn packets_that_recirculate_are_queued_twice() {
    let mut bench = device_with_queues("queues.p4", 8);
    set(&mut bench, Some(2), None, QueueLimit::Rate(100));
    assert_eq!(bench.packet(1, &frame(2, 1).replacen("0100", "0101", 1)), "");
    // Once at 10 ms, and once at 20.
    assert_eq!(bench.wait(ms(9)), "");
    assert_eq!(bench.wait(ms(9)), "");
    assert_eq!(bench.wait(ms(1)).lines().count(), 1);
}

#[test]
fn racks_have_their_queues_at_links() {
    both(|mut bench| {
        let change = QueueChange { port: Some(1), priority: None, limit: QueueLimit::Depth(9) };
        let answer = bench.steer(Steer::SetQueues(change));
        let refused = "UNIMPLEMENTED: the links of a rack have rates and queues: `docs/emulator.md`\n";
        assert_eq!(answer, if bench.is_rack() { refused } else { "OK\n" });
    });
}
