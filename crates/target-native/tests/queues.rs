//! Packets wait between compiled ingress and compiled egress as they lie in the frame: nothing shows of that.

use crate::common;

use base_time::{Duration, Rng, Time};
use dataplane_api::{Device, EgressResult, Output, QueueRecord, Queued};
use device::{Options, QueueDepths, Switch};
use ir::Program;
use std::sync::Arc;
use target_native::{Engine, Packet, Shared};

/// The router's switch as machine code and as the interpreter's, with the same routes, and frames for them.
fn both() -> ([Switch; 2], Vec<Vec<u8>>) {
    let program: Arc<Program> = Arc::new(common::program("router"));
    let native = Engine::compile(&program, Options::default()).expect("it compiles").into_switch();
    let mut switches = [native, ir_interp::switch(program, Options::default()).expect("a device")];
    let mut destinations = vec![];
    for switch in &mut switches {
        destinations = common::fill(switch, 100, &mut Rng::new(1));
    }
    let mut rng = Rng::new(2);
    let frame = |at: usize| {
        let destination = destinations[rng.between(0, destinations.len() as u64 - 1) as usize];
        let mut frame = common::packet(destination, [64, 1, 2, 9][at % 4], &mut rng);
        frame.resize([60, 33, 1000, 2100][at % 4], at as u8);
        frame
    };
    let frames = (0..400).map(frame).collect();
    (switches, frames)
}

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// Egress of what waited since `enqueued`, at `now`.
fn leave(switch: &mut Switch, queued: Queued, enqueued: Time, now: Time) -> Option<Output> {
    let queue = QueueRecord { enqueued, depth_at_enqueue: 3, depth_at_dequeue: 1 };
    let EgressResult { output, requeued, again } = switch.egress(queued, queue, now);
    assert!(requeued.is_empty() && again.is_empty());
    output
}

#[test]
fn many_wait_at_once_and_leave_in_another_order() {
    let (mut switches, frames) = both();
    let mut sent = vec![];
    for switch in &mut switches {
        let (mut waiting, mut outputs, mut shapes) = (vec![], vec![], vec![]);
        let mut rng = Rng::new(3);
        for (us, frame) in (0..).zip(&frames) {
            for queued in switch.ingress(3, frame.clone(), at(us)) {
                shapes.push((queued.replica, queued.bytes));
                waiting.push((at(us), queued));
            }
            if waiting.len() > 20 {
                let (since, queued) = waiting.swap_remove(rng.between(0, 20) as usize);
                outputs.push(leave(switch, queued, since, at(us)));
            }
        }
        for (since, queued) in waiting {
            outputs.push(leave(switch, queued, since, at(1000)));
        }
        sent.push((outputs, shapes, switch.counters().clone(), switch.state()));
    }
    assert_eq!(sent[0], sent[1]);
    assert!(sent[0].2.sent > 150, "{:?}", sent[0].2);
}

#[test]
fn the_interpreter_goes_on_with_a_packet_of_compiled_ingress_and_the_other_way_round() {
    let (mut switches, frames) = both();
    let mut sent = vec![];
    for switch in &mut switches {
        let mut outputs = vec![];
        for (number, frame) in frames.iter().enumerate() {
            switch.set_trace(number % 2 == 0);
            let queued = switch.ingress(3, frame.clone(), at(1));
            switch.set_trace(number % 3 == 0);
            outputs.extend(queued.into_iter().map(|queued| leave(switch, queued, at(1), at(2))));
        }
        sent.push((outputs, switch.counters().clone(), switch.state()));
    }
    assert_eq!(sent[0], sent[1]);
    assert!(sent[0].1.sent > 150);
}

#[test]
fn packets_of_another_device_are_not_taken() {
    let (mut switches, frames) = both();
    let (others, _) = both();
    let [mut other, _] = others;
    let mut came = 0;
    // Longer ones are the interpreter's values, which know no device.
    for frame in frames.iter().filter(|frame| frame.len() < 2000) {
        for queued in other.ingress(3, frame.clone(), at(1)) {
            assert_eq!(leave(&mut switches[0], queued, at(1), at(1)), None);
            came += 1;
        }
    }
    assert!(came > 100 && switches[0].counters().sent == 0);
}

/// The depths of a frame of `depths.p4`, and how long it waited.
fn queueing(frame: &[u8]) -> (u32, u32, u32) {
    let word = frame[2..12].iter().fold(0_u128, |word, byte| word << 8 | u128::from(*byte));
    let field = |below: u32, width: u32| (word >> below) as u32 & ((1_u64 << width) - 1) as u32;
    (field(61, 19), field(42, 19), field(10, 32))
}

#[test]
fn what_runs_to_its_end_at_once_sees_the_queues_behind_the_ports() {
    let path = format!("{}/tests/depths.p4", env!("CARGO_MANIFEST_DIR"));
    let program = Arc::new(common::program_at(&path));
    let depths = Arc::new(QueueDepths::new(8));
    let options = || Options { queue_depths: Arc::clone(&depths), ..Options::default() };
    let shared = Shared::new(&program, options()).expect("a device");
    let compiled = Engine::compile(&program, options()).expect("it compiles");
    assert!(compiled.report().compiled);
    let mut switches =
        [compiled.into_switch(), ir_interp::switch(Arc::clone(&program), options()).expect("a device")];
    let group = |switch: &mut Switch| {
        switch.multicast_group_set(1, vec![(3, 0), (5, 0)]);
    };
    switches.iter_mut().for_each(group);
    shared.write(group);
    let mut worker = shared.worker();
    // Port 7 has been free for a while.
    for (port, depth, free_at) in
        [(3, 7, 11), (5, 0x7_ffff, 1_000_000_009), (7, 3, 8), (8, 4, 100), (u32::MAX, 5, 100)]
    {
        depths.set(port, depth, at(free_at));
    }
    for (head, wanted) in [
        ([0, 3], vec![(3, 7, 2)]),
        ([0, 5], vec![(5, 0x7_ffff, 1_000_000_000)]),
        ([0, 7], vec![(7, 3, 0)]),
        ([0, 4], vec![(4, 0, 0)]),
        ([0, 8], vec![(8, 0, 0)]),
        ([0, 200], vec![(200, 0, 0)]),
        ([1, 0], vec![(3, 7, 2), (5, 0x7_ffff, 1_000_000_000)]),
    ] {
        let mut frame = vec![0; 12];
        frame[..2].copy_from_slice(&head);
        let mut packet = Packet::default();
        assert!(packet.receive(1, &frame));
        let mut sent = worker.process(std::slice::from_mut(&mut packet), at(9));
        if let target_native::Fate::Sent(port) = packet.fate() {
            sent.push(Output { port, frame: packet.frame().to_vec() });
        }
        let all = switches.iter_mut().map(|switch| switch.process(1, &frame, at(9))).chain([sent]);
        for outputs in all {
            let seen: Vec<_> = outputs.iter().map(|sent| (sent.port, queueing(&sent.frame))).collect();
            let wanted: Vec<_> =
                wanted.iter().map(|(port, depth, waited)| (*port, (*depth, *depth, *waited))).collect();
            assert_eq!(seen, wanted, "{head:?}");
        }
    }
}
