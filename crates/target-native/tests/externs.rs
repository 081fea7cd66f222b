//! Externs that compiled code calls the runtime for: no statement is left to the interpreter, and nothing shows of that.

use crate::common;

use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use control_writes::{Match, Rate, Rates};
use dataplane_api::Device;
use device::{Options, Switch};
use std::sync::Arc;
use target_native::{Engine, Fate, Packet};

fn byte(value: u64) -> Bits {
    Bits::new(8, u128::from(value))
}

/// Members, groups, entries and rates; called again, it changes them.
fn fill(switch: &mut Switch, first: u64) {
    let rates =
        Rates { committed: Rate::per_second(20_000, 200), peak: Rate::per_second(60_000 + first, 400) };
    for cell in [0, 2] {
        switch.meter_set_rates("I.rates", cell, rates).expect("a meter");
    }
    let ports: Vec<u32> = (first..first + 3)
        .map(|port| switch.member_add("groups", "send", &[Bits::new(9, u128::from(port))]).expect("a member"))
        .collect();
    let group = switch.group_add("groups", &ports).expect("a group");
    let drop = switch.member_add("groups", "drop", &[]).expect("a member");
    let key = |value, mask| [Match::Ternary { value: byte(value), mask: byte(mask) }];
    let low = first as i64;
    switch.table_add_group("groups", &key(first % 2, 1), group, Some(low)).expect("an entry");
    switch.table_add_member("groups", &key(first % 8, 7), drop, Some(low + 1)).expect("an entry");
    switch.table_add_member("groups", &key(first % 8 + 1, 7), 77, Some(low + 2)).ok();
    let mark = switch.member_add("marks", "mark", &[byte(first + 100)]).expect("a member");
    for value in first..first + 3 {
        let key = [Match::Exact(byte(value % 16))];
        switch.table_add_member("marks", &key, mark, None).ok();
        if let Ok(handle) = switch.table_add("meters", &key, "metered", &[], None) {
            switch.direct_meter_set_rates("meters", handle, rates).expect("an entry's meter");
        }
    }
}

fn frames(rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut frame = |_| {
        let mut frame: Vec<u8> = (0..40).map(|_| rng.between(0, 255) as u8).collect();
        frame[0] %= 16;
        frame[2] %= 5;
        frame
    };
    (0..50).map(&mut frame).collect()
}

#[test]
fn they_do_what_the_interpreter_does() {
    let program = common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/externs.p4"));
    let mut engine = Engine::compile(&program, Options::default()).expect("it compiles");
    assert!(engine.report().compiled);
    assert_eq!(engine.report().fallbacks, []);
    let mut switch = ir_interp::switch(Arc::new(program), Options::default()).expect("a device");
    let mut rng = Rng::new(1);
    let (mut logged, mut digests) = (0, 0);
    for round in 0..40 {
        if round % 10 == 1 {
            fill(engine.switch(), round + 1);
            fill(&mut switch, round + 1);
        }
        let now = Time::ZERO + Duration::from_ms(round);
        let frames = frames(&mut rng);
        let mut packets: Vec<Packet> = frames.iter().map(|f| Packet::new(1, f).expect("it fits")).collect();
        assert_eq!(engine.process(&mut packets, now), []);
        for (packet, frame) in packets.iter().zip(&frames) {
            let got: Vec<_> = match packet.fate() {
                Fate::Sent(port) => vec![(port, packet.frame().to_vec())],
                _ => vec![],
            };
            let want = switch.process(1, frame, now);
            assert_eq!(got, want.into_iter().map(|o| (o.port, o.frame)).collect::<Vec<_>>(), "{frame:?}");
        }
        let log = switch.take_log();
        logged += log.len();
        assert_eq!(engine.switch().take_log(), log);
        let digests_of_interpreter = switch.take_digests();
        digests += digests_of_interpreter.len();
        assert_eq!(engine.switch().take_digests(), digests_of_interpreter);
    }
    assert_eq!(engine.interpreted(), 0);
    assert_eq!(engine.switch().state(), switch.state());
    assert_eq!(engine.switch().counters(), switch.counters());
    assert_eq!((logged, digests), (4000, 2000));
    let counters = switch.counters();
    assert!(counters.sent > 1000 && counters.dropped.values().sum::<u64>() > 30, "{counters:?}");
}
