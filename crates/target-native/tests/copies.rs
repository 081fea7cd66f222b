//! Packets that are cloned, replicated, resubmitted and recirculated run as machine code to their ends: nothing shows of that.

use crate::common;

use base_time::{Duration, Rng, Time};
use dataplane_api::{Device, Output};
use device::{Driver, Options, Session, Switch};
use std::sync::Arc;
use target_native::{Engine, Fate, Packet};

fn program() -> ir::Program {
    common::program_at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/copies.p4"))
}

fn session(port: Option<u32>, group: Option<u32>) -> Session {
    Session { port, group, ..Session::default() }
}

fn fill(switch: &mut Switch) {
    switch.multicast_group_set(1, vec![(4, 1), (5, 3), (6, 9)]);
    switch.multicast_group_set(3, vec![(7, 2)]);
    switch.clone_session_set(2, Some(session(Some(8), Some(1))));
    switch.clone_session_set(5, Some(session(Some(9), None)));
    switch.clone_session_set(6, Some(session(None, Some(3))));
}

/// Sessions cut their clones, in the headers, in the payload and not at all, and give them a class of service; members of groups
/// have backups, and ports are down.
fn fill_short(switch: &mut Switch) {
    fill(switch);
    let cut = |session: Session, most: u32, class_of_service: u8| {
        Some(Session { max_length: Some(most), class_of_service, ..session })
    };
    switch.clone_session_set(2, cut(session(Some(8), Some(1)), 3, 7));
    switch.clone_session_set(5, cut(session(Some(9), None), 20, 2));
    switch.clone_session_set(6, cut(session(None, Some(3)), 1000, 0));
    switch.multicast_backups_set(1, vec![vec![(10, 1), (11, 2)], vec![], vec![(12, 5)]]);
    for port in [4, 10, 5, 6] {
        switch.port_set(port, false);
    }
}

/// One in ten is too long for a buffer.
fn frames() -> Vec<Vec<u8>> {
    let mut rng = Rng::new(1);
    let mut frame = |at: usize| {
        let length = if at % 10 == 9 { 2000 } else { rng.between(0, 60) };
        (0..length).map(|_| rng.between(0, 255) as u8).collect()
    };
    (0..2000).map(&mut frame).collect()
}

#[test]
fn in_batches() {
    let mut engine = Engine::compile(&program(), Options::default()).expect("it compiles");
    assert_eq!(engine.report().fallbacks, []);
    let mut switch = ir_interp::switch(Arc::new(program()), Options::default()).expect("a device");
    fill(engine.switch());
    fill(&mut switch);
    let frames: Vec<Vec<u8>> = frames().into_iter().filter(|frame| frame.len() < 100).collect();
    for batch in frames.chunks(20) {
        let mut packets: Vec<Packet> = batch.iter().map(|f| Packet::new(1, f).expect("it fits")).collect();
        let mut others = engine.process(&mut packets, Time::ZERO).into_iter();
        for (packet, frame) in packets.iter().zip(batch) {
            let want = switch.process(1, frame, Time::ZERO);
            let got: Vec<Output> = match packet.fate() {
                Fate::Sent(port) => vec![Output { port, frame: packet.frame().to_vec() }],
                Fate::Dropped => vec![],
                Fate::Elsewhere => others.by_ref().take(want.len()).collect(),
            };
            assert_eq!(got, want, "{frame:?}");
        }
        assert_eq!(others.next(), None);
    }
    assert_eq!(engine.interpreted(), 0);
    assert_eq!(engine.switch().state(), switch.state());
    assert_eq!(engine.switch().counters(), switch.counters());
    let counters = switch.counters();
    assert!(counters.created > 1000 && counters.dropped.len() > 2, "{counters:?}");
}

#[test]
fn in_queues() {
    check_queues(fill);
}

#[test]
fn in_queues_and_cut() {
    let whole = check_queues(fill);
    let cut = check_queues(fill_short);
    assert!(cut < whole, "{cut} bytes of {whole}");
}

/// Checks that both engines send the same frames. Returns the bytes of these.
fn check_queues(fill: fn(&mut Switch)) -> usize {
    let mut native = Engine::compile(&program(), Options::default()).expect("it compiles").into_switch();
    let mut switch = ir_interp::switch(Arc::new(program()), Options::default()).expect("a device");
    let mut sent = vec![];
    for switch in [&mut native, &mut switch] {
        fill(switch);
        let mut driver = Driver::new(switch);
        for (number, frame) in frames().iter().enumerate() {
            driver.packet(1, frame, Time::ZERO + Duration::from_us(number as u64));
        }
        driver.finish();
        sent.push(driver.take_sent());
    }
    assert_eq!(sent[0], sent[1]);
    assert_eq!((native.counters(), native.state()), (switch.counters(), switch.state()));
    assert!(sent[0].len() > 2000);
    sent[0].iter().map(|(_, out)| out.frame.len()).sum()
}
