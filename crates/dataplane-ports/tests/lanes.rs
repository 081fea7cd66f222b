//! Lanes: results leave in order, every loss is counted, and the owner changes a lane between two batches.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use base_diag::SourceMap;
use base_time::{Rng, Time};
use dataplane_api::Device;
use dataplane_ports::{Cable, Lanes, Passed, Path, cable};
use device::{Options, Session, Switch};
use p4_arch::Texts;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use target_native::Shared;

/// A program that clones, replicates, resubmits and recirculates.
fn program() -> ir::Program {
    let source = include_str!("../../target-native/tests/copies.p4");
    let (texts, options) = ([("copies.p4", source)], p4_syntax::Options::default());
    ir_elaborate::program("copies.p4", &Texts(&texts), &options, &mut SourceMap::new()).unwrap()
}

fn fill(switch: &mut Switch) {
    let session = |port, group| Some(Session { port, group, ..Session::default() });
    switch.multicast_group_set(1, vec![(4, 1), (5, 3), (6, 9)]);
    switch.multicast_group_set(3, vec![(7, 2)]);
    switch.clone_session_set(2, session(Some(8), Some(1)));
    switch.clone_session_set(5, session(Some(9), None));
    switch.clone_session_set(6, session(None, Some(3)));
}

fn shared() -> Shared {
    let shared = Shared::new(&program(), Options::default()).unwrap();
    shared.write(fill);
    shared
}

/// One in ten is too long for a packet's buffer.
fn frames(count: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(1);
    let mut frame = |at: usize| {
        let length = if at % 10 == 9 { 2000 } else { rng.between(1, 60) };
        (0..length).map(|_| rng.between(0, 255) as u8).collect()
    };
    (0..count).map(&mut frame).collect()
}

/// A device with cables on its ports, with their other ends.
fn device(ports: impl Iterator<Item = u32>, lanes: usize) -> (Lanes, BTreeMap<u32, Cable>) {
    let (inside, outside): (Vec<_>, BTreeMap<_, _>) = ports
        .map(|port| {
            let (inside, outside) = cable(1 << 14);
            ((port, inside), (port, outside))
        })
        .unzip();
    (Lanes::open(&[], inside, lanes, 1 << 14, Instant::now()).unwrap(), outside)
}

/// Frames that leave by each port, until none do.
fn drain(outside: &mut BTreeMap<u32, Cable>, until: impl Fn() -> bool) -> BTreeMap<u32, Vec<Vec<u8>>> {
    let mut all: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let is_over = until() || Instant::now() > end;
        for (port, cable) in &mut *outside {
            while let Some(frame) = cable.receive() {
                all.entry(*port).or_default().push(frame);
            }
        }
        if is_over {
            return all;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_comes_of_frames_leaves_each_port_in_order() {
    let mut switch = ir_interp::switch(Arc::new(program()), Options::default()).unwrap();
    fill(&mut switch);
    let frames = frames(2000);
    let mut want: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    let (mut left, mut elsewhere) = (0, 0);
    let (lanes, mut outside) = device(1..9, 2);
    for frame in &frames {
        for output in switch.process(1, frame, Time::ZERO) {
            left += 1;
            match outside.contains_key(&output.port) {
                true => want.entry(output.port).or_default().push(output.frame),
                false => elsewhere += 1,
            }
        }
    }
    assert!(want.len() > 4 && elsewhere > 0, "{:?} {elsewhere}", want.keys());
    let shared = shared();
    lanes.set(Some(&Path::new(shared.clone(), None)), |_| ());
    frames.iter().for_each(|frame| assert!(outside.get_mut(&1).unwrap().send(frame)));
    let received = || lanes.counts().get(&1).is_some_and(|count| count.received == frames.len() as u64);
    assert_eq!(drain(&mut outside, received), want);
    assert_eq!(lanes.counts().values().map(|count| count.sent).sum::<u64>(), left);
    assert_eq!(shared.lock().counters().received, frames.len() as u64);
    assert_eq!(lanes.ports().lost() + lanes.lost(), 0);
}

/// Whether the lane runs the frames or passes them on.
#[test]
fn frames_that_look_like_hand_overs_are_counted() {
    let hand_over = |length: usize| {
        let mut frame = vec![0; length];
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        frame
    };
    for runs in [false, true] {
        let (lanes, mut outside) = device(1..4, 1);
        if runs {
            lanes.set(Some(&Path::new(shared(), None)), |_| ());
        }
        // The third is too long for a packet's buffer.
        for length in [14, 60, 2000] {
            assert!(outside.get_mut(&1).unwrap().send(&hand_over(length)));
        }
        let turned = [vec![0; 12], vec![0xb5, 0x88], vec![0; 46]].concat();
        let short = [vec![0; 12], vec![0x88]].concat();
        for frame in [turned, short, vec![0x88, 0xb5]] {
            assert!(outside.get_mut(&2).unwrap().send(&frame));
        }
        assert!(outside.get_mut(&3).unwrap().send(&hand_over(60)));
        let expected = BTreeMap::from([(1, 3), (3, 1)]);
        let count = || lanes.counts().values().map(|count| count.received).sum::<u64>();
        drain(&mut outside, || lanes.hand_overs() == expected && (!runs || count() == 7));
        assert_eq!(lanes.hand_overs(), expected, "{runs}");
    }
}

#[test]
fn frames_of_many_ports_are_run_together_and_stay_in_order() {
    for count in [1, 3] {
        let (lanes, mut outside) = device(1..21, count);
        lanes.set(Some(&Path::new(shared(), None)), |_| ());
        // One port has many frames, the others a few each; some frames are too long for a packet's buffer.
        let (mut rng, mut came) = (Rng::new(2), [0, 8].map(|_| BTreeMap::<u32, Vec<u8>>::new()));
        let mut received = BTreeMap::<u32, u64>::new();
        for number in 0..4000u32 {
            let port = if rng.between(0, 2) == 0 { rng.between(1, 20) as u32 } else { 7 };
            // Of six bytes, the first says whether the frame leaves on port 2 or as copies on ports 4, 5 and 6; then the sender and a number.
            let what = rng.index(2);
            let mut frame = vec![8 * what as u8, 0, what as u8, 0, 0, 0, port as u8, number as u8];
            frame.resize(if rng.between(0, 30) == 0 { 2000 } else { 60 }, 0);
            came[what].entry(port).or_default().push(frame[7]);
            *received.entry(port).or_default() += 1;
            assert!(outside.get_mut(&port).unwrap().send(&frame));
        }
        let done = || {
            let counts = lanes.counts();
            received.iter().all(|(port, n)| counts.get(port).is_some_and(|count| count.received == *n))
        };
        let mut left = drain(&mut outside, done);
        for (port, want) in [(2, &came[0]), (4, &came[1]), (5, &came[1]), (6, &came[1])] {
            let mut got = BTreeMap::<u32, Vec<u8>>::new();
            let frames = left.remove(&port).unwrap();
            assert_eq!(lanes.counts()[&port].sent, frames.len() as u64);
            for frame in frames {
                got.entry(frame[6].into()).or_default().push(frame[7]);
            }
            assert!(got == *want, "frames are lost or out of order: port {port}, {count} lanes");
        }
        assert_eq!((left.len(), lanes.ports().lost() + lanes.lost()), (0, 0));
    }
}

/// The port and the frame that were passed on.
fn frame<E: std::fmt::Debug>(passed: Result<Passed, E>) -> (u32, Vec<u8>) {
    match passed {
        Ok(Passed::Frame(port, _, frame)) => (port, frame),
        other => panic!("{other:?}"),
    }
}

#[test]
fn frames_wait_while_none_may_be_run_and_come_first_then() {
    let (lanes, mut outside) = device([1].into_iter(), 1);
    let numbered = |n: u32| n.to_be_bytes().to_vec();
    (0..500).for_each(|n| assert!(outside.get_mut(&1).unwrap().send(&numbered(n))));
    let end = Instant::now() + Duration::from_secs(60);
    while lanes.passed().len() < 500 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut passed = vec![];
    lanes.set(Some(&Path::new(shared(), None)), |one| passed.push(frame::<()>(Ok(one))));
    assert_eq!(passed, (0..500).map(|n| (1, numbered(n))).collect::<Vec<_>>());
    assert_eq!(lanes.counts().len(), 0);
    assert!(outside.get_mut(&1).unwrap().send(&numbered(500)));
    drain(&mut outside, || lanes.counts().get(&1).is_some_and(|count| count.received == 1));
    assert_eq!(lanes.passed().len(), 0);
    lanes.set(None, |_| panic!("nothing has waited"));
    assert!(outside.get_mut(&1).unwrap().send(&numbered(501)));
    let last = lanes.passed().recv_timeout(Duration::from_secs(60));
    assert_eq!(frame(last), (1, numbered(501)));
}

#[test]
fn a_port_that_the_program_cannot_number_is_left_to_the_switch() {
    let (lanes, mut outside) = device([1, 512].into_iter(), 1);
    lanes.set(Some(&Path::new(shared(), None)), |_| ());
    assert!(outside.get_mut(&512).unwrap().send(&[1; 60]));
    let passed = lanes.passed().recv_timeout(Duration::from_secs(60));
    assert_eq!(frame(passed), (512, vec![1; 60]));
}

#[test]
fn what_finds_no_room_is_counted() {
    let (inside, mut outside) = cable(1 << 14);
    let (narrow, mut end) = cable(8);
    let cables = vec![(1, inside), (4, narrow)];
    let lanes = Lanes::open(&[], cables, 1, 1 << 14, Instant::now()).unwrap();
    lanes.set(Some(&Path::new(shared(), None)), |_| ());
    let frames = frames(2000);
    frames.iter().for_each(|frame| assert!(outside.send(frame)));
    let counts = || lanes.counts();
    let mut outside = BTreeMap::from([(1, outside)]);
    let done = || counts().get(&1).is_some_and(|count| count.received == frames.len() as u64);
    drain(&mut outside, done);
    let left = std::iter::from_fn(|| end.receive()).count() as u64;
    assert_eq!(left, 8);
    assert_eq!(lanes.ports().lost(), counts()[&4].sent - left);
    assert!(lanes.ports().lost() > 0);
}

#[test]
fn an_end_that_is_gone_is_seen() {
    let (lanes, mut outside) = device([1, 2].into_iter(), 1);
    assert_eq!(lanes.links(), BTreeMap::from([(1, true), (2, true)]));
    outside.remove(&2);
    let end = Instant::now() + Duration::from_secs(60);
    while lanes.links()[&2] && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(lanes.links(), BTreeMap::from([(1, true), (2, false)]));
}
