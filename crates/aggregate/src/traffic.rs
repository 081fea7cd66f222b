//! Bytes on the reducer's link: a whole job of real machines around the model of a switch, without losses.
//!
//! Mappers send in step: none is further ahead of another than a share of the round. Time only passes when nothing else can happen.

use crate::datagram::AROUND;
use crate::layout::Layout;
use crate::op::Op;
use crate::pack::{PackError, pack};
use crate::packet::{Packet, Pair};
use crate::reducer::{self, Reducer, Sums, To};
use crate::switch::{Direction, Switch};
use crate::{Mapper, mapper};
use base_time::{Duration, Time};

/// Mappers are at most so many thousandths of a round apart, or two packets.
const APART: u64 = 1;

/// A job to measure.
#[derive(Clone, Debug)]
pub struct Trial<'a> {
    /// Sizes of packets and slots.
    pub layout: Layout,
    /// The operator.
    pub op: Op,
    /// Rounds.
    pub rounds: u32,
    /// A switch folds pairs; otherwise all of them travel to the reducer, in packets that are as long as possible.
    pub is_switched: bool,
    /// Each mapper's pairs, a pair for each of its keys.
    pub pairs: &'a [Vec<Pair>],
}

/// Packets and bytes on the reducer's link.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    /// Bytes to the reducer.
    pub to: u64,
    /// Bytes from the reducer: acknowledgements and requests.
    pub from: u64,
    /// Packets of both directions.
    pub packets: u64,
    /// Pairs that reached the reducer.
    pub pairs: u64,
    /// The result is that of a serial fold.
    pub is_exact: bool,
}

impl Traffic {
    /// Bytes of both directions.
    pub fn bytes(&self) -> u64 {
        self.to + self.from
    }
}

struct World<'a> {
    trial: &'a Trial<'a>,
    reducer: Reducer,
    switch: Option<Switch>,
    mappers: Vec<Mapper>,
    /// Packets of each mapper.
    parcels: Vec<u64>,
    now: Time,
    traffic: Traffic,
}

impl Trial<'_> {
    /// Runs the job to its end.
    pub fn run(&self) -> Result<Traffic, PackError> {
        let channels = self.pairs.len() as u16;
        let most = self.is_switched.then(|| self.op.most_value(channels.into()));
        let (least_wait, most_wait) = (Duration::from_ms(1), Duration::from_ms(50));
        let (mut mappers, mut parcels) = (vec![], vec![]);
        for (channel, pairs) in (0..channels).zip(self.pairs) {
            let rounds = pack(pairs.clone(), &self.layout, self.rounds, most)?;
            parcels.push(rounds.iter().map(|round| round.len() as u64).sum());
            let (op, layout) = (self.op, self.layout);
            let config =
                mapper::Config { job: 1, op, layout, channel, incarnation: 1, least_wait, most_wait };
            mappers.push(Mapper::new(config, rounds.into()));
        }
        let reducer = Reducer::new(reducer::Config {
            job: 1,
            op: self.op,
            layout: self.layout,
            channels,
            switches: self.is_switched.into(),
            parents: 0,
            rounds: self.rounds,
            banks: 2,
            least_wait,
            most_wait,
            patience: Duration::from_s(1),
            nonce: 0,
        });
        let switch = self.is_switched.then(|| Switch::new(self.layout, 0, 1, channels, 1));
        let (now, traffic) = (Time::ZERO, Traffic::default());
        let mut world = World { trial: self, reducer, switch, mappers, parcels, now, traffic };
        while !world.reducer.is_done() {
            if !world.answer() && !world.send() {
                world.wait();
            }
        }
        world.traffic.pairs = world.reducer.counts().read + world.reducer.counts().overflowed;
        world.traffic.is_exact = *world.reducer.result() == self.sums();
        Ok(world.traffic)
    }

    /// The serial fold.
    fn sums(&self) -> Sums {
        let mut sums = Sums::new();
        for pair in self.pairs.iter().flatten() {
            reducer::add_wide(&mut sums, pair.place, pair.value.into(), self.op);
        }
        sums
    }
}

impl World<'_> {
    fn count(&mut self, packet: &Packet, is_to: bool) {
        let bytes = AROUND + packet.bytes(&self.trial.layout).len() as u64;
        *(if is_to { &mut self.traffic.to } else { &mut self.traffic.from }) += bytes;
        self.traffic.packets += 1;
    }

    /// A packet of the reducer, and what follows from it; false if there is none.
    fn answer(&mut self) -> bool {
        let Some((to, packet)) = self.reducer.poll(self.now) else { return false };
        self.count(&packet, false);
        match to {
            To::Mapper(channel) => self.mappers[usize::from(channel)].handle(self.now, &packet),
            To::Switch(_) => {
                let answers = self.switch.as_mut().map(|switch| switch.handle(packet, false));
                answers.into_iter().flatten().for_each(|(_, answer)| self.arrive(&answer));
            }
        }
        true
    }

    /// A packet of the mapper that is behind the others; false if there is none.
    fn send(&mut self) -> bool {
        // By packets, which have the same share of a round's keys at all mappers; shares of pairs differ by chance.
        let done: Vec<(u64, u64)> = (self.mappers.iter().zip(&self.parcels))
            .map(|(mapper, all)| (mapper.counts().parcels * 1000, (*all).max(1)))
            .collect();
        let share = |(done, all): (u64, u64)| done / all;
        let mut order: Vec<usize> = (0..self.mappers.len()).collect();
        order.sort_by_key(|at| share(done[*at]));
        let is_sending = |at: &usize| self.mappers[*at].is_busy() && !self.mappers[*at].has_sent_all();
        let sending: Vec<usize> = order.iter().copied().filter(is_sending).collect();
        for at in order {
            // Mappers far apart in the order of keys would evict each other's pairs: the one ahead waits.
            let apart = APART.max(2 * 1000 / self.parcels[at].max(1));
            let is_ahead = |last: &usize| share(done[at]) > share(done[*last]) + apart;
            if sending.contains(&at) && sending.first().is_some_and(is_ahead) {
                continue;
            }
            let Some(packet) = self.mappers[at].poll(self.now) else { continue };
            self.now += Duration::from_ns(100);
            let passed = match &mut self.switch {
                Some(switch) => switch.handle(packet, false).pop(),
                None => Some((Direction::On, packet)),
            };
            match passed {
                Some((Direction::On, packet)) => self.arrive(&packet),
                Some((Direction::Back, packet)) => self.mappers[at].handle(self.now, &packet),
                None => {}
            }
            return true;
        }
        false
    }

    fn arrive(&mut self, packet: &Packet) {
        self.count(packet, true);
        self.reducer.handle(self.now, packet, false);
    }

    fn wait(&mut self) {
        let timers = self.mappers.iter().filter_map(Mapper::deadline).chain(self.reducer.deadline());
        let next = timers.min().unwrap_or(self.now);
        self.now = next.max(self.now + Duration::from_us(1));
    }
}
