//! The router as machine code gives the same results as the interpreter.

use crate::common;

use base_time::{Rng, Time};
use dataplane_api::{Device, Output};
use device::Options;
use ir::TypeKind;
use std::sync::Arc;
use target_native::{Engine, Fate, Packet};

#[test]
fn batches_are_what_the_interpreter_gives() {
    let program = common::program("router");
    let mut engine = Engine::compile(&program, Options::default()).expect("it compiles");
    assert_eq!(engine.report().fallbacks, []);
    let mut switch = ir_interp::switch(Arc::new(program), Options::default()).expect("a device");
    let destinations = common::fill(engine.switch(), 300, &mut Rng::new(1));
    common::fill(&mut switch, 300, &mut Rng::new(1));
    let mut rng = Rng::new(2);
    let mut frames = vec![];
    for at in 0..2000usize {
        let known = destinations[rng.between(0, destinations.len() as u64 - 1) as usize];
        let destination = if at % 5 == 0 { rng.between(0, u64::from(u32::MAX)) as u32 } else { known };
        let mut frame = common::packet(destination, [64, 1, 0, 2][at % 4], &mut rng);
        match at % 7 {
            0 => frame.truncate(rng.between(0, 60) as usize),
            1 => frame[rng.between(0, 33) as usize] ^= 1 << rng.between(0, 7),
            2 => frame.extend([7; 900]),
            _ => {}
        }
        frames.push(frame);
    }
    for batch in frames.chunks(64) {
        let mut packets: Vec<Packet> =
            batch.iter().map(|frame| Packet::new(3, frame).expect("it fits")).collect();
        assert_eq!(engine.process(&mut packets, Time::ZERO), []);
        for (packet, frame) in packets.iter().zip(batch) {
            let got: Vec<Output> = match packet.fate() {
                Fate::Sent(port) => vec![Output { port, frame: packet.frame().to_vec() }],
                Fate::Dropped => vec![],
                Fate::Elsewhere => panic!("it was copied"),
            };
            assert_eq!(got, switch.process(3, frame, Time::ZERO));
        }
    }
    assert_eq!(engine.interpreted(), 0);
    assert_eq!(engine.switch().counters(), switch.counters());
    assert_eq!(engine.switch().state(), switch.state());
    assert!(switch.counters().sent > 500);
}

/// A difference that random programs do not reveal.
#[test]
fn another_checksum_is_noticed() {
    let program = common::program("router");
    let mut rng = Rng::new(7);
    let mut fate = |program: &ir::Program| {
        let mut engine = Engine::compile(program, Options::default()).expect("it compiles");
        let destinations = common::fill(engine.switch(), 5, &mut rng);
        let frame = common::packet(destinations[0], 64, &mut rng);
        let mut packets = [Packet::new(1, &frame).expect("it fits")];
        engine.process(&mut packets, Time::ZERO);
        packets[0].fate()
    };
    assert!(matches!(fate(&program), Fate::Sent(_)));
    let mut misread = program.clone();
    for ty in &mut misread.types {
        if let TypeKind::Enum(members) = &mut ty.kind
            && let [Some(sum), Some(xor)] =
                ["csum16", "xor16"].map(|name| members.iter().position(|member| member == name))
        {
            members.swap(sum, xor);
        }
    }
    assert_eq!(fate(&misread), Fate::Dropped);
}

#[test]
fn writes_are_seen_by_the_next_batch() {
    let program = common::program("router");
    let mut engine = Engine::compile(&program, Options::default()).expect("it compiles");
    let mut rng = Rng::new(5);
    let destinations = common::fill(engine.switch(), 10, &mut rng);
    let frame = common::packet(destinations[0], 64, &mut rng);
    let fate = |engine: &mut Engine| {
        let mut packets = [Packet::new(1, &frame).expect("it fits")];
        engine.process(&mut packets, Time::ZERO);
        packets[0].fate()
    };
    assert!(matches!(fate(&mut engine), Fate::Sent(_)));
    engine.switch().clear_tables();
    assert_eq!(fate(&mut engine), Fate::Dropped);
    common::fill(engine.switch(), 10, &mut Rng::new(5));
    assert!(matches!(fate(&mut engine), Fate::Sent(_)));
    let any = control_writes::Match::Lpm { value: base_bits::Bits::zero(32), prefix_len: 0 };
    engine.switch().clear_tables();
    engine.switch().table_add("routes", std::slice::from_ref(&any), "drop", &[], None).expect("a route");
    assert_eq!(fate(&mut engine), Fate::Dropped);
    engine.switch().table_delete("routes", &[any], None).expect("it is there");
    assert_eq!(engine.switch().counters().received, 4);
}
