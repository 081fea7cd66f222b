//! Ticks in the interpreter, as machine code, and on threads that share a device.

use crate::common;

use base_time::Time;
use dataplane_api::{Device, Output};
use device::{Driver, Options, Switch};
use std::sync::Arc;
use target_native::{Engine, Shared};

fn program(macros: &[&str]) -> ir::Program {
    common::program_with(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ticks.p4"), macros)
}

fn interpreter(options: Options) -> Switch {
    ir_interp::switch(Arc::new(program(&[])), options).expect("a device")
}

fn us(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

/// The kind, count and time of a report, and what came after it.
fn report(output: &Output) -> (u8, u8, u8, usize) {
    assert_eq!((output.port, output.frame[1..4].iter().max()), (1, Some(&0)));
    (output.frame[0], output.frame[4], output.frame[10], output.frame.len() - 11)
}

fn tick(switch: &mut Switch, at: u64) -> Vec<(u8, u8, u8, usize)> {
    let queued = switch.tick(us(at));
    switch.drain(queued, us(at)).iter().map(report).collect()
}

#[test]
fn frames_come_by_themselves() {
    let mut switch = interpreter(Options::default());
    assert_eq!((switch.deadline(), switch.timer()), (Some(us(10)), None));
    assert_eq!(tick(&mut switch, 9), []);
    assert_eq!(tick(&mut switch, 10), [(7, 1, 10, 0)]);
    assert_eq!(tick(&mut switch, 10), []);
    assert_eq!(switch.deadline(), Some(us(15)));
    assert_eq!(tick(&mut switch, 15), [(8, 1, 15, 1)]);
    // At once: the one whose time has come earlier is first, else in order.
    assert_eq!(tick(&mut switch, 30), [(7, 2, 30, 0), (8, 2, 30, 1)]);
    assert_eq!(switch.deadline(), Some(us(40)));
    let counters = switch.counters();
    assert_eq!((counters.received, counters.created, counters.sent), (0, 4, 4));
}

#[test]
fn a_late_device_makes_one_frame_for_all_periods() {
    let mut switch = interpreter(Options::default());
    assert_eq!(tick(&mut switch, 137), [(7, 1, 137, 0), (8, 1, 137, 1)]);
    assert_eq!(switch.deadline(), Some(us(140)));
    assert_eq!(tick(&mut switch, 140).len(), 1);
    assert_eq!(switch.deadline(), Some(us(150)));
}

#[test]
fn a_device_may_be_made_without_ticks() {
    let mut switch = interpreter(Options { has_ticks: false, ..Options::default() });
    assert_eq!((switch.deadline(), tick(&mut switch, 1000)), (None, vec![]));
}

#[test]
fn a_port_that_ports_cannot_have_is_refused() {
    let found = ir_interp::switch(Arc::new(program(&["TOO_LARGE"])), Options::default());
    let found = found.err().expect("refused");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code.to_string(), "P4R0312");
    assert_eq!(found[0].notes, ["port 512 does not fit into the 9 bits of a port"]);
    assert_eq!(found[0].help, ["use a port from 0 to 510; 511 means drop"]);
}

/// Packets and what comes between them; ticks do not keep a run alive.
fn driven(switch: &mut Switch) -> Vec<(Time, Output)> {
    let mut driver = Driver::new(switch);
    for at in [3, 12, 47, 47, 99] {
        driver.packet(2, &[1, 2, 3], us(at));
    }
    driver.finish();
    driver.take_sent()
}

#[test]
fn machine_code_does_as_the_interpreter_does() {
    let want = driven(&mut interpreter(Options::default()));
    // Ticks at 10, 20, ... 90 and 15, 30, ... 90; packets.
    assert_eq!(want.len(), 9 + 6 + 5);
    let engine = Engine::compile(&program(&[]), Options::default()).expect("it compiles");
    assert!(engine.report().compiled && engine.report().fallbacks.is_empty());
    assert_eq!(driven(&mut engine.into_switch()), want);
}

#[test]
fn one_of_the_threads_runs_a_tick() {
    let shared = Shared::compile(&program(&[]), Options::default()).expect("it runs").expect("it compiles");
    let (mut one, mut other) = (shared.worker(), shared.worker());
    assert_eq!((one.deadline(), other.deadline()), (Some(us(10)), Some(us(10))));
    assert_eq!(one.tick(us(12)).iter().map(report).collect::<Vec<_>>(), [(7, 1, 12, 0)]);
    assert_eq!(other.tick(us(12)), []);
    assert_eq!(other.deadline(), Some(us(15)));
    assert_eq!(other.tick(us(20)).iter().map(report).collect::<Vec<_>>(), [(8, 1, 20, 1), (7, 2, 20, 0)]);
}
