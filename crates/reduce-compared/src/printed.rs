//! P4COM as its paper prints it (Algorithm 1, section III-D): pairs of 64 + 4 bytes in TCP segments, a counter for each mapper, a bound on the slots in use, and
//! dumps. The header of every packet continues to the master, and the switch sends the acknowledgement.
//!
//! Where the paper is silent, the most favourable reading is taken: every key finds a slot, a dump of many packets is never lost, pairs of the
//! packet that exceeds the bound are folded after the dump.

use crate::agg::TCP;
use crate::data::{Data, wrong};
use crate::network::{Node, Shape, System};
use aggregate::{Congestion, Op};
use base_time::{Duration, Time};
use std::collections::BTreeMap;

/// Pairs of a packet.
const PAIRS: usize = 20;

/// Bytes of a pair.
const PAIR: u64 = 64 + 4;

/// Bytes around the pairs: TCP with the fields of section III-C.
const AROUND: u64 = TCP + 9;

/// Distinct keys of a mapper after which it asks for a dump, as in the paper's test bed.
const HEAP: usize = 100_000;

/// Packets of a mapper in flight.
const WINDOW: u32 = 256;

const LEAST_WAIT: Duration = Duration::from_ms(4);
const MOST_WAIT: Duration = Duration::from_ms(100);

/// A packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Packet {
    /// Pairs of a mapper.
    Data {
        /// The mapper.
        mapper: u16,
        /// Number of the packet of this mapper, from 1 on.
        number: u32,
        /// Key and value.
        pairs: Vec<(u32, u32)>,
        /// The switch is to dump (CPD).
        asks: bool,
    },
    /// Header of a packet of a mapper, without its pairs.
    Header {
        /// The mapper.
        mapper: u16,
        /// Number of the packet.
        number: u32,
    },
    /// Acknowledgement by the switch.
    Ack {
        /// The mapper.
        mapper: u16,
        /// Number of the packet.
        number: u32,
    },
    /// Slots of the switch.
    Dump(Vec<(u32, u32)>),
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Switch {
    op: Op,
    bound: usize,
    slots: BTreeMap<u32, u32>,
    /// Packets of each mapper that were processed.
    counters: Vec<u32>,
    /// Packets that the counter takes for duplicates are acknowledged again. The paper drops them.
    is_repaired: bool,
}

impl Switch {
    /// An empty switch that dumps when it holds more than `bound` keys.
    pub fn new(op: Op, bound: u64, mappers: u16, is_repaired: bool) -> Switch {
        let counters = vec![0; mappers.into()];
        Switch { op, bound: bound as usize, slots: BTreeMap::new(), counters, is_repaired }
    }

    /// Packets that a packet of a mapper leads to.
    pub fn handle(&mut self, packet: Packet) -> Vec<Packet> {
        let Packet::Data { mapper, number, pairs, asks } = packet else { return vec![packet] };
        let Some(counter) = self.counters.get_mut(usize::from(mapper)) else { return vec![] };
        let ack = Packet::Ack { mapper, number };
        // "If the ACK is no larger than the corresponding register value, ... the switch will simply drop this packet."
        if number <= *counter {
            return if self.is_repaired { vec![ack] } else { vec![] };
        }
        // "Otherwise ... the switch will increment the register value of the mapper by one."
        *counter += 1;
        let mut out = vec![Packet::Header { mapper, number }, ack];
        for (key, value) in pairs {
            if !self.slots.contains_key(&key) && self.slots.len() >= self.bound {
                out.extend(self.dump());
            }
            let op = self.op;
            self.slots.entry(key).and_modify(|held| *held = op.fold(*held, value)).or_insert(value);
        }
        if asks {
            out.extend(self.dump());
        }
        out
    }

    fn dump(&mut self) -> Vec<Packet> {
        let held: Vec<_> = std::mem::take(&mut self.slots).into_iter().collect();
        held.chunks(PAIRS).map(|pairs| Packet::Dump(pairs.to_vec())).collect()
    }

    fn restart(&mut self) {
        self.slots.clear();
        self.counters.fill(0);
    }
}

struct Flight {
    due: Time,
    wait: Duration,
    at: Time,
    is_repeated: bool,
}

struct Sender {
    /// Pairs of each packet, and whether it asks for a dump.
    packets: Vec<(Vec<(u32, u32)>, bool)>,
    next: usize,
    flights: BTreeMap<u32, Flight>,
    congestion: Congestion,
}

impl Sender {
    fn new(pairs: &[(u32, u32)]) -> Sender {
        let heaps = pairs.chunks(HEAP).flat_map(|heap| {
            let count = heap.len().div_ceil(PAIRS);
            heap.chunks(PAIRS).zip(1..).map(move |(pairs, at)| (pairs.to_vec(), at == count))
        });
        let mut packets: Vec<_> = heaps.collect();
        // The last one is there even if there are no pairs.
        if packets.is_empty() {
            packets.push((vec![], true));
        }
        let congestion = Congestion::new(WINDOW, LEAST_WAIT);
        Sender { packets, next: 0, flights: BTreeMap::new(), congestion }
    }

    fn acknowledged(&mut self, number: u32, now: Time) {
        if let Some(flight) = self.flights.remove(&number) {
            self.congestion.acknowledged(now, (!flight.is_repeated).then_some(flight.at), false, false);
        }
        // "If the sender receives a non-continuous integer, then the previous packet is supposed to be lost."
        if let Some((_, flight)) =
            self.flights.range_mut(..number).next().filter(|(_, flight)| !flight.is_repeated)
        {
            flight.due = now;
            self.congestion.lost();
        }
    }

    fn poll(&mut self, mapper: u16, now: Time) -> Option<Packet> {
        let data = |packets: &[(Vec<(u32, u32)>, bool)], number: u32| {
            let (pairs, asks) = packets.get(number as usize - 1)?.clone();
            Some(Packet::Data { mapper, number, pairs, asks })
        };
        if let Some((number, flight)) = self.flights.iter_mut().find(|(_, flight)| flight.due <= now) {
            flight.is_repeated = true;
            flight.due = now + flight.wait;
            flight.wait = (flight.wait * 2).min(MOST_WAIT);
            return data(&self.packets, *number);
        }
        if self.next >= self.packets.len() || self.flights.len() >= self.congestion.allowed() {
            return None;
        }
        self.next += 1;
        let (number, wait) = (self.next as u32, self.congestion.wait());
        self.flights.insert(number, Flight { due: now + wait, wait, at: now, is_repeated: false });
        data(&self.packets, number)
    }
}

/// A job.
pub struct Printed {
    op: Op,
    senders: Vec<Sender>,
    switch: Switch,
    /// Number of the switch that folds: the last one on all paths.
    place: u16,
    /// Packets of dumps that are on their way.
    dumps: u64,
    result: BTreeMap<u32, u64>,
    pairs: u64,
}

impl Printed {
    /// A job. `is_repaired`: see [`Switch`].
    pub fn new(data: &Data, shape: Shape, bound: u64, is_repaired: bool) -> Printed {
        Printed {
            op: data.op,
            senders: data.pairs.iter().map(|pairs| Sender::new(pairs)).collect(),
            switch: Switch::new(data.op, bound, shape.mappers, is_repaired),
            place: shape.switches() - 1,
            dumps: 0,
            result: BTreeMap::new(),
            pairs: 0,
        }
    }

    /// Pairs that reached the reducer.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Keys with a wrong value.
    pub fn wrong(&self, fold: &BTreeMap<u32, u64>) -> u64 {
        wrong(fold, &self.result)
    }
}

impl System for Printed {
    type Packet = Packet;

    fn bytes(&self, packet: &Packet) -> u64 {
        match packet {
            Packet::Data { pairs, .. } | Packet::Dump(pairs) => AROUND + PAIR * pairs.len() as u64,
            Packet::Header { .. } | Packet::Ack { .. } => AROUND,
        }
    }

    fn is_kept(&self, packet: &Packet) -> bool {
        matches!(packet, Packet::Dump(_))
    }

    fn pass(
        &mut self,
        switch: u16,
        ends: (Node, Node),
        packet: Packet,
        _: bool,
    ) -> Vec<(Node, Node, Packet)> {
        if switch != self.place {
            return vec![(ends.0, ends.1, packet)];
        }
        let out = self.switch.handle(packet);
        self.dumps += out.iter().filter(|packet| self.is_kept(packet)).count() as u64;
        let ends = |packet: &Packet| match packet {
            Packet::Ack { mapper, .. } => (Node::Reducer, Node::Mapper(*mapper)),
            _ => (ends.0, Node::Reducer),
        };
        out.into_iter().map(|packet| (ends(&packet).0, ends(&packet).1, packet)).collect()
    }

    fn arrive(&mut self, at: Node, now: Time, packet: &Packet, _: bool) {
        match packet {
            Packet::Dump(pairs) => {
                self.dumps -= 1;
                self.pairs += pairs.len() as u64;
                for (key, value) in pairs {
                    let (op, value) = (self.op, u64::from(*value));
                    let held = self.result.entry(*key);
                    held.and_modify(|held| *held = op.fold_wide(*held, value)).or_insert(value);
                }
            }
            Packet::Ack { number, .. } => {
                if let Node::Mapper(mapper) = at {
                    self.senders[usize::from(mapper)].acknowledged(*number, now);
                }
            }
            _ => {}
        }
    }

    fn poll(&mut self, at: Node, now: Time) -> Option<(Node, Packet)> {
        let Node::Mapper(mapper) = at else { return None };
        self.senders[usize::from(mapper)].poll(mapper, now).map(|packet| (Node::Reducer, packet))
    }

    fn deadline(&self, at: Node) -> Option<Time> {
        let Node::Mapper(mapper) = at else { return None };
        self.senders[usize::from(mapper)].flights.values().map(|flight| flight.due).min()
    }

    fn is_done(&self) -> bool {
        let is_over = |sender: &Sender| sender.next == sender.packets.len() && sender.flights.is_empty();
        self.dumps == 0 && self.senders.iter().all(is_over)
    }

    fn restart(&mut self, switch: u16) {
        if switch == self.place {
            self.switch.restart();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(number: u32, value: u32, asks: bool) -> Packet {
        Packet::Data { mapper: 0, number, pairs: vec![(7, value)], asks }
    }

    fn dumped(out: &[Packet]) -> Option<u32> {
        out.iter().find_map(|packet| match packet {
            Packet::Dump(pairs) => Some(pairs[0].1),
            _ => None,
        })
    }

    /// The counter's fault: packets 1, 3, 2 arrive. 2 is taken for a duplicate, and 4, which comes next, is counted twice if it is repeated.
    #[test]
    fn packets_that_overtake_each_other_are_lost_and_counted_twice() {
        for is_repaired in [false, true] {
            let mut switch = Switch::new(Op::Add, 10, 1, is_repaired);
            switch.handle(data(1, 1, false));
            switch.handle(data(3, 100, false));
            let second = switch.handle(data(2, 10, false));
            let ack = Packet::Ack { mapper: 0, number: 2 };
            assert_eq!(second, if is_repaired { vec![ack] } else { vec![] }, "nothing is folded");
            switch.handle(data(4, 1000, false));
            let out = switch.handle(data(4, 1000, true));
            assert_eq!(dumped(&out), Some(2101), "1 + 100 + 2 * 1000, not 1111");
        }
    }

    #[test]
    fn more_keys_than_the_bound_are_dumped_and_counted_once() {
        let mut switch = Switch::new(Op::Add, 1, 1, false);
        let pairs = vec![(1, 5), (2, 6), (1, 7)];
        let out = switch.handle(Packet::Data { mapper: 0, number: 1, pairs, asks: true });
        let dumps: Vec<_> = out.into_iter().filter(|packet| matches!(packet, Packet::Dump(_))).collect();
        assert_eq!(dumps, [(1, 5), (2, 6), (1, 7)].map(|pair| Packet::Dump(vec![pair])));
    }
}
