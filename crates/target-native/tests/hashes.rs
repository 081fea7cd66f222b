//! Parameters of custom CRCs, for each call: machine code and interpreter beside a check bit by bit.

use crate::common;

use base_diag::Span;
use base_time::Time;
use control_writes::Crc;
use device::{Options, Switch};
use std::sync::Arc;
use target_native::{Engine, Shared};

/// Names of the calls, with the field each writes (offset and bytes).
const CALLS: [(&str, usize, usize); 7] = [
    ("calc", 16, 4),
    ("calc_0", 12, 4),
    ("calc_1", 4, 2),
    ("calc_2", 8, 2),
    ("calc_3", 6, 2),
    ("calc_4", 10, 2),
    ("calc_5", 20, 2),
];

fn crc(polynomial: u32) -> Crc {
    Crc { polynomial, initial: 0, final_xor: 0, reflect_data: false, reflect_remainder: false }
}

/// The remainder of the message polynomial, not reflected, from and with zero.
fn remainder(polynomial: u32, width: u32, data: &[u8]) -> u32 {
    let mut value: u128 = data.iter().fold(0, |value, byte| value << 8 | u128::from(*byte)) << width;
    let divisor = u128::from(polynomial) | 1 << width;
    for at in (width..128).rev() {
        if value >> at & 1 == 1 {
            value ^= divisor << (at - width);
        }
    }
    value as u32
}

fn engines() -> [Switch; 2] {
    engines_of(common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hashes.p4")))
}

fn engines_of(program: ir::Program) -> [Switch; 2] {
    let program = Arc::new(program);
    let engine = Engine::compile(&program, Options::default()).expect("it compiles");
    assert_eq!(engine.report().fallbacks, []);
    // Workers' switches have the names, too.
    let shared = Shared::new(&program, Options::default()).expect("a device");
    let engines = [engine.into_switch(), ir_interp::switch(program, Options::default()).expect("a device")];
    assert_eq!(shared.lock().calculations(), engines[1].calculations());
    engines
}

#[test]
fn each_call_has_its_own_parameters() {
    for mut switch in engines() {
        let known = switch.calculations();
        let names: Vec<&str> = known.iter().map(|of| of.name.as_str()).collect();
        assert_eq!(names, CALLS.map(|(name, ..)| name));
        assert!(known.iter().all(|of| of.call != Span::NONE));
        for ((name, _, bytes), at) in CALLS.iter().zip(0..) {
            let width = 8 * *bytes as u32;
            switch
                .set_custom_crc(Some(name), width, crc(0x1021 + 2 * at))
                .expect("there is this calculation");
        }
        let (key, frame) = (KEY, frame());
        check(&mut switch, &[0, 1, 2, 3, 4, 5, 6]);
        // Parameters of all calls replace those of each.
        switch.set_custom_crc(None, 16, crc(0x8005)).expect("all");
        let sent = switch.process(0, &frame, Time::ZERO)[0].frame.clone();
        let want = (remainder(0x8005, 16, &key) as u16).to_be_bytes();
        assert!([4, 6, 8, 10, 20].iter().all(|at| sent[*at..at + 2] == want), "{sent:x?}");
        assert_eq!(sent[16..20], remainder(0x1021, 32, &key).to_be_bytes());
    }
}

const KEY: [u8; 4] = [0xde, 0xad, 0xbe, 0xef];

fn frame() -> Vec<u8> {
    [&KEY[..], &[0; 18]].concat()
}

/// Each call has the polynomial of this number.
fn check(switch: &mut Switch, numbers: &[u32; 7]) {
    let sent = switch.process(0, &frame(), Time::ZERO)[0].frame.clone();
    for ((name, from, bytes), at) in CALLS.iter().zip(numbers) {
        let got = sent[*from..from + bytes].iter().fold(0, |value, byte| value << 8 | u32::from(*byte));
        assert_eq!(got, remainder(0x1021 + 2 * at, 8 * *bytes as u32, &KEY), "{name}");
    }
}

#[test]
fn annotations_set_the_parameters_of_calls() {
    let mut program = common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hashes.p4"));
    for ((name, _, bytes), at) in CALLS.iter().zip(0..) {
        let width = 8 * *bytes as u32;
        assert!(device::annotate_crc(&mut program, Some(name), width, crc(0x1021 + 2 * at)), "{name}");
    }
    assert!(!device::annotate_crc(&mut program, Some("calc_6"), 16, crc(1)));
    for mut switch in engines_of(program.clone()) {
        check(&mut switch, &[0, 1, 2, 3, 4, 5, 6]);
    }
    // Those of one call replace those of all.
    let mut all = common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hashes.p4"));
    assert!(device::annotate_crc(&mut all, None, 16, crc(0x1021)));
    assert!(device::annotate_crc(&mut all, None, 32, crc(0x1023)));
    assert!(device::annotate_crc(&mut all, Some("calc_2"), 16, crc(0x1025)));
    // A block in a block: the inner one counts.
    assert!(device::annotate_crc(&mut all, Some("calc_4"), 16, crc(0x1027)));
    assert!(device::annotate_crc(&mut all, Some("calc_4"), 16, crc(0x1029)));
    for mut switch in engines_of(all.clone()) {
        check(&mut switch, &[1, 1, 0, 2, 0, 4, 0]);
    }
}

#[test]
fn other_names_are_refused() {
    for mut switch in engines() {
        let error = switch.set_custom_crc(Some("calc_6"), 16, crc(1)).expect_err("there is none");
        assert_eq!(error.message, "there is no calculation with `crc16_custom` `calc_6`");
        assert!(switch.set_custom_crc(Some("calc"), 16, crc(1)).is_err(), "it has 32 bits");
    }
}
