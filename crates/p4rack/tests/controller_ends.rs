//! The controller of a rack with pinned flows is killed before and after each of its actions: requests that agents carry out, and batches of its state that are
//! stored. Another one takes over, from the stored state or from what devices hold, and ends what was begun.

use crate::moves::apps::APPS;
use crate::remote_world::World;
use crate::running_flows::{
    Changes, Scene, apply, change, move_flow, of, one_device, update, write as controller_write,
};
use crate::switch_restarts::modified;
use base_time::{Duration, Rng, Time};
use control_writes::Write;
use controller::{Agent, Ticket};
use device::Switch;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::update::Type;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_server::Status;
use std::collections::BTreeSet;

/// The frames that leave for each known packet.
type Sent = Vec<Vec<(u32, Vec<u8>)>>;

/// A piece of what operators and a controller ask for; the next one begins when it is done.
enum Piece {
    /// The flows of these packets go to the switch, or to their helpers.
    Moves(Vec<usize>, bool),
    Write(Changes, Atomicity),
}

/// When the controller is killed, and what of its requests and of its state is on the way then and arrives.
#[derive(Clone, Copy, Debug)]
struct Kill {
    after: u64,
    requests: bool,
    batches: bool,
    /// The next controller is killed, too, after so many actions of its own.
    again: Option<u64>,
}

#[derive(Default, Debug)]
struct Did {
    /// Actions of the controller without a kill.
    actions: u64,
    kills: u64,
    /// Writes in the middle of which the controller was killed: those that the next one ended, and those that were made again.
    ended: u64,
    again: u64,
    /// Packets of flows that had found a write in progress.
    later: u64,
}

fn sent(scene: &Scene, alone: &mut Switch) -> Sent {
    scene.known.iter().map(|(port, frame)| of(alone, *port, frame)).collect()
}

/// Flows come to the switch, entries that they look up change, come and go, two of them at one moment, and the flows leave. With the packets that notice a write.
fn script(scene: &Scene, rng: &mut Rng) -> (Vec<Piece>, BTreeSet<usize>) {
    let copied = &scene.racked.apps[0].pinned[0].pinned;
    let (mut before, mut there, mut all) = (scene.alone(), scene.there.clone(), vec![]);
    let mut watched = BTreeSet::from([0]);
    for number in 0..4 {
        let was = sent(scene, &mut before);
        let mut candidate = || {
            let mut after = one_device(&scene.whole, &there);
            let mut changes: Changes = vec![];
            for at in 0..if number == 3 { 2 } else { 1 } {
                let modified = (number < 2).then(|| modified(&there, copied, rng)).flatten();
                let (write, kind) = match modified {
                    Some(write) => (write, Type::Modify),
                    None => change(&scene.whole, &there, 10 * number + at, rng),
                };
                let Write::Entry { table, key, .. } = &write else { return None };
                let is_of_it = |(known, _): &(Write<_>, Type)| matches!(known, Write::Entry { table: t, key: k, .. } if t == table && k == key);
                let is_copied = copied.tables.iter().any(|copy| copy.original == *table);
                if changes.iter().any(is_of_it) || !is_copied || after.write(&write, Time::ZERO).is_err() {
                    return None;
                }
                changes.push((write, kind));
            }
            let is = sent(scene, &mut after);
            let concerned: Vec<usize> = (0..was.len()).filter(|at| was[*at] != is[*at]).collect();
            (!concerned.is_empty()).then_some((changes, concerned))
        };
        let Some((changes, concerned)) = (0..200).find_map(|_| candidate()) else { continue };
        watched.extend(&concerned);
        apply(&changes, &mut before, &mut there);
        let how = if number == 3 { Atomicity::DataplaneAtomic } else { Atomicity::RollbackOnError };
        all.extend([Piece::Moves(concerned, true), Piece::Write(changes, how)]);
    }
    all.push(Piece::Moves((0..scene.keys.len()).collect(), false));
    (all, watched)
}

struct Trial<'s> {
    scene: &'s Scene,
    watched: &'s BTreeSet<usize>,
    world: World<'s>,
    is_stored: bool,
    kill: Option<Kill>,
    title: String,
    /// Flows that have found the write in progress.
    found: BTreeSet<usize>,
    did: Did,
}

impl Trial<'_> {
    /// Packets come: each finds one of the two states, and none finds the first one after the other, if the controller's state is stored.
    fn look(&mut self, (was, is): (&Sent, &Sent)) {
        for &at in self.watched {
            if self.world.held {
                return;
            }
            let (port, frame) = &self.scene.known[at];
            let left = self.world.frame(*port, frame);
            let title = &self.title;
            assert!(
                [&was[at], &is[at]].contains(&&left),
                "{title}: {left:02x?}, wanted {:02x?} or {:02x?}",
                was[at],
                is[at]
            );
            if self.is_stored && self.found.iter().any(|known| self.scene.keys[*known] == self.scene.keys[at])
            {
                assert_eq!(left, is[at], "{title}: a packet finds what was there before");
                self.did.later += 1;
            }
            if was[at] != is[at] && left == is[at] {
                self.found.insert(at);
            }
        }
    }

    /// Time passes until these calls have replies; false if the controller is killed before.
    fn wait(&mut self, tickets: &[Ticket], states: (&Sent, &Sent)) -> Option<Vec<Result<(), Status>>> {
        let mut replies = vec![None; tickets.len()];
        for _ in 0..20_000 {
            self.look(states);
            for (reply, ticket) in replies.iter_mut().zip(tickets).filter(|(reply, _)| reply.is_none()) {
                *reply = self.world.reply(*ticket);
            }
            if self.world.is_killed() {
                return None;
            }
            if replies.iter().all(Option::is_some) {
                return Some(replies.into_iter().flatten().collect());
            }
            self.world.pass(Duration::from_ms(50));
        }
        panic!("{}: no reply; {:?}", self.title, self.world.app())
    }

    /// The controller is killed, and another one has taken over all devices.
    fn go_on(&mut self, states: (&Sent, &Sent)) {
        while let Some(kill) = self.kill.take() {
            self.did.kills += 1;
            let started = self.world.kill((kill.requests, kill.batches));
            if let Some(after) = kill.again {
                self.world.killed_after = Some(self.world.actions + after);
                self.kill = Some(Kill { again: None, ..kill });
            }
            let Some(replies) = self.wait(&[started], states) else { continue };
            assert_eq!(replies, [Ok(())], "{}", self.title);
            for turn in 0.. {
                assert!(turn < 2000, "{}: {:?}", self.title, self.world.app());
                self.look(states);
                if self.world.is_killed() || self.is_quiet() {
                    break;
                }
                self.world.pass(Duration::from_ms(50));
            }
            if !self.world.is_killed() {
                self.world.killed_after = None;
                self.kill = None;
                self.world.greet();
            }
        }
    }

    /// All devices are as they should be, and nothing of any flow is at the switch.
    fn is_quiet(&mut self) -> bool {
        self.world.is_sound() && self.world.app().off.is_empty() && self.left().is_empty()
    }

    /// Tables of moves with entries.
    fn left(&mut self) -> Vec<String> {
        let copied = &self.scene.racked.apps[0].pinned[0].pinned;
        let by_entry = copied.tables.iter().filter(|copy| !copied.whole.contains(&copy.original));
        let tables: Vec<_> = by_entry.map(|copy| &copy.resident).chain(&copied.flow_manager).collect();
        let mut left = vec![];
        for agent in self.world.agents.iter_mut().filter_map(Agent::target) {
            for table in &tables {
                if !agent.switch().table_entries(table).unwrap_or_default().is_empty() {
                    left.push(table.to_string());
                }
            }
        }
        left
    }

    /// A request that got no reply is made again; of its updates some may be done.
    fn again(&mut self, changes: &Changes, there: &[Write<ir::Name>]) {
        for (write, kind) in changes {
            let update = update(&self.scene.racked.apps[0].whole, write, *kind, there);
            let ticket = self.world.call(controller_write(vec![update.clone()], Atomicity::RollbackOnError));
            let ended = self
                .world
                .wait_for(ticket)
                .map_err(|status| status.cause().map(|(_, error)| error.canonical_code));
            match (ended, kind) {
                (Ok(()), _) => {}
                (Err(Some(code)), Type::Delete) if code == Code::NotFound as i32 => {}
                (Err(Some(code)), Type::Insert) if code == Code::AlreadyExists as i32 => {
                    let mut update = update;
                    update.set_type(Type::Modify);
                    let ticket = self.world.call(controller_write(vec![update], Atomicity::RollbackOnError));
                    assert_eq!(self.world.wait_for(ticket), Ok(()), "{}", self.title);
                }
                (ended, _) => panic!("{}: {ended:?}", self.title),
            }
        }
    }
}

fn trial(
    scene: &Scene,
    (script, watched): &(Vec<Piece>, BTreeSet<usize>),
    is_stored: bool,
    kill: Option<Kill>,
) -> Did {
    let mut world = World::empty(&scene.racked, 1, is_stored);
    world.begin();
    let begun = world.actions;
    world.killed_after = kill.map(|kill| begun + kill.after);
    let title = format!("{}, stored: {is_stored}, {kill:?}", scene.name);
    let (found, did) = (BTreeSet::new(), Did::default());
    let mut trial = Trial { scene, watched, world, is_stored, kill, title, found, did };
    let (mut before, mut there) = (scene.alone(), scene.there.clone());
    for piece in script {
        let was = sent(scene, &mut before);
        trial.found.clear();
        match piece {
            Piece::Moves(flows, to_switch) => {
                let moved = |at: &usize| {
                    trial.world.call(move_flow(&scene.name, scene.keys[*at].clone(), *to_switch))
                };
                let tickets: Vec<Ticket> = flows.iter().map(moved).collect();
                if trial.wait(&tickets, (&was, &was)).is_none() {
                    trial.go_on((&was, &was));
                }
            }
            Piece::Write(changes, how) => {
                let mut after = one_device(&scene.whole, &there);
                changes.iter().for_each(|(write, _)| after.write(write, Time::ZERO).expect("it could"));
                let is = sent(scene, &mut after);
                let updates = changes
                    .iter()
                    .map(|(write, kind)| update(&scene.racked.apps[0].whole, write, *kind, &there));
                let ticket = trial.world.call(controller_write(updates.collect(), *how));
                match trial.wait(&[ticket], (&was, &is)) {
                    Some(replies) => assert_eq!(replies, [Ok(())], "{}", trial.title),
                    None => {
                        trial.go_on((&was, &is));
                        let now: Sent =
                            scene.known.iter().map(|(port, frame)| trial.world.frame(*port, frame)).collect();
                        trial.did.ended += u64::from(now == is);
                        trial.did.again += u64::from(now != is);
                        if is_stored {
                            assert!(now == is || now == was && trial.found.is_empty(), "{}", trial.title);
                        }
                        trial.again(changes, &there);
                    }
                }
                apply(changes, &mut before, &mut there);
                let now: Sent =
                    scene.known.iter().map(|(port, frame)| trial.world.frame(*port, frame)).collect();
                assert_eq!(now, is, "{}: after the write", trial.title);
            }
        }
    }
    for _ in 0..1000 {
        let shown = trial.world.app();
        if shown.resident + shown.moving == 0 && trial.is_quiet() {
            break;
        }
        if trial.world.is_killed() {
            let was = sent(scene, &mut before);
            trial.go_on((&was, &was));
        }
        trial.world.pass(Duration::from_ms(50));
    }
    let shown = trial.world.app();
    assert_eq!((shown.resident, shown.moving), (0, 0), "{}: {shown:?}", trial.title);
    assert_eq!(trial.left(), [] as [String; 0], "{}", trial.title);
    assert!(trial.world.is_sound(), "{}", trial.title);
    trial.did.actions = trial.world.actions - begun;
    trial.did
}

fn trials(is_stored: bool) {
    // One action of so many.
    let stride = match (features::is_long(), is_stored) {
        (true, _) => 1,
        (false, true) => 23,
        (false, false) => 9,
    };
    for (app, (name, _)) in APPS.iter().enumerate().filter(|(app, _)| features::is_long() || *app != 1) {
        // The first one in which packets notice four writes.
        let some = |seed| {
            let mut rng = Rng::new(seed).split(name).split("controller-ends");
            let scene = Scene::new(app, 8000 + seed, &mut rng);
            let script = script(&scene, &mut rng);
            (script.0.len() == 9).then_some((scene, script))
        };
        let (scene, script) = (0..40).find_map(some).expect("there is one");
        let mut rng = Rng::new(1).split(name);
        let actions = trial(&scene, &script, is_stored, None).actions;
        let mut sum = Did { actions, ..Did::default() };
        let all =
            (0..actions).flat_map(|after| (0..if is_stored { 4 } else { 2 }).map(move |way| (after, way)));
        for (after, way) in all.skip(app).step_by(stride) {
            let again = (after + way) % 3 == 0;
            let again = again.then(|| rng.below(20));
            let did = trial(
                &scene,
                &script,
                is_stored,
                Some(Kill { after, requests: way % 2 == 1, batches: way > 1, again }),
            );
            sum.kills += did.kills;
            sum.ended += did.ended;
            sum.again += did.again;
            sum.later += did.later;
        }
        println!("{name}: {sum:?}");
        assert!(sum.ended > 0 && (is_stored || sum.again > 0), "{name}: {sum:?}");
    }
}

#[test]
fn the_next_controller_goes_on_from_the_stored_state() {
    trials(true);
}

#[test]
fn the_next_controller_goes_on_from_what_devices_hold() {
    trials(false);
}
