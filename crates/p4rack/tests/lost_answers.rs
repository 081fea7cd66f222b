//! Messages to devices and their answers are lost while controllers write entries and flows move: packets that have found an entry as it is written never
//! find it as before the write again, whatever device has their flow. A write that a device may have done is not rolled back: it goes on until all devices
//! have it.

use crate::moves::apps::APPS;
use crate::running_flows::{
    Rig, Scene, apply, change, move_flow, nothing_is_left, of, one_device, update, write as controller_write,
};
use crate::switch_restarts::modified;
use base_time::{Duration, Rng, Time};
use control_writes::Write;
use controller::{Ask, DeviceId};
use device::Switch;
use device_control::{Channel, Passage};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::update::Type;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_server::Status;
use std::collections::BTreeSet;

/// Loses writes to agents and their answers, once it has a source of chance; agents refuse others, and answers to commits of repairs are lost, too.
#[derive(Default)]
struct Losing {
    rng: Option<Rng>,
    /// Answers of writes so far.
    lost: u32,
}

impl Channel for Losing {
    fn pass(&mut self, _: DeviceId, ask: &Ask) -> Passage {
        let Some(rng) = &mut self.rng else { return Passage::Through };
        match (ask, rng.below(12)) {
            (Ask::Write(_), 0) => Passage::AskLost,
            (Ask::Write(_), 1) => Passage::Refused(Status::new(Code::Unavailable, "not now")),
            (Ask::Write(_), 2..=4) => {
                self.lost += 1;
                Passage::AnswerLost
            }
            (Ask::Commit(_), 0) => Passage::AnswerLost,
            _ => Passage::Through,
        }
    }
}

#[derive(Default, Debug)]
struct Did {
    lost: u32,
    written: u32,
    /// Writes that were refused before they began.
    refused: u32,
    /// Packets that come after one of their flow has found a write under way.
    later: u32,
}

fn trial(app: usize, seed: u64) -> Did {
    let title = APPS[app].0;
    let mut rng = Rng::new(seed).split(title).split("lost-answers");
    let scene = Scene::new(app, seed, &mut rng);
    let mut before = scene.alone();
    let mut rig = Rig::new(&scene.racked, Losing::default());
    rig.rack.channel.rng = Some(Rng::new(seed).split("losses"));
    let copied = scene.racked.apps[0].pinned[0].pinned.clone();
    let Scene { racked, whole, mut there, known, keys, name } = scene;
    let (mut did, mut moves) = (Did::default(), vec![]);
    // Packets of a device that has begun anew and runs nothing yet are lost.
    let restarts = seed % 2 == 1;
    for number in 0..8 {
        let sent = |alone: &mut Switch| -> Vec<_> {
            known.iter().map(|(port, frame)| of(alone, *port, frame)).collect()
        };
        let was = sent(&mut before);
        // A write of a table with copies that packets notice.
        let mut candidate = || {
            let modified = rng.chance(1, 2).then(|| modified(&there, &copied, &mut rng)).flatten();
            let (write, kind) = match modified {
                Some(write) => (write, Type::Modify),
                None => change(&whole, &there, number, &mut rng),
            };
            let Write::Entry { table, .. } = &write else { return None };
            let mut after = one_device(&whole, &there);
            let is_copied = copied.tables.iter().any(|copy| copy.original == *table);
            let is_noticed = is_copied && after.write(&write, Time::ZERO).is_ok() && sent(&mut after) != was;
            is_noticed.then_some((write, kind, after))
        };
        let Some((write, kind, mut after)) = (0..60).find_map(|_| candidate()) else { continue };
        let is = sent(&mut after);
        let concerned: Vec<usize> = (0..known.len()).filter(|at| was[*at] != is[*at]).collect();
        for at in &concerned {
            if rng.chance(2, 3) {
                moves.push(rig.call(move_flow(&name, keys[*at].clone(), true)));
            }
        }
        rig.now += Duration::from_s(200);
        rig.pass(Duration::ZERO);
        let update = update(&racked.apps[0].whole, &write, kind, &there);
        let ticket = rig.call(controller_write(vec![update], Atomicity::RollbackOnError));
        let mut found = BTreeSet::new();
        for turn in 0.. {
            assert!(turn < 3000, "{title}, seed {seed}: the write does not end");
            for at in &concerned {
                let (port, frame) = &known[*at];
                let left = rig.frame(*port, frame);
                if restarts && left.is_empty() {
                    continue;
                }
                assert!([&was[*at], &is[*at]].contains(&&left), "{title}, seed {seed}: {left:02x?}");
                if found.contains(&keys[*at]) {
                    assert_eq!(left, is[*at], "{title}, seed {seed}: a packet finds what was there before");
                    did.later += 1;
                }
                if left == is[*at] {
                    found.insert(keys[*at].clone());
                }
            }
            if rig.is_over(ticket) {
                break;
            }
            if rng.chance(1, 4) {
                let key = keys[*rng.pick(&concerned).expect("there is one")].clone();
                moves.push(rig.call(move_flow(&name, key, rng.chance(1, 2))));
            }
            if restarts && rng.chance(1, 20) {
                rig.restart(rng.index(3));
            }
            rig.now += Duration::from_ms(1 + rng.below(20_000));
            rig.pass(Duration::ZERO);
        }
        match rig.wait_for(ticket) {
            Ok(()) => {
                did.written += 1;
                apply(&[(write, kind)], &mut before, &mut there);
            }
            // A device was being repaired: nothing was begun.
            Err(status) => {
                assert_eq!(status.code, Code::Unavailable, "{title}, seed {seed}: {status:?}");
                assert!(found.is_empty(), "{title}, seed {seed}: packets have found {write:?}");
                did.refused += 1;
            }
        }
    }
    did.lost = rig.rack.channel.lost;
    rig.rack.channel.rng = None;
    moves.into_iter().for_each(|ticket| drop(rig.wait_for(ticket)));
    for (port, frame) in &known {
        assert_eq!(rig.frame(*port, frame), of(&mut before, *port, frame), "{title}, seed {seed}");
    }
    nothing_is_left(&mut rig, &copied, (&name, keys), &format!("{title}, seed {seed}"));
    did
}

#[test]
fn packets_find_no_entry_as_before_a_write_that_they_have_found() {
    for (app, (title, _)) in APPS.iter().enumerate() {
        let mut sum = Did::default();
        for seed in features::seeds(4, 200) {
            let did = trial(app, seed);
            sum.lost += did.lost;
            sum.written += did.written;
            sum.refused += did.refused;
            sum.later += did.later;
        }
        println!("{title}: {sum:?}");
        assert!(sum.lost > 6 && sum.written > 4 && sum.later > 4, "{title}: {sum:?}");
    }
}
