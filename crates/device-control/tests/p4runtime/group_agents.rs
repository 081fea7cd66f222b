//! A group whose switch and servers are agents of their own: nobody but the programs and the frames between them says that there is a group.

use crate::parts::compiled_text;
use crate::setup::{group_placement, maker};
use base_diag::SourceMap;
use base_time::{Duration, Time};
use controller::{Call, Reply, Steer, Ticket};
use device_control::{Boots, Event, Maker, OneSwitch, Served, make_part, wires};
use ir_split::{DeviceIndex, Placement, ScaleRules, Variant};
use p4runtime_proto::p4::v1::Update;
use p4runtime_proto::p4rack::v1::Server;
use p4runtime_proto::p4rack::v1::steer_request::{ChangeGroup, change_group::Change};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Servers count the packets of each flow.
const PROGRAM: &str = include_str!("../../../group-trials/src/counted.p4");

/// Devices by number: the switch, and three servers of which two are members.
const SWITCH: usize = 0;

/// Agents, links without delay, and a clock.
struct World {
    agents: Vec<OneSwitch>,
    programs: Vec<(Arc<ir::Program>, Vec<Update>)>,
    wires: BTreeMap<(usize, u32), (usize, u32)>,
    /// Starts of processes so far.
    starts: u32,
    now: Time,
    /// Servers whose process gets no time: frames for them wait.
    stopped: BTreeSet<usize>,
    waiting: Vec<(Time, usize, u32, Vec<u8>)>,
    /// Links between devices carry each frame twice.
    doubles: bool,
    /// Packets that left the rack.
    left: Vec<Vec<u8>>,
}

impl World {
    fn new() -> World {
        World::with(None)
    }

    fn with(scale: Option<ScaleRules>) -> World {
        World::of(&group_placement(scale))
    }

    fn of(placement: &Placement) -> World {
        let whole = compiled_text(&PROGRAM.replace("BUCKETS", "16"));
        let made = compiler::make_parts(&whole, placement, &mut SourceMap::new());
        let (_, parts, texts) = made.unwrap_or_else(|found| panic!("{found:#?}"));
        let programs = parts.iter().zip(texts).map(|(part, text)| {
            let (part, text) = (part.as_ref().expect("a part"), text.expect("its text"));
            let info = p4info::p4info(&part.program).expect("it has a P4Info");
            let made = make_part("device", &part.program, &part.linkage, text, &info).expect("its entries");
            (Arc::clone(&part.program), made.linkage)
        });
        let mut world = World {
            agents: vec![],
            programs: programs.collect(),
            wires: wires(placement),
            starts: 100,
            now: Time::ZERO,
            stopped: BTreeSet::new(),
            waiting: vec![],
            doubles: false,
            left: vec![],
        };
        world.agents = (0..4).map(|device| world.process(device)).collect();
        world.wait(20);
        world
    }

    /// A process that runs the program of a device.
    fn process(&mut self, device: usize) -> OneSwitch {
        self.starts += 1;
        let (program, updates) = self.programs[device].clone();
        let boots = Boots::after(self.starts);
        let maker = Maker { own: Some(program), boots, shares: true, ..maker() };
        let mut one = OneSwitch::new(maker, 1, 0, None);
        let started = one.call(self.now, Ticket(1), Call::Start(Box::default(), updates));
        assert!(matches!(&started[..], [Event::Reply(_, Reply::Done(Ok(())))]), "{started:?}");
        one
    }

    fn kill(&mut self, device: usize) {
        self.agents[device] = self.process(device);
    }

    fn pass(&mut self, device: usize, events: Vec<Event>) {
        let mut under_way: VecDeque<(usize, Event)> =
            events.into_iter().map(|event| (device, event)).collect();
        while let Some((device, event)) = under_way.pop_front() {
            let Event::Frame(port, frame) = event else { continue };
            match self.wires.get(&(device, port)).copied() {
                None => self.left.push(frame),
                Some((next, port)) if self.stopped.contains(&next) => {
                    self.waiting.push((self.now, next, port, frame))
                }
                Some((next, port)) => {
                    for _ in 0..if self.doubles { 2 } else { 1 } {
                        let events = self.agents[next].frame(self.now, port, &frame);
                        under_way.extend(events.into_iter().map(|event| (next, event)));
                    }
                }
            }
        }
    }

    /// Milliseconds pass.
    fn wait(&mut self, ms: u64) {
        self.wait_quarters(ms * 4);
    }

    /// Quarters of a millisecond pass.
    fn wait_quarters(&mut self, count: u64) {
        for _ in 0..count {
            self.now += Duration::from_us(250);
            for device in 0..self.agents.len() {
                if !self.stopped.contains(&device) {
                    let events = self.agents[device].tick(self.now);
                    self.pass(device, events);
                }
            }
        }
    }

    /// A server gets time again.
    fn go_on(&mut self, device: usize) {
        self.stopped.remove(&device);
        for (since, device, port, frame) in std::mem::take(&mut self.waiting) {
            let waited = self.now.since(since);
            let events = self.agents[device].frame_after(self.now, waited, port, &frame);
            self.pass(device, events);
        }
    }

    /// Sends a packet of a flow; its number, as its server has counted it. None if it is lost.
    fn count(&mut self, flow: u16) -> Option<u32> {
        let mut frame = flow.to_be_bytes().to_vec();
        frame.extend([0; 10]);
        let events = self.agents[SWITCH].frame(self.now, 1, &frame);
        self.pass(SWITCH, events);
        let left = std::mem::take(&mut self.left);
        assert!(left.len() <= 1, "{left:?}");
        left.first().map(|frame| u32::from_be_bytes(frame[6..10].try_into().expect("four bytes")))
    }

    fn counts(&mut self) -> Vec<Option<u32>> {
        (0..40).map(|flow| self.count(flow)).collect()
    }

    fn change(&mut self, device: &str, change: Change) {
        let (group, device) = ("count".to_string(), device.to_string());
        let steer = Steer::ChangeGroup(ChangeGroup { group, device, change: change.into(), weight: 1 });
        let events = self.agents[SWITCH].call(self.now, Ticket(1), Call::Steer(None, steer));
        assert!(
            events.iter().any(|event| matches!(event, Event::Reply(_, Reply::Done(Ok(()))))),
            "{events:?}"
        );
        self.pass(SWITCH, events);
    }

    /// Each server with its state and buckets; nothing goes on.
    fn standings(&self) -> Vec<(String, u64)> {
        let shown = self.agents[SWITCH].show().groups;
        let [group] = &shown[..] else { panic!("{shown:?}") };
        assert!(group.is_steady, "{group:?}");
        group.servers.iter().map(|server| (server.standing.clone(), server.buckets)).collect()
    }
}

fn are(wanted: [(&str, u64); 3]) -> Vec<(String, u64)> {
    wanted.map(|(standing, buckets)| (standing.to_string(), buckets)).to_vec()
}

#[test]
fn a_group_grows_and_shrinks_and_no_flow_notices() {
    let mut world = World::new();
    assert_eq!(world.standings(), are([("member", 8), ("member", 8), ("out", 0)]));
    assert_eq!(world.counts(), [Some(1); 40]);
    world.change("s3", Change::Add);
    assert_eq!(world.counts(), [Some(2); 40], "while it joins");
    world.wait(50);
    assert_eq!(world.standings(), are([("member", 6), ("member", 5), ("member", 5)]));
    assert_eq!(world.counts(), [Some(3); 40]);
    world.change("s1", Change::Remove);
    world.wait(50);
    assert_eq!(world.counts(), [Some(4); 40]);
    assert_eq!(world.standings(), are([("leaving", 0), ("member", 8), ("member", 8)]));
    let group = world.agents[SWITCH].show().groups.remove(0);
    assert_eq!((group.sent, group.returned, group.changes), (160, 160, 2));
    world.wait(2_500);
    assert_eq!(world.standings(), are([("out", 0), ("member", 8), ("member", 8)]), "its flows have ended");
}

#[test]
fn a_server_that_dies_takes_its_flows_with_it_and_no_others() {
    let mut world = World::new();
    world.counts();
    world.kill(2);
    world.wait(20);
    assert_eq!(world.standings(), are([("member", 8), ("member", 8), ("out", 0)]));
    let after = world.counts();
    let lost = after.iter().filter(|count| **count == Some(1)).count();
    assert!((5..=35).contains(&lost) && after.iter().all(Option::is_some), "{after:?}");
    let again: Vec<Option<u32>> = after.iter().map(|count| count.map(|count| count + 1)).collect();
    assert_eq!(world.counts(), again);
}

/// While a server gets no time, the others have its flows; when it is back, it must not have them, too.
#[test]
fn a_server_that_was_taken_for_dead_restarts() {
    let mut world = World::new();
    world.counts();
    world.counts();
    world.stopped.insert(2);
    let before: Vec<u16> = (0..40).filter(|flow| world.count(*flow).is_none()).collect();
    assert!(before.len() > 4);
    // Those packets are lost.
    world.waiting.clear();
    world.wait(20);
    assert_eq!(world.standings(), are([("member", 16), ("dead", 0), ("out", 0)]));
    for count in 1..=2 {
        before.iter().for_each(|flow| assert_eq!(world.count(*flow), Some(count), "at the other server"));
    }
    world.go_on(2);
    before.iter().for_each(|flow| assert_eq!(world.count(*flow), Some(3)));
    world.wait(50);
    assert_eq!(world.standings(), are([("member", 8), ("member", 8), ("out", 0)]));
    before.iter().for_each(|flow| assert_eq!(world.count(*flow), Some(4), "flow {flow}"));
}

/// A switch that restarts knows no flows: its servers forget theirs, and the group can change as before.
#[test]
fn a_switch_that_restarts_has_a_group() {
    let mut world = World::new();
    world.change("s3", Change::Add);
    world.wait(50);
    world.counts();
    world.kill(SWITCH);
    world.wait(50);
    assert_eq!(world.standings(), are([("member", 8), ("member", 8), ("out", 0)]));
    let counts = world.counts();
    world.change("s3", Change::Add);
    world.wait(50);
    assert_eq!(world.standings(), are([("member", 6), ("member", 5), ("member", 5)]));
    let next: Vec<Option<u32>> = counts.iter().map(|count| count.map(|count| count + 1)).collect();
    assert_eq!(world.counts(), next);
}

#[test]
fn a_group_grows_with_its_load_and_shrinks_again() {
    let mut world = World::with(Some(ScaleRules {
        capacity: 2_000,
        up: 750,
        up_for_us: 8_000,
        down: 300,
        down_for_us: 16_000,
        cooldown_us: 8_000,
        min: 2,
        max: 3,
        weighs: false,
    }));
    // The servers get 10,000 packets a second.
    for count in 1..=20 {
        for flow in 0..40 {
            assert_eq!(world.count(flow), Some(count), "flow {flow}");
            if flow % 10 == 9 {
                world.wait(1);
            }
        }
    }
    assert_eq!(world.standings(), are([("member", 6), ("member", 5), ("member", 5)]));
    world.wait(60);
    let standings: Vec<String> = world.standings().into_iter().map(|(standing, _)| standing).collect();
    assert_eq!(standings.iter().filter(|standing| *standing == "member").count(), 2, "{standings:?}");
    assert_eq!(world.counts(), [Some(21); 40], "flows stay where they are");
}

/// Each packet is counted once, and leaves once, although each frame between the devices comes twice.
#[test]
fn calls_that_come_twice_count_once() {
    let mut world = World::of(&Placement { numbered: [DeviceIndex(1)].into(), ..group_placement(None) });
    world.doubles = true;
    assert_eq!(world.counts(), [Some(1); 40]);
    world.change("s3", Change::Add);
    world.wait(50);
    assert_eq!(world.standings(), are([("member", 6), ("member", 5), ("member", 5)]));
    assert_eq!(world.counts(), [Some(2); 40]);
    world.change("s1", Change::Remove);
    world.wait(50);
    assert_eq!(world.counts(), [Some(3); 40]);
    world.wait(20);
    let group = world.agents[SWITCH].show().groups.remove(0);
    assert_eq!((group.sent, group.returned, group.repeated_answers), (120, 120, 120), "{group:?}");
    assert_eq!(group.servers.iter().map(|server| server.port).collect::<Vec<_>>(), [11, 12, 13]);
    let repeated =
        |server: &Server| server.reasons.iter().find(|dropped| dropped.reason == "repeated").cloned();
    let repeated: u64 = group.servers.iter().filter_map(repeated).map(|dropped| dropped.count).sum();
    assert!(repeated >= 120, "{group:?}");
}

/// CLIP's filters: no server asks another one, and changes wait until the filters change roles. They are so large that no flow breaks here.
#[test]
fn a_group_with_filters_changes_without_questions() {
    let mut placement = group_placement(None);
    placement.filtered = [(DeviceIndex(1), 1 << 12)].into();
    let rules = &mut placement.groups[0].rules;
    (rules.variant, rules.idle_us) = (Variant::Bloom, 100_000);
    let mut world = World::of(&placement);
    let mut count = 0;
    let mut send_for = |world: &mut World, ms: u64| {
        for _ in 0..ms / 20 {
            count += 1;
            assert_eq!(world.counts(), [Some(count); 40]);
            world.wait(20);
        }
    };
    send_for(&mut world, 20);
    world.change("s3", Change::Add);
    send_for(&mut world, 20);
    let shown = world.agents[SWITCH].show().groups.remove(0);
    assert!(!shown.is_steady && shown.servers[2].buckets == 0, "the filters keep their roles: {shown:?}");
    send_for(&mut world, 200);
    assert_eq!(world.standings(), are([("member", 6), ("member", 5), ("member", 5)]));
    let shown = world.agents[SWITCH].show().groups.remove(0);
    assert_eq!(shown.servers.iter().map(|server| server.flows > 0).collect::<Vec<_>>(), [true, true, false]);
    world.change("s1", Change::Remove);
    send_for(&mut world, 200);
    assert_eq!(world.standings(), are([("leaving", 0), ("member", 8), ("member", 8)]));
    world.wait(200);
    assert_eq!(world.standings(), are([("out", 0), ("member", 8), ("member", 8)]), "its flows have ended");
    let shown = world.agents[SWITCH].show().groups.remove(0);
    let is_quiet = |server: &Server| (server.extra_steps, server.dropped, server.flows) == (0, 0, 0);
    assert!(shown.servers.iter().all(is_quiet) && shown.sent == shown.returned, "{shown:?}");
}

/// Calls that have waited for too long are dropped and counted; the state of their flows does not change.
#[test]
fn old_calls_are_dropped_and_counted() {
    let mut placement = group_placement(None);
    placement.groups[0].rules.max_age_us = Some(800);
    let mut world = World::of(&placement);
    assert_eq!(world.counts(), [Some(1); 40]);
    world.stopped.insert(2);
    let late: Vec<u16> = (0..40).filter(|flow| world.count(*flow).is_none()).collect();
    world.wait_quarters(2);
    world.go_on(2);
    assert_eq!(std::mem::take(&mut world.left).len(), late.len(), "they have waited for less");
    world.wait(5);
    world.stopped.insert(2);
    let again: Vec<u16> = (0..40).filter(|flow| world.count(*flow).is_none()).collect();
    assert_eq!(again, late);
    world.wait_quarters(4);
    world.go_on(2);
    assert_eq!(world.left, Vec::<Vec<u8>>::new());
    world.wait(5);
    for flow in 0..40 {
        let expected = if late.contains(&flow) { 3 } else { 4 };
        assert_eq!(world.count(flow), Some(expected), "flow {flow}");
    }
    let group = world.agents[SWITCH].show().groups.remove(0);
    let dropped: Vec<(u64, Vec<(&str, u64)>)> = group
        .servers
        .iter()
        .map(|server| {
            let reasons = server.reasons.iter().map(|dropped| (dropped.reason.as_str(), dropped.count));
            (server.dropped, reasons.collect())
        })
        .collect();
    let count = late.len() as u64;
    assert_eq!(dropped, [(0, vec![]), (count, vec![("late", count)]), (0, vec![])]);
    assert_eq!((group.sent, group.returned), (160, 160 - count));
}

/// Messages for the switch count only at the port of the server that they name.
#[test]
fn nobody_else_speaks_for_a_server() {
    let mut world = World::new();
    let heard = world.agents[3].tick(world.now + Duration::from_ms(5));
    let [Event::Frame(_, frame)] = &heard[..] else { panic!("{heard:?}") };
    // From a host, from another server, and damaged.
    let mut damaged = frame.clone();
    damaged.truncate(frame.len() - 1);
    world.stopped.insert(3);
    world.change("s3", Change::Add);
    for (port, frame) in [(1, frame), (13, &damaged), (11, frame)] {
        for _ in 0..40 {
            world.wait(1);
            let events = world.agents[SWITCH].frame(world.now, port, frame);
            world.pass(SWITCH, events);
        }
    }
    assert_eq!(world.standings(), are([("member", 8), ("member", 8), ("dead", 0)]));
    assert!(world.left.len() <= 40, "a host's frame is a packet like any other");
}
