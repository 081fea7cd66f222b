//! Requests to devices are refused, lost and interrupted, answers are lost: afterwards a rack has the state of one
//! without faults. `P4RACK_FAULT_SEEDS` sets the number of seeds.

use crate::setup::{arbitration, rack, read_request, replied, write_request};
use base_time::{Rng, Time};
use controller::{Ask, Call, DeviceId, Reply, Ticket};
use device_control::{Channel, Direct, Event, Passage, RackSwitch, Served};
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{SetForwardingPipelineConfigRequest, Uint128};
use p4runtime_proto::to_text;
use p4runtime_server::{Status, StreamId};
use std::collections::BTreeMap;

/// Breaks one ask of so many; none while `odds` is 0.
struct Chaos {
    rng: Rng,
    odds: u64,
    seen: BTreeMap<String, u32>,
}

impl Channel for Chaos {
    fn pass(&mut self, _: DeviceId, ask: &Ask) -> Passage {
        if self.odds == 0 || !self.rng.chance(1, self.odds) {
            return Passage::Through;
        }
        let broken = "broken".to_string();
        let passage = match self.rng.below(5) {
            0 => Passage::Refused(Status::new(p4runtime_proto::google::rpc::Code::ResourceExhausted, broken)),
            1 => Passage::AskLost,
            2 => Passage::AnswerLost,
            3 => Passage::Breaks(vec![self.rng.below(4) as u32]),
            // The way back breaks too.
            _ => Passage::Breaks(vec![self.rng.below(4) as u32, self.rng.below(2) as u32]),
        };
        let kind = format!("{ask:?}").split(['(', ' ']).next().unwrap().to_string();
        let how = format!("{passage:?}").split(['(', ' ']).next().unwrap().to_string();
        *self.seen.entry(format!("{kind} {how}")).or_default() += 1;
        passage
    }
}

pub const KINDS: [&str; 13] = [
    "table_entry {}",
    "table_entry { is_default_action: true }",
    "direct_counter_entry {}",
    "direct_meter_entry {}",
    "action_profile_member {}",
    "action_profile_group {}",
    "counter_entry {}",
    "meter_entry {}",
    "register_entry {}",
    "value_set_entry {}",
    "digest_entry {}",
    "packet_replication_engine_entry { multicast_group_entry {} }",
    "packet_replication_engine_entry { clone_session_entry {} }",
];

/// All entities of the devices, and those reported to northbound controllers.
fn contents<C: Channel>(rack: &mut RackSwitch<C>, now: Time) -> Vec<String> {
    let mut all = vec![];
    for kind in KINDS {
        let request = read_request(kind);
        for device in 0..rack.names().len() {
            // Digests of the devices themselves are sent at once, regardless of the northbound configuration.
            let found = rack.holds(device, request.entities[0].clone());
            all.extend(found.iter().map(|entity| format!("{device}: {}", to_text(entity).unwrap())));
        }
        all.push(replied(rack.call(now, Ticket(9), Call::Read(request))));
    }
    all
}

pub fn update(rng: &mut Rng) -> String {
    let how = *rng.pick(&["INSERT", "INSERT", "MODIFY", "DELETE"]).unwrap();
    let n = rng.below(4);
    let port = rng.below(4);
    let forward =
        format!(r#"action {{ action_id: $MyIngress.forward params {{ param_id: 1 value: "\00{port}" }} }}"#);
    let count = rng.below(9);
    match rng.below(13) {
        0 => format!(
            r#"{how} table_entry {{ table_id: $MyIngress.route match {{ field_id: 1 lpm {{ value: "\n\000\000\000\000\00{n}" prefix_len: 48 }} }} action {{ {forward} }} }}"#
        ),
        1 => format!(
            r#"{how} table_entry {{ table_id: $MyIngress.known match {{ field_id: 1 exact {{ value: "\00{n}" }} }} action {{ action {{ action_id: $MyIngress.learn }} }} idle_timeout_ns: {count}000 }}"#
        ),
        2 => format!(
            r#"{how} table_entry {{ table_id: $MyIngress.filter match {{ field_id: 1 ternary {{ value: "\010\00{n}" mask: "\377\377" }} }} action {{ {forward} }} priority: {} meter_config {{ cir: {count} cburst: 1 pir: 9 pburst: 9 }} }}"#,
            n + 1
        ),
        3 => format!(
            r#"{how} action_profile_member {{ action_profile_id: $MyIngress.members member_id: {} action {{ action_id: $MyIngress.forward params {{ param_id: 1 value: "\00{port}" }} }} }}"#,
            n + 1
        ),
        4 => format!(
            r#"{how} action_profile_group {{ action_profile_id: $MyIngress.members group_id: {} members {{ member_id: {} weight: 1 }} max_size: 4 }}"#,
            port + 1,
            n + 1
        ),
        5 => format!(
            r#"{how} table_entry {{ table_id: $MyIngress.ecmp match {{ field_id: 1 exact {{ value: "\00{n}" }} }} action {{ action_profile_group_id: {} }} }}"#,
            port + 1
        ),
        6 => format!(
            "MODIFY counter_entry {{ counter_id: $MyIngress.packets index {{ index: {n} }} data {{ packet_count: {count} byte_count: 1 }} }}"
        ),
        7 => format!(
            r#"MODIFY register_entry {{ register_id: $MyIngress.cells index {{ index: {n} }} data {{ bitstring: "\00{}" }} }}"#,
            count % 8
        ),
        8 => format!(
            "MODIFY meter_entry {{ meter_id: $MyIngress.rate index {{ index: {n} }} config {{ cir: {count} cburst: 1 pir: 9 pburst: 9 }} }}"
        ),
        9 => format!(
            r#"MODIFY value_set_entry {{ value_set_id: $Parse.types members {{ match {{ field_id: 1 exact {{ value: "\010\00{n}" }} }} }} }}"#
        ),
        10 => format!(
            "{how} packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: {} replicas {{ port: \"\\00{}\" instance: 1 }} }} }}",
            n + 1,
            port + 1
        ),
        11 => format!("{how} digest_entry {{ digest_id: $learn_t config {{ max_list_size: {} }} }}", n + 1),
        _ => format!(
            r#"MODIFY table_entry {{ table_id: $MyIngress.route is_default_action: true action {{ {forward} }} }}"#
        ),
    }
}

/// A rack that breaks and one that does not, with the same requests.
struct Pair {
    broken: RackSwitch<Chaos>,
    whole: RackSwitch<Direct>,
    now: Time,
}

impl Pair {
    fn call(&mut self, odds: u64, call: Call) -> Result<(), Status> {
        self.calls(odds, vec![call]).remove(0)
    }

    /// Calls of several clients at once; how each has ended.
    fn calls(&mut self, odds: u64, calls: Vec<Call>) -> Vec<Result<(), Status>> {
        self.broken.channel.odds = odds;
        let count = calls.len();
        let mut replies: BTreeMap<Ticket, Result<(), Status>> = BTreeMap::new();
        let mut waits = 0;
        let mut waiting = calls.into_iter().zip(0..);
        while replies.len() < count {
            let events = match waiting.next() {
                Some((call, ticket)) => self.broken.call(self.now, Ticket(ticket), call),
                None => {
                    waits += 1;
                    assert!(waits < 1000, "calls do not end: {:?}", self.broken.channel.seen);
                    self.now = self.broken.deadline().expect("it waits for something").max(self.now);
                    self.broken.tick(self.now)
                }
            };
            replies.extend(events.into_iter().filter_map(|event| match event {
                Event::Reply(ticket, Reply::Done(ended)) => Some((ticket, ended)),
                _ => None,
            }));
        }
        self.bring_back();
        replies.into_values().collect()
    }

    /// A device restarts, and the connection to it breaks while it is restored. The counts of its data plane are lost.
    fn restart(&mut self, rng: &mut Rng) {
        let device = rng.below(self.whole.names().len() as u64) as usize;
        self.broken.channel.odds = 3;
        self.broken.restart(self.now, device);
        self.bring_back();
        self.whole.restart(self.now, device);
        assert!(self.whole.stale().is_empty());
    }

    /// Repairs devices that could not be rolled back in time.
    fn bring_back(&mut self) {
        self.broken.channel.odds = 0;
        for round in 0.. {
            if self.broken.stale().is_empty() {
                break;
            }
            assert!(round < 1000, "devices stay out of step: {:?}", self.broken.stale());
            self.now = self.broken.deadline().expect("it tries again").max(self.now);
            self.broken.tick(self.now);
        }
    }

    fn both(&mut self, call: Call) {
        assert_eq!(self.call(0, call.clone()), Ok(()));
        assert_eq!(replied(self.whole.call(self.now, Ticket(1), call)), "OK\n");
    }

    /// Writes of several clients. Successful ones are repeated on the other rack, one after the other in order.
    fn write(&mut self, rng: &mut Rng) {
        let mut requests = vec![];
        for _ in 0..rng.between(1, 4) {
            let updates: Vec<String> = (0..rng.between(1, 8)).map(|_| update(rng)).collect();
            let updates: Vec<&str> = updates.iter().map(String::as_str).collect();
            let atomicity =
                *rng.pick(&["CONTINUE_ON_ERROR", "ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"]).unwrap();
            requests.push(write_request(atomicity, &updates));
        }
        let calls = requests.iter().map(|request| Call::Write(Box::new(request.clone()))).collect();
        let replies = self.calls(3, calls);
        for (request, reply) in requests.iter().zip(replies) {
            let done = |index: usize| match &reply {
                Ok(()) => true,
                Err(status) => status.details.get(index).is_some_and(|error| error.canonical_code == 0),
            };
            for (index, update) in request.updates.iter().enumerate() {
                if done(index) {
                    let mut one = request.clone();
                    one.updates = vec![update.clone()];
                    let reply = self.whole.call(self.now, Ticket(1), Call::Write(Box::new(one)));
                    assert_eq!(replied(reply), "OK\n", "{update:?}");
                }
            }
        }
    }

    fn config(&mut self, rng: &mut Rng) {
        let action = *rng.pick(&[Action::VerifyAndCommit, Action::ReconcileAndCommit]).unwrap();
        let request = SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: Some(Uint128 { high: 0, low: 1 }),
            action: action as i32,
            config: Some(Default::default()),
            ..Default::default()
        };
        if self.call(4, Call::SetConfig(Box::new(request.clone()))).is_ok() {
            let reply = self.whole.call(self.now, Ticket(1), Call::SetConfig(Box::new(request)));
            assert_eq!(replied(reply), "OK\n");
        }
    }

    fn same(&mut self, when: &str) {
        let (broken, whole) = (contents(&mut self.broken, self.now), contents(&mut self.whole, self.now));
        let differ = broken.iter().zip(&whole).find(|(a, b)| a != b);
        assert!(broken.len() == whole.len() && differ.is_none(), "{when}: {differ:#?}");
    }

    fn packets(&mut self, rng: &mut Rng) {
        for _ in 0..4 {
            let mut frame = vec![10, 0, 0, 0, 0, rng.below(4) as u8, 0, 0, 0, 0, 0, rng.below(4) as u8, 8];
            frame.push(rng.below(4) as u8);
            let port = 1 + rng.below(3) as u32;
            let frames = |events: Vec<Event>| {
                events.into_iter().filter(|e| matches!(e, Event::Frame(..))).collect::<Vec<_>>()
            };
            let broken = frames(self.broken.frame(self.now, port, &frame));
            assert_eq!(broken, frames(self.whole.frame(self.now, port, &frame)));
        }
    }
}

/// Runs random calls on a faulty and a reliable rack. Returns how often each fault occurred.
fn run(seed: u64) -> BTreeMap<String, u32> {
    let mut rng = Rng::new(seed);
    let chaos = Chaos { rng: rng.split("chaos"), odds: 0, seen: BTreeMap::new() };
    let mut pair = Pair { broken: rack(chaos), whole: rack(Direct), now: Time::ZERO };
    let start = || Call::Start(Box::default(), vec![]);
    while pair.call(4, start()).is_err() {}
    assert_eq!(replied(pair.whole.call(Time::ZERO, Ticket(1), start())), "OK\n");
    for rack in [0, 1] {
        let hello = arbitration(1, Some(1));
        match rack {
            0 => drop(pair.broken.message(pair.now, StreamId(0), &hello)),
            _ => drop(pair.whole.message(pair.now, StreamId(0), &hello)),
        }
    }
    pair.both(Call::Write(Box::new(write_request(
        "CONTINUE_ON_ERROR",
        &["INSERT digest_entry { digest_id: $learn_t config { } }"],
    ))));
    for step in 0..6 {
        match rng.below(7) {
            0 => pair.config(&mut rng),
            1 => pair.restart(&mut rng),
            _ => pair.write(&mut rng),
        }
        pair.same(&format!("seed {seed}, step {step}"));
        pair.packets(&mut rng);
        pair.same(&format!("seed {seed}, step {step}, after packets"));
    }
    pair.broken.channel.seen
}

/// Frames are let in before the controller is done.
struct CutOff;

impl Channel for CutOff {
    fn pass(&mut self, _: DeviceId, ask: &Ask) -> Passage {
        match ask {
            Ask::ExtendHold(_) => Passage::Refused(Status::new(
                p4runtime_proto::google::rpc::Code::FailedPrecondition,
                "frames have been admitted already",
            )),
            _ => Passage::Through,
        }
    }
}

#[test]
fn a_batch_that_packets_may_have_seen_half_done_is_led_back() {
    let mut rack = rack(CutOff);
    let now = Time::ZERO;
    assert_eq!(replied(rack.call(now, Ticket(1), Call::Start(Box::default(), vec![]))), "OK\n");
    rack.message(now, StreamId(0), &arbitration(1, Some(1)));
    let before = contents(&mut rack, now);
    // Of the switch and of the card beside it.
    let batch = [
        "INSERT table_entry { table_id: $MyIngress.route match { field_id: 1 lpm { value: \"\\n\\000\\000\\000\\000\\001\" prefix_len: 48 } } action { action { action_id: $MyIngress.drop } } }",
        "MODIFY register_entry { register_id: $MyIngress.cells index { index: 1 } data { bitstring: \"\\007\" } }",
    ];
    let reply =
        replied(rack.call(now, Ticket(1), Call::Write(Box::new(write_request("DATAPLANE_ATOMIC", &batch)))));
    assert!(reply.contains("ABORTED") && reply.contains("frames were admitted before"), "{reply}");
    assert_eq!(contents(&mut rack, now), before);
    let reply =
        replied(rack.call(now, Ticket(1), Call::Write(Box::new(write_request("ROLLBACK_ON_ERROR", &batch)))));
    assert_eq!(reply, "OK\n");
}

#[test]
#[allow(clippy::disallowed_methods)]
fn a_rack_is_in_the_old_or_the_new_state() {
    let seeds = std::env::var("P4RACK_FAULT_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(8);
    let mut seen = BTreeMap::new();
    for seed in 0..seeds {
        for (what, times) in run(seed) {
            *seen.entry(what).or_insert(0) += times;
        }
    }
    for way in ["Refused", "AskLost", "AnswerLost", "Breaks"] {
        assert!(seen.keys().any(|kind| kind.ends_with(way)), "{way}: {seen:#?}");
    }
    println!("{seeds} seeds: {seen:#?}");
}
