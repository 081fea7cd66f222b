//! Programs of so many headers that their pointers and validities are not in variables, but in the frame, where what one packet left must not reach the next.

use crate::common;

use base_time::{Rng, Time};
use device::Options;
use std::collections::BTreeSet;
use std::sync::Arc;
use target_native::Engine;

#[test]
fn a_packet_leaves_nothing_in_headers_of_the_next() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/many_headers.p4");
    let program = Arc::new(common::program_at(path));
    let engine = Engine::compile(&program, Options::default()).expect("it compiles");
    assert_eq!(engine.report().fallbacks, []);
    let mut native = engine.into_switch();
    let mut switch = ir_interp::switch(program, Options::default()).expect("a device");
    for switch in [&mut native, &mut switch] {
        switch.multicast_group_set(1, vec![(4, 1), (5, 3)]);
    }
    let mut rng = Rng::new(12);
    let mut done = BTreeSet::new();
    for _ in 0..6_000 {
        let present = rng.between(0, 0xfff) & rng.between(0, 0xfff);
        let mut frame = (present as u16).to_be_bytes().to_vec();
        let kinds: Vec<u8> = (0..4).map(|_| rng.between(0, 9) as u8).collect();
        // Few headers, so that steps meet.
        let first = rng.between(0, 11);
        let which: Vec<u8> =
            (0..4).map(|_| ((first + [0, 0, 5, 7][rng.between(0, 3) as usize]) % 12) as u8).collect();
        frame.extend(&kinds);
        frame.extend(&which);
        frame.extend([0, 0]);
        // Sometimes too short for the last header.
        let bytes = 3 * present.count_ones() as usize + rng.between(0, 20) as usize;
        frame.extend((2..bytes).map(|_| rng.between(0, 255) as u8));
        let want = switch.process(1, &frame, Time::ZERO);
        assert_eq!(native.process(1, &frame, Time::ZERO), want, "{frame:02x?}");
        done.extend(kinds.iter().zip(&which).map(|(kind, which)| (*kind, present >> which & 1)));
    }
    // Each kind of step, of headers that were there and others.
    assert_eq!(done.len(), 20);
}
