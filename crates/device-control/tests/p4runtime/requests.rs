//! Random requests: no panic, and one device and a rack that looks like it have the same answers and the same state
//! afterwards; a request that is refused as a whole changes nothing; everything read can be written to a new switch.
//! `P4RACK_FUZZ_REQUESTS` sets their number, `P4RACK_FUZZ_SEED` the first seed.

use crate::faults::{KINDS, update};
use crate::setup::{arbitration, one_device, rack, read_request, write_request};
use base_time::{Rng, Time};
use controller::{Call, Reply, Ticket};
use device_control::{Direct, Event, Served};
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{
    Entity, ReadRequest, SetForwardingPipelineConfigRequest, StreamMessageRequest, Update, WriteRequest,
    entity::Entity as Kind, update::Type,
};
use p4runtime_proto::{Message, from_binary, from_text, to_binary, to_text};
use p4runtime_server::{Status, StreamId};

/// Numbers at the borders of what fields hold.
const ODD: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2",
    "7",
    "128",
    "65535",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967295",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
];

/// Every answer, by the codes alone: what devices say of themselves has their names.
fn codes(events: &[Event]) -> Vec<String> {
    let of = |ended: &Result<(), Status>| match ended {
        Ok(()) => "OK".to_string(),
        Err(status) => {
            let each: Vec<i32> = status.details.iter().map(|error| error.canonical_code).collect();
            format!("{:?} {each:?}", status.code)
        }
    };
    let one = |event: &Event| match event {
        Event::Reply(_, Reply::Done(ended)) => of(ended),
        Event::Reply(_, Reply::Found(found, ended)) => {
            let entities = found.entities();
            entities.map(|entity| to_text(&entity).unwrap()).chain([of(ended)]).collect::<Vec<_>>().join("\n")
        }
        Event::Reply(_, Reply::Traced(traced)) => of(&traced.clone().map(drop)),
        Event::Reply(_, Reply::Merged(said)) => of(&said.clone().map(drop)),
        Event::Ask(..) => panic!("no device is elsewhere: {event:?}"),
        Event::Send(stream, message) => format!("{stream:?}: {}", to_text(message).unwrap()),
        Event::End(stream, why) => format!("{stream:?} ends: {:?}", why.code),
        Event::Frame(port, frame) => format!("{port}: {frame:?}"),
    };
    events.iter().map(one).collect()
}

fn everything(switch: &mut dyn Served) -> Vec<Entity> {
    let mut all = vec![];
    for kind in KINDS {
        let events = switch.call(Time::ZERO, Ticket(9), Call::Read(read_request(kind)));
        let [Event::Reply(_, Reply::Found(found, Ok(())))] = &events[..] else {
            panic!("{kind}: {events:?}")
        };
        all.extend(found.entities());
    }
    all
}

/// The same message with a number, a byte or a part of it changed; `None` if that is no message.
fn mutated<M: Message + Default>(message: &M, rng: &mut Rng) -> Option<M> {
    if rng.chance(1, 2) {
        let text = to_text(message).ok()?;
        let mut words: Vec<String> = text.split_inclusive('\n').map(str::to_string).collect();
        for _ in 0..rng.between(1, 3) {
            let at = rng.below(words.len().max(1) as u64) as usize;
            let line = words.get(at)?.clone();
            let is_number =
                |word: &str| word.trim().trim_start_matches('-').chars().all(|c| c.is_ascii_digit());
            match line.split_once(": ") {
                Some((field, value)) if is_number(value) => {
                    words[at] = format!("{field}: {}\n", rng.pick(&ODD)?);
                }
                Some((field, value)) if value.starts_with('"') => {
                    let bytes = "\\377".repeat(rng.below(20) as usize);
                    words[at] = format!("{field}: \"{bytes}\"\n");
                }
                _ if !line.contains(['{', '}']) => words[at].clear(),
                _ => {}
            }
        }
        return from_text(&words.concat()).ok();
    }
    let mut bytes = to_binary(message);
    for _ in 0..rng.between(1, 4) {
        let at = rng.below(bytes.len().max(1) as u64) as usize;
        match rng.below(3) {
            0 => *bytes.get_mut(at)? = rng.below(256) as u8,
            1 => drop((at < bytes.len()).then(|| bytes.remove(at))),
            _ => bytes.insert(at, rng.below(256) as u8),
        }
    }
    from_binary(&bytes).ok()
}

struct Pair {
    one: Box<dyn Served>,
    rack: Box<dyn Served>,
}

impl Pair {
    fn new() -> Pair {
        let mut pair = Pair { one: Box::new(one_device()), rack: Box::new(rack(Direct)) };
        pair.call(Call::Start(Box::default(), vec![]));
        pair.say(&arbitration(1, Some(1)));
        pair
    }

    /// Answer of both switches, which must be the same.
    fn call(&mut self, call: Call) -> Vec<String> {
        let one = codes(&self.one.call(Time::ZERO, Ticket(1), call.clone()));
        let rack = codes(&self.rack.call(Time::ZERO, Ticket(1), call.clone()));
        assert_eq!(one, rack, "{call:#?}");
        one
    }

    fn say(&mut self, message: &StreamMessageRequest) {
        let one = codes(&self.one.message(Time::ZERO, StreamId(0), message));
        let rack = codes(&self.rack.message(Time::ZERO, StreamId(0), message));
        assert_eq!(one, rack, "{message:#?}");
        if one.iter().any(|reported| reported.contains(" ends: ")) {
            self.one.close(Time::ZERO, StreamId(0));
            self.rack.close(Time::ZERO, StreamId(0));
        }
        // Whatever it did to the arbitration.
        let again = arbitration(1, Some(1));
        self.one.message(Time::ZERO, StreamId(0), &again);
        self.rack.message(Time::ZERO, StreamId(0), &again);
    }

    fn contents(&mut self) -> Vec<Entity> {
        let (one, rack) = (everything(&mut *self.one), everything(&mut *self.rack));
        assert_eq!(one, rack);
        one
    }
}

/// Updates that give a new switch these contents.
fn making(contents: &[Entity], own: &[Entity]) -> Vec<Update> {
    let new = contents.iter().filter(|entity| !own.contains(entity));
    let how = |entity: &Entity| match &entity.entity {
        Some(Kind::TableEntry(e)) if !e.is_default_action => Type::Insert,
        Some(
            Kind::ActionProfileMember(_)
            | Kind::ActionProfileGroup(_)
            | Kind::PacketReplicationEngineEntry(_)
            | Kind::DigestEntry(_),
        ) => Type::Insert,
        _ => Type::Modify,
    };
    new.map(|entity| Update { r#type: how(entity) as i32, entity: Some(entity.clone()) }).collect()
}

/// Members before groups, and both before the entries that name them.
fn in_order(mut updates: Vec<Update>) -> Vec<Update> {
    updates.sort_by_key(|update| match update.entity.as_ref().and_then(|e| e.entity.as_ref()) {
        Some(Kind::ActionProfileMember(_)) => 0,
        Some(Kind::ActionProfileGroup(_)) => 1,
        Some(Kind::TableEntry(_)) => 2,
        _ => 3,
    });
    updates
}

fn a_write(rng: &mut Rng) -> WriteRequest {
    let updates: Vec<String> = (0..rng.between(1, 6)).map(|_| update(rng)).collect();
    let updates: Vec<&str> = updates.iter().map(String::as_str).collect();
    write_request(
        rng.pick(&["CONTINUE_ON_ERROR", "ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"]).unwrap(),
        &updates,
    )
}

fn run(seed: u64) -> u64 {
    let mut rng = Rng::new(seed);
    let mut pair = Pair::new();
    let own = pair.contents();
    let mut accepted = 0;
    for _ in 0..40 {
        let before = pair.contents();
        match rng.below(8) {
            0 => {
                let query = read_request(rng.pick(&KINDS).unwrap());
                if let Some(query) = mutated::<ReadRequest>(&query, &mut rng) {
                    pair.call(Call::Read(query));
                }
            }
            1 => {
                let config = SetForwardingPipelineConfigRequest {
                    device_id: 1,
                    election_id: Some(p4runtime_proto::p4::v1::Uint128 { high: 0, low: 1 }),
                    action: rng.below(7) as i32,
                    config: Some(Default::default()),
                    ..Default::default()
                };
                if let Some(config) = mutated(&config, &mut rng) {
                    pair.call(Call::SetConfig(Box::new(config)));
                }
            }
            2 => {
                let said = [
                    "packet { payload: \"abcdefabcdefabcdef\" metadata { metadata_id: 1 value: \"\\001\" } }",
                    "digest_ack { digest_id: 1 list_id: 1 }",
                    "arbitration { device_id: 1 election_id { low: 1 } role { name: \"r\" } }",
                ];
                let said: StreamMessageRequest = from_text(rng.pick(&said).unwrap()).unwrap();
                if let Some(said) = mutated(&said, &mut rng) {
                    pair.say(&said);
                }
            }
            _ => {
                let write = a_write(&mut rng);
                let write = if rng.chance(1, 2) { mutated(&write, &mut rng) } else { Some(write) };
                let Some(write) = write else { continue };
                let all_or_nothing = write.atomicity() != Atomicity::ContinueOnError;
                let answers = pair.call(Call::Write(Box::new(write.clone())));
                accepted += u64::from(answers == ["OK"]);
                let after = pair.contents();
                assert!(!all_or_nothing || answers == ["OK"] || before == after, "{write:#?}");
            }
        }
    }
    let contents = pair.contents();
    let mut new = Pair::new();
    let updates = in_order(making(&contents, &own));
    let request = WriteRequest { updates, ..write_request("ROLLBACK_ON_ERROR", &[]) };
    assert_eq!(new.call(Call::Write(Box::new(request.clone()))), ["OK"], "seed {seed}: {request:#?}");
    accepted
}

#[test]
#[allow(clippy::disallowed_methods)]
fn hostile_requests_do_no_harm() {
    let setting = |name: &str, or| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(or);
    let first = setting("P4RACK_FUZZ_SEED", 0);
    let accepted: u64 = (first..first + setting("P4RACK_FUZZ_REQUESTS", 400) / 40).map(run).sum();
    assert!(accepted > 0, "nothing was accepted");
}

#[test]
fn what_is_never_taken_is_refused_before_what_comes_behind_it() {
    let never = [
        "multicast_group_entry { multicast_group_id: 65535 replicas { port: \"\\002\" instance: 1 } }",
        "clone_session_entry { session_id: 40000 replicas { port: \"\\002\" instance: 1 } }",
        "clone_session_entry { session_id: 2 packet_length_bytes: -60 replicas { port: \"\\002\" } }",
    ];
    let mut pair = Pair::new();
    for entry in never {
        let first = format!("INSERT packet_replication_engine_entry {{ {entry} }}");
        let second =
            "DELETE packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 77 } }";
        let answers = pair.call(Call::Write(Box::new(write_request("ROLLBACK_ON_ERROR", &[&first, second]))));
        assert!(answers[0].ends_with(", 10]"), "{entry}: {answers:?}");
    }
}
