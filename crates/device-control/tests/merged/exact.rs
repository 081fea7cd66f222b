//! Sums are exact once traffic stops, whatever happened before, and the messages are few.

use crate::program::{counts, sums};
use crate::rig::{CELLS, Faults, HARD, Rig, TIMING};
use base_time::Duration;
use features::setting;

/// Runs that must all be exact, of each number of helpers. The long form takes minutes for each number: one, `P4RACK_HELPERS`, may be
/// chosen.
fn exact(text: &str, faults: Faults, steps: u64) {
    let steps = if features::is_long() { steps } else { steps / 2 };
    let only = setting("P4RACK_HELPERS", 0);
    let mut restarts = 0;
    let numbers = if features::is_long() { &[1, 2, 3, 4, 16][..] } else { &[1, 3, 16] };
    for helpers in numbers.iter().copied().filter(|n| only == 0 || only == u64::from(*n)) {
        for seed in features::seeds(1, 240) {
            let mut rig = Rig::new(text, helpers, seed);
            let ended = rig.run(faults, steps);
            ended.unwrap_or_else(|error| panic!("seed {seed}, {helpers} helpers: {error}"));
            restarts += rig.restarts;
        }
    }
    assert!(restarts > 0);
}

#[test]
fn copies_are_exact_once_traffic_stops_whatever_is_lost_doubled_reordered_or_restarted() {
    exact(&sums(), HARD, 1_000);
}

#[test]
fn copies_of_counters_are_exact_once_traffic_stops_whatever_happens() {
    exact(&counts(), HARD, 1_000);
}

#[test]
fn copies_are_exact_when_controllers_are_killed_too() {
    exact(&sums(), Faults { kill: 200, restart: 400, ..HARD }, 1_000);
}

#[test]
fn nothing_is_lost_without_restarts() {
    let mut rig = Rig::new(&sums(), 3, 1);
    rig.run(Faults { restart: 0, ..HARD }, 1_000).unwrap();
    let cells: Vec<_> = (0..CELLS).map(|cell| rig.cell(2, cell).unwrap()).collect();
    assert_eq!(cells, rig.truth.values().copied().collect::<Vec<_>>());
    assert!(rig.truth.values().sum::<u128>() > 1_000);
}

#[test]
fn traffic_is_proportional_to_what_changed() {
    const MANY: u64 = 127_000;
    let text = sums().replace(&format!("({CELLS}) seen"), &format!("({MANY}) seen"));
    let text = text.replace("bit<8> a;", "bit<32> a;").replace("(bit<32>)hdr.h.a", "hdr.h.a");
    let mut rig = Rig::new(&text, 1, 1);
    rig.checks = false;
    let count = |rig: &mut Rig, cell: u64| {
        let frame = [&(cell as u32).to_be_bytes()[..], &[7, 0, 0, 0, 1], &[0; 60]].concat();
        let target = rig.agents[0].target().unwrap();
        for out in target.process(3, &frame, rig.now) {
            let (next, entry) = rig.wires[&(0, out.port)];
            rig.agents[next].target().unwrap().process(entry, &out.frame, rig.now);
        }
    };
    let per_round = |rig: &mut Rig, changed: u64| {
        (0..changed).for_each(|n| count(rig, n * 127));
        let before = rig.controller.merge_traffic();
        rig.pass(TIMING.merge).unwrap();
        let after = rig.controller.merge_traffic();
        assert_eq!(after.rounds - before.rounds, 1);
        8 * (after.bytes - before.bytes)
    };
    // 14,112 of the cells, the last one that changes later among them.
    (0..MANY).step_by(9).for_each(|cell| count(&mut rig, cell));
    rig.pass(Duration::from_ms(20)).unwrap();
    let idle = per_round(&mut rig, 0);
    let busy = per_round(&mut rig, 1_000);
    // By default a round is begun every second.
    eprintln!("bits in a round: {idle} idle, {busy} with 1,000 changed");
    assert!(idle < 10_000, "{idle} bits");
    assert!(busy < 400_000, "{busy} bits");
    rig.pass(Duration::from_ms(1)).unwrap();
    assert_eq!([0, 1].map(|device| rig.cell(device, 126_873)), [Some(2); 2]);
}
