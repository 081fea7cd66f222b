//! Prefixes of all lengths and widths: compiled code, which reads the arrays for their first bits itself, finds what the interpreter
//! does, while entries come and go.

use crate::common;

use base_bits::Bits;
use base_time::{Rng, Time};
use control_writes::Match;
use dataplane_api::Output;
use device::{Options, Switch};
use std::sync::Arc;
use target_native::{Engine, Packet};

/// Names and widths; bits after each field in the packet.
const TABLES: [(&str, u32, u32); 6] =
    [("a", 24, 0), ("b", 32, 0), ("c", 45, 3), ("d", 64, 0), ("e", 128, 0), ("f", 23, 1)];

/// A value that has much in common with others.
fn value(rng: &mut Rng, width: u32) -> Bits {
    let high = u128::from(rng.below(4)) << (width - 9) | u128::from(rng.below(8)) << (width - 20);
    let low = if rng.below(2) == 0 { u128::from(rng.below(256)) } else { 0 };
    Bits::new(width, high | low << (width - 23) >> rng.below(10))
}

fn prefix(rng: &mut Rng, width: u32) -> Match {
    let prefix_len = width - rng.below(u64::from(width) - 3) as u32;
    let mask = Bits::ones(width).shl_by(u64::from(width - prefix_len));
    Match::Lpm { value: value(rng, width).and(&mask), prefix_len }
}

#[test]
fn all_lengths_and_widths() {
    let program = common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/prefixes.p4"));
    let mut engine = Engine::compile(&program, Options::default()).expect("it compiles");
    let mut interpreter = ir_interp::switch(Arc::new(program), Options::default()).expect("a device");
    assert_eq!(engine.report().fallbacks, []);
    let mut rng = Rng::new(1);
    let mut there: Vec<(&str, Match)> = vec![];
    let mut hits = 0;
    for round in 0..60 {
        // More and more, and then less and less.
        for _ in 0..if round < 30 { 120 } else { 20 } {
            let (name, width, _) = TABLES[rng.below(6) as usize];
            let key = prefix(&mut rng, width);
            let number = [Bits::new(16, 1 + u128::from(rng.below(60_000)))];
            let action = format!("say_{name}");
            let add = |switch: &mut Switch| {
                switch.table_add(name, std::slice::from_ref(&key), &action, &number, None).is_ok()
            };
            let added = add(&mut interpreter);
            assert_eq!(add(engine.switch()), added);
            there.extend(added.then_some((name, key)));
        }
        for _ in 0..if round < 30 { there.len() / 10 } else { there.len() / 4 } {
            let (name, key) = there.swap_remove(rng.below(there.len() as u64) as usize);
            for switch in [&mut interpreter, engine.switch()] {
                switch.table_delete(name, std::slice::from_ref(&key), None).expect("it is there");
            }
        }
        let frames: Vec<_> = (0..100).map(|_| frame(&mut rng)).collect();
        let mut packets: Vec<_> = frames.iter().filter_map(|frame| Packet::new(1, frame)).collect();
        engine.process(&mut packets, Time::ZERO);
        for (frame, packet) in frames.iter().zip(&packets) {
            let wanted = interpreter.process(1, frame, Time::ZERO);
            assert_eq!([Output { port: 1, frame: packet.frame().to_vec() }], *wanted, "round {round}");
            hits += packet.frame()[..12].chunks(2).filter(|said| *said != [0, 0]).count();
        }
    }
    assert_eq!(engine.interpreted(), 0);
    assert!((5_000..35_000).contains(&hits), "{hits}");
}

fn frame(rng: &mut Rng) -> Vec<u8> {
    let mut bits = base_bits::BitWriter::new();
    for (_, width, behind) in TABLES {
        bits.push(&value(rng, width));
        bits.push(&Bits::zero(behind));
    }
    bits.finish()
}
