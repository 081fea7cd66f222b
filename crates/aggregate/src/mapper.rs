//! The sending side of a channel.
//!
//! START(generation, round) lets it send the packets of a round; a START of a later generation abandons them, unless it names the
//! generation as its predecessor: then the mapper continues with the next round as soon as all packets for the switches are sent, while it waits
//! for the last answers. A packet is sent only if the ones that had its cell in the switch are acknowledged, so that a cell is never given to another packet too early.
//! Pairs that a switch has not folded come back as bits of its ACK, those that left their slots for others whole. Pairs whose keys have another place are packed
//! once more for the switches; the others are sent past them, many in a packet, while further packets of the round go to the slots. The two sorts of packets meet
//! different queues, that of the reducer's link or none, and are acknowledged by the reducer or a switch: each has a congestion window of its own.
//! A packet that a full queue has cut down to its header is no longer in the network: it is sent again as soon as the window allows, before new ones.
//!
//! When switches have answered all that they fold, the last packet past them, or an END, says how many of those there are, and is repeated until the reducer has them
//! all. Packet `n` of attempt `a` has the number `a << ROUND_BITS | n`: numbers grow over the
//! whole job, without a memory that a crash could take. If keys have several places, some numbers are left out (`numbers.rs`).
//!
//! A mapper that starts anew has a larger *incarnation*. It sends nothing before a START names its incarnation, and what two
//! incarnations send therefore never meets in one generation.

mod attempt;
mod numbers;

use crate::congestion::Congestion;
use crate::layout::Layout;
use crate::op::Op;
use crate::pack::Round;
use crate::packet::{
    CONGESTED, DIRECT, FULL, Kind, LAST, MOST_ATTEMPT, Packet, Pair, ROUND_BITS, STORED, TRIMMED,
};
use crate::timer::Timer;
use attempt::{Attempt, Flight};
use base_time::{Duration, Time};
use numbers::Numbers;
use std::sync::Arc;

/// Sort of the packets that switches fold.
const FOLDED: usize = 0;

/// Sort of the packets that go past the switches.
const PAST: usize = 1;

/// Pairs that find no slot go to further places if they are at least one of so many. Packets past the switches hold several times as many pairs, so that fewer pairs would
/// take more time on the mapper's link than they save on the reducer's.
pub(crate) const LEAST_MOVED: u64 = 8;

/// A packet is lost when so many that were sent after it are acknowledged.
const OVERTAKEN: u32 = 3;

/// Configuration of a mapper.
#[derive(Clone, Debug)]
pub struct Config {
    /// The job's number.
    pub job: u16,
    /// The job's operator.
    pub op: Op,
    /// The job's layout.
    pub layout: Layout,
    /// Number of the channel.
    pub channel: u16,
    /// Larger than that of every earlier process with this channel in the run, and none that a mapper of another run has; never 0.
    pub incarnation: u32,
    /// Least time before a packet is sent again.
    pub least_wait: Duration,
    /// Longest time between two repetitions.
    pub most_wait: Duration,
}

/// Counts of a mapper.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Packets with pairs, repetitions included.
    pub packets: u64,
    /// Packets of rounds, without repetitions and those of `moved` and `left`; those of abandoned generations included.
    pub parcels: u64,
    /// Packets that were sent again; `packets` includes them.
    pub repeated: u64,
    /// Pairs sent, without repetitions and those in `moved` and `left`; those of abandoned generations included.
    pub pairs: u64,
    /// Pairs sent to further places of their keys.
    pub moved: u64,
    /// Pairs sent again, past the switches that did not fold them.
    pub left: u64,
    /// Acknowledgements with the sign of congestion.
    pub marked: u64,
    /// Packets that the reducer has received without their pairs.
    pub trimmed: u64,
}

/// One channel.
#[derive(Debug)]
pub struct Mapper {
    config: Config,
    rounds: Arc<[Round]>,
    /// Number of the first of them: earlier rounds are over.
    first: u32,
    /// One for packets that switches fold, one for those past them.
    congestion: [Congestion; 2],
    /// Generations that it works on, in their order: at most two, of rounds that follow each other.
    attempts: Vec<Attempt>,
    /// A START is to be answered: its generation and round.
    answer: Option<(u32, u32)>,
    counts: Counts,
    /// Packets sent so far: orders them.
    sent: u64,
}

impl Mapper {
    /// A mapper with the packets of all rounds, which waits for a START.
    pub fn new(config: Config, rounds: Arc<[Round]>) -> Mapper {
        let congestion = [(); 2].map(|()| Congestion::new(config.layout.window, config.least_wait));
        let (attempts, answer, counts) = (vec![], None, Counts::default());
        Mapper { config, rounds, first: 0, congestion, attempts, answer, counts, sent: 0 }
    }

    /// Further rounds, after the reducer has committed all earlier ones, under an operator of their own.
    pub fn extend(&mut self, rounds: Arc<[Round]>, op: Op) {
        self.first += self.rounds.len() as u32;
        (self.rounds, self.config.op) = (rounds, op);
        // Packets without an answer need none any more.
        self.attempts.iter_mut().for_each(Attempt::finish);
    }

    fn round(&self, number: u32) -> Option<&Round> {
        self.rounds.get(number.checked_sub(self.first)? as usize)
    }

    /// Counts of packets and pairs sent.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// True if packets or their END wait for an answer.
    pub fn is_busy(&self) -> bool {
        self.attempts.iter().any(|attempt| !attempt.is_over)
    }

    /// True if every packet of its rounds was sent once.
    pub fn has_sent_all(&self) -> bool {
        let has_sent = |attempt: &Attempt, sort| attempt.next[sort] >= attempt.numbers.of_round(sort);
        self.attempts.iter().all(|attempt| has_sent(attempt, FOLDED) && has_sent(attempt, PAST))
    }

    /// A packet has arrived. Packets that are not for it change nothing.
    pub fn handle(&mut self, now: Time, packet: &Packet) {
        if packet.job != self.config.job || packet.channel != self.config.channel {
            return;
        }
        match packet.kind {
            Kind::Start => self.start(now, packet),
            Kind::Ack => self.acknowledged(now, packet),
            Kind::EndAck => self.ended(now, packet),
            _ => {}
        }
    }

    fn start(&mut self, now: Time, packet: &Packet) {
        let known = self.attempts.last().map_or(0, |attempt| attempt.generation);
        let round = self.round(packet.seq);
        let is_numbered = packet.generation & MOST_ATTEMPT > 0;
        let Some(round) = round.filter(|_| is_numbered) else { return };
        let numbers = Numbers::new(round, &self.config.layout);
        // A repeated START asks whether it is still there.
        if self.attempts.iter().any(|attempt| attempt.generation == packet.generation) {
            self.answer = Some((packet.generation, packet.seq));
            return;
        }
        if packet.generation < known {
            return;
        }
        let is_named = packet.aux == self.config.incarnation;
        let run = packet.generation & !MOST_ATTEMPT;
        let before = if packet.boot == 0 { 0 } else { run | u32::from(packet.boot) };
        // Only the reducer of the run at work knows this mapper: the START is delayed, from an earlier run.
        if !is_named && known != 0 && known & !MOST_ATTEMPT != run {
            return;
        }
        if !is_named {
            // A START for another incarnation ends what this one sent, too. One that names this incarnation needs no answer: the packets are one.
            self.answer = Some((packet.generation, packet.seq));
            self.attempts.clear();
            return;
        }
        // The START of the generation before it is still under way.
        if before != 0 && self.attempts.iter().all(|attempt| attempt.generation != before) {
            return;
        }
        for ended in
            self.attempts.iter().filter(|attempt| attempt.generation != before && attempt.end.is_some())
        {
            // It is acknowledged by this START. When is not known, since that has waited for a bank.
            let flights = ended.flights[PAST].values();
            flights.for_each(|_| self.congestion[PAST].acknowledged(now, None, false, true));
        }
        self.attempts.retain(|attempt| attempt.generation == before && !attempt.is_over);
        self.attempts.push(Attempt::new(packet.generation, packet.seq, numbers));
    }

    /// The reducer has all of a generation.
    fn ended(&mut self, now: Time, packet: &Packet) {
        let is_it = |a: &&mut Attempt| a.generation == packet.generation && a.end.is_some();
        if let Some(attempt) = self.attempts.iter_mut().find(is_it) {
            // It acknowledges what has no answer yet.
            let is_marked = packet.aux & CONGESTED != 0;
            for flight in attempt.flights[PAST].values() {
                self.counts.marked += u64::from(is_marked);
                let sent = (!flight.is_repeated).then_some(flight.at);
                self.congestion[PAST].acknowledged(now, sent, is_marked, true);
            }
            attempt.finish();
        }
        // The last one stays: its generation is the largest one known.
        while self.attempts.len() > 1 && self.attempts[0].is_over {
            self.attempts.remove(0);
        }
    }

    fn acknowledged(&mut self, now: Time, packet: &Packet) {
        let is_it = |a: &&mut Attempt| a.generation == packet.generation;
        let Some(attempt) = self.attempts.iter_mut().find(is_it) else { return };
        let number = packet.seq & ((1 << ROUND_BITS) - 1);
        if !packet.is_numbered() {
            return;
        }
        if packet.aux & TRIMMED != 0 {
            let (sort, _) = attempt.numbers.find(number);
            let Some(flight) = attempt.flights[sort].get_mut(&number) else { return };
            // Its loss is known: neither overtaking nor a time-out reports it again.
            flight.overtaken = OVERTAKEN;
            attempt.trimmed[sort].insert(number);
            self.congestion[sort].lost();
            self.counts.trimmed += 1;
            return;
        }
        let is_marked = packet.aux & CONGESTED != 0;
        let is_stored = packet.aux & STORED != 0;
        let others = (0..32).filter(|bit| is_stored && packet.map >> bit & 1 != 0);
        let numbers = others.filter_map(|bit| number.checked_sub(1 + bit)).chain([number]);
        let layout = &self.config.layout;
        let round = attempt.round.checked_sub(self.first).and_then(|at| self.rounds.get(at as usize));
        let Some(round) = round else { return };
        let mut orders = vec![];
        for number in numbers {
            let (sort, at) = attempt.numbers.find(number);
            let Some(flight) = attempt.flights[sort].remove(&number) else { continue };
            attempt.trimmed[sort].remove(&number);
            orders.push((flight.order, sort));
            self.counts.marked += u64::from(is_marked);
            let sent = (!flight.is_repeated).then_some(flight.at);
            self.congestion[sort].acknowledged(now, sent, is_marked, is_stored);
            if is_stored {
                continue;
            }
            let parcel = attempt.parcel(round, sort, at).map_or(&[][..], |parcel| &parcel.pairs);
            let is_left = |pair: &&Pair| packet.map >> (pair.place.slot.lane & 127) & 1 != 0;
            let (pairs, left) =
                (parcel.len() as u64, parcel.iter().filter(is_left).copied().collect::<Vec<Pair>>());
            if at < attempt.numbers.of_round(sort) {
                attempt.answered += pairs;
                attempt.refused += left.len() as u64;
            }
            for pair in left {
                match pair.place.next(layout).filter(|_| attempt.numbers.kept > 0) {
                    Some(place) => attempt.left[FOLDED].push(Pair { place, ..pair }),
                    None => attempt.left[PAST].push(pair),
                }
            }
            // Pairs that others sent, and that left their slots for some of these.
            attempt.left[PAST].extend(&packet.pairs);
        }
        // Only packets of one sort keep their order.
        for (order, sort) in orders {
            let others = self.attempts.iter_mut().flat_map(|attempt| attempt.flights[sort].values_mut());
            for other in others.filter(|other| other.order < order) {
                // The answer to the last one of a generation may wait for a START.
                other.overtaken += u32::from(!other.is_last);
                if other.overtaken == OVERTAKEN {
                    other.timer.due = now;
                    self.congestion[sort].lost();
                }
            }
        }
    }

    /// A packet to send now, to the reducer; ask again until there is none.
    pub fn poll(&mut self, now: Time) -> Option<Packet> {
        if let Some((generation, seq)) = self.answer.take() {
            return Some(Packet { generation, seq, aux: self.config.incarnation, ..self.header() });
        }
        (0..self.attempts.len()).find_map(|at| self.poll_attempt(at, now))
    }

    fn header(&self) -> Packet {
        let Config { job, op, channel, .. } = self.config;
        Packet { channel, ..Packet::new(Kind::Ack, job, op) }
    }

    /// A packet of one of the generations. The earlier one is asked first.
    fn poll_attempt(&mut self, at: usize, now: Time) -> Option<Packet> {
        let (header, Config { incarnation, layout, .. }) = (self.header(), &self.config);
        let window = layout.window;
        let in_network =
            |attempt: &Attempt, sort: usize| attempt.flights[sort].len() - attempt.trimmed[sort].len();
        let flights =
            |sort: usize| self.attempts.iter().map(|attempt| in_network(attempt, sort)).sum::<usize>();
        let flights = [flights(0), flights(1)];
        let (earlier, attempt) = self.attempts.split_at_mut_checked(at)?;
        let (earlier, attempt) = (earlier.last(), attempt.first_mut()?);
        let generation = attempt.generation;
        let round = self.rounds.get(attempt.round.checked_sub(self.first)? as usize)?;
        // Pairs that the switches have not folded are sent again in packets of their own, whose numbers follow those of the round.
        attempt.pack_left(layout);
        let ends = [attempt.end_of(FOLDED), attempt.end_of(PAST)];
        // All is sent, and no switch has anything to say: END is sent until it is answered, but while packets that say the same wait for their answers.
        let is_sent = |attempt: &Attempt| attempt.next == ends && !attempt.awaits_switches();
        if is_sent(attempt) && (attempt.end.is_none() || attempt.flights[PAST].is_empty()) {
            let wait = self.congestion[PAST].wait();
            let end = attempt.end.get_or_insert_with(|| Timer::new(now, wait));
            if attempt.is_over || end.due > now {
                return None;
            }
            end.sent(now, self.config.most_wait);
            return Some(Packet {
                kind: Kind::End,
                generation,
                boot: ends[PAST] as u16,
                aux: *incarnation,
                ..header
            });
        }
        let mut in_flight = flights[PAST];
        let number = attempt.due(now).or_else(|| {
            // The reducer's link is the narrow one: its packets go first.
            [PAST, FOLDED].into_iter().find_map(|sort: usize| {
                if flights[sort] >= self.congestion[sort].allowed() {
                    return None;
                }
                // Trimmed packets have their cells, and go before new ones.
                if let Some(trimmed) = attempt.trimmed[sort].first() {
                    return Some(*trimmed);
                }
                let (at, number) = (attempt.next[sort], attempt.numbers.number(sort, attempt.next[sort]));
                // A packet may reuse the cell of an earlier packet only when that one is acknowledged, also if that was one of the generation before.
                let before = number.checked_sub(window);
                let has_cell = || before.is_none_or(|before| !attempt.flights[FOLDED].contains_key(&before));
                let has_left = || earlier.is_none_or(|earlier| earlier.has_left_cell(number));
                (at < ends[sort] && (sort == PAST || has_cell() && has_left())).then_some(number)
            })
        })?;
        let (sort, at) = attempt.numbers.find(number);
        let parcel = attempt.parcel(round, sort, at)?.clone();
        self.sent += 1;
        self.counts.packets += 1;
        let order = self.sent;
        in_flight += usize::from(attempt.trimmed[sort].remove(&number));
        match attempt.flights[sort].get_mut(&number) {
            Some(flight) => {
                // A loss found by overtaking has reduced the rate already; only a timeout does it here.
                if flight.overtaken < OVERTAKEN {
                    self.congestion[sort].timed_out();
                }
                self.counts.repeated += 1;
                flight.timer.sent(now, self.config.most_wait);
                (flight.order, flight.is_repeated, flight.overtaken) = (order, true, 0);
            }
            None => {
                let mut timer = Timer::new(now, self.congestion[sort].wait());
                timer.sent(now, self.config.most_wait);
                let flight =
                    Flight { timer, at: now, order, is_repeated: false, is_last: false, overtaken: 0 };
                attempt.flights[sort].insert(number, flight);
                in_flight += 1;
                attempt.next[sort] += 1;
                let pairs = parcel.pairs.len() as u64;
                let is_further = at >= attempt.numbers.of_round(sort);
                self.counts.parcels += u64::from(!is_further);
                *(match (is_further, sort) {
                    (false, _) => &mut self.counts.pairs,
                    (true, FOLDED) => &mut self.counts.moved,
                    (true, _) => &mut self.counts.left,
                }) += pairs;
            }
        }
        // The first row of an array's packet past the switches.
        let row = parcel.pairs.first().filter(|_| self.config.layout.is_dense());
        let row = row.map_or(0, |pair| u32::from(pair.place.slot.index));
        // The window has no room for another one.
        let (mut end, mut boot) = (if in_flight >= self.congestion[PAST].allowed() { FULL } else { 0 }, 0);
        if is_sent(attempt) {
            (end, boot) = (LAST, ends[PAST] as u16);
            attempt.flights[PAST].entry(number).and_modify(|flight| flight.is_last = true);
            let wait = self.congestion[PAST].wait();
            attempt.end.get_or_insert_with(|| Timer::new(now, wait)).sent(now, self.config.most_wait);
        }
        let (kind, aux) =
            if parcel.is_direct { (Kind::Overflow, row << 16 | DIRECT | end) } else { (Kind::Data, 0) };
        let seq = generation << ROUND_BITS | number;
        Some(Packet { kind, generation, boot, seq, aux, pairs: parcel.pairs, ..header })
    }

    /// When [`Mapper::poll`] may next have a packet, if nothing arrives.
    pub fn deadline(&self) -> Option<Time> {
        if self.answer.is_some() {
            return Some(Time::ZERO);
        }
        let of = |attempt: &Attempt| {
            let end = attempt.end.filter(|_| !attempt.is_over && attempt.flights[PAST].is_empty());
            attempt
                .flights
                .iter()
                .flatten()
                .map(|(_, flight)| flight.timer.due)
                .chain(end.map(|end| end.due))
                .min()
        };
        self.attempts.iter().filter_map(of).min()
    }
}
