//! Programs for TNA and T2NA: their halves as machine code give the same results as the interpreter.

use crate::common;

use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use control_writes::{Match, Rate, Rates};
use dataplane_api::{Device, Output};
use device::{Driver, Options, Session, Switch};
use std::sync::Arc;
use target_native::{Engine, Fate, MOST_BYTES, Packet, Shared};

/// The programs with packet tests, what stays with the interpreter, and the most bytes of an opcode.
const PROGRAMS: [(&str, &[&str], u64); 13] = [
    ("tna", &["value of a call"], 23),
    ("tna_registers", &["value of a call"], 8),
    ("tna_math", &["value of a call"; 6], 7),
    ("t2na_math", &["value of a call"; 6], 7),
    ("tna_filters", &["value of a call"; 4], 4),
    ("tna_externs", &[], 22),
    ("tna_parser", &[], 8),
    ("tna_paths", &[], 25),
    ("t2na_paths", &[], 25),
    ("tna_pktgen", &[], 8),
    ("t2na_pktgen", &[], 8),
    ("tna_profiles", &[], 8),
    ("tna_idle", &[], 8),
];

fn program(name: &str) -> ir::Program {
    let folder = if name == "tna" { "tests" } else { "../ir-interp/testdata" };
    common::program_at(&format!("{}/{folder}/{name}.p4", env!("CARGO_MANIFEST_DIR")))
}

/// Few passes: a packet to a port that leads back would take all of them.
fn options() -> Options {
    Options { pass_limit: 20, ..Options::default() }
}

/// Entries for the tables that the programs have.
fn fill(switch: &mut Switch) {
    for group in 1..8 {
        switch.multicast_group_set(group, vec![(4, 1), (5, 3), (7, 9)]);
    }
    switch.clone_session_set(5, Some(Session { port: Some(8), group: Some(1), ..Session::default() }));
    let short = Session { port: Some(9), max_length: Some(9), class_of_service: 3, ..Session::default() };
    switch.clone_session_set(6, Some(short));
    let slow = Rate { per_gigamicrosecond: 300_000_000, burst: 60 };
    for meter in ["Ingress.limit", "Ingress.named"] {
        for cell in 0..4 {
            switch.meter_set_rates(meter, cell, Rates { committed: slow, peak: slow }).ok();
        }
    }
    for port in 0..8 {
        let cell = Bits::new(40, 0x0123_4500_0106 | u128::from(port) << 7);
        if let Ok(cells) = switch.register_value("$PORT_METADATA", port) {
            let cell = ir_value::numbers::unpacked(&cells, cell.low_u128());
            switch.register_set("$PORT_METADATA", port, cell).expect("a cell");
        }
    }
    // A packet with the numbers 3 to 18 every 100 us, of the port that a Tofino 1 or 2 generates packets on.
    let port = if switch.program().arch == ir::Arch::T2na { 6 } else { 68 };
    let buffer = 0x0304_0506_0708_090a_0b0c_0d0e_0f10_1112;
    let app = 2 << 80 | port << 64 | 16 << 32 | 100_000;
    for (register, at, cell) in [("$PKTGEN_BUFFER", 0, buffer), ("$PKTGEN_APP", 3, app)] {
        if let Ok(like) = switch.register_value(register, at) {
            switch.register_set(register, at, ir_value::numbers::unpacked(&like, cell)).expect("a cell");
        }
    }
    // A rise of 1 ms, a decay of 2 ms; thresholds 2^20 and 2^31, with half of the packets dropped at the upper.
    let smooth = 1_000_000u128 << 40 | 2_000_000 << 8;
    let early = 1_000_000u128 << 96 | 1 << 84 | 1 << 63 | 1 << 31;
    for (name, cell) in
        [("smooth", smooth), ("early", early), ("smooth_entry", smooth), ("early_entry", early)]
    {
        let register = format!("Ingress.{name}.$SETTINGS");
        for at in 0..2 {
            if let Ok(like) = switch.register_value(&register, at) {
                switch.register_set(&register, at, ir_value::numbers::unpacked(&like, cell)).expect("a cell");
            }
        }
    }
    for value in 0..8u32 {
        let keys = [Match::Exact(Bits::new(8, u128::from(value)))];
        switch.table_add("Ingress.watched", &keys, "to", &[Bits::new(9, u128::from(value))], None).ok();
        let action = [("to", Bits::new(9, u128::from(value))), ("mark", Bits::new(16, 0xabcd))];
        let (action, data) = &action[value as usize % 2];
        if let Ok(member) = switch.member_add("Ingress.by_profile", action, std::slice::from_ref(data)) {
            switch.table_add_member("Ingress.by_profile", &keys, member, None).expect("an entry");
            let members = [1, 2].map(|port| {
                switch.member_add("Ingress.by_selector", "to", &[Bits::new(9, port)]).expect("a member")
            });
            let group = switch.group_add("Ingress.by_selector", &members).expect("a group");
            switch.table_add_group("Ingress.by_selector", &keys, group, None).expect("an entry");
        }

        let keys = [Match::Exact(Bits::new(32, u128::from(value)))];
        let action = ["rated", "quiet"][value as usize % 2];
        switch.table_add("Ingress.metered", &keys, action, &[], None).ok();
        let action = ["hit", "quiet"][value as usize % 2];
        switch.table_add("Ingress.entries", &keys, action, &[], None).ok();
    }
}

/// An opcode, and bytes that are 0 to 7 more often than others; one in fifty frames is too long for a buffer.
fn frames(count: usize, most: u64) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(1);
    let mut frame = |at: usize| {
        let length = if at % 50 == 49 { 2000 } else { rng.between(0, 30) };
        let code = rng.between(0, most) as u8;
        let mut byte = |_| if rng.between(0, 3) == 0 { rng.between(0, 255) } else { rng.between(0, 7) } as u8;
        let mut frame: Vec<u8> = (0..length).map(&mut byte).collect();
        frame.first_mut().into_iter().for_each(|first| *first = code);
        if at.is_multiple_of(3) {
            // A number that tables know.
            frame.iter_mut().take(7).skip(4).for_each(|byte| *byte = 0);
        }
        frame
    };
    (0..count).map(&mut frame).collect()
}

#[test]
fn packets_of_every_program() {
    for (name, left, most) in PROGRAMS {
        let engine = Engine::compile(&program(name), options()).expect("it compiles");
        let report = engine.report();
        assert!(report.compiled, "{name}");
        let fallbacks: Vec<_> = report.fallbacks.iter().map(|(_, kind)| kind.trim_matches('"')).collect();
        assert_eq!(fallbacks, left, "{name}");
        let interpreter = ir_interp::switch(Arc::new(program(name)), options()).expect("a device");
        let mut ran = vec![];
        for mut switch in [interpreter, engine.into_switch()] {
            fill(&mut switch);
            let mut driver = Driver::new(&mut switch);
            for (number, frame) in frames(1500, most).iter().enumerate() {
                let port = [1, 4, 68][number % 3];
                driver.packet(port, frame, Time::ZERO + Duration::from_us(number as u64));
            }
            driver.finish();
            let sent = driver.take_sent();
            ran.push((sent, switch.counters().clone(), switch.state(), switch.take_digests()));
        }
        for (at, (is, wanted)) in ran[1].0.iter().zip(&ran[0].0).enumerate() {
            assert_eq!(is, wanted, "{name}: packet {at} of those that were sent");
        }
        assert_eq!(ran[1].1, ran[0].1, "{name}");
        assert!(ran[1] == ran[0], "{name}: state or digests differ");
        assert!(ran[0].0.len() > 500, "{name}: {}", ran[0].0.len());
    }
}

#[test]
fn batches_and_workers() {
    for (name, _, most) in PROGRAMS {
        let mut engine = Engine::compile(&program(name), options()).expect("it compiles");
        let shared = Shared::compile(&program(name), options()).expect("it runs");
        let shared = shared.expect("it compiles");
        let mut reference = ir_interp::switch(Arc::new(program(name)), options()).expect("a device");
        fill(engine.switch());
        shared.write(fill);
        fill(&mut reference);
        let mut worker = shared.worker();
        for (number, batch) in frames(400, most).chunks(32).enumerate() {
            let now = Time::ZERO + Duration::from_us(100 * number as u64);
            let fitting = |frame: &&Vec<u8>| frame.len() <= MOST_BYTES;
            let mut packets: Vec<_> =
                batch.iter().filter(fitting).map(|frame| Packet::new(4, frame).expect("it fits")).collect();
            let mut others = packets.clone();
            let wanted = sorted(batch.iter().filter(fitting).flat_map(|f| reference.process(4, f, now)));
            let ran = engine.process(&mut packets, now);
            assert_eq!(sorted(sent(&packets).chain(ran)), wanted, "{name}, batch {number}");
            let ran = worker.process(&mut others, now);
            assert_eq!(sorted(sent(&others).chain(ran)), wanted, "{name}, batch {number} of a worker");
        }
        let digests = reference.take_digests();
        assert_eq!(engine.switch().take_digests(), digests, "{name}");
        assert_eq!(shared.take_reports().digests, digests, "{name}");
        let wanted = (reference.state(), reference.counters().clone());
        assert_eq!((engine.switch().state(), engine.switch().counters().clone()), wanted, "{name}");
        let is = shared.write(|switch| (switch.state(), switch.counters().clone()));
        assert_eq!(is, wanted, "{name}");
    }
}

/// A worker makes the packets of the generator that the control plane sets up while it is at work.
#[test]
fn generated_packets_of_workers() {
    for name in ["tna_pktgen", "t2na_pktgen"] {
        let shared = Shared::compile(&program(name), options()).expect("it runs").expect("it compiles");
        let mut reference = ir_interp::switch(Arc::new(program(name)), options()).expect("a device");
        let (mut one, mut other) = (shared.worker(), shared.worker());
        assert_eq!(one.deadline(), None);
        shared.write(fill);
        fill(&mut reference);
        let mut made = 0;
        for us in [5, 105, 205, 206, 305] {
            let now = Time::ZERO + Duration::from_us(us);
            assert_eq!(one.deadline(), reference.deadline(), "{name} {us}");
            let is = if us == 205 { &mut other } else { &mut one }.tick(now);
            let queued = reference.tick(now);
            assert_eq!(is, reference.drain(queued, now), "{name} {us}");
            made += is.len();
        }
        assert_eq!(made, 3, "{name}");
        let is = shared.write(|switch| (switch.state(), switch.counters().clone()));
        assert_eq!(is, (reference.state(), reference.counters().clone()), "{name}");
    }
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
