//! Programs for PSA: their halves as machine code give the same results as the interpreter.

use crate::common;

use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use control_writes::{Count, Match, Rate, Rates};
use dataplane_api::{Device, Output};
use device::{Driver, Options, Session, Switch};
use std::sync::Arc;
use target_native::{Engine, Fate, MOST_BYTES, Packet, Shared};

fn program() -> ir::Program {
    common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/psa.p4"))
}

fn fill(switch: &mut Switch) {
    switch.multicast_group_set(1, vec![(4, 1), (5, 3), (6, 9)]);
    switch.clone_session_set(5, Some(Session { port: Some(8), group: Some(1), ..Session::default() }));
    let short = Session { port: Some(9), max_length: Some(9), class_of_service: 3, ..Session::default() };
    switch.clone_session_set(6, Some(short));
    for value in 0..4 {
        let keys = [Match::Exact(Bits::new(16, 2 * value))];
        switch.table_add("names", &keys, "name", &[Bits::new(8, value + 1)], None).expect("an entry");
    }
    switch.table_set_default("names", "nameless", &[Bits::new(24, 3)]).expect("a default action");
    let slow = Rate { per_gigamicrosecond: 300_000_000, burst: 60 };
    switch.meter_set_rates("speeds", 1, Rates { committed: slow, peak: slow }).expect("a cell");
}

/// Bytes that are 0 to 7 more often than others; one in fifty frames is too long for a buffer.
fn frames(count: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(1);
    let mut frame = |at: usize| {
        let length = if at % 50 == 49 { 2000 } else { rng.between(0, 30) };
        let mut byte = |_| if rng.between(0, 2) == 0 { rng.between(0, 255) } else { rng.between(0, 7) } as u8;
        (0..length).map(&mut byte).collect()
    };
    (0..count).map(&mut frame).collect()
}

#[test]
fn everything() {
    let engine = Engine::compile(&program(), Options::default()).expect("it compiles");
    assert!(engine.report().compiled);
    assert_eq!(engine.report().fallbacks, []);
    let mut misread = program();
    for object in &mut misread.externs {
        for method in object.methods.iter_mut().filter(|method| method.name == "subtract") {
            method.name = "add".into();
        }
    }
    let wrong = Engine::compile(&misread, Options::default()).expect("it compiles");
    let again = Engine::of(&engine.compiled(), Options::default()).expect("an engine");
    let interpreter = ir_interp::switch(Arc::new(program()), Options::default()).expect("a device");
    let mut ran = vec![];
    for mut switch in [interpreter, engine.into_switch(), again.into_switch(), wrong.into_switch()] {
        fill(&mut switch);
        let mut driver = Driver::new(&mut switch);
        for (number, frame) in frames(3000).iter().enumerate() {
            driver.packet(1, frame, Time::ZERO + Duration::from_us(number as u64));
        }
        driver.finish();
        let sent = driver.take_sent();
        ran.push((sent, switch.state(), switch.counters().clone(), switch.take_digests()));
    }
    assert_eq!(ran[1], ran[0]);
    assert_eq!(ran[2], ran[0]);
    assert_ne!(ran[3], ran[0]);
    let (sent, _, counters, digests) = &ran[0];
    assert!(sent.len() > 2000 && counters.created > 1000 && counters.dropped.len() > 2, "{counters:?}");
    assert!(digests.len() > 10, "{}", digests.len());
}

#[test]
fn misses_count_for_the_default_action() {
    let mut engine = Engine::compile(&program(), Options::default()).expect("it compiles");
    let mut reference = ir_interp::switch(Arc::new(program()), Options::default()).expect("a device");
    let tables = ["names", "ports", "keyless"];
    let mut before = [0; 3];
    for part in 0..3 {
        for switch in [engine.switch(), &mut reference] {
            match part {
                0 => fill(switch),
                1 => switch.table_set_default("names", "nameless", &[Bits::new(24, 9)]).expect("another"),
                _ => switch.default_set_count("names", Count { packets: 5, bytes: 7 }).expect("a counter"),
            }
        }
        for frame in frames(200).iter().filter(|frame| frame.len() <= MOST_BYTES) {
            engine.process(&mut [Packet::new(1, frame).expect("it fits")], Time::ZERO);
            reference.process(1, frame, Time::ZERO);
        }
        let counts = |switch: &Switch| tables.map(|table| switch.default_count(table).expect("a counter"));
        let wanted = counts(&reference);
        assert_eq!(counts(engine.switch()), wanted, "part {part}");
        assert!(wanted.iter().zip(before).all(|(count, before)| part == 2 || count.packets > before + 20));
        before = wanted.map(|count| count.packets);
    }
    assert_eq!(engine.interpreted(), 0);
}

#[test]
fn the_interpreter_is_not_asked() {
    let mut engine = Engine::compile(&program(), Options::default()).expect("it compiles");
    fill(engine.switch());
    let mut packets: Vec<_> = frames(2000).iter().filter_map(|frame| Packet::new(1, frame)).collect();
    engine.process(&mut packets, Time::ZERO);
    assert_eq!(engine.interpreted(), 0);
}

#[test]
fn batches() {
    let mut engine = Engine::compile(&program(), Options::default()).expect("it compiles");
    let shared = Shared::compile(&program(), Options::default()).expect("it runs").expect("it compiles");
    let mut reference = ir_interp::switch(Arc::new(program()), Options::default()).expect("a device");
    fill(engine.switch());
    shared.write(fill);
    fill(&mut reference);
    let mut worker = shared.worker();
    let mut fates = [0; 3];
    for (number, batch) in frames(3000).chunks(32).enumerate() {
        let now = Time::ZERO + Duration::from_us(100 * number as u64);
        let fitting = |frame: &&Vec<u8>| frame.len() <= MOST_BYTES;
        let mut packets: Vec<_> =
            batch.iter().filter(fitting).map(|frame| Packet::new(1, frame).expect("it fits")).collect();
        let mut others = packets.clone();
        let wanted = sorted(batch.iter().filter(fitting).flat_map(|frame| reference.process(1, frame, now)));
        let ran = engine.process(&mut packets, now);
        for packet in &packets {
            fates[match packet.fate() {
                Fate::Dropped => 0,
                Fate::Sent(_) => 1,
                Fate::Elsewhere => 2,
            }] += 1;
        }
        assert_eq!(sorted(sent(&packets).chain(ran)), wanted, "batch {number}");
        let ran = worker.process(&mut others, now);
        assert_eq!(sorted(sent(&others).chain(ran)), wanted, "batch {number} of a worker");
    }
    assert!(fates.iter().all(|packets| *packets > 200), "{fates:?}");
    let digests_of_interpreter = reference.take_digests();
    assert_eq!(engine.switch().take_digests(), digests_of_interpreter);
    assert_eq!(shared.take_reports().digests, digests_of_interpreter);
    let wanted = (reference.state(), reference.counters().clone());
    assert_eq!((engine.switch().state(), engine.switch().counters().clone()), wanted);
    assert_eq!(shared.write(|switch| (switch.state(), switch.counters().clone())), wanted);
}

fn sent(packets: &[Packet]) -> impl Iterator<Item = Output> {
    packets.iter().filter_map(|packet| match packet.fate() {
        Fate::Sent(port) => Some(Output { port, frame: packet.frame().to_vec() }),
        _ => None,
    })
}

fn sorted(outputs: impl Iterator<Item = Output>) -> Vec<Output> {
    let mut outputs: Vec<_> = outputs.collect();
    outputs.sort();
    outputs
}
