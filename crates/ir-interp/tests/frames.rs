//! Frame externs: a frame that carries on keeps metadata and variables, a fresh one starts with none.

use crate::common;

use base_bits::Bits;
use base_time::{Duration, Time};
use common::{Test, conserved};
use control_writes::Write;
use dataplane_api::{Device, DropReason, Emitter, ExternError, FrameExtern, Output, Registry, ResumeAt};
use device::{AccessKind, Options, Recorder, Source, Switch};
use std::sync::{Arc, Mutex};

/// Does what the first byte of the frame says, and notes what it was called with.
struct Press {
    calls: Arc<Mutex<Vec<String>>>,
    timer: Option<(Time, Vec<u8>)>,
}

impl FrameExtern for Press {
    fn call(&mut self, method: &str, args: &[Bits], frame: &[u8], now: Time, out: &mut Emitter) {
        self.calls.lock().unwrap().push(format!("{method} {args:?} {frame:02x?} at {now}"));
        match frame.first() {
            Some(1) => out.carry_on(frame.to_vec()),
            Some(2) => {}
            Some(3) => {
                out.emit(vec![0x31, 0, 0xaa], ResumeAt::AfterCall);
                out.carry_on(vec![0x3c, 2]);
                out.emit(vec![0, 0, 0xbb, 0xbb], ResumeAt::Region("Else".into()));
            }
            Some(4) => out.emit(vec![1, 0, 0xcc, 0xcc, 0xcc], ResumeAt::Region("Before".into())),
            Some(5) => out.emit(vec![], ResumeAt::Region("Nowhere".into())),
            Some(6) => out.emit(frame.to_vec(), ResumeAt::Region("Before".into())),
            Some(7) => self.timer = Some((now + Duration::from_us(10), frame.to_vec())),
            Some(0xf1) => out.carry_on(vec![0xf2, 9, 8, 7, 6]),
            _ => out.carry_on(vec![]),
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.timer.as_ref().map(|(at, _)| *at)
    }

    fn tick(&mut self, now: Time, out: &mut Emitter) {
        if let Some((_, frame)) = self.timer.take_if(|(at, _)| *at <= now) {
            out.emit(frame, ResumeAt::AfterCall);
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        vec![u8::from(self.timer.is_some())]
    }

    fn restore(&mut self, _snapshot: &[u8]) -> Result<(), ExternError> {
        Ok(())
    }
}

fn switch() -> (Switch, Arc<Mutex<Vec<String>>>) {
    let calls = Arc::new(Mutex::new(vec![]));
    let seen = Arc::clone(&calls);
    let mut registry = Registry::default();
    registry.add(
        "press",
        Arc::new(move |args| {
            assert_eq!(args, [Bits::new(8, 3)]);
            Ok(Box::new(Press { calls: Arc::clone(&seen), timer: None }))
        }),
    );
    let switch = Test::file("frames").switch(Options { registry, ..Options::default() });
    (switch.expect("a device"), calls)
}

fn us(n: u64) -> Time {
    Time::ZERO + Duration::from_us(n)
}

fn run(frame: &[u8]) -> Vec<String> {
    let (mut switch, _) = switch();
    let outputs = switch.process(9, frame, us(1));
    conserved(&switch);
    outputs.iter().map(text).collect()
}

fn text(output: &Output) -> String {
    let bytes: Vec<String> = output.frame.iter().map(|b| format!("{b:02x}")).collect();
    format!("{}: {}", output.port, bytes.join(" "))
}

#[test]
fn what_carries_on_runs_behind_the_call_with_its_metadata() {
    // 0x01 + 0x10 before the call, 0x20 + 0x40 after; 5 + 7 of locals, 1 + 0x77 of metadata.
    assert_eq!(run(&[1, 0, 0xee]), ["3: 01 71 0c 78 ee"]);
}

#[test]
fn the_call_sees_all_valid_headers_and_the_payload() {
    let (mut switch, calls) = switch();
    switch.process(9, &[0xf1, 0, 0x44, 0x55, 0x66], us(1));
    let calls = calls.lock().unwrap();
    assert_eq!(*calls, ["process [16w0x7868] [f1, 11, 44, 55, 66] at 1us"]);
}

#[test]
fn headers_come_from_the_frame_given_back() {
    // The new frame has a second header of its own; metadata that its parser writes is forgotten.
    assert_eq!(run(&[0xf1, 0, 0x44, 0x55, 0x66]), ["5: f2 69 08 07 0c 78 06"]);
}

#[test]
fn frames_run_on_in_the_order_they_are_given() {
    // A fresh frame after the call, the packet itself, and a fresh frame in a region.
    assert_eq!(run(&[3, 0]), ["3: 31 60 00 01 aa", "2: 3c 62 0c 78", "4: 00 80 00 01 bb bb"],);
}

#[test]
fn a_fresh_frame_may_call_again() {
    assert_eq!(run(&[4, 0]), ["5: 01 70 01 01 cc cc cc"]);
}

#[test]
fn what_is_not_given_back_is_absorbed() {
    let (mut switch, _) = switch();
    assert_eq!(switch.process(9, &[2, 0], Time::ZERO), []);
    assert_eq!(switch.counters().dropped[&DropReason::Absorbed], 1);
    assert_eq!(switch.process(9, &[5, 0], Time::ZERO), []);
    assert_eq!(switch.counters().dropped[&DropReason::UnknownRegion], 1);
    conserved(&switch);
}

#[test]
fn frames_that_make_frames_end() {
    let (mut switch, _) = switch();
    assert_eq!(switch.process(9, &[6, 0], Time::ZERO), []);
    assert_eq!(switch.counters().dropped[&DropReason::PassLimit], 1);
    conserved(&switch);
}

#[test]
fn timers_give_fresh_frames() {
    let (mut switch, _) = switch();
    assert_eq!(switch.deadline(), None);
    assert_eq!(switch.process(9, &[7, 0, 0, 0], us(5)), []);
    assert_eq!(switch.deadline(), Some(us(15)));
    assert!(switch.tick(us(14)).is_empty());
    assert_eq!(switch.state()["I.press"], [1]);
    switch.set_access_log(true);
    let queued = switch.tick(us(15));
    let outputs = switch.drain(queued, us(15));
    assert_eq!(outputs.iter().map(text).collect::<Vec<_>>(), ["4: 07 71 00 01 00 00"]);
    assert_eq!(switch.state()["I.press"], [0]);
    let accesses = switch.take_accesses();
    assert_eq!(
        accesses.iter().map(|a| (a.object.as_str(), a.kind)).collect::<Vec<_>>(),
        [("I.press", AccessKind::Update)]
    );
    conserved(&switch);
}

/// A copy of a memory is not made again while its version stays.
#[test]
fn the_version_of_a_memory_rises_with_calls_timers_and_writes() {
    let (mut switch, _) = switch();
    let mut known = None;
    let mut rises = |switch: &Switch| {
        let version = switch.memory_version("I.press").unwrap();
        assert!(version.is_some() && version >= known);
        std::mem::replace(&mut known, version) != version
    };
    assert!(rises(&switch) && !rises(&switch));
    switch.process(9, &[7, 0, 0, 0], us(5));
    assert!(rises(&switch), "a call");
    assert!(switch.tick(us(14)).is_empty());
    assert_eq!(switch.memory("I.press").unwrap(), [1]);
    assert!(!rises(&switch), "no timer has run out, and reads change nothing");
    let queued = switch.tick(us(15));
    assert!(rises(&switch), "a timer");
    switch.drain(queued, us(15));
    switch.process(9, &[0, 0, 0, 0], us(16));
    assert!(!rises(&switch), "a packet that does not call it");
    switch.write(&Write::Memory { object: "I.press".into(), to: vec![1] }, us(17)).unwrap();
    assert!(rises(&switch), "a write");
}

#[test]
fn the_clock_of_a_call_goes_through_the_environment() {
    let recorder = Recorder::default();
    let mut registry = Registry::default();
    registry.add("press", Arc::new(|_| Ok(Box::new(Press { calls: Arc::default(), timer: None }))));
    let options = Options { registry, environment: Box::new(recorder.clone()), ..Options::default() };
    let mut switch = Test::file("frames").switch(options).expect("a device");
    switch.process(9, &[1, 0], us(2));
    let sources: Vec<Source> = recorder.take().into_iter().map(|o| o.source).collect();
    assert_eq!(sources[..2], [Source::IngressTimestamp, Source::ExternNow("I.press".into())]);
}

#[test]
fn a_name_that_the_device_does_not_have_is_refused() {
    let mut registry = Registry::default();
    registry.add("press2", Arc::new(|_| Err(ExternError("no".into()))));
    let refusal = Test::file("frames").switch(Options { registry, ..Options::default() }).err().unwrap();
    assert!(refusal.contains("P4R0405") && refusal.contains("did you mean `press2`"), "{refusal}");
}

#[test]
fn calls_elsewhere_are_refused() {
    for (body, why) in [
        ("action a() { press.process(1); } apply { a(); }", "not in the body of ingress"),
        ("apply { for (bit<8> i in 1 .. 2) { press.process(1); } }", "in a loop"),
        ("apply { press.process(1); if (sm.egress_spec == 0) { press.process(2); } }", "a second time"),
    ] {
        let source = include_str!("../testdata/frames.p4");
        let (head, rest) = source.split_once("    bit<8> outer = 5;").unwrap();
        let (_, tail) = rest.split_once("control E(").unwrap();
        let test = Test::inline(&format!("{head}{body}\n}}\ncontrol E({tail}"));
        let refusal = test.switch(Options::default()).err().expect("a refusal");
        assert!(refusal.contains("P4R0406") && refusal.contains(why), "{refusal}");
    }
}
