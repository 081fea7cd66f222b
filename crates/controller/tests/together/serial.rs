//! Several clients at once, over channels that refuse, lose and interrupt requests: the result equals that of the
//! successful calls, one after the other in order.

use crate::rig::{Passage, Rig, entry, request};
use base_time::{Duration, Rng};
use controller::{Call, Steer, Ticket};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Entity, WriteRequest};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

const KINDS: [&str; 5] = [
    "table_entry { }",
    "action_profile_member { }",
    "action_profile_group { }",
    "counter_entry { }",
    "register_entry { }",
];

fn update(rng: &mut Rng) -> String {
    let how = *rng.pick(&["INSERT", "INSERT", "MODIFY", "DELETE"]).unwrap();
    let (n, value) = (rng.below(4) as u32, rng.below(9));
    match rng.below(9) {
        table @ 0..=4 => entry(how, table as u32 + 1, n, value as u8),
        5 => format!(
            "{how} action_profile_member {{ action_profile_id: 50 member_id: {} action {{ action_id: 100 params {{ param_id: 1 value: \"\\x0{value}\" }} }} }}",
            n + 1
        ),
        6 => format!(
            "{how} table_entry {{ table_id: {} match {{ field_id: 1 exact {{ value: \"\\x0{n}\" }} }} action {{ action_profile_member_id: {} }} }}",
            7 + value % 2,
            value % 4 + 1
        ),
        7 => format!(
            "MODIFY counter_entry {{ counter_id: 60 index {{ index: {n} }} data {{ packet_count: {value} }} }}"
        ),
        _ => format!(
            "MODIFY register_entry {{ register_id: 61 index {{ index: {n} }} data {{ bitstring: \"\\x0{value}\" }} }}"
        ),
    }
}

/// All entities of the devices, each with its device, and those reported to northbound controllers.
fn contents(rig: &mut Rig) -> Vec<(Option<usize>, Entity)> {
    let mut all = vec![];
    for kind in KINDS {
        for device in 0..4 {
            all.extend(rig.holds(device, kind).into_iter().map(|entity| (Some(device), entity)));
        }
        let read = rig.read(kind);
        rig.settle();
        all.extend(rig.found(read).into_iter().map(|entity| (None, entity)));
    }
    all
}

/// One ask of `odds` breaks; none while that is 0.
fn break_some(rig: &mut Rig, mut rng: Rng, odds: Rc<Cell<u64>>, seen: Rc<Cell<u64>>) {
    rig.channel = Box::new(move |_, _| {
        if odds.get() == 0 || !rng.chance(1, odds.get()) {
            return Passage::Through;
        }
        seen.set(seen.get() + 1);
        match rng.below(5) {
            0 => Passage::Refused,
            1 => Passage::AskLost,
            2 => Passage::AnswerLost,
            3 => Passage::Breaks(vec![rng.below(4) as u32]),
            _ => Passage::Breaks(vec![rng.below(4) as u32, rng.below(2) as u32]),
        }
    });
}

/// Counts of a run: faults, the most concurrent calls, refused calls.
fn run(seed: u64) -> (u64, usize, u64) {
    let mut rng = Rng::new(seed);
    let (odds, seen) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (mut rig, mut serial) = (Rig::started(), Rig::started());
    break_some(&mut rig, rng.split("chaos"), Rc::clone(&odds), Rc::clone(&seen));
    let mut refused = 0;
    for round in 0..6 {
        odds.set(*rng.pick(&[0, 3, 8]).unwrap());
        let mut calls: BTreeMap<Ticket, Option<WriteRequest>> = BTreeMap::new();
        // Short writes go to a device together.
        let (count, updates_each) = *rng.pick(&[(12, 4), (30, 1)]).unwrap();
        for _ in 0..rng.between(2, count) {
            if rng.chance(1, 12) {
                // Everything is given to the devices anew; nothing that is written is lost.
                calls.insert(rig.call(Call::Steer(None, Steer::Replace(BTreeMap::new()))), None);
            }
            let updates: Vec<String> = (0..rng.between(1, updates_each)).map(|_| update(&mut rng)).collect();
            let atomicity =
                *rng.pick(&["CONTINUE_ON_ERROR", "ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"]).unwrap();
            let write = match rng.next_bool() {
                true => rig.write(atomicity, &updates),
                false => rig.call(Call::Enforce(Box::new(request(atomicity, &updates)))),
            };
            calls.insert(write, Some(request(atomicity, &updates)));
            if rng.next_bool() {
                let until = rig.now + Duration::from_ms(rng.below(20));
                rig.run_until(until);
            }
        }
        rig.answer_all();
        odds.set(0);
        rig.settle();
        for (ticket, request) in calls {
            let Some(request) = request else { continue };
            let ended = rig.ended(ticket);
            refused += u64::from(ended.is_err());
            for (index, update) in request.updates.iter().enumerate() {
                let is_done = match &ended {
                    Ok(()) => true,
                    Err(status) => status.details.get(index).is_some_and(|error| error.canonical_code == 0),
                };
                if is_done {
                    let one = WriteRequest { updates: vec![update.clone()], ..request.clone() };
                    let again = serial.call(Call::Write(Box::new(one)));
                    serial.settle();
                    assert_eq!(serial.ended(again), Ok(()), "seed {seed}, round {round}: {update:?}");
                }
            }
        }
        let (held, wanted) = (contents(&mut rig), contents(&mut serial));
        let differ = held.iter().zip(&wanted).find(|(a, b)| a != b);
        assert!(held.len() == wanted.len() && differ.is_none(), "seed {seed}, round {round}: {differ:#?}");
    }
    (seen.get(), rig.most, refused)
}

#[test]
#[allow(clippy::disallowed_methods)]
fn calls_that_overlap_end_as_those_that_do_not() {
    let seeds = std::env::var("P4RACK_FAULT_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let (mut broken, mut most, mut refused) = (0, 0, 0);
    for seed in 0..seeds {
        let (faults, at_once, not_done) = run(seed);
        (broken, most, refused) = (broken + faults, most.max(at_once), refused + not_done);
    }
    println!("{seeds} seeds: {broken} faults, {refused} calls refused, {most} calls at once at most");
    assert!(broken > seeds && refused > seeds && most > 6, "{broken} {refused} {most}");
}

/// An error is reported to the call that caused it, and not to concurrent calls.
#[test]
fn a_call_is_answered_for_itself() {
    let mut rig = Rig::started();
    let good = rig.write("CONTINUE_ON_ERROR", &[entry("INSERT", 1, 1, 1)]);
    let bad = rig.write("CONTINUE_ON_ERROR", &[entry("MODIFY", 2, 1, 1), entry("INSERT", 2, 2, 1)]);
    rig.settle();
    assert_eq!(rig.ended(good), Ok(()));
    let codes: Vec<i32> = rig.ended(bad).unwrap_err().details.iter().map(|e| e.canonical_code).collect();
    assert_eq!(codes, [Code::NotFound as i32, 0]);
}
