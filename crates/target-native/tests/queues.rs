//! Packets wait between compiled ingress and compiled egress as they lie in the frame: nothing shows of that.

mod common;

use base_time::{Duration, Rng, Time};
use dataplane_api::{Device, EgressResult, Output, QueueRecord, Queued};
use device::{Options, Switch};
use ir::Program;
use std::sync::Arc;
use target_native::Engine;

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
