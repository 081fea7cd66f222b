//! Value externs: machine code calls them itself.

use crate::common;

use base_time::{Duration, Rng, Time};
use dataplane_api::{Device, Output, Registry};
use device::Options;
use std::sync::Arc;
use target_native::Engine;

fn program() -> Arc<ir::Program> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../ir-interp/testdata/values.p4");
    Arc::new(common::program_at(path))
}

fn options() -> Options {
    let mut registry = Registry::default();
    netfn_values::register(&mut registry);
    Options { registry, ..Options::default() }
}

/// Frames with `op` for the operation, a port, and numbers of which many are alike.
fn frames() -> Vec<Vec<u8>> {
    let mut rng = Rng::new(1);
    let frame = |_| {
        let small = rng.chance(1, 2);
        let (a, b) = (
            rng.below(if small { 4 } else { 1 << 16 }) as u16,
            rng.below(1 << if small { 8 } else { 32 }) as u32,
        );
        [&[rng.between(1, 8) as u8, rng.below(8) as u8], &a.to_be_bytes()[..], &b.to_be_bytes()].concat()
    };
    (0..4000).map(frame).collect()
}

#[test]
fn code_calls_them_as_the_interpreter_does() {
    let mut interpreter = ir_interp::switch(program(), options()).expect("a device");
    let engine = Engine::compile(&program(), options()).expect("it compiles");
    assert!(engine.report().compiled);
    // Numbers of more than 128 bits are the interpreter's.
    assert_eq!(engine.report().fallbacks.len(), 1, "{:?}", engine.report().fallbacks);
    let mut native = engine.into_switch();
    for (number, frame) in frames().iter().enumerate() {
        let at = Time::ZERO + Duration::from_us(number as u64);
        let [want, got]: [Vec<Output>; 2] =
            [&mut interpreter, &mut native].map(|switch| switch.process(0, frame, at));
        assert_eq!(got, want, "{frame:02x?}");
    }
    let state = native.state();
    assert_eq!(state.keys().map(String::as_str).collect::<Vec<_>>(), ["I.average", "I.other", "I.path"]);
    assert_eq!((native.counters(), state), (interpreter.counters(), interpreter.state()));
}
