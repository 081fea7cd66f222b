//! Programs of any size run: those for which compiling would take minutes and gigabytes by the interpreter.

use crate::common;
use base_time::Time;
use device::Options;
use target_native::Engine;

#[test]
fn programs_that_are_too_large_are_interpreted() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/size.p4");
    for (times, doublings, compiled) in [("TIMES=A4", 4, true), ("TIMES=A15", 15, false)] {
        let program = common::program_with(path, &[times]);
        let engine =
            Engine::compile(&program, Options::default()).expect("no program is refused for its size");
        assert_eq!(engine.report().compiled, compiled, "{times}");
        let mut switch = engine.into_switch();
        for start in [0, 5, 0xdead_beef_u32] {
            let next =
                |value: u32| if value & 7 == 5 { value.wrapping_add(10) } else { value.wrapping_mul(3) };
            let wanted = (0..1 << doublings).fold(start, |value, _| next(value));
            let frame = [&start.to_be_bytes()[..], &[0; 12]].concat();
            let outputs = switch.process(1, &frame, Time::ZERO);
            let wanted = [&wanted.to_be_bytes()[..], &[0; 12]].concat();
            assert!(
                matches!(&outputs[..], [output] if output.frame == wanted),
                "{times}, {start}: {outputs:?}"
            );
        }
    }
}
