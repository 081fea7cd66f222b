//! Headers of variable length as machine code.

use crate::common;

use base_time::{Rng, Time};
use dataplane_api::Device;
use device::Options;
use ir::{Type, TypeKind};
use std::sync::Arc;
use target_native::Engine;

/// Frames with lengths that are right, odd, too long for the type, and too long for the frame.
fn frames() -> Vec<Vec<u8>> {
    let mut rng = Rng::new(1);
    let mut frame = |_| {
        let mut frame: Vec<u8> = (0..rng.between(0, 40)).map(|_| rng.between(0, 255) as u8).collect();
        let mut length = || [0, 8, 24, 96, 97, 104, 200, 12][rng.index(8)];
        let (first, second) = (length(), length());
        if let Some(bits) = frame.first_mut() {
            *bits = first;
        }
        if let Some(bits) = frame.get_mut(3 + usize::from(first) / 8) {
            *bits = second;
        }
        frame
    };
    (0..4000).map(&mut frame).collect()
}

#[test]
fn they_are_extracted_copied_and_emitted_without_the_interpreter() {
    let program = Arc::new(common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/varbit.p4")));
    let engine = Engine::compile(&program, Options::default()).expect("it compiles");
    assert_eq!(engine.report().fallbacks, []);
    let mut native = engine.into_switch();
    let mut misread = program.as_ref().clone();
    for ty in &mut misread.types {
        if let TypeKind::Header(fields) = &mut ty.kind {
            fields.iter_mut().for_each(|field| {
                if let Type::Varbit(most) = &mut field.ty {
                    *most += 8;
                }
            });
        }
    }
    let mut wrong = Engine::compile(&misread, Options::default()).expect("it compiles").into_switch();
    let mut switch = ir_interp::switch(program, Options::default()).expect("a device");
    let (mut differ, mut longest) = (0, 0);
    for frame in frames() {
        let want = switch.process(1, &frame, Time::ZERO);
        assert_eq!(native.process(1, &frame, Time::ZERO), want, "{frame:?}");
        differ += u32::from(wrong.process(1, &frame, Time::ZERO) != want);
        longest = longest.max(want[0].frame.len());
        let queued = native.ingress(1, frame.clone(), Time::ZERO);
        assert_eq!(native.drain(queued, Time::ZERO), want, "{frame:?}");
    }
    assert!(differ > 20 && longest > 40, "{differ} {longest}");
}
