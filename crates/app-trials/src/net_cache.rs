//! NetCache: its controller, a server behind it, and clients whose reads and writes must be linearizable.

use crate::frames::{AtPort, Flow, L4, UDP, flow, packet};
use crate::linear::{Step, is_linearizable};
use crate::network::{Network, bits, entry, route};
use base_time::{Duration, Rng, Time, Zipf};
use control_writes::{Data, DefaultEntry, Write};
use std::collections::{BTreeMap, VecDeque};

const PORT: u16 = 50000;
const GET: u8 = 1;
const PUT: u8 = 2;
const DELETE: u8 = 3;
const GET_REPLY: u8 = 4;
const WRITE_REPLY: u8 = 5;
const UPDATE: u8 = 6;
const UPDATE_REPLY: u8 = 7;

/// Port of clients.
const CLIENTS: u32 = 1;
/// Port of the server.
const SERVER: u32 = 2;
const SERVER_ADDRESS: u32 = 0x0a02_0001;

/// A query or an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Query {
    op: u8,
    client: u16,
    request: u32,
    number: u32,
    key: u128,
    value: Vec<u8>,
}

impl Query {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.op, (self.value.len() / 16) as u8];
        bytes.extend(self.client.to_be_bytes());
        bytes.extend(self.request.to_be_bytes());
        bytes.extend(self.number.to_be_bytes());
        bytes.extend(self.key.to_be_bytes());
        bytes.extend(&self.value);
        bytes
    }

    /// Reads a frame. An error if it is not as long as it says, or its checksums are wrong.
    fn read(frame: &[u8]) -> Result<Query, String> {
        flow(frame)?;
        let bytes = frame.get(L4 + 8..).filter(|bytes| bytes.len() >= 28).ok_or("a frame without query")?;
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let key = bytes[12..28].iter().fold(0, |key, byte| key << 8 | u128::from(*byte));
        let value = bytes[28..].to_vec();
        if value.len() != usize::from(bytes[1]) * 16 {
            return Err(format!("a value of {} bytes and {} blocks", value.len(), bytes[1]));
        }
        let client = u16::from_be_bytes([bytes[2], bytes[3]]);
        Ok(Query { op: bytes[0], client, request: number(4), number: number(8), key, value })
    }
}

fn address(client: u16) -> u32 {
    0xc633_6400 + u32::from(client)
}

/// The value with this number: 1 to 8 blocks, all of which depend on it. Number 0 has none.
fn value(number: u64) -> Vec<u8> {
    let blocks = if number == 0 { 0 } else { 1 + number % 8 };
    (0..blocks)
        .flat_map(|block| [number, number.wrapping_mul(block * 2 + 3)])
        .flat_map(u64::to_be_bytes)
        .collect()
}

/// The number of a value. An error if its blocks do not belong together.
fn number_of(bytes: &[u8]) -> Result<u64, String> {
    let Some(first) = bytes.first_chunk() else { return Ok(0) };
    let number = u64::from_be_bytes(*first);
    if value(number) == bytes { Ok(number) } else { Err(format!("a mixed value: {bytes:02x?}")) }
}

/// The server: a store, and the keys that the switch has.
#[derive(Default)]
struct Server {
    store: BTreeMap<u128, u64>,
    /// Number of the last write of each cached key.
    cached: BTreeMap<u128, u32>,
    /// Updates that the switch has not answered, and when to send them.
    updates: BTreeMap<u128, Time>,
    /// The last write of each client.
    last: BTreeMap<u16, u32>,
}

impl Server {
    fn take(&mut self, query: &Query, now: Time) -> Result<Option<Query>, String> {
        let stored = self.store.get(&query.key).copied().unwrap_or(0);
        match query.op {
            GET => Ok(Some(Query { op: GET_REPLY, value: value(stored), ..query.clone() })),
            UPDATE_REPLY => {
                if self.cached.get(&query.key) == Some(&query.number) {
                    self.updates.remove(&query.key);
                }
                Ok(None)
            }
            PUT | DELETE => self.write(query, now),
            _ => Ok(None),
        }
    }

    fn write(&mut self, query: &Query, now: Time) -> Result<Option<Query>, String> {
        if let Some(number) = self.cached.get_mut(&query.key) {
            // The switch does not know of this write, or knows of a later one: the client repeats it.
            if query.number <= *number {
                return Ok(None);
            }
            *number = query.number;
            self.updates.insert(query.key, now);
        }
        let last = self.last.entry(query.client).or_default();
        if query.request < *last {
            return Ok(None);
        }
        // A repeated write is answered again, and not done again.
        if query.request > *last {
            *last = query.request;
            self.store.insert(query.key, number_of(&query.value)?);
        }
        Ok(Some(Query { op: WRITE_REPLY, value: vec![], ..query.clone() }))
    }

    fn due(&mut self, now: Time) -> Vec<Query> {
        let mut due = vec![];
        for (key, at) in self.updates.iter_mut().filter(|(_, at)| **at <= now) {
            *at = now + Duration::from_us(500);
            let (number, stored) = (self.cached.get(key).copied(), self.store.get(key).copied());
            let value = value(stored.unwrap_or(0));
            due.extend(number.map(|number| Query {
                op: UPDATE,
                client: 0,
                request: 0,
                number,
                key: *key,
                value,
            }));
        }
        due
    }
}

/// The controller: which keys are in which slot of the switch.
struct Cache {
    slots: BTreeMap<u128, u16>,
    order: VecDeque<u128>,
    free: Vec<u16>,
    /// The first number of the next key: larger than all numbers before.
    base: u32,
    inserted: u64,
    evicted: u64,
}

impl Cache {
    /// Takes reports of hot keys. The oldest key gives way.
    fn take(&mut self, on: &mut impl Network, server: &mut Server, now: Time) -> Result<(), String> {
        for (_, fields) in on.reports() {
            let [key] = fields[..] else { return Err("a report of other fields".into()) };
            if self.slots.contains_key(&key) {
                continue;
            }
            if self.free.is_empty() {
                self.evict(on, server)?;
            }
            self.insert(on, server, key, now)?;
        }
        Ok(())
    }

    fn evict(&mut self, on: &mut impl Network, server: &mut Server) -> Result<(), String> {
        let Some(key) = self.order.pop_front() else { return Ok(()) };
        let Some(slot) = self.slots.remove(&key) else { return Ok(()) };
        on.write(entry("CacheIngress.keys", &[bits(128, key)], None))?;
        self.base = self.base.max(on.cell("CacheIngress.numbers", slot.into()) as u32 + 1);
        server.cached.remove(&key);
        server.updates.remove(&key);
        self.free.push(slot);
        self.evicted += 1;
        Ok(())
    }

    /// The server knows of a cached key before the switch has it, so that it does no write that has passed the switch before.
    fn insert(
        &mut self,
        on: &mut impl Network,
        server: &mut Server,
        key: u128,
        now: Time,
    ) -> Result<(), String> {
        let Some(slot) = self.free.pop() else { return Ok(()) };
        server.cached.insert(key, self.base);
        let cell = |register: &str, width, to: u32| Write::Register {
            register: register.into(),
            index: slot.into(),
            to: Data::Bits(bits(width, to)),
        };
        on.write(cell("CacheIngress.valid", 1, 0))?;
        on.write(cell("CacheIngress.numbers", 32, self.base))?;
        on.write(entry(
            "CacheIngress.keys",
            &[bits(128, key)],
            Some(("CacheIngress.cached", vec![bits(16, slot)])),
        ))?;
        server.updates.insert(key, now);
        self.slots.insert(key, slot);
        self.order.push_back(key);
        self.inserted += 1;
        Ok(())
    }

    /// A new window of the statistics.
    fn window(&self, on: &mut impl Network) -> Result<(), String> {
        let all = ["count_0", "count_1", "count_2", "reported"];
        all.iter().try_for_each(|one| {
            on.write(Write::RegisterReset { register: format!("CacheIngress.{one}").as_str().into() })
        })
    }
}

/// A client, which waits for the answer to each query.
struct Client {
    number: u16,
    request: u32,
    waits: Option<(Query, Time)>,
    /// Position of the step that begins a read in the history of the read's key.
    began: usize,
}

/// Time between two looks at the links.
const STEP: Duration = Duration::from_us(10);

/// How a trial went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Frames that came to the switch.
    pub packets: u64,
    /// Queries that were answered.
    pub answered: u64,
    /// Reads that the switch answered, and those of cached keys whose value was not valid.
    pub hits: u64,
    /// Reads of cached keys whose value was not valid.
    pub invalid: u64,
    /// Keys that came into the cache, and those that left it.
    pub inserted: u64,
    /// Keys that left the cache.
    pub evicted: u64,
}

/// Clients, keys, and keys that the cache has room for.
const CLIENT_COUNT: u16 = 8;
const KEYS: u32 = 60;
const SLOTS: u16 = 6;

/// Reads and writes over links that lose, repeat and delay frames. An error if the history of a key is not linearizable or a value is mixed from several.
pub fn trial(on: &mut impl Network, queries: u64, seed: u64) -> Result<Outcome, String> {
    let mut rng = Rng::new(seed).split("cache");
    configure(on)?;
    let mut cache = Cache {
        slots: BTreeMap::new(),
        order: VecDeque::new(),
        free: (0..SLOTS).rev().collect(),
        base: 1,
        inserted: 0,
        evicted: 0,
    };
    let mut server = Server::default();
    let mut clients: Vec<Client> =
        (0..CLIENT_COUNT).map(|number| Client { number, request: 0, waits: None, began: 0 }).collect();
    let (zipf, mut outcome) = (Zipf::new(KEYS, 990), Outcome::default());
    let mut history: BTreeMap<u128, Vec<Step>> = BTreeMap::new();
    let mut links = Links::default();
    let (mut now, mut window) = (Time::ZERO, Time::ZERO);
    while outcome.answered < queries {
        if now.since(Time::ZERO) > Duration::from_ms(1000 + 10 * queries) {
            return Err(format!("only {} queries were answered in {now}", outcome.answered));
        }
        for client in &mut clients {
            if let Some(query) = client.due(now, &zipf, &mut history, &mut rng) {
                links.send((CLIENTS, frame(client.number, &query, true)), now, &mut rng);
            }
        }
        for query in server.due(now) {
            links.send((SERVER, frame(query.client, &query, false)), now, &mut rng);
        }
        while let Some((port, bytes, to_switch)) = links.next(now) {
            if to_switch {
                outcome.packets += 1;
                on.frame(port, &bytes).into_iter().for_each(|left| links.leave(left, now, &mut rng));
                continue;
            }
            let query = Query::read(&bytes)?;
            if port == SERVER {
                if let Some(reply) = server.take(&query, now)? {
                    links.send((SERVER, frame(reply.client, &reply, false)), now, &mut rng);
                }
            } else if let Some(client) = clients.get_mut(usize::from(query.client)) {
                outcome.answered += u64::from(client.answered(&query, &mut history)?);
            }
        }
        if rng.chance(1, 8) {
            cache.take(on, &mut server, now)?;
        }
        if now.since(window) > Duration::from_ms(20) {
            window = now;
            cache.window(on)?;
        }
        now += STEP;
        on.pass(STEP);
    }
    for (key, steps) in &history {
        if !is_linearizable(steps) {
            return Err(format!("the history of key {key:#x} is not linearizable"));
        }
    }
    outcome.hits = on.count("CacheIngress.reads", 0).packets;
    outcome.invalid = on.count("CacheIngress.reads", 1).packets;
    (outcome.inserted, outcome.evicted) = (cache.inserted, cache.evicted);
    Ok(outcome)
}

fn configure(on: &mut impl Network) -> Result<(), String> {
    on.write(route("CacheIngress", SERVER_ADDRESS, 32, SERVER))?;
    on.write(route("CacheIngress", 0, 0, CLIENTS))?;
    on.write(entry("CacheIngress.servers", &[bits(9, SERVER)], Some(("CacheIngress.is_server", vec![]))))?;
    let hot =
        control_writes::ActionCall { action: "CacheIngress.hot_from".into(), args: vec![bits(32, 20u32)] };
    on.write(Write::Default {
        table: "CacheIngress.hot".into(),
        to: Box::new(DefaultEntry { call: Some(hot), ..DefaultEntry::default() }),
        count: None,
    })
}

fn frame(client: u16, query: &Query, is_clients: bool) -> Vec<u8> {
    let (one, other) = ((address(client), 40000 + client), (SERVER_ADDRESS, PORT));
    let flow = Flow { protocol: UDP, src: one, dst: other };
    packet(if is_clients { flow } else { flow.back() }, &query.bytes())
}

impl Client {
    /// A new query, or the one that waits again.
    fn due(
        &mut self,
        now: Time,
        zipf: &Zipf,
        history: &mut BTreeMap<u128, Vec<Step>>,
        rng: &mut Rng,
    ) -> Option<Query> {
        if let Some((query, at)) = &mut self.waits {
            let is_due = *at <= now;
            if is_due {
                *at = now + Duration::from_ms(1);
            }
            return is_due.then(|| query.clone());
        }
        self.request += 1;
        let key = (zipf.draw(rng) as u128 + 1) << 90 | 7;
        // No two writes have the same value: a read shows which write it saw.
        let number = u64::from(self.number + 1) << 32 | u64::from(self.request);
        let me = self.number as u8;
        let (op, bytes, step) = match rng.below(20) {
            0 => (DELETE, vec![], Step::Write(me, 0)),
            1 => (PUT, value(number), Step::Write(me, number)),
            _ => (GET, vec![], Step::Read(me, None)),
        };
        let steps = history.entry(key).or_default();
        self.began = steps.len();
        steps.push(step);
        let query = Query { op, client: self.number, request: self.request, number: 0, key, value: bytes };
        self.waits = Some((query.clone(), now + Duration::from_ms(1)));
        Some(query)
    }

    fn answered(&mut self, reply: &Query, history: &mut BTreeMap<u128, Vec<Step>>) -> Result<bool, String> {
        let Some((query, _)) = self.waits.take_if(|(query, _)| query.request == reply.request) else {
            return Ok(false);
        };
        let wanted = if query.op == GET { GET_REPLY } else { WRITE_REPLY };
        if reply.op != wanted || reply.key != query.key {
            return Err(format!("{reply:?} answers {query:?}"));
        }
        let steps = history.entry(query.key).or_default();
        if query.op == GET {
            steps[self.began] = Step::Read(self.number as u8, Some(number_of(&reply.value)?));
        }
        steps.push(Step::End(self.number as u8));
        Ok(true)
    }
}

/// Frames on links: to the switch, or to the host at a port.
#[derive(Default)]
struct Links {
    all: BTreeMap<(Time, u64), (u32, Vec<u8>, bool)>,
    number: u64,
}

impl Links {
    fn send(&mut self, (port, bytes): AtPort, now: Time, rng: &mut Rng) {
        self.put((port, bytes, true), now, rng);
    }

    fn leave(&mut self, (port, bytes): AtPort, now: Time, rng: &mut Rng) {
        self.put((port, bytes, false), now, rng);
    }

    fn put(&mut self, frame: (u32, Vec<u8>, bool), now: Time, rng: &mut Rng) {
        if rng.chance(1, 50) {
            return;
        }
        for _ in 0..1 + u32::from(rng.chance(1, 30)) {
            self.number += 1;
            let late =
                Duration::from_us(5 + rng.below(60) + if rng.chance(1, 15) { rng.below(3000) } else { 0 });
            self.all.insert((now + late, self.number), frame.clone());
        }
    }

    fn next(&mut self, now: Time) -> Option<(u32, Vec<u8>, bool)> {
        let first = self.all.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }
}
