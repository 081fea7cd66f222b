//! Packets of new flows on a running rack: they wait until the controller has written their entry, and then have the result of one device, in order.

use crate::moves::{app_text, devices, load};
use crate::running_flows::{Rig, Scene, move_flow, of, update, write};
use base_time::{Duration, Rng, Time};
use control_writes::Write;
use device::Switch;
use device::trace::EventKind;
use device_control::Direct;
use ir::Name;
use p4runtime_proto::p4::v1::update::Type;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use std::collections::BTreeMap;

/// The NAT, whose outbound flows are new until the controller has chosen a port for them.
const NAT: usize = 2;
const TABLE: &str = "NatIngress.outbound";

const PATIENCE: Duration = Duration::from_ms(200);

/// Packets of a flow that wait after the first.
const MOST: usize = 64;

/// True if a packet looks for an entry that is not there; none if it does not look for one.
fn is_new(alone: &mut Switch, port: u32, frame: &[u8]) -> Option<bool> {
    alone.set_trace(true);
    alone.process(port, frame, Time::ZERO);
    let events = alone.take_trace();
    alone.set_trace(false);
    events.into_iter().find_map(|event| match event.kind {
        EventKind::Table { table, hit, .. } if table == TABLE => Some(hit.is_none()),
        _ => None,
    })
}

/// The rack, one device, packets of different flows, and the entry of each, which is there or not.
struct Trial {
    rig: Rig<Direct>,
    scene: Scene,
    alone: Switch,
    flows: Vec<Flow>,
}

struct Flow {
    port: u32,
    frame: Vec<u8>,
    key: BTreeMap<String, String>,
    entry: Write<Name>,
    is_there: bool,
    /// Packets that wait, with the end of patience.
    waiting: Option<(Time, Vec<Vec<u8>>)>,
}

fn delete(entry: &Write<Name>) -> Write<Name> {
    let mut gone = entry.clone();
    if let Write::Entry { to, .. } = &mut gone {
        *to = None;
    }
    gone
}

impl Trial {
    fn new(seed: u64, rng: &mut Rng) -> Trial {
        let hold = format!("hold = [\"outbound\"]\npatience = \"{PATIENCE}\"\n");
        let text = devices(rng) + &app_text(NAT, 8, &hold, rng);
        let scene = Scene::of(NAT, load(&text, &format!("new-{seed}")), rng);
        let rig = Rig::new(&scene.racked, Direct);
        let mut alone = scene.alone();
        let mut flows: Vec<Flow> = vec![];
        for ((port, frame), key) in scene.known.iter().zip(&scene.keys) {
            let is_other = flows.iter().all(|flow| flow.key != *key);
            if frame.len() < 64 || !is_other || is_new(&mut alone, *port, frame) != Some(false) {
                continue;
            }
            let is_hit = |entry: &&Write<Name>| {
                let mut without = scene.alone();
                let is_of_table = matches!(entry, Write::Entry { table, .. } if table == TABLE);
                is_of_table && {
                    without.write(&delete(entry), Time::ZERO).expect("it is there");
                    is_new(&mut without, *port, frame) == Some(true)
                }
            };
            let entry = scene.there.iter().find(is_hit).expect("it hits one").clone();
            if flows.iter().any(|flow| flow.entry == entry) {
                continue;
            }
            let flow = Flow {
                port: *port,
                frame: frame.clone(),
                key: key.clone(),
                entry,
                is_there: true,
                waiting: None,
            };
            flows.push(flow);
        }
        Trial { rig, scene, alone, flows }
    }

    /// The controller inserts or deletes the entry of a flow. Frames that come of it are those that waited.
    fn write(&mut self, at: usize) {
        let flow = &mut self.flows[at];
        let (changed, kind) = match flow.is_there {
            true => (delete(&flow.entry), Type::Delete),
            false => (flow.entry.clone(), Type::Insert),
        };
        flow.is_there = !flow.is_there;
        let update =
            update(&self.scene.racked.apps[0].whole, &changed, kind, std::slice::from_ref(&flow.entry));
        assert_eq!(self.rig.done(write(vec![update], Atomicity::ContinueOnError)), Ok(()));
        self.alone.write(&changed, Time::ZERO).expect("the rack could");
        let mut wanted = vec![];
        // Several flows may look for one entry.
        for flow in &mut self.flows {
            if is_new(&mut self.alone, flow.port, &flow.frame) == Some(false) {
                let frames = flow.waiting.take().into_iter().flat_map(|(_, frames)| frames);
                wanted.extend(frames.flat_map(|frame| of(&mut self.alone, flow.port, &frame)));
            }
        }
        let left = std::mem::take(&mut self.rig.frames);
        assert_eq!(left, wanted);
    }

    /// A packet with this number. True if it is dropped because too many wait.
    fn packet(&mut self, at: usize, number: u32) -> bool {
        let flow = &mut self.flows[at];
        let mut frame = flow.frame.clone();
        frame[60..].copy_from_slice(&number.to_be_bytes());
        let left = self.rig.frame(flow.port, &frame);
        if let Some((_, waiting)) = &mut flow.waiting {
            assert_eq!(left, []);
            let has_room = waiting.len() <= MOST;
            if has_room {
                waiting.push(frame);
            }
            return !has_room;
        }
        let wanted = of(&mut self.alone, flow.port, &frame);
        assert_eq!(left, wanted);
        if is_new(&mut self.alone, flow.port, &frame) == Some(true) {
            assert_eq!(wanted, [], "the program drops what it cannot translate");
            flow.waiting = Some((self.rig.now + PATIENCE, vec![frame]));
        }
        false
    }

    /// Time passes. Returns flows and packets whose time is over.
    fn pass(&mut self, time: Duration) -> (u64, u64) {
        let until = self.rig.now + time;
        let (mut flows, mut packets) = (0, 0);
        while self.rig.now < until {
            self.rig.pass(until.since(self.rig.now));
            for flow in &mut self.flows {
                if let Some((_, gone)) = flow.waiting.take_if(|(end, _)| *end <= self.rig.now) {
                    flows += 1;
                    packets += gone.len() as u64;
                }
            }
        }
        (flows, packets)
    }
}

#[test]
fn packets_of_new_flows_wait_for_their_entry_and_come_in_in_order() {
    let (mut new, mut expired, mut dropped, mut released) = (0, 0, 0, 0);
    let range = features::seeds(2, 100);
    let seeds = range.end - range.start;
    for seed in range {
        let mut rng = Rng::new(seed).split("new flows");
        let mut trial = Trial::new(seed, &mut rng);
        if trial.flows.is_empty() {
            continue;
        }
        let (mut gone, mut lost, mut moves) = (0, 0, vec![]);
        for number in 0..500 {
            let at = rng.index(trial.flows.len());
            match rng.below(16) {
                0 | 1 => trial.write(at),
                2 => {
                    let (flows, packets) = trial.pass(Duration::from_ms(1 + rng.below(300)));
                    (gone, lost) = (gone + flows, lost + packets);
                }
                3 => {
                    let key = trial.flows[at].key.clone();
                    moves.push(trial.rig.call(move_flow(&trial.scene.name, key, rng.chance(1, 2))));
                }
                // A burst: more than may wait.
                4 if rng.chance(1, 8) => {
                    let burst = (0..70).filter(|_| trial.packet(at, number)).count();
                    lost += burst as u64;
                }
                _ => lost += u64::from(trial.packet(at, number)),
            }
        }
        let waiting: usize = trial.flows.iter().filter(|flow| flow.waiting.is_some()).count();
        assert_eq!(trial.rig.metric("new_flows_waiting"), waiting as u64, "seed {seed}");
        assert_eq!(trial.rig.metric("new_flows_expired_total"), gone, "seed {seed}");
        let all = trial.rig.metric("new_flow_packets_total");
        assert!(all >= lost, "seed {seed}: {all} packets, {lost} lost");
        new += trial.rig.metric("new_flows_total");
        (expired, dropped, released) = (expired + gone, dropped + lost, released + all - lost);
        assert!(!moves.is_empty());
    }
    println!(
        "{seeds} racks: {new} new flows, {expired} expired, {dropped} packets dropped, {released} sent later"
    );
    assert!(new > 10 * seeds && expired > 0 && dropped > 0 && released > 10 * seeds);
}
