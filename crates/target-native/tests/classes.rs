//! Programs whose parser decides a class for each packet, which has code of its own.

use crate::common;

use base_time::{Rng, Time};
use device::{Options, Session};
use ir_interp::switch;
use std::collections::BTreeMap;
use std::sync::Arc;
use target_native::{Engine, Fate, Packet};

fn program(macros: &[&str]) -> Arc<ir::Program> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/classes.p4");
    Arc::new(common::program_with(path, macros))
}

/// A packet of this kind, and how many items follow at most.
fn frame(kind: u8, rng: &mut Rng) -> Vec<u8> {
    let mut byte = |most: u64| rng.between(0, most) as u8;
    let mut frame = vec![kind, byte(15), byte(8), byte(8), byte(12), byte(12), 0, 0];
    // Sometimes too short for the last header.
    let bytes = byte(14);
    frame.extend((0..bytes).map(|_| byte(255)));
    frame
}

#[test]
fn each_class_does_as_the_interpreter_does() {
    for (macros, copies, classes, ends) in
        [(&[][..], false, 3, 5), (&["CLONES"], true, 3, 5), (&["COMPUTED"], false, 0, 0)]
    {
        let program = program(macros);
        let engine = Engine::compile(&program, Options::default()).expect("it compiles");
        let report = engine.report();
        assert_eq!((report.classes, report.ends, report.fallbacks), (classes, ends, vec![]));
        let mut native = engine.into_switch();
        let mut reference = switch(program, Options::default()).expect("a device");
        for switch in [&mut native, &mut reference] {
            switch.multicast_group_set(1, vec![(4, 1), (5, 3)]);
            if copies {
                switch.clone_session_set(1, Some(Session { port: Some(6), ..Session::default() }));
            }
        }
        let mut rng = Rng::new(35);
        let mut sent: BTreeMap<(u8, usize), u32> = BTreeMap::new();
        for _ in 0..12_000 {
            let kind = rng.between(0, 9) as u8;
            let frame = frame(kind, &mut rng);
            let want = reference.process(1, &frame, Time::ZERO);
            assert_eq!(native.process(1, &frame, Time::ZERO), want, "{macros:?} {frame:02x?}");
            *sent.entry((kind, want.len())).or_default() += 1;
        }
        // All kinds are sent; those of the first and third class are copied.
        (0..=9).for_each(|kind| assert!(sent[&(kind, 1)] > 100, "{sent:?}"));
        [1, 3, 4, 5].into_iter().for_each(|kind| assert!(sent[&(kind, 2)] > 10, "{sent:?}"));
    }
}

/// Packets of a batch follow each other in the same frame: none sees what another left there.
#[test]
fn packets_of_a_batch_are_of_different_classes() {
    let program = program(&[]);
    let mut engine = Engine::compile(&program, Options::default()).expect("it compiles");
    let mut reference = switch(program, Options::default()).expect("a device");
    let mut rng = Rng::new(36);
    for _ in 0..400 {
        let frames: Vec<Vec<u8>> = (0..16)
            .map(|_| {
                let mut frame = frame(rng.between(0, 9) as u8, &mut rng);
                // No copies: they leave after the batch.
                frame[1] &= 0b1001;
                frame
            })
            .collect();
        let mut packets: Vec<Packet> = frames.iter().map(|_| Packet::default()).collect();
        for (packet, frame) in packets.iter_mut().zip(&frames) {
            assert!(packet.receive(1, frame));
        }
        assert!(engine.process(&mut packets, Time::ZERO).is_empty());
        for (packet, frame) in packets.iter().zip(&frames) {
            let want: Vec<_> = reference
                .process(1, frame, Time::ZERO)
                .into_iter()
                .map(|out| (out.port, out.frame))
                .collect();
            let sent = match packet.fate() {
                Fate::Sent(port) => vec![(port, packet.frame().to_vec())],
                _ => vec![],
            };
            assert_eq!(sent, want, "{frame:02x?}");
        }
    }
}

#[test]
fn other_programs_have_code_for_ends_of_the_parser_if_they_are_short() {
    for (name, ends) in [("many_headers", 0), ("copies", 1)] {
        let path = format!("{}/tests/{name}.p4", env!("CARGO_MANIFEST_DIR"));
        let program = Arc::new(common::program_at(&path));
        let engine = Engine::compile(&program, Options::default()).expect("it compiles");
        let report = engine.report();
        assert_eq!((report.classes, report.ends), (0, ends), "{name}");
    }
}
