//! Devices that lie are caught, and the run stops.

use crate::common;

use common::*;
use expect_test::{Expect, expect};
use rack_emulator::{BuildError, Emulator, RackDevice, Spent};

fn caught(toy: Toy, expected: Expect) {
    let mut rack = star(2);
    rack.workloads = vec![ping(1, 2, 3, us(100))];
    let mut emulator = emulator(&rack, toy);
    let violation = emulator.run().unwrap_err();
    expected.assert_eq(&violation.to_string());
    assert_eq!(emulator.step(), Err(violation), "the run has stopped");
}

fn liar(forward: Forward) -> Toy {
    Toy { lies: true, ..Toy::new(forward) }
}

#[test]
fn a_packet_from_nowhere() {
    caught(
        liar(|_, _, frame, _| vec![(out(1), frame.clone()), (out(2), frame)]),
        expect![
            "internal error at 10.976us in dev: ingress was given 1 and gave 2 packets, but counted 0 created and 0 dropped"
        ],
    );
}

#[test]
fn a_packet_that_vanishes() {
    caught(
        liar(|_, _, _, _| vec![]),
        expect![
            "internal error at 10.976us in dev: ingress was given 1 and gave 0 packets, but counted 0 created and 0 dropped"
        ],
    );
}

#[test]
fn a_timer_that_makes_packets() {
    let mut toy = liar(wire);
    toy.timer = Some((at_us(5), us(1), 1));
    caught(
        toy,
        expect![
            "internal error at 5us in dev: tick was given 0 and gave 1 packets, but counted 0 created and 0 dropped"
        ],
    );
}

#[test]
fn a_timer_that_does_not_go_on() {
    let mut toy = Toy::new(wire);
    toy.timer = Some((at_us(5), us(0), 1000));
    caught(toy, expect!["internal error at 5us in dev: after a tick the next deadline, 5us, is not later"]);
}

#[test]
fn counters_that_fall_or_miscount() {
    let forget = |toy: &mut Toy, port, frame, now| {
        toy.counters.received = 0;
        wire(toy, port, frame, now)
    };
    caught(
        Toy::new(forget),
        expect![
            "internal error at 10.976us in dev: ingress counted 0 received and 0 sent instead of 1 and 0"
        ],
    );
    let twice = |toy: &mut Toy, port, frame, now| {
        toy.counters.sent += 1;
        wire(toy, port, frame, now)
    };
    caught(
        Toy::new(twice),
        expect![
            "internal error at 10.976us in dev: ingress counted 1 received and 1 sent instead of 1 and 0"
        ],
    );
}

#[test]
fn packets_that_go_round_in_no_time() {
    let mut rack = star(2);
    rack.devices[0].service = us(0);
    rack.workloads = vec![ping(1, 2, 1, us(1))];
    let toy = || Toy { rounds: u8::MAX, ..Toy::new(wire) };
    let mut some = emulator(&rack, toy());
    some.run().unwrap();
    assert_eq!(some.report().workloads[0].received, 1);
    let mut endless = emulator(&rack, Toy { forever: true, ..toy() });
    let violation = endless.run().unwrap_err();
    expect!["internal error at 10.976us in rack rack: 1000008 events at the same time"]
        .assert_eq(&violation.to_string());
}

#[test]
fn every_device_of_the_rack_must_be_given() {
    let rack = star(1);
    let toy = |name: &str| RackDevice {
        name: name.to_string(),
        engine: "toy".to_string(),
        device: Box::new(Toy::new(wire)),
        spent: Spent::default(),
    };
    let error = |devices| Emulator::new(&rack, devices).err();
    let message = |text: &str| Some(BuildError(text.to_string()));
    assert_eq!(error(vec![]), message("no program was given for device `dev`"));
    let twice = message("the rack has no device `dev`, or it was given twice");
    assert_eq!(error(vec![toy("dev"), toy("dev")]), twice);
    let mut unlinked = star(1);
    unlinked.links.clear();
    let error = Emulator::new(&unlinked, vec![toy("dev")]).err();
    assert_eq!(error, message("host `h1` is not linked"));
}
