//! Calls and ticks by hand, and what is refused.

use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{Emitter, FrameExtern, FrameExternFactory, Registry};
use expect_test::expect;

fn factory() -> FrameExternFactory {
    let mut registry = Registry::default();
    netfn_beacon::register(&mut registry);
    registry.get("beacon").unwrap().clone()
}

fn beacon(every: u32, idle_us: u64) -> Box<dyn FrameExtern> {
    factory()(&[Bits::new(32, every.into()), Bits::new(48, idle_us.into())]).unwrap()
}

fn us(n: u64) -> Time {
    Time::ZERO + Duration::from_us(n)
}

/// Result of one call: `7` is the frame that carries on, `+7` a fresh copy.
fn reported(out: &mut Emitter) -> String {
    let one = |e: dataplane_api::Emitted| format!("{}{}", if e.carries_on { "" } else { "+" }, e.frame[0]);
    out.take().into_iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_fourth_call_gives_an_extra_frame() {
    let mut beacon = beacon(4, 100);
    let mut out = Emitter::default();
    let line = (1..=9).map(|n| {
        beacon.call("process", &[], &[n], us(10 * u64::from(n)), &mut out);
        reported(&mut out)
    });
    assert_eq!(line.collect::<Vec<_>>().join(" | "), "1 | 2 | 3 | 4 +4 | 5 | 6 | 7 | 8 +8 | 9");
}

#[test]
fn the_timer_gives_the_last_frame_once() {
    let mut beacon = beacon(4, 100);
    let mut out = Emitter::default();
    assert_eq!(beacon.deadline(), None);
    beacon.call("process", &[], &[1], us(0), &mut out);
    assert_eq!(beacon.deadline(), Some(us(100)));
    beacon.call("process", &[], &[2], us(60), &mut out);
    out.take();
    assert_eq!(beacon.deadline(), Some(us(160)), "a call starts the timer anew");
    beacon.tick(us(159), &mut out);
    assert_eq!(reported(&mut out), "", "not yet");
    beacon.tick(us(160), &mut out);
    assert_eq!((reported(&mut out).as_str(), beacon.deadline()), ("+2", None));
    beacon.tick(us(1000), &mut out);
    assert_eq!(reported(&mut out), "");
    beacon.call("process", &[], &[3], us(1000), &mut out);
    assert_eq!(beacon.deadline(), Some(us(1100)));
}

#[test]
fn zero_switches_off() {
    let mut beacon = beacon(0, 0);
    let mut out = Emitter::default();
    for n in 0..10 {
        beacon.call("process", &[], &[n], us(0), &mut out);
        assert_eq!(reported(&mut out), n.to_string());
        assert_eq!(beacon.deadline(), None);
    }
}

#[test]
fn a_timer_beyond_the_end_of_time_never_runs_out() {
    let mut beacon = beacon(0, (1 << 48) - 1);
    beacon.call("process", &[], &[1], us(0), &mut Emitter::default());
    assert_eq!(beacon.deadline(), None);
}

#[test]
fn wrong_arguments_are_refused() {
    let make = factory();
    let error = |args: &[Bits]| make(args).err().map_or_else(|| "made".to_string(), |e| e.0);
    expect!["`beacon` takes 2 arguments, every, idle_us, and was given 1"]
        .assert_eq(&error(&[Bits::new(32, 4)]));
    expect!["`every` of `beacon` is bit<32>, and 4294967296 does not fit"]
        .assert_eq(&error(&[Bits::new(33, 1 << 32), Bits::new(48, 1)]));
    expect!["`idle_us` of `beacon` is bit<48>, and 281474976710656 does not fit"]
        .assert_eq(&error(&[Bits::new(32, 1), Bits::new(49, 1 << 48)]));
    assert_eq!(error(&[Bits::new(32, u32::MAX.into()), Bits::new(48, 1)]), "made");
}

#[test]
fn a_bad_snapshot_changes_nothing() {
    let mut one = beacon(4, 100);
    one.call("process", &[], &[1], us(5), &mut Emitter::default());
    let good = one.snapshot();
    let refuse = |bytes: &[u8]| {
        let mut two = beacon(4, 100);
        let before = two.snapshot();
        let error = two.restore(bytes).unwrap_err();
        assert_eq!(two.snapshot(), before);
        error.0
    };
    for length in 0..26 {
        refuse(&good[..length]);
    }
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        refuse(&bytes)
    };
    expect!["the snapshot has format 9, and 1 is known"].assert_eq(&with(0, 9));
    expect!["the snapshot is of beacon(5, 100), and this is beacon(4, 100)"].assert_eq(&with(4, 5));
    expect!["the snapshot makes no sense"].assert_eq(&with(16, 4));
    expect!["13 bytes too many in the snapshot"].assert_eq(&with(17, 0));
    expect!["the snapshot is cut short"].assert_eq(&refuse(&good[..20]));
}
