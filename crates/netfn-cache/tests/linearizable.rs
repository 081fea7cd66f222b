//! Clients, a cache and a server in virtual time, with random delays and losses: every key's history must be one that a
//! single store could have given (Herlihy and Wing), with a search as Wing and Gong describe it.
//!
//! `P4RACK_CACHE_HISTORIES` says how many, `P4RACK_FUZZ_SEED` where to begin.
#![allow(clippy::disallowed_methods)]

use crate::support;

use base_time::{Duration, Rng, Time};
use dataplane_api::FrameExtern;
use features::setting;
use netfn_cache::KvCache;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use support::*;

/// An operation on one key.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Op {
    Get,
    Gets,
    Set(String, u64),
    Add(String),
    Replace(String),
    Cas(String, u64),
    Delete,
    /// A value's life ends, at this very moment.
    Expire(String),
}

/// One of a key's history.
#[derive(Clone, Debug)]
struct Event {
    op: Op,
    begun: Time,
    /// When the answer came and what it was; without one it may have happened at any time, or not at all.
    ended: Option<(Time, String)>,
    /// The number that the server gave its value, if it stored one.
    unique: u64,
}

/// A key's value and its number.
type State = Option<(String, u64)>;

/// The answer of a store in state `state`, and the state after it.
fn apply(key: &str, event: &Event, state: &State) -> (String, State) {
    let stored = |value: &String| ("STORED\r\n".to_string(), Some((value.clone(), event.unique)));
    let refused = |answer: &str| (format!("{answer}\r\n"), state.clone());
    match (&event.op, state) {
        (Op::Get, None) | (Op::Gets, None) => ("END\r\n".into(), None),
        (Op::Get, Some((v, _))) => (format!("VALUE {key} 0 {}\r\n{v}\r\nEND\r\n", v.len()), state.clone()),
        (Op::Gets, Some((v, u))) => {
            (format!("VALUE {key} 0 {} {u}\r\n{v}\r\nEND\r\n", v.len()), state.clone())
        }
        (Op::Set(v, _), _) | (Op::Add(v), None) | (Op::Replace(v), Some(_)) => stored(v),
        (Op::Add(_), Some(_)) | (Op::Replace(_), None) => refused("NOT_STORED"),
        (Op::Cas(v, u), Some((_, known))) if u == known => stored(v),
        (Op::Cas(..), Some(_)) => refused("EXISTS"),
        (Op::Cas(..), None) | (Op::Delete, None) => refused("NOT_FOUND"),
        (Op::Delete, Some(_)) => ("DELETED\r\n".into(), None),
        (Op::Expire(v), Some((now, _))) if v == now => (String::new(), None),
        (Op::Expire(_), _) => (String::new(), state.clone()),
    }
}

/// True if the events can be put into an order that a single store explains.
fn is_linearizable(key: &str, events: &[Event]) -> bool {
    assert!(events.len() <= 64);
    let all =
        events.iter().enumerate().filter(|(_, e)| e.ended.is_some()).fold(0u64, |set, (n, _)| set | 1 << n);
    let mut seen: BTreeSet<(u64, State)> = BTreeSet::new();
    let mut waiting = vec![(0u64, None)];
    while let Some((done, state)) = waiting.pop() {
        if done & all == all {
            return true;
        }
        if !seen.insert((done, state.clone())) {
            continue;
        }
        let open = |n: &usize| done >> n & 1 == 0;
        let first_end =
            (0..events.len()).filter(open).filter_map(|n| events[n].ended.as_ref().map(|e| e.0)).min();
        for n in (0..events.len()).filter(open) {
            if first_end.is_some_and(|end| events[n].begun > end) {
                continue;
            }
            let (answer, next) = apply(key, &events[n], &state);
            if events[n].ended.as_ref().is_none_or(|(_, replies)| *replies == answer) {
                waiting.push((done | 1 << n, next));
            }
        }
    }
    false
}

/// Messages hidden from the cache, to test the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    /// Answers to changes pass beside it.
    Answers,
    /// Requests to change pass beside it.
    Requests,
    /// Answers to `gets` pass beside it.
    OtherReads,
    /// Stores written values at once, before the server has the request.
    TooEarly,
    /// Seconds to live are not seen.
    Lives,
}

/// Position of an operation's message. The number is the operation's.
enum Message {
    /// At the cache, from a client.
    Request(usize),
    /// At the server.
    Serve(usize),
    /// At the cache, from the server.
    Answer(usize, String),
    /// At the client.
    Reply(usize, String),
    /// The client asks again, whatever became of its last request.
    Turn(u8),
}

struct Asked {
    client: u8,
    key: &'static str,
    text: String,
    event: Event,
}

struct World {
    rng: Rng,
    cache: KvCache,
    server: Server,
    fault: Fault,
    /// In hundredths.
    loss: u64,
    /// The furthest a message is delayed, in microseconds.
    delay: u64,
    calendar: BinaryHeap<Reverse<(Time, usize)>>,
    messages: Vec<Option<Message>>,
    asked: Vec<Asked>,
    /// For each client: the request that it waits for, and the last number for `cas` that it has seen.
    waits: BTreeMap<u8, usize>,
    uniques: BTreeMap<u8, u64>,
    /// Ends of lives, by key.
    ends: Vec<(&'static str, Event)>,
    hits: u64,
}

const KEYS: [&str; 3] = ["a", "bb", "ccc"];

impl World {
    fn new(seed: u64, fault: Fault) -> World {
        let mut rng = Rng::new(seed);
        let entries = rng.between(1, 4) as usize;
        World {
            cache: KvCache::new(entries, None),
            server: Server::default(),
            fault,
            loss: if rng.chance(1, 3) { 0 } else { rng.below(15) },
            delay: *rng.pick(&[10, 1000, 400_000]).unwrap(),
            rng,
            calendar: BinaryHeap::new(),
            messages: vec![],
            asked: vec![],
            waits: BTreeMap::new(),
            uniques: BTreeMap::new(),
            ends: vec![],
            hits: 0,
        }
    }

    fn enter(&mut self, at: Time, message: Message) {
        self.calendar.push(Reverse((at, self.messages.len())));
        self.messages.push(Some(message));
    }

    fn travel(&mut self, now: Time, message: Message) {
        if !self.rng.chance(self.loss, 100) {
            let delay = Duration::from_us(1 + self.rng.below(self.delay));
            self.enter(now + delay, message);
        }
    }

    fn turn(&mut self, client: u8, now: Time) {
        let number = self.asked.len();
        let key = *self.rng.pick(&KEYS).unwrap();
        let value = format!("v{number}");
        let op = match self.rng.below(12) {
            0..=4 => Op::Get,
            5 => Op::Gets,
            6 | 7 => Op::Set(value, if self.rng.chance(1, 2) { 3 } else { 0 }),
            8 => Op::Add(value),
            9 => Op::Replace(value),
            10 => Op::Cas(value, self.uniques.get(&client).copied().unwrap_or(0)),
            _ => Op::Delete,
        };
        let text = match &op {
            Op::Get => format!("get {key}\r\n"),
            Op::Gets => format!("gets {key}\r\n"),
            Op::Set(v, seconds) => format!("set {key} 0 {seconds} {}\r\n{v}\r\n", v.len()),
            Op::Add(v) => format!("add {key} 0 0 {}\r\n{v}\r\n", v.len()),
            Op::Replace(v) => format!("replace {key} 0 0 {}\r\n{v}\r\n", v.len()),
            Op::Cas(v, unique) => format!("cas {key} 0 0 {} {unique}\r\n{v}\r\n", v.len()),
            Op::Delete | Op::Expire(_) => format!("delete {key}\r\n"),
        };
        let event = Event { op, begun: now, ended: None, unique: 0 };
        self.asked.push(Asked { client, key, text, event });
        self.waits.insert(client, number);
        self.travel(now, Message::Request(number));
    }

    /// True if the cache sees the messages of the operation.
    fn sees(&self, number: usize, is_answer: bool) -> bool {
        let op = &self.asked[number].event.op;
        let reads = matches!(op, Op::Get | Op::Gets);
        match self.fault {
            Fault::Answers => reads || !is_answer,
            Fault::Requests => reads || is_answer,
            Fault::OtherReads => *op != Op::Gets,
            Fault::None | Fault::TooEarly | Fault::Lives => true,
        }
    }

    fn step(&mut self, now: Time, message: Message) {
        match message {
            Message::Turn(client) => {
                self.turn(client, now);
                let next = now + Duration::from_us(self.delay * 3 + self.rng.below(self.delay * 5));
                self.enter(next, Message::Turn(client));
            }
            Message::Request(number) => {
                let Asked { client, text, .. } = &self.asked[number];
                let (client, id, text) = (*client, number as u16, text.clone());
                let shown = if self.fault == Fault::Lives { text.replace(" 0 3 ", " 0 0 ") } else { text };
                if self.sees(number, false) {
                    if let Some(frame) = self.cache.process(&request(client, id, &shown), now) {
                        self.hits += 1;
                        return self.travel(now, Message::Reply(number, support::text(&frame)));
                    }
                    if self.fault == Fault::TooEarly && shown.starts_with("set") {
                        self.cache.process(&answer(client, id, "STORED\r\n"), now);
                    }
                }
                self.travel(now, Message::Serve(number));
            }
            Message::Serve(number) => {
                let before = self.server.unique;
                let Asked { text, key, event, .. } = &mut self.asked[number];
                let replies = self.server.serve(text, now).unwrap();
                if self.server.unique > before {
                    event.unique = self.server.unique;
                    let item = &self.server.items[*key];
                    if let Some(end) = item.end {
                        let at = Time::ZERO + Duration::from_s(end);
                        let (op, ended) = (Op::Expire(item.data.clone()), Some((at, String::new())));
                        self.ends.push((key, Event { op, begun: at, ended, unique: 0 }));
                    }
                }
                let next = match self.sees(number, true) {
                    true => Message::Answer(number, replies),
                    false => Message::Reply(number, replies),
                };
                self.travel(now, next);
            }
            Message::Answer(number, text) => {
                let client = self.asked[number].client;
                assert_eq!(self.cache.process(&answer(client, number as u16, &text), now), None);
                self.travel(now, Message::Reply(number, text));
            }
            Message::Reply(number, text) => {
                let Asked { client, event, .. } = &mut self.asked[number];
                if self.waits.get(client) == Some(&number) {
                    self.waits.remove(client);
                    let first = text.split("\r\n").next().unwrap_or("");
                    if let Some(unique) = first.split(' ').nth(4).and_then(|u| u.parse().ok()) {
                        self.uniques.insert(*client, unique);
                    }
                    event.ended = Some((now, text));
                }
            }
        }
    }

    /// Runs four clients for a while. Returns the history of each key.
    fn run(&mut self) -> Vec<(&'static str, Vec<Event>)> {
        for client in 1..=4 {
            let first = Time::ZERO + Duration::from_us(self.rng.below(self.delay * 5));
            self.enter(first, Message::Turn(client));
        }
        let mut end = Time::MAX;
        while let Some(Reverse((now, at))) = self.calendar.pop() {
            let message = self.messages[at].take().unwrap();
            let is_turn = matches!(message, Message::Turn(_));
            if is_turn && self.asked.len() >= 60 {
                end = end.min(now + Duration::from_us(self.delay * 5));
                continue;
            }
            if now <= end {
                self.step(now, message);
            }
            if self.rng.chance(1, 50) {
                let bytes = self.cache.snapshot();
                self.cache.restore(&bytes).unwrap();
            }
        }
        let history = |key: &'static str| {
            let asked = self.asked.iter().filter(|asked| asked.key == key).map(|asked| asked.event.clone());
            let ends = self.ends.iter().filter(|(of, _)| *of == key).map(|(_, event)| event.clone());
            (key, asked.chain(ends).collect())
        };
        KEYS.map(history).to_vec()
    }
}

#[test]
fn every_history_is_one_of_a_single_store() {
    let first = setting("P4RACK_FUZZ_SEED", 0);
    let count = setting("P4RACK_CACHE_HISTORIES", 1000);
    let (mut hits, mut replies) = (0, 0);
    for seed in first..first + count {
        let mut world = World::new(seed, Fault::None);
        for (key, events) in world.run() {
            assert!(is_linearizable(key, &events), "seed {seed}, key {key}: {events:#?}");
            replies += events.iter().filter(|event| event.ended.is_some()).count() as u64;
        }
        hits += world.hits;
    }
    assert!(hits > 3 * count && replies > 30 * count, "{hits} hits, {replies} answers");
}

/// The search finds a cache that does not see what it has to.
#[test]
fn caches_that_see_too_little_are_found_out() {
    let faults = [Fault::Answers, Fault::Requests, Fault::OtherReads, Fault::TooEarly, Fault::Lives];
    let found = faults.map(|fault| {
        let is_wrong = |seed: &u64| {
            World::new(*seed, fault).run().iter().any(|(key, events)| !is_linearizable(key, events))
        };
        (0..3000).find(is_wrong).map(|seed| (fault, seed))
    });
    assert!(found.iter().all(Option::is_some), "{found:?}");
}
