//! SwitchML (NSDI'21, and its public program) for sums of arrays: a slot for 64 values in each of two sets, a bitmap of workers in each, and the result of a
//! slot to all workers, whose next packet for it is in the other set.
//!
//! A result is repeated only for a worker that repeats its packet. A host that receives results without being a worker would miss a lost one for ever, and
//! its slot is used again after two more packets of each worker. The reducer is therefore the last worker, with an array of zeros.

use crate::data::{Data, wrong};
use crate::network::{Node, Shape, System};
use aggregate::datagram::AROUND;
use base_time::{Duration, Time};
use std::collections::BTreeMap;

/// Values of a packet: the form with 256 bytes.
const VALUES: usize = 64;

/// Bytes of the header: type, size, job, a number, and the slot with its set.
const HEADER: u64 = 8;

/// Slots that a job uses. 64 suffice for 10 Gbit/s and 13 us, see `W` of the paper; all are in flight at once.
const SLOTS: usize = 128;

/// Time after which a worker repeats a packet.
const WAIT: Duration = Duration::from_ms(4);

/// A packet of a worker, or a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Slot and set.
    pub slot: (usize, usize),
    /// Position of the first value, in packets.
    pub chunk: u32,
    /// The values.
    pub values: Vec<u32>,
}

#[derive(Clone, Default, Debug)]
struct Slot {
    seen: u64,
    /// Workers of its present use; 0: all.
    count: u16,
    sums: Vec<u32>,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Switch {
    workers: u16,
    slots: Vec<[Slot; 2]>,
}

impl Switch {
    /// An empty switch for up to 32 workers.
    pub fn new(workers: u16) -> Switch {
        Switch { workers, slots: vec![<[Slot; 2]>::default(); SLOTS] }
    }

    /// The result, and whether it goes to all workers or to the one that has repeated its packet.
    pub fn handle(&mut self, worker: u16, packet: Packet) -> Option<(Packet, bool)> {
        let (slot, set) = packet.slot;
        let [one, other] = self.slots.get_mut(slot)?;
        let (this, other) = if set == 0 { (one, other) } else { (other, one) };
        let bit = 1 << worker;
        if this.seen & bit != 0 {
            // It stays complete until the first packet of its next use, whoever is in the other set by then.
            let is_complete = this.count == 0;
            return is_complete.then(|| (Packet { values: this.sums.clone(), ..packet }, false));
        }
        // The worker has the result of the other set: its bit there is free.
        other.seen &= !bit;
        if this.count == 0 {
            this.sums = packet.values;
        } else {
            this.sums.iter_mut().zip(&packet.values).for_each(|(sum, value)| *sum = sum.wrapping_add(*value));
        }
        this.seen |= bit;
        this.count = (this.count + 1) % self.workers.max(1);
        (this.count == 0).then(|| (Packet { values: this.sums.clone(), ..packet }, true))
    }
}

#[derive(Clone, Copy)]
struct Flight {
    chunk: u32,
    set: usize,
    due: Time,
}

struct Worker {
    values: Vec<u32>,
    flights: Vec<Option<Flight>>,
    left: usize,
}

/// A job whose reducer is a worker, too.
pub struct SwitchMl {
    /// Mappers by channel, then the reducer.
    workers: Vec<Worker>,
    switch: Switch,
    place: u16,
    chunks: u32,
    results: BTreeMap<u32, Vec<u32>>,
}

impl SwitchMl {
    /// A job for dense data.
    pub fn new(data: &Data, shape: Shape) -> SwitchMl {
        let length = data.pairs.first().map_or(0, Vec::len);
        let chunks = length.div_ceil(VALUES) as u32;
        let worker = |values: Vec<u32>| {
            let flight = |slot: usize| {
                let chunk = slot as u32;
                (chunk < chunks).then_some(Flight { chunk, set: 0, due: Time::ZERO })
            };
            Worker { values, flights: (0..SLOTS).map(flight).collect(), left: chunks as usize }
        };
        let mapper = |pairs: &Vec<(u32, u32)>| pairs.iter().map(|(_, value)| *value).collect::<Vec<u32>>();
        let workers: Vec<Worker> =
            data.pairs.iter().map(mapper).chain([vec![0; length]]).map(worker).collect();
        SwitchMl {
            switch: Switch::new(workers.len() as u16),
            workers,
            place: shape.switches() - 1,
            chunks,
            results: BTreeMap::new(),
        }
    }

    /// The place of a host among the workers; none of a switch.
    fn worker(&self, node: Node) -> Option<u16> {
        match node {
            Node::Mapper(mapper) => Some(mapper),
            Node::Reducer => Some(self.workers.len() as u16 - 1),
            Node::Switch(_) => None,
        }
    }

    /// The host of a worker.
    fn host(&self, worker: u16) -> Node {
        if usize::from(worker) + 1 == self.workers.len() { Node::Reducer } else { Node::Mapper(worker) }
    }

    /// Values that reached the reducer.
    pub fn pairs(&self) -> u64 {
        self.results.values().map(|values| values.len() as u64).sum()
    }

    /// Places with a wrong value.
    pub fn wrong(&self, fold: &BTreeMap<u32, u64>) -> u64 {
        let values = |(chunk, values): (&u32, &Vec<u32>)| {
            let first = chunk * VALUES as u32;
            (first..).zip(values.clone()).map(|(at, value)| (at, value.into())).collect::<Vec<_>>()
        };
        wrong(fold, &self.results.iter().flat_map(values).collect())
    }
}

impl System for SwitchMl {
    type Packet = Packet;

    fn bytes(&self, packet: &Packet) -> u64 {
        AROUND + HEADER + 4 * packet.values.len() as u64
    }

    fn pass(
        &mut self,
        switch: u16,
        ends: (Node, Node),
        packet: Packet,
        _: bool,
    ) -> Vec<(Node, Node, Packet)> {
        let (Some(worker), true) = (self.worker(ends.0), switch == self.place) else {
            return vec![(ends.0, ends.1, packet)];
        };
        let Some((result, is_for_all)) = self.switch.handle(worker, packet) else { return vec![] };
        let receivers = if is_for_all { 0..self.workers.len() as u16 } else { worker..worker + 1 };
        receivers.map(|receiver| (Node::Switch(switch), self.host(receiver), result.clone())).collect()
    }

    fn arrive(&mut self, at: Node, _: Time, packet: &Packet, _: bool) {
        let Some(worker) = self.worker(at) else { return };
        if at == Node::Reducer {
            self.results.insert(packet.chunk, packet.values.clone());
        }
        let (chunks, worker) = (self.chunks, &mut self.workers[usize::from(worker)]);
        let flight = &mut worker.flights[packet.slot.0];
        if flight.is_some_and(|flight| flight.chunk == packet.chunk) {
            let chunk = packet.chunk + SLOTS as u32;
            let next = Flight { chunk, set: 1 - packet.slot.1, due: Time::ZERO };
            *flight = (chunk < chunks).then_some(next);
            worker.left -= 1;
        }
    }

    fn poll(&mut self, at: Node, now: Time) -> Option<(Node, Packet)> {
        let worker = self.worker(at)?;
        let worker = &mut self.workers[usize::from(worker)];
        let is_due = |flight: &&mut Option<Flight>| flight.is_some_and(|flight| flight.due <= now);
        let flight = worker.flights.iter_mut().find(is_due)?.as_mut()?;
        flight.due = now + WAIT;
        let first = flight.chunk as usize * VALUES;
        let end = (first + VALUES).min(worker.values.len());
        let slot = (flight.chunk as usize % SLOTS, flight.set);
        Some((
            Node::Reducer,
            Packet { slot, chunk: flight.chunk, values: worker.values[first..end].to_vec() },
        ))
    }

    fn deadline(&self, at: Node) -> Option<Time> {
        let worker = self.worker(at)?;
        self.workers[usize::from(worker)].flights.iter().flatten().map(|flight| flight.due).min()
    }

    fn is_done(&self) -> bool {
        self.results.len() == self.chunks as usize && self.workers.iter().all(|worker| worker.left == 0)
    }

    fn restart(&mut self, switch: u16) {
        if switch == self.place {
            self.switch = Switch::new(self.workers.len() as u16);
        }
    }
}
