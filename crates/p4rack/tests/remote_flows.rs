//! Flows of a rack whose devices are agents of their own: requests to them are late, connections break and leave it open what was done, agents and the
//! controller restart. Each packet has the result of one device with the whole program.

use crate::moves::apps::APPS;
use crate::remote_world::{Mail, World};
use crate::running_flows::{Scene, apply, changes, move_flow, of, one_device, request, write};
use crate::shards;
use app_trials::frames::{Flow, UDP, packet};
use base_diag::SourceMap;
use base_time::{Duration, Rng};
use control_writes::Write;
use controller::{Agent, Ask, Call, Heard, Ticket};
use device_control::Served;
use ir::Name;
use p4rack::rack::{self, Racked};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{Update, WriteRequest, update::Type};
use p4runtime_proto::p4rack::v1::target::State;
use p4runtime_proto::p4rack::v1::{Sample, SampleResponse};
use p4runtime_server::Status;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Default, Debug)]
struct Outcome {
    packets: u64,
    at_switch: u64,
    moved: u64,
    not_moved: u64,
    writes: u64,
    /// Requests of several changes among these.
    at_once: u64,
    refused: u64,
    lost: u64,
}

/// Faults of a trial.
#[derive(Clone, Copy, PartialEq)]
enum Fails {
    Nothing,
    Connections,
    Processes,
}

fn trial(app: usize, seed: u64, fails: Fails, sum: &mut Outcome) {
    let name = APPS[app].0;
    let mut rng = Rng::new(seed).split(name);
    let scene = Scene::new(app, 5000 + seed, &mut rng);
    let (mut before, mut after) = (scene.alone(), scene.alone());
    let copied = scene.racked.apps[0].pinned[0].pinned.clone();
    let mut world = World::new(&scene.racked, seed);
    world.breaks = if fails == Fails::Nothing { 0 } else { 20 };
    let mut there = scene.there.clone();
    let mut moves: Vec<Ticket> = vec![];
    let mut writing = None;
    for step in 0..1500i64 {
        match rng.below(20) {
            0..=3 => {
                let key = scene.keys[rng.index(scene.keys.len())].clone();
                moves.push(world.call(move_flow(&scene.name, key, rng.chance(3, 4))));
            }
            4 | 5 if writing.is_none() => {
                let changed = changes(&scene.whole, &there, &mut after, step, &mut rng);
                if !changed.is_empty() {
                    let request = request(&scene.racked.apps[0].whole, &changed, &there, &mut rng);
                    writing = Some((world.call(request), changed));
                }
            }
            6..=8 => world.pass(Duration::from_ms(1 + rng.below(60))),
            9 if fails == Fails::Processes && rng.chance(1, 20) => {
                world.restart_agent(rng.index(world.agents.len()))
            }
            10 if fails == Fails::Processes && writing.is_none() && rng.chance(1, 20) => {
                // Operators of the killed process get no reply.
                moves.clear();
                world.restart_controller();
            }
            _ => {
                let (port, frame) = scene.known[rng.index(scene.known.len())].clone();
                let hops = world.hand_overs;
                let left = world.frame(port, &frame);
                sum.packets += 1;
                sum.at_switch += u64::from(world.hand_overs == hops && !left.is_empty());
                let wanted = [of(&mut before, port, &frame), of(&mut after, port, &frame)];
                // A device without its program passes nothing.
                if left.is_empty() && !world.is_sound() {
                    sum.lost += u64::from(!wanted.contains(&left));
                    continue;
                }
                assert!(
                    wanted.contains(&left),
                    "{name} seed {seed} step {step}: {left:02x?}\nwanted {wanted:02x?}"
                );
            }
        }
        if let Some(how) = writing.as_ref().and_then(|(ticket, _)| world.reply(*ticket))
            && let Some((_, changed)) = writing.take()
        {
            end(how, &changed, (&mut before, &mut after), (&mut there, &scene), sum);
        }
    }
    if let Some((ticket, changed)) = writing {
        let how = world.wait_for(ticket);
        end(how, &changed, (&mut before, &mut after), (&mut there, &scene), sum);
    }
    world.breaks = 0;
    for ticket in moves {
        match world.wait_for(ticket) {
            Ok(()) => sum.moved += 1,
            Err(status) => {
                assert!([Code::Aborted, Code::FailedPrecondition].contains(&status.code), "{status:?}");
                sum.not_moved += 1;
            }
        }
    }
    for key in &scene.keys {
        let demoted = world.call(move_flow(&scene.name, key.clone(), false));
        let _ = world.wait_for(demoted);
    }
    for _ in 0..10_000 {
        let shown = world.app();
        if shown.resident + shown.moving == 0 && world.is_sound() {
            break;
        }
        world.pass(Duration::from_ms(1000));
    }
    let shown = world.app();
    assert_eq!((shown.resident, shown.moving, shown.off.as_str()), (0, 0, ""), "{shown:?}");
    assert!(world.is_sound(), "{:?}", world.rack.show().devices);
    let by_entry = copied.tables.iter().filter(|copy| !copied.whole.contains(&copy.original));
    for table in by_entry.map(|copy| &copy.resident).chain(&copied.flow_manager) {
        for device in world.agents.iter_mut().filter_map(Agent::target) {
            let left = device.switch().table_entries(table).unwrap_or_default();
            assert!(left.is_empty(), "{name} seed {seed}: `{table}` has {left:?}");
        }
    }
    for (port, frame) in &scene.known {
        assert_eq!(
            world.frame(*port, frame),
            of(&mut before, *port, frame),
            "{name} seed {seed}: at the end"
        );
    }
}

/// A write has ended.
fn end(
    how: Result<(), Status>,
    changed: &[(Write<Name>, Type)],
    (before, after): (&mut device::Switch, &mut device::Switch),
    (there, scene): (&mut Vec<control_writes::Write<ir::Name>>, &Scene),
    sum: &mut Outcome,
) {
    match how {
        Ok(()) => {
            apply(changed, before, there);
            sum.writes += 1;
            sum.at_once += u64::from(changed.len() > 1);
        }
        // A device of a table was not known to be right, or a message was lost: nothing is done.
        Err(status) => {
            let codes = [Code::Unavailable, Code::Unknown, Code::Aborted];
            assert!(codes.contains(&status.code), "{changed:?}: {status:?}");
            *after = one_device(&scene.whole, there);
            sum.refused += 1;
        }
    }
}

fn trials(fails: Fails) {
    let mut sum = Outcome::default();
    for (app, (name, _)) in APPS.iter().enumerate() {
        for seed in features::seeds(1, 100) {
            trial(app, seed, fails, &mut sum);
        }
        println!("with {name}: {sum:?}");
    }
    assert!(sum.at_switch > 50 && sum.moved > 100 && sum.writes > 5 && sum.at_once > 0, "{sum:?}");
}

#[test]
fn flows_move_while_answers_of_agents_are_late() {
    trials(Fails::Nothing);
}

#[test]
fn flows_move_while_connections_to_agents_break() {
    trials(Fails::Connections);
}

#[test]
fn flows_move_while_agents_and_the_controller_restart() {
    trials(Fails::Processes);
}

/// The write does not wait, so others do not wait for it.
#[test]
fn a_write_to_a_device_that_is_away_is_refused_at_once() {
    let mut rng = Rng::new(4);
    let scene = Scene::new(1, 6001, &mut rng);
    let mut world = World::new(&scene.racked, 1);
    let entry = scene.there.iter().find_map(|write| match write {
        Write::Entry { table, key, .. } if table.ends_with("routes") => Some((table.clone(), key.clone())),
        _ => None,
    });
    let (table, key) = entry.expect("there is one");
    let gone = (Write::Entry { table, key, to: None, count: None }, Type::Delete);
    let program = &scene.racked.apps[0].whole;
    let mut delete = || request(program, std::slice::from_ref(&gone), &scene.there, &mut rng);
    world.shut(1);
    (0..10).for_each(|_| world.pass(Duration::from_us(100)));
    let refused = world.call(delete());
    let code = world.reply(refused).expect("it does not wait").expect_err("no agent").code;
    assert_eq!(code, Code::Unavailable);
    while !world.is_sound() {
        world.pass(Duration::from_ms(10));
    }
    let done = world.call(delete());
    assert_eq!(world.wait_for(done), Ok(()));
}

#[test]
fn a_superseded_controller_moves_nothing_and_begins_anew() {
    let mut rng = Rng::new(4);
    let scene = Scene::new(1, 6000, &mut rng);
    let mut world = World::new(&scene.racked, 1);
    let promoted = world.call(move_flow(&scene.name, scene.keys[0].clone(), true));
    assert_eq!(world.wait_for(promoted), Ok(()));
    assert_eq!(world.app().resident, 1);
    let other = scene.keys.iter().find(|key| **key != scene.keys[0]).expect("several flows");
    let waits = world.call(move_flow(&scene.name, other.clone(), true));
    world.mail.clear();
    for device in 0..world.agents.len() {
        world.here[device] = false;
        world.later(device, Duration::ZERO, Mail::ToController(Heard::Superseded));
    }
    assert_eq!(world.wait_for(waits).map_err(|status| status.code), Err(Code::Aborted));
    world.pass(Duration::from_ms(500));
    assert!(world.app().off.contains("another controller"), "{:?}", world.app());
    let refused = world.call(move_flow(&scene.name, other.clone(), true));
    assert_eq!(world.wait_for(refused).map_err(|status| status.code), Err(Code::Unavailable));
    (0..world.agents.len()).for_each(|device| world.reach(device, Duration::ZERO));
    for _ in 0..1000 {
        world.pass(Duration::from_ms(100));
        if world.app().resident >= 1 {
            break;
        }
    }
    let app = world.app();
    assert_eq!((app.off.as_str(), app.resident >= 1), ("", true), "{app:?}");
    let (port, frame) = &scene.known[0];
    let hops = world.hand_overs;
    assert_eq!(world.frame(*port, frame), of(&mut scene.alone(), *port, frame));
    assert_eq!(world.hand_overs, hops, "the switch processes it");
}

#[test]
fn a_new_controller_takes_flows_from_the_switch() {
    let mut rng = Rng::new(4);
    let scene = Scene::new(1, 7000, &mut rng);
    let manager = scene.racked.apps[0].pinned[0].pinned.flow_manager.clone().expect("it has one");
    let mut world = World::new(&scene.racked, 1);
    let promoted = world.call(move_flow(&scene.name, scene.keys[0].clone(), true));
    assert_eq!(world.wait_for(promoted), Ok(()));
    let residents = |world: &mut World<'_>| {
        let switch = world.agents[0].target().expect("it runs a program");
        switch.switch().table_entries(&manager).unwrap_or_default().len()
    };
    assert_eq!(residents(&mut world), 1);
    world.restart_controller();
    (0..100).for_each(|_| world.pass(Duration::from_ms(100)));
    assert_eq!((world.app().resident, residents(&mut world)), (0, 0));
}

/// A firewall with packets, whose popular flows come to the switch.
fn popular(name: &str, rng: &mut Rng) -> Scene {
    // Some of the texts have a promotion by themselves.
    let text = crate::moves::text(1, 2, rng)
        .replace("promote = \"auto\"\nwindow = \"20ms\"\nidle = \"100ms\"\n", "")
        .replace("affinity = \"medium\"", "affinity = \"medium\"\npromote = \"auto\"\nwindow = \"100ms\"");
    Scene::of(1, crate::moves::load(&text, &format!("remote-{}-{name}", APPS[1].0)), rng)
}

/// The agent of the switch reports frames; here it is the test.
#[test]
fn flows_with_many_packets_come_to_the_switch_by_reports() {
    let mut rng = Rng::new(4);
    let scene = popular("popular", &mut rng);
    let mut world = World::new(&scene.racked, 1);
    let goes = |at: &usize| {
        let (hops, (port, frame)) = (world.hand_overs, &scene.known[*at]);
        !world.frame(*port, frame).is_empty() && world.hand_overs > hops
    };
    let popular = (0..scene.known.len()).find(goes).expect("one of them leaves by a helper");
    world.reports = true;
    // Every 500 us a packet, most of them of one flow.
    for step in 0..4000 {
        world.pass(Duration::from_us(500));
        let at = if step % 4 == 0 { rng.index(scene.known.len()) } else { popular };
        let (port, frame) = &scene.known[at];
        world.frame(*port, frame);
    }
    let app = world.app();
    assert!(app.is_automatic && app.resident > 0, "{app:?}");
    let first = &app.flows[0];
    let key: BTreeMap<String, String> =
        first.key.iter().map(|part| (part.name.clone(), part.value.clone())).collect();
    assert_eq!(first.place, "switch", "{first:?}");
    let demoted = world.call(move_flow(&scene.name, key, false));
    assert_eq!(world.wait_for(demoted), Ok(()));
    let hops = world.hand_overs;
    let (port, frame) = &scene.known[popular];
    world.frame(*port, frame);
    assert!(world.hand_overs > hops, "the most popular flow was that of most packets");
    // Without reports nothing moves, once what is under way has come.
    world.reports = false;
    let until = world.now + Duration::from_s(1);
    while world.now < until {
        world.pass(until.since(world.now));
    }
    let before = world.app();
    (0..200).for_each(|_| world.pass(Duration::from_ms(100)));
    assert_eq!((world.app().promoted, world.app().demoted), (before.promoted, before.demoted));
}

/// One frame of several is reported, which counts for all of them.
#[test]
fn packets_of_a_busy_switch_are_counted_by_some_of_them() {
    let mut rng = Rng::new(4);
    let scene = popular("busy", &mut rng);
    let mut world = World::new(&scene.racked, 1);
    world.reports = true;
    // 2,500 packets in a window, 1,875 of them of one flow.
    let end = world.now + Duration::from_s(1);
    while world.now < end {
        let until = world.now + Duration::from_us(40);
        while world.now < until {
            world.pass(until.since(world.now));
        }
        let at = if rng.chance(1, 4) { rng.index(scene.known.len()) } else { 0 };
        let (port, frame) = &scene.known[at];
        world.frame(*port, frame);
    }
    let sizes = &world.sizes[world.sizes.len() - 4..];
    assert!(sizes.iter().all(|size| (300..800).contains(size)), "{sizes:?}");
    // Up to twice as many: half of each window before counts, too.
    let most = &world.app().flows[0];
    assert!((1200..5000).contains(&most.packets), "{most:?}");
}

/// A switch that nobody asks keeps its oldest frames, and counts all.
#[test]
fn the_first_report_after_an_absence_is_not_counted() {
    let mut rng = Rng::new(4);
    let scene = popular("absence", &mut rng);
    let mut world = World::new(&scene.racked, 1);
    let to_helper = world.wires.keys().find(|(device, _)| *device == 0).expect("there is a helper").1;
    let (port, frame) = scene.known[0].clone();
    let sample = Sample { port, frame, left: vec![to_helper] };
    let old = SampleResponse { frames: 1_000_000, samples: vec![sample; 1024] };
    let promoted = |world: &mut World<'_>| {
        world.report = old.clone();
        world.reports = true;
        let until = world.now + Duration::from_s(1);
        while world.now < until {
            world.pass(until.since(world.now));
        }
        assert_eq!(world.report.frames, 0, "it was taken");
        world.app().promoted
    };
    assert_eq!(promoted(&mut world), 0, "the controller has begun");
    world.shut(0);
    assert_eq!(promoted(&mut world), 0, "the connection broke");
    world.restart_controller();
    assert_eq!(promoted(&mut world), 0, "the controller has begun again");
    assert!(promoted(&mut world) > 0, "no absence");
}

/// Packets of random flows, few of them popular, for 0.8 s; so many of a hundred are west's. Gives the number of those that were lost.
fn some_packets(world: &mut World<'_>, rng: &mut Rng, west: u64) -> u64 {
    let mut lost = 0;
    for _ in 0..4000 {
        world.pass(Duration::from_us(200));
        let most = 1 + rng.below(200);
        let flow = rng.below(most) as u32;
        let dst = if rng.chance(west, 100) { 0x0a03_0001 } else { 0x0a02_0001 };
        let src = (0xc633_6401 + flow, 5000);
        let frame = packet(Flow { protocol: UDP, src, dst: (dst, 53) }, &[0; 18]);
        let is_held = world.held;
        lost += u64::from(world.frame(4, &frame).is_empty() && !is_held);
    }
    lost
}

/// Flows for which each app has room at the switch, and flows there.
fn rooms(world: &World<'_>) -> Vec<(u64, u64)> {
    world.rack.show().pinned_apps.iter().map(|app| (app.room, app.resident)).collect()
}

/// `examples/pinned/shares.toml` with its devices in processes of their own.
#[test]
fn flows_are_planned_again_by_reports() {
    // A report has few packets here, so their shares differ by chance: not for a second.
    let changes = [(r#"after = "20ms""#, r#"after = "1s""#), (r#"window = "5ms""#, r#"window = "100ms""#)];
    let racked = crate::replans::racked(&changes);
    let mut world = World::new(&racked, 1);
    world.reports = true;
    let mut rng = Rng::new(1).split("replans");
    let mut packets = |world: &mut World<'_>, west: u64| {
        assert_eq!(some_packets(world, &mut rng, west * 20), 0, "no packet is lost");
    };
    // Answers take up to 20 ms, and a move four of them.
    (0..3).for_each(|_| packets(&mut world, 1));
    assert_eq!(world.reported, [] as [&str; 0]);
    let before = rooms(&world);
    assert!(before.iter().all(|(_, resident)| *resident > 0), "{before:?}");
    (0..3).for_each(|_| packets(&mut world, 4));
    let done = "the other plan of flows has taken over";
    assert_eq!(world.reported.last().map(String::as_str), Some(done), "{:?}", world.reported);
    let after = rooms(&world);
    assert!(after[0].0 < before[0].0 && after[1].0 > before[1].0, "{before:?} {after:?}");
    assert!(after.iter().all(|(room, resident)| *resident > 0 && resident <= room), "{after:?}");
}

/// The same with spares: the process of east's first helper ends, and its second one is slow. Later it starts again.
#[test]
fn flows_are_planned_again_without_a_helper_whose_process_has_ended() {
    let racked =
        crate::replans::racked_with_spares("1s", "", &[(r#"window = "5ms""#, r#"window = "100ms""#)]);
    let named = |device: &Name| device.as_str() == "nic1";
    let nic1 = racked.apps[0].placement.devices.iter().position(named).expect("it is there");
    let mut world = World::new(&racked, 1);
    world.reports = true;
    let mut rng = Rng::new(1).split("without");
    let mut packets = |world: &mut World<'_>, times: usize| -> Vec<u64> {
        (0..times).map(|_| some_packets(world, &mut rng, 50)).collect()
    };
    assert_eq!(packets(&mut world, 2), [0; 2]);
    assert_eq!(world.reported, [] as [&str; 0]);
    let before = rooms(&world);
    world.agents[nic1] = Agent::new(world.maker.clone());
    world.cut(nic1);
    let lost = packets(&mut world, 4);
    assert!(lost[1..].iter().all(|lost| *lost == 0), "the spare has its packets: {lost:?}");
    let [begun, done] = world.reported.as_slice() else { panic!("{:?}", world.reported) };
    let begins = "`nic1` out of use: another plan of flows at the switch is taking over: east ";
    assert!(begun.starts_with(begins), "{begun}");
    assert_eq!(*done, "the other plan of flows has taken over");
    let without = rooms(&world);
    assert!(without[0].0 > before[0].0 && without[1].0 < before[1].0, "{before:?} {without:?}");
    world.reach(nic1, Duration::ZERO);
    packets(&mut world, 4);
    let [_, _, begun, done] = world.reported.as_slice() else { panic!("{:?}", world.reported) };
    let begins = "all helpers are in use: another plan of flows at the switch is taking over: east ";
    assert!(begun.starts_with(begins), "{begun}");
    assert_eq!(*done, "the other plan of flows has taken over");
    let with = rooms(&world);
    assert!(with.iter().zip(&before).all(|(with, before)| with.0 == before.0), "{before:?} {with:?}");
}

/// Time of a new entry of `table`, where a message takes 5 ms: of an entry that the rack begins with, which is deleted first.
/// A rack whose edges all use a device.
fn in_use(racked: &Racked) -> World<'_> {
    let mut world = World::new(racked, 1);
    world.delays = 5_000..5_001;
    // Packets of many flows use every edge, and the controller reads which device each edge uses.
    for port in [1, 2, 4] {
        for host in 0..64 {
            let flow = Flow { protocol: UDP, src: (0x0a01_0001, 7000), dst: (0xc633_6400 + host, 5000) };
            world.frame(port, &packet(flow, &[0; 18]));
        }
    }
    (0..100).for_each(|_| world.pass(Duration::from_ms(100)));
    let targets = world.rack.show().spares.into_iter().map(|edge| edge.targets);
    let in_use = targets.map(|targets| targets.iter().filter(|one| one.state() == State::InUse).count());
    assert!(in_use.clone().count() > 0 && in_use.clone().all(|count| count == 1), "{in_use:?}");
    world
}

/// An entry that the rack begins with, of this table.
fn insertion(racked: &Racked, table: &str) -> (Name, Vec<Update>) {
    let app = &racked.apps[0];
    let is_of_it = |one: &&Write<Name>| matches!(one, Write::Entry { table: of, .. } if of.ends_with(table));
    let entry = app.entries.writes().iter().find(is_of_it).expect("the rack begins with one").clone();
    let Write::Entry { table, .. } = &entry else { unreachable!() };
    (
        table.clone(),
        device_control::updates(std::slice::from_ref(&entry), &app.whole).expect("P4Runtime has it"),
    )
}

fn time_of_an_insertion(racked: &Racked, table: &str) -> Duration {
    let mut world = in_use(racked);
    let (_, mut updates) = insertion(racked, table);
    let begun = [Type::Delete, Type::Insert].map(|kind| {
        updates.iter_mut().for_each(|update| update.set_type(kind));
        let begun = world.now;
        let written = world.call(write(updates.clone(), Atomicity::ContinueOnError));
        assert_eq!(world.wait_for(written), Ok(()));
        begun
    });
    world.now.since(begun[1])
}

/// A spare that is gone in the middle of a write which goes forward: the switch knows that it is out before the device in use has the write, so packets that find it
/// there do not come to the spare afterwards.
#[test]
fn a_spare_that_is_gone_is_out_before_the_device_in_use_has_a_write() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let racked = rack::load(&examples.join("spares"), &[], &mut SourceMap::new());
    let racked = racked.unwrap_or_else(|found| panic!("{found:#?}"));
    let mut world = in_use(&racked);
    let edge = world.rack.show().spares.remove(0);
    let device_in = |state: State| {
        let target = edge.targets.iter().find(|target| target.state() == state).expect("there is one");
        let names = &racked.apps[0].placement.devices;
        names.iter().position(|device| *device == target.device).expect("it is a device")
    };
    let (used, spare) = (device_in(State::InUse), device_in(State::Ready));
    let (table, mut updates) = insertion(&racked, "wall");
    updates.iter_mut().for_each(|update| update.set_type(Type::Delete));
    let request = WriteRequest { device_id: 1, updates, ..WriteRequest::default() };
    let written = world.call(Call::Enforce(Box::new(request)));
    let is_written_to = |world: &World<'_>, device: usize| {
        let is_it =
            |(to, mail): &(usize, Mail)| *to == device && matches!(mail, Mail::ToAgent(_, Ask::Write(_)));
        world.mail.values().any(is_it)
    };
    // Counts are read first.
    for _ in 0..1000 {
        if is_written_to(&world, spare) {
            break;
        }
        world.pass(Duration::from_us(100));
    }
    assert!(is_written_to(&world, spare) && !is_written_to(&world, used));
    world.cut(spare);
    let has = |world: &mut World<'_>| {
        let device = world.agents[used].target().expect("it runs a program");
        device.switch().table_entries(&table).expect("it has the table").len()
    };
    let (before, mut on_its_way, mut is_known) = (has(&mut world), false, false);
    while has(&mut world) == before {
        world.pass(Duration::from_us(100));
        let still = is_written_to(&world, 0);
        is_known |= on_its_way && !still;
        on_its_way = still;
    }
    assert!(is_known, "the switch may still use the spare");
    assert_eq!(world.wait_for(written), Ok(()));
}

/// ExoPlane's first packet, T3: all devices at once where no order is right, otherwise all spares before the device in use.
#[test]
fn a_write_takes_one_round_trip_or_two_however_many_spares_there_are() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let spares = rack::load(&examples.join("spares"), &[], &mut SourceMap::new())
        .unwrap_or_else(|found| panic!("{found:#?}"));
    let firewall = |shard_key: &str| {
        let text = include_str!("../../../examples/pinned/replicas.toml");
        let (before, after) = text.split_once("shard_key = ").expect("it has one");
        let (_, after) = after.split_once('\n').expect("more follows");
        let text = format!("{before}shard_key = {shard_key}\n{after}");
        let text = text.replace("replicas = 2", "replicas = 3");
        let text = text.replace("../apps", &examples.join("apps").display().to_string());
        let entries = examples.join("pinned/connections.toml").display().to_string();
        crate::moves::load(&text.replace("connections.toml", &entries), "insertions")
    };
    let of_both_directions = r#"[["hdr.ipv4.src", "hdr.ipv4.dst"], ["hdr.udp.src", "hdr.udp.dst"]]"#;
    let cases = [
        ("a helper with two spares", spares, "wall", 20),
        ("ternary keys: packets of all shards", shards::racked(3, vec![]), "wall", 10),
        ("keys fix the shard", firewall(r#"["hdr.ipv4.src", "hdr.ipv4.dst"]"#), "outbound", 20),
        ("keys are not the fields that are hashed", firewall(of_both_directions), "outbound", 10),
    ];
    for (case, racked, table, expected) in cases {
        assert_eq!(time_of_an_insertion(&racked, table), Duration::from_ms(expected), "{case}");
    }
}
