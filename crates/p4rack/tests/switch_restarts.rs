//! A switch with pinned flows that starts anew while a controller's write has reached it and not the helpers: it gets its flows and their entries again before it takes
//! packets in, so no flow finds an entry as before the write that its packets have found written.

use crate::moves::apps::{APPS, small};
use crate::running_flows::{Rig, Scene, apply, move_flow, of, one_device, update, write as controller_write};
use base_time::{Duration, Rng, Time};
use control_writes::{Match, Run, Write};
use controller::{Ask, DeviceId};
use device::Switch;
use device_control::{Channel, Passage};
use ir::Name;
use ir_pin::Pinned;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::update::Type;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_server::Status;
use std::collections::BTreeSet;

/// Helpers refuse writes while it is cut.
#[derive(Default)]
struct Cut(bool);

impl Channel for Cut {
    fn pass(&mut self, device: DeviceId, ask: &Ask) -> Passage {
        match ask {
            Ask::Write(_) if self.0 && device != DeviceId(0) => {
                Passage::Refused(Status::new(Code::Unavailable, "not now"))
            }
            _ => Passage::Through,
        }
    }
}

/// One of the entries with exact keys of tables that are copied by entry, with another argument of its action: flows that look it up stay where they are if they look the
/// same entries up then.
pub(crate) fn modified(there: &[Write<Name>], pinned: &Pinned, rng: &mut Rng) -> Option<Write<Name>> {
    let has_arguments = |write: &&Write<Name>| match write {
        Write::Entry { table, key, to: Some(to), .. } => {
            let call = match &to.run {
                Run::Action(call) => Some(call),
                _ => None,
            };
            let is_exact = key.matches.iter().all(|one| matches!(one, Match::Exact(_)));
            is_exact && !pinned.whole.contains(table) && call.is_some_and(|call| !call.args.is_empty())
        }
        _ => false,
    };
    let all: Vec<&Write<Name>> = there.iter().filter(has_arguments).collect();
    let mut write = (*rng.pick(&all)?).clone();
    let Write::Entry { to: Some(to), .. } = &mut write else { return None };
    let Run::Action(call) = &mut to.run else { return None };
    let at = rng.index(call.args.len());
    call.args[at] = small(rng, call.args[at].width());
    Some(write)
}

/// Writes in the middle of which the switch starts anew: the packets that had found one, and writes that failed.
fn trial(app: usize, seed: u64) -> (u32, u32) {
    let mut rng = Rng::new(seed).split(APPS[app].0);
    let scene = Scene::new(app, seed, &mut rng);
    let mut before = scene.alone();
    let mut rig = Rig::new(&scene.racked, Cut::default());
    let pinned = scene.racked.apps[0].pinned[0].pinned.clone();
    let Scene { racked, whole, mut there, known, keys, name } = scene;
    let (mut seen, mut failed, mut there_now) = (0, 0, BTreeSet::new());
    for _ in 0..12 {
        let mut after = one_device(&whole, &there);
        let sent = |alone: &mut Switch| -> Vec<_> {
            known.iter().map(|(port, frame)| of(alone, *port, frame)).collect()
        };
        let was = sent(&mut before);
        // One that packets notice.
        let mut changing = |write: &Write<Name>| {
            after.write(write, Time::ZERO).expect("the entry is there");
            let is_it = sent(&mut after) != was;
            if !is_it {
                after = one_device(&whole, &there);
            }
            is_it
        };
        let mut tries = (0..30).filter_map(|_| modified(&there, &pinned, &mut rng));
        let Some(write) = tries.find(|write| changing(write)) else { continue };
        // The flows of these packets are at the switch, if there is room.
        for key in std::mem::take(&mut there_now) {
            let _ = rig.done(move_flow(&name, key, false));
        }
        let is = sent(&mut after);
        for (key, _) in keys.iter().zip(was.iter().zip(&is)).filter(|(_, (was, is))| was != is) {
            if rig.done(move_flow(&name, key.clone(), true)).is_ok() {
                there_now.insert(key.clone());
            }
        }
        rig.rack.channel.0 = true;
        let update = update(&racked.apps[0].whole, &write, Type::Modify, &there);
        let ticket = rig.call(controller_write(vec![update], Atomicity::RollbackOnError));
        let mut found = vec![];
        for (port, frame) in &known {
            let wanted = [of(&mut before, *port, frame), of(&mut after, *port, frame)];
            let left = rig.frame(*port, frame);
            assert!(wanted.contains(&left), "{}, seed {seed}: {left:02x?}", APPS[app].0);
            if wanted[0] != wanted[1] && left == wanted[1] && !rig.is_over(ticket) {
                found.push((*port, frame, left));
            }
        }
        rig.restart(0);
        for (port, frame, left) in found {
            let again = rig.frame(port, frame);
            assert_eq!(again, left, "{}, seed {seed}: the packet finds what was there before", APPS[app].0);
            seen += 1;
        }
        rig.rack.channel.0 = false;
        match rig.wait_for(ticket) {
            Ok(()) => apply(&[(write, Type::Modify)], &mut before, &mut there),
            Err(_) => failed += 1,
        }
        // Flows that had to leave come back.
        rig.pass(Duration::from_ms(1));
    }
    (seen, failed)
}

#[test]
fn flows_find_no_entry_as_before_a_write_that_they_have_found() {
    // Entries of this app rewrite packets; those of the others decide what is looked up next.
    let nat = APPS.iter().position(|(name, _)| *name == "nat").expect("it is one of them");
    let (mut seen, mut failed) = (0, 0);
    for seed in features::seeds(3, 200) {
        let (of_trial, failed_there) = trial(nat, seed);
        (seen, failed) = (seen + of_trial, failed + failed_there);
    }
    println!("{seen} packets had found a write in progress, {failed} writes failed");
    assert!(seen > 3, "{seen}");
}
