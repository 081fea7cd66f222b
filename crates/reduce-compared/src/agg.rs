//! AGG's real mappers and reducer around the model of its switch; and the same machines without a switch, as the plain and the Hadoop-like
//! transport.

use crate::data::{Data, wrong};
use crate::network::{Node, Shape, System};
use aggregate::datagram::AROUND;
use aggregate::estimate::{Estimate, children, fewest_rounds};
use aggregate::pack::{Parcel, Round, pack};
use aggregate::packet::Packet;
use aggregate::reducer::{self, To, Trouble};
use aggregate::{Direction, Kind, Layout, Mapper, Pair, Place, Reducer, Switch, mapper};
use base_time::{Duration, Time};
use std::collections::BTreeMap;

/// Bytes of a TCP segment on a link without its payload: Ethernet, preamble and gap, IPv4, TCP.
pub const TCP: u64 = 14 + 4 + 8 + 12 + 20 + 20;

/// Payload of a full TCP segment.
pub const SEGMENT: u64 = 1460;

/// Layout of packets and pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// AGG's packets.
    Agg,
    /// Records in TCP segments: lengths of key and value (4 bytes each), key, value of 4 bytes.
    Records,
    /// An array of numbers of 4 bytes in TCP segments.
    Array,
}

/// A job.
pub struct Agg {
    layout: Layout,
    framing: Framing,
    keys: BTreeMap<Place, u32>,
    key_bytes: Vec<u64>,
    mappers: Vec<Mapper>,
    reducer: Reducer,
    switches: Vec<Switch>,
    boots: u16,
    rounds: u32,
}

impl Agg {
    /// A job whose switches have slots in a bank for at most so many keys. `slots` 0: no switch folds.
    pub fn new(data: &Data, shape: Shape, base: Layout, slots: u64, framing: Framing) -> Result<Agg, String> {
        let lanes = u64::from(base.lanes);
        let is_switched = slots > 0;
        let rows = if is_switched { slots / lanes } else { base.rows().into() };
        let layout = Layout { index_bits: rows.max(1).ilog2().min(16) as u8, ..base };
        let channels = data.pairs.len() as u16;
        let (sum, distinct) = (data.sum(), data.distinct());
        let most = data.pairs.iter().map(|pairs| pairs.len() as u64).max().unwrap_or(0);
        let fewest = fewest_rounds(most, &layout);
        let folding = if is_switched { shape.switches() } else { 0 };
        let parents = folding.saturating_sub(1);
        let estimate = Estimate {
            mappers: channels.into(),
            pairs: sum,
            distinct,
            children: children(folding.into(), parents),
        };
        let rounds = match () {
            () if layout.is_dense() => {
                data.pairs.first().map_or(1, |pairs| (pairs.len() as u64).div_ceil(layout.elements()) as u32)
            }
            () if !is_switched || layout.evict => fewest,
            () => estimate.rounds(&layout).max(fewest),
        };
        let place = |key: u32| match layout.is_dense() {
            true => Place::of_element(key.into(), &layout),
            false => Place::of_hashed(&key.to_be_bytes(), 1, &layout),
        };
        let (least_wait, most_wait) = (Duration::from_ms(4), Duration::from_ms(100));
        let mut mappers = vec![];
        for (channel, pairs) in (0..channels).zip(&data.pairs) {
            let placed =
                pairs.iter().map(|(key, value)| Pair { place: place(*key), value: *value }).collect();
            let most = is_switched.then(|| data.op.most_value(channels.into()));
            let packets = match framing {
                Framing::Agg => pack(placed, &layout, rounds, most).map_err(|problem| problem.to_string())?,
                _ => segments(pairs, placed, rounds, |key| record(framing, data.key_bytes(key))),
            };
            let config = mapper::Config {
                job: 1,
                op: data.op,
                layout,
                channel,
                incarnation: 1,
                least_wait,
                most_wait,
            };
            mappers.push(Mapper::new(config, packets.into()));
        }
        let mut reducer = Reducer::new(reducer::Config {
            job: 1,
            op: data.op,
            layout,
            channels,
            switches: folding,
            parents,
            rounds,
            banks: 2,
            least_wait,
            most_wait,
            patience: Duration::from_s(10),
            nonce: 0,
        });
        if layout.is_dense() {
            reducer.set_elements(data.pairs.first().map_or(0, |pairs| pairs.len() as u64));
        }
        let keys: BTreeMap<Place, u32> =
            data.pairs.iter().flatten().map(|(key, _)| (place(*key), *key)).collect();
        let last = keys.values().max().map_or(0, |last| *last);
        let key_bytes = (0..=last).map(|key| data.key_bytes(key)).collect();
        let switches = if is_switched { switches(layout, shape, channels) } else { vec![] };
        Ok(Agg { layout, framing, keys, key_bytes, mappers, reducer, switches, boots: 1, rounds })
    }

    /// Rounds of the job.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Pairs that reached the reducer.
    pub fn pairs(&self) -> u64 {
        self.reducer.counts().read + self.reducer.counts().overflowed
    }

    /// Attempts at rounds that were thrown away.
    pub fn doomed(&self) -> u64 {
        self.reducer.counts().doomed
    }

    /// Why the job does not go on.
    pub fn trouble(&self, now: Time) -> Option<Trouble> {
        self.reducer.trouble(now)
    }

    /// Keys with a wrong value.
    pub fn wrong(&self, fold: &BTreeMap<u32, u64>) -> u64 {
        let found = self.reducer.result().iter();
        wrong(fold, &found.filter_map(|(place, value)| Some((*self.keys.get(place)?, *value))).collect())
    }

    /// Bytes of the texts of all keys, which the reducer asks for once if pairs carry hashes: 8 bytes and the text for each, in
    /// TCP segments.
    pub fn resolution(&self, data: &Data) -> u64 {
        if data.is_dense || self.framing != Framing::Agg || self.layout.tag_bits == Layout::LONG_TAG {
            return 0;
        }
        let bytes: u64 = self.keys.values().map(|key| 8 + data.key_bytes(*key)).sum();
        bytes + bytes.div_ceil(SEGMENT) * TCP
    }

    fn record(&self, pair: &Pair) -> u64 {
        let key = self.keys.get(&pair.place).copied().unwrap_or(0);
        record(self.framing, self.key_bytes.get(key as usize).copied().unwrap_or(0))
    }
}

fn record(framing: Framing, key: u64) -> u64 {
    if framing == Framing::Array { 4 } else { 4 + 4 + key + 4 }
}

/// Pairs in full segments.
fn segments(pairs: &[(u32, u32)], placed: Vec<Pair>, rounds: u32, bytes: impl Fn(u32) -> u64) -> Vec<Round> {
    let mut parcels: Vec<Parcel> = vec![];
    let mut room = 0;
    for ((key, _), pair) in pairs.iter().zip(placed) {
        if bytes(*key) > room {
            parcels.push(Parcel { is_direct: true, pairs: vec![] });
            room = SEGMENT;
        }
        room -= bytes(*key);
        if let Some(last) = parcels.last_mut() {
            last.pairs.push(pair);
        }
    }
    let each = parcels.len().div_ceil(rounds.max(1) as usize).max(1);
    let mut parts: Vec<Round> = parcels.chunks(each).map(<[Parcel]>::to_vec).collect();
    parts.resize(rounds as usize, vec![]);
    parts
}

/// Models of the switches that fold: switch 0; in two tiers, the last one folds what switch 0 leaves, too.
fn switches(layout: Layout, shape: Shape, channels: u16) -> Vec<Switch> {
    if !shape.has_two_tiers {
        return vec![Switch::new(layout, 0, 1, channels, 1)];
    }
    let far = (0..channels).filter(|channel| shape.is_far(*channel));
    let near = (0..channels).filter(|channel| !shape.is_far(*channel));
    let child = far.clone().map(|channel| (Kind::Data, channel)).collect();
    let left = far.map(|channel| (Kind::Overflow, channel));
    let parent =
        near.map(|channel| (Kind::Data, channel)).chain(left).chain([(Kind::ReadReply, 0)]).collect();
    vec![
        Switch::of_senders(layout, 0, 1, child, 1).before_a_parent(),
        Switch::of_senders(layout, 1, 1, parent, 1),
    ]
}

impl System for Agg {
    type Packet = Packet;

    fn bytes(&self, packet: &Packet) -> u64 {
        match self.framing {
            Framing::Agg => AROUND + packet.bytes(&self.layout).len() as u64,
            _ => TCP + packet.pairs.iter().map(|pair| self.record(pair)).sum::<u64>(),
        }
    }

    fn pass(
        &mut self,
        switch: u16,
        ends: (Node, Node),
        packet: Packet,
        is_marked: bool,
    ) -> Vec<(Node, Node, Packet)> {
        let (from, to) = ends;
        let Some(model) = self.switches.get_mut(usize::from(switch)) else { return vec![(from, to, packet)] };
        let out = model.handle(packet, is_marked).into_iter().map(|(direction, packet)| match direction {
            Direction::On if to == Node::Switch(switch) => (from, Node::Reducer, packet),
            Direction::On => (from, to, packet),
            Direction::Back => (to, from, packet),
        });
        out.collect()
    }

    fn arrive(&mut self, at: Node, now: Time, packet: &Packet, is_marked: bool) {
        match at {
            Node::Mapper(mapper) => self.mappers[usize::from(mapper)].handle(now, packet),
            _ => self.reducer.handle(now, packet, is_marked),
        }
    }

    fn poll(&mut self, at: Node, now: Time) -> Option<(Node, Packet)> {
        match at {
            Node::Mapper(mapper) => {
                self.mappers[usize::from(mapper)].poll(now).map(|packet| (Node::Reducer, packet))
            }
            _ => self.reducer.poll(now).map(|(to, packet)| match to {
                To::Mapper(channel) => (Node::Mapper(channel), packet),
                To::Switch(switch) => (Node::Switch(switch), packet),
            }),
        }
    }

    fn deadline(&self, at: Node) -> Option<Time> {
        match at {
            Node::Mapper(mapper) => self.mappers[usize::from(mapper)].deadline(),
            _ => self.reducer.deadline(),
        }
    }

    fn is_done(&self) -> bool {
        self.reducer.is_done()
    }

    fn restart(&mut self, switch: u16) {
        self.boots += 1;
        if let Some(model) = self.switches.get_mut(usize::from(switch)) {
            model.restart(self.boots);
        }
    }
}
