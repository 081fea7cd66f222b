//! Lookups that are made before packets run, and checksums that go on from the sum that was verified: batches of all lengths give what the interpreter gives, while entries
//! come and go, and packets have other headers, are cloned and change in between.

use crate::common;

use base_bits::Bits;
use base_time::{Rng, Time};
use control_writes::Match;
use dataplane_api::{Device, Output};
use device::{Options, Session, Switch};
use std::sync::Arc;
use target_native::{Engine, Fate, Packet};

/// Addresses of which many are in use and many have a first part in common.
fn address(rng: &mut Rng) -> u32 {
    (rng.below(4) << 30 | rng.below(8) << 12 | rng.below(8) << 6 | rng.below(8)) as u32
}

fn exact(width: u32, value: u32) -> Match {
    Match::Exact(Bits::new(width, u128::from(value)))
}

fn prefix(rng: &mut Rng) -> Match {
    let prefix_len = [8, 18, 20, 24, 26, 30, 32][rng.below(7) as usize];
    let value = Bits::new(32, u128::from(address(rng) & u32::MAX << (32 - prefix_len)));
    Match::Lpm { value, prefix_len }
}

fn frame(rng: &mut Rng) -> Vec<u8> {
    let what = [0, 0, 0, 0, 0x10, 0x20, 0x40, 1, 2, 3, 4, 5, 6, 7][rng.below(14) as usize];
    let kind = [0x0800_u16, 0x0800, 0x0800, 0x8100, 0x1234][rng.below(5) as usize];
    let mut frame = vec![what, rng.below(2) as u8];
    frame.extend(kind.to_be_bytes());
    if kind == 0x8100 {
        frame.extend(address(rng).to_be_bytes());
    }
    let ip = frame.len();
    frame.extend([0x45, rng.below(3) as u8, 0, 20, 0, 0, 0, 0]);
    (0..8).for_each(|_| frame.extend(address(rng).to_be_bytes()));
    let sum: u32 = frame[ip..].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    let sum = if rng.below(10) == 0 { sum ^ 0x100 } else { sum };
    frame[ip + 4..ip + 6].copy_from_slice(&sum.to_be_bytes());
    if rng.below(20) == 0 {
        frame.truncate(rng.below(48) as usize);
    }
    frame
}

/// The same write on both.
fn write(switches: [&mut Switch; 2], table: &str, keys: &[Match], action: &str, arg: Bits) {
    for switch in switches {
        if switch.table_add(table, keys, action, std::slice::from_ref(&arg), None).is_err() {
            switch.table_delete(table, keys, None).expect("it is there");
        }
    }
}

#[test]
fn batches_are_what_the_interpreter_gives() {
    // Keys that may have been written are not looked up early. Where a clone may want the packet as it came, headers are copied, and no key is in the frame.
    for (macros, early) in [(&[][..], 2), (&["FEW"], 1), (&["CLONES"], 0)] {
        batches(macros, early);
    }
}

fn batches(macros: &[&str], early: usize) {
    let program = common::program_with(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/early.p4"), macros);
    let mut engine = Engine::compile(&program, Options::default()).expect("it compiles");
    assert_eq!(engine.report().early, early);
    let mut switch = ir_interp::switch(Arc::new(program), Options::default()).expect("a device");
    for switch in [engine.switch(), &mut switch] {
        switch.clone_session_set(2, Some(Session { port: Some(9), ..Session::default() }));
    }
    let mut rng = Rng::new(4);
    let mut sent = [0; 20];
    for round in 0..60 {
        for _ in 0..60 {
            let keys =
                [exact(32, address(&mut rng)), exact(32, address(&mut rng)), exact(8, rng.below(2) as u32)];
            let to = Bits::new(32, u128::from(address(&mut rng)));
            if !macros.contains(&"FEW") {
                write([engine.switch(), &mut switch], "sessions", &keys, "rewrite", to);
            }
            let port = Bits::new(9, u128::from(rng.between(2, 8)));
            write([engine.switch(), &mut switch], "routes", &[prefix(&mut rng)], "route", port);
            let pad = Bits::new(16, u128::from(rng.below(1000)));
            write([engine.switch(), &mut switch], "late", &[prefix(&mut rng)], "note", pad);
        }
        let frames: Vec<Vec<u8>> = (0..1 + (7 * round) % 45).map(|_| frame(&mut rng)).collect();
        let mut packets: Vec<Packet> =
            frames.iter().map(|frame| Packet::new(3, frame).expect("it fits")).collect();
        let mut copies = engine.process(&mut packets, Time::ZERO).into_iter();
        for (packet, frame) in packets.iter().zip(&frames) {
            let wanted = switch.process(3, frame, Time::ZERO);
            let got: Vec<Output> = match packet.fate() {
                Fate::Sent(port) => vec![Output { port, frame: packet.frame().to_vec() }],
                Fate::Dropped => vec![],
                Fate::Elsewhere => copies.by_ref().take(wanted.len()).collect(),
            };
            assert_eq!(got, wanted, "round {round}: {frame:02x?}");
            wanted.iter().for_each(|output| sent[output.port as usize] += 1);
        }
        assert_eq!(copies.next(), None);
    }
    assert_eq!(engine.switch().state(), switch.state());
    let ports = if early > 0 { 1..=8 } else { 1..=9 };
    assert!(sent[ports].iter().all(|frames| *frames > 10), "{sent:?}");
}
