//! Frame externs: packets leave machine code in their calls, and what runs on is machine code again.

use crate::common;

use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use dataplane_api::{Device, Emitter, ExternError, FrameExtern, Output, Registry, ResumeAt};
use device::{Driver, Options, Switch};
use std::sync::{Arc, Mutex};
use target_native::{Engine, Fate, Packet, Shared};

type Calls = Arc<Mutex<Vec<String>>>;

/// An extern that acts on the bits of the first byte, and records its arguments.
struct Press {
    calls: Calls,
    timer: Option<(Time, Vec<u8>)>,
}

impl FrameExtern for Press {
    fn call(&mut self, method: &str, args: &[Bits], frame: &[u8], now: Time, out: &mut Emitter) {
        self.calls.lock().unwrap().push(format!("{method} {args:?} {frame:02x?} at {now}"));
        let op = frame.first().copied().unwrap_or(0);
        let region = |name: &str| ResumeAt::Region(name.to_string());
        if op & 1 != 0 {
            out.emit([&[0, 9], frame].concat(), region("Else"));
        }
        if op & 2 != 0 {
            out.carry_on([frame, &[0xaa; 3]].concat());
        }
        if op & 4 != 0 {
            // Less each time, so that it ends.
            out.emit(frame.get(2..).unwrap_or_default().to_vec(), region("Before"));
        }
        match op >> 4 {
            1 => self.timer = Some((now + Duration::from_us(3), frame.to_vec())),
            2 => out.emit(vec![2; 5], region("Nowhere")),
            3 => out.carry_on(vec![7]),
            4 => out.emit(frame.repeat(40), ResumeAt::AfterCall),
            5 => out.carry_on(frame.repeat(200)),
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.timer.as_ref().map(|(at, _)| *at)
    }

    fn tick(&mut self, now: Time, out: &mut Emitter) {
        if let Some((_, frame)) = self.timer.take_if(|(at, _)| *at <= now) {
            out.emit(frame.clone(), ResumeAt::AfterCall);
            out.emit(frame, ResumeAt::Region("Before".into()));
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        vec![u8::from(self.timer.is_some())]
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), ExternError> {
        Ok(())
    }
}

pub fn program() -> Arc<ir::Program> {
    Arc::new(common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/frames.p4")))
}

/// A program that the interpreter runs: see [`target_native::Report::compiled`].
pub fn interpreted() -> ir::Program {
    common::program_with(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/frames.p4"), &["HEADER_IN_METADATA"])
}

pub fn options() -> (Options, Calls) {
    let calls = Calls::default();
    let seen = Arc::clone(&calls);
    let mut registry = Registry::default();
    let make = move |_: &[Bits]| -> Result<Box<dyn FrameExtern>, ExternError> {
        Ok(Box::new(Press { calls: Arc::clone(&seen), timer: None }))
    };
    registry.add("press", Arc::new(make));
    (Options { registry, ..Options::default() }, calls)
}

fn frames() -> Vec<Vec<u8>> {
    let mut rng = Rng::new(1);
    let mut frame = |_| (0..rng.between(0, 14)).map(|_| rng.between(0, 0x6f) as u8).collect();
    (0..3000).map(&mut frame).collect()
}

/// In virtual time, with timers.
fn driven(switch: &mut Switch) -> Vec<(Time, Output)> {
    let mut driver = Driver::new(switch);
    for (number, frame) in frames().iter().enumerate() {
        driver.packet(1, frame, Time::ZERO + Duration::from_us(number as u64));
    }
    driver.finish();
    driver.take_sent()
}

#[test]
fn what_they_emit_runs_on_as_in_the_interpreter() {
    let (of_interpreter, want_calls) = options();
    let mut interpreter = ir_interp::switch(program(), of_interpreter).expect("a device");
    let want = driven(&mut interpreter);
    let (of_engine, calls) = options();
    let engine = Engine::compile(&program(), of_engine).expect("it compiles");
    assert!(engine.report().compiled);
    assert_eq!(engine.report().fallbacks, []);
    let mut native = engine.into_switch();
    assert_eq!(driven(&mut native), want);
    assert_eq!(*calls.lock().unwrap(), *want_calls.lock().unwrap());
    assert_eq!((native.counters(), native.state()), (interpreter.counters(), interpreter.state()));
    let counters = native.counters();
    assert!(want.len() > 2000 && counters.dropped.len() > 1 && counters.created > 1000, "{counters:?}");
}

#[test]
fn in_batches() {
    let (of_interpreter, _) = options();
    let mut interpreter = ir_interp::switch(program(), of_interpreter).expect("a device");
    let (of_engine, _) = options();
    let mut engine = Engine::compile(&program(), of_engine).expect("it compiles");
    for batch in frames().chunks(16) {
        let mut packets: Vec<Packet> = batch.iter().map(|f| Packet::new(1, f).expect("it fits")).collect();
        let mut others = engine.process(&mut packets, Time::ZERO).into_iter();
        for (packet, frame) in packets.iter().zip(batch) {
            let want = interpreter.process(1, frame, Time::ZERO);
            let got: Vec<Output> = match packet.fate() {
                Fate::Sent(port) => vec![Output { port, frame: packet.frame().to_vec() }],
                Fate::Dropped => vec![],
                Fate::Elsewhere => others.by_ref().take(want.len()).collect(),
            };
            assert_eq!(got, want, "{frame:?}");
        }
        assert_eq!(others.next(), None);
    }
    assert_eq!(engine.switch().state(), interpreter.state());
}

#[test]
fn in_queues() {
    let (of_interpreter, _) = options();
    let mut interpreter = ir_interp::switch(program(), of_interpreter).expect("a device");
    let (of_engine, _) = options();
    let mut native = Engine::compile(&program(), of_engine).expect("it compiles").into_switch();
    for frame in frames().iter().take(1000) {
        let ran = [&mut native, &mut interpreter].map(|switch| {
            let mut queued = switch.ingress(1, frame.clone(), Time::ZERO);
            // Together they wait, and leave in another order.
            queued.reverse();
            switch.drain(queued, Time::ZERO)
        });
        assert_eq!(ran[0], ran[1], "{frame:?}");
    }
}

#[test]
fn without_code_in_batches() {
    let mut interpreter = ir_interp::switch(program(), options().0).expect("a device");
    let shared = Shared::new(&interpreted(), options().0).expect("it runs");
    assert!(!shared.compiled().report().compiled);
    let mut worker = shared.worker();
    for batch in frames().chunks(16) {
        let mut packets: Vec<Packet> = batch.iter().map(|f| Packet::new(1, f).expect("it fits")).collect();
        let got = worker.process(&mut packets, Time::ZERO);
        assert!(packets.iter().all(|packet| packet.fate() == Fate::Elsewhere));
        let want = |(at, frame): (usize, &Vec<u8>)| {
            interpreter.process(1, frame, Time::ZERO).into_iter().map(move |output| (at, output))
        };
        let want: Vec<(usize, Output)> = batch.iter().enumerate().flat_map(want).collect();
        assert_eq!(worker.came_of().iter().copied().zip(got).collect::<Vec<_>>(), want);
    }
    assert_eq!(shared.write(|switch| switch.counters().clone()), *interpreter.counters());
}
