//! Programs whose arrays of cells are far from a core: packets run ahead ask for cells, and nothing else shows of that.

use crate::common;

use base_time::{Rng, Time};
use device::Options;
use std::sync::Arc;
use target_native::{Engine, Packet, code_text};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ahead.p4");

/// None of five arrays of so many cells is far on its own; together they are.
const SIZE: u32 = 60_000;

#[test]
fn cells_are_those_of_packets_one_by_one() {
    let program = Arc::new(common::program_with(PATH, &[&format!("SIZE={SIZE}")]));
    let mut engine = Engine::compile(&program, Options::default()).expect("it compiles");
    assert_eq!(engine.report().fallbacks, []);
    let mut switch = ir_interp::switch(program, Options::default()).expect("a device");
    let mut rng = Rng::new(3);
    // Few places, so that packets of a batch meet; some are out of range.
    let places = [0, 1, 2, 7, 500, SIZE - 1, SIZE, SIZE + 9, u32::MAX];
    for round in 0..100 {
        let mut place = || places[rng.between(0, places.len() as u64 - 1) as usize];
        let mut places = vec![];
        places.resize_with(2 * 1500, &mut place);
        let count = rng.between(1, 1500).min(rng.between(1, 1500)).min(rng.between(1, 1500)) as usize;
        let frames: Vec<Vec<u8>> = places
            .chunks(2)
            .take(count)
            .map(|place| {
                let mut frame = vec![rng.between(0, 18) as u8];
                frame.extend(place.iter().flat_map(|place| place.to_be_bytes()));
                frame.extend(rng.between(0, 99).to_be_bytes());
                // Some are too short for the header.
                frame.extend([0; 16].iter().take(if rng.between(0, 9) == 0 { 3 } else { 16 }));
                frame
            })
            .collect();
        let mut packets: Vec<Packet> =
            frames.iter().map(|frame| Packet::new(1, frame).expect("it fits")).collect();
        assert_eq!(engine.process(&mut packets, Time::ZERO), []);
        for (at, (packet, frame)) in packets.iter().zip(&frames).enumerate() {
            let want = switch.process(1, frame, Time::ZERO);
            assert!(
                matches!(&want[..], [output] if output.frame == packet.frame()),
                "round {round}, packet {at} of {count}: {frame:02x?}"
            );
        }
    }
    for name in ["I.a", "I.b", "I.c", "I.d", "I.e"] {
        for at in 0..u64::from(SIZE) {
            let cell = engine.switch().register_value(name, at);
            assert_eq!(cell, switch.register_value(name, at), "{name}[{at}]");
        }
    }
}

#[test]
fn each_far_cell_is_asked_for_once_on_a_path() {
    let calls = |size: &str| {
        let lowered = ir_lower::lower(&common::program_with(PATH, &[size])).expect("it lowers");
        let functions = code_text(lowered).expect("it runs");
        functions
            .iter()
            .flat_map(|function| function.clif.lines())
            .filter(|line| line.contains("call fn"))
            .count()
    };
    // Reads and writes of cells are no calls. One array is used on both paths.
    assert_eq!(calls("SIZE=60000"), calls("SIZE=256") + 6);
    // Arrays that fit near a core together.
    assert_eq!(calls("SIZE=50000"), calls("SIZE=256"));
}
