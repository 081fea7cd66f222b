//! Lookaheads of more than 128 bits as machine code, if slices or fields of them are read.

use crate::common;

use base_time::{Rng, Time};
use device::Options;
use std::collections::BTreeSet;
use std::sync::Arc;
use target_native::Engine;

#[test]
fn wide_lookaheads_need_no_interpreter() {
    let program = Arc::new(common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lookahead.p4")));
    let engine = Engine::compile(&program, Options::default()).expect("it compiles");
    assert_eq!(engine.report().fallbacks, []);
    let mut native = engine.into_switch();
    let mut switch = ir_interp::switch(program, Options::default()).expect("a device");
    let mut rng = Rng::new(1);
    let mut seen = BTreeSet::new();
    for number in 0..6000 {
        // Every length, so that each lookahead ends before, at and after the end of a packet.
        let frame: Vec<u8> = (0..number % 60).map(|_| rng.between(0, 255) as u8).collect();
        let want = switch.process(1, &frame, Time::ZERO);
        assert_eq!(native.process(1, &frame, Time::ZERO), want, "{frame:02x?}");
        let is_short = want[0].frame[19] & 0x80 != 0;
        seen.insert((frame.len() > 17).then(|| (frame[17] / 100, is_short)));
    }
    // Both states of lookaheads, with packets that are long enough and others; packets too short for the first; all others.
    assert_eq!(seen.len(), 6, "{seen:?}");
}
