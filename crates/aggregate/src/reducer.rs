//! The master of a job: it opens generations at the switches, collects what they spill, reads what they hold, and commits.
//!
//! ```text
//! Opening ── OPENED ──> Collecting ── END of all ──> Closing ── CLOSED ──> Reading ── all rows ──> commit, Clearing ── CLEARED ──> gone
//! ```
//!
//! A *generation* is an attempt at a round, in the bank of its lowest bit. While one generation is read and cleared, the
//! next round is collected in the other bank. A generation is *doomed* when a switch has restarted before its commit, or a
//! mapper has: what it collected is thrown away, its bank is closed and cleared, and the round gets another generation.

use crate::key::Place;
use crate::layout::Layout;
use crate::op::Op;
use crate::pack::ROUND_BITS;
use crate::packet::{CONGESTED, Kind, Packet, Pair};
use crate::requests::Requests;
use crate::timer::Timer;
use base_time::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Acknowledgements that wait to be sent; further ones are left out, and mappers ask again.
const MOST_ANSWERS: usize = 1 << 12;

/// The first generation with a larger number is refused: numbers of packets would overflow.
pub const MOST_GENERATIONS: u32 = 1 << (32 - ROUND_BITS);

/// What a reducer is given.
#[derive(Clone, Debug)]
pub struct Config {
    /// The job's number.
    pub job: u16,
    /// The job's operator.
    pub op: Op,
    /// The job's layout.
    pub layout: Layout,
    /// Channels, numbered from 0.
    pub channels: u16,
    /// Switches, numbered from 0. None: mappers send everything past them.
    pub switches: u16,
    /// Rounds of every mapper.
    pub rounds: u32,
    /// Generations at a time: 1, or 2 to read one while the next is collected.
    pub banks: u8,
    /// First time before a request is repeated.
    pub least_wait: Duration,
    /// Longest time between two repetitions.
    pub most_wait: Duration,
    /// A mapper that says nothing for so long has vanished.
    pub patience: Duration,
}

/// Where a packet is sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum To {
    /// The mapper of a channel.
    Mapper(u16),
    /// A switch.
    Switch(u16),
}

/// Why a job cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The mapper of this channel has said nothing for longer than the patience.
    Vanished(u16),
    /// A switch, this one or a later one, has answered no request for longer than the patience: it is not on the path, or has no
    /// such job, or has lost it.
    NoSwitch(u16),
    /// There are no numbers for another generation.
    TooManyGenerations,
    /// The switch with this number has restarted and kept its boot number: nothing can be trusted any more.
    BootKept(u16),
}

/// Counts of a reducer. Those of pairs are of committed generations.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Pairs that switches or mappers sent past the slots.
    pub spilled: u64,
    /// Pairs read from slots.
    pub read: u64,
    /// Packets of READ and their answers, repetitions included.
    pub read_packets: u64,
    /// Generations that were thrown away.
    pub doomed: u64,
    /// Restarts of switches that were noticed.
    pub restarts: u64,
}

/// The sums of a job or a generation.
pub type Sums = BTreeMap<Place, u64>;

/// The master of a job.
#[derive(Debug)]
pub struct Reducer {
    config: Config,
    /// Boot number of each switch; 0 before it is known.
    boots: Vec<u16>,
    /// When something last went on: an answer, an END, a restart that is noticed; at first, when it sent its first packet.
    progress: Option<Time>,
    members: Vec<Member>,
    attempts: Vec<Attempt>,
    last: u32,
    committed: u32,
    result: Sums,
    answers: VecDeque<(To, Packet)>,
    counts: Counts,
    trouble: Option<Trouble>,
}

/// A mapper.
#[derive(Clone, Copy, Default, Debug)]
struct Member {
    incarnation: u32,
    heard: Option<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Opening,
    Collecting,
    Closing,
    Reading,
    /// Everything is read; earlier rounds are committed first.
    Read,
    Clearing,
    Gone,
}

#[derive(Debug)]
struct Attempt {
    generation: u32,
    round: u32,
    phase: Phase,
    is_doomed: bool,
    is_committed: bool,
    requests: Option<Requests>,
    /// Switches that have restarted and hold nothing of it.
    lost: Vec<bool>,
    sums: Sums,
    spilled: u64,
    read: u64,
    /// For each channel: packets that have arrived here, in words of 64.
    seen: Vec<BTreeMap<u32, u64>>,
    /// For each channel: when START is sent again; none after its END.
    starts: Vec<Option<Timer>>,
}

impl Reducer {
    /// A reducer that has sent nothing.
    pub fn new(config: Config) -> Reducer {
        Reducer {
            boots: vec![0; config.switches.into()],
            progress: None,
            members: vec![Member::default(); config.channels.into()],
            attempts: vec![],
            last: 0,
            committed: 0,
            result: Sums::new(),
            answers: VecDeque::new(),
            counts: Counts::default(),
            trouble: None,
            config,
        }
    }

    /// True when every round is committed and every bank is clear.
    pub fn is_done(&self) -> bool {
        self.committed == self.config.rounds && self.attempts.is_empty()
    }

    /// Rounds of the job.
    pub fn rounds(&self) -> u32 {
        self.config.rounds
    }

    /// Rounds committed so far.
    pub fn committed(&self) -> u32 {
        self.committed
    }

    /// The fold of all committed rounds.
    pub fn result(&self) -> &Sums {
        &self.result
    }

    /// What it has counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Why the job does not go on, if it does not. A mapper that vanished may come back.
    pub fn trouble(&self, now: Time) -> Option<Trouble> {
        if self.trouble.is_some() {
            return self.trouble;
        }
        let has_waited = self.progress.is_some_and(|progress| now.since(progress) > self.config.patience);
        let asked = self.attempts.iter().filter_map(|attempt| attempt.requests.as_ref());
        if let Some(switch) = asked.filter_map(Requests::first_pending).next().filter(|_| has_waited) {
            return Some(Trouble::NoSwitch(switch));
        }
        let collecting = self.attempts.iter().find(|attempt| attempt.phase == Phase::Collecting)?;
        let silent = |(start, member): (&Option<Timer>, &Member)| {
            start.is_some() && member.heard.is_some_and(|heard| now.since(heard) > self.config.patience)
        };
        let vanished = collecting.starts.iter().zip(&self.members).position(silent)?;
        Some(Trouble::Vanished(vanished as u16))
    }

    /// A packet has arrived. `is_marked`: it met congestion (ECN). Packets that are not expected change nothing.
    pub fn handle(&mut self, now: Time, packet: &Packet, is_marked: bool) {
        if packet.job != self.config.job {
            return;
        }
        match packet.kind {
            Kind::Boot => self.booted(packet, now),
            Kind::Spill => self.spilled(packet, is_marked),
            Kind::End => self.ended(packet, now),
            Kind::Ack => self.greeted(packet, now),
            Kind::Opened | Kind::Closed | Kind::ReadReply | Kind::Cleared => {
                self.answered(packet, now);
            }
            _ => {}
        }
        if let Some(member) = self.members.get_mut(usize::from(packet.channel))
            && matches!(packet.kind, Kind::Spill | Kind::End | Kind::Ack)
        {
            member.heard = Some(now);
        }
        self.advance();
    }

    /// A switch has another boot number: what it held is lost.
    fn booted(&mut self, packet: &Packet, now: Time) {
        let (switch, boot) = (packet.channel, packet.boot);
        // Mappers send data of a generation after every switch has opened it, and until one has closed it.
        let is_data = packet.seq >> ROUND_BITS == packet.generation;
        let is_known = self.boots.get(usize::from(switch)) == Some(&boot);
        if is_known && is_data && self.collecting(packet.generation).is_some() {
            self.trouble = self.trouble.or(Some(Trouble::BootKept(switch)));
        }
        let Some(known) = self.boots.get_mut(usize::from(switch)).filter(|known| **known < boot) else {
            return;
        };
        let is_restart = std::mem::replace(known, boot) != 0;
        self.progress = Some(now);
        self.counts.restarts += u64::from(is_restart);
        for attempt in &mut self.attempts {
            if !is_restart {
                // It is only now that the number is known; nothing was ever opened there.
                if let Some(requests) = &mut attempt.requests {
                    requests.hurry(switch, now);
                }
                continue;
            }
            if let Some(lost) = attempt.lost.get_mut(usize::from(switch)) {
                *lost = true;
            }
            if let Some(requests) = &mut attempt.requests {
                requests.forget(switch);
            }
            attempt.is_doomed |= !attempt.is_committed;
        }
    }

    fn collecting(&mut self, generation: u32) -> Option<&mut Attempt> {
        let is_it = |attempt: &&mut Attempt| {
            attempt.generation == generation && attempt.phase == Phase::Collecting && !attempt.is_doomed
        };
        self.attempts.iter_mut().find(is_it)
    }

    fn spilled(&mut self, packet: &Packet, is_marked: bool) {
        let op = self.config.op;
        let Some(attempt) = self.collecting(packet.generation) else { return };
        let Some(seen) = attempt.seen.get_mut(usize::from(packet.channel)) else { return };
        if packet.seq >> ROUND_BITS != packet.generation {
            return;
        }
        let number = packet.seq & ((1 << ROUND_BITS) - 1);
        let (word, bit) = (seen.entry(number / 64).or_default(), 1 << (number % 64));
        if *word & bit == 0 {
            *word |= bit;
            attempt.spilled += packet.pairs.len() as u64;
            packet.pairs.iter().for_each(|pair| add(&mut attempt.sums, *pair, op));
        }
        let aux = if is_marked { CONGESTED } else { 0 };
        let answer = Packet { kind: Kind::Ack, aux, pairs: vec![], ..packet.clone() };
        self.answer(To::Mapper(packet.channel), answer);
    }

    fn answer(&mut self, to: To, packet: Packet) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push_back((to, packet));
        }
    }

    fn ended(&mut self, packet: &Packet, now: Time) {
        let Some(member) = self.members.get(usize::from(packet.channel)) else { return };
        if member.incarnation != packet.aux || packet.generation > self.last {
            return;
        }
        let end_ack = Packet { kind: Kind::EndAck, pairs: vec![], ..packet.clone() };
        self.answer(To::Mapper(packet.channel), end_ack);
        if let Some(attempt) = self.collecting(packet.generation)
            && let Some(start) = attempt.starts.get_mut(usize::from(packet.channel))
        {
            *start = None;
            self.progress = Some(now);
        }
    }

    /// A mapper says which incarnation it is.
    fn greeted(&mut self, packet: &Packet, now: Time) {
        let channel = usize::from(packet.channel);
        let Some(member) = self.members.get_mut(channel).filter(|member| member.incarnation < packet.aux)
        else {
            return;
        };
        let is_first = std::mem::replace(&mut member.incarnation, packet.aux) == 0;
        self.progress = Some(now);
        for attempt in self.attempts.iter_mut().filter(|attempt| attempt.phase == Phase::Collecting) {
            let Some(start) = attempt.starts.get_mut(channel) else { continue };
            match start {
                // The first START named nobody: nothing was sent, and it is named now. No other START with a name was sent.
                Some(timer) if is_first => timer.due = now,
                Some(_) => attempt.is_doomed = true,
                // All that the earlier one had to send is here.
                None => {}
            }
        }
    }

    fn answered(&mut self, packet: &Packet, now: Time) {
        let asked = match packet.kind {
            Kind::Opened => Kind::Open,
            Kind::Closed => Kind::Close,
            Kind::Cleared => Kind::Clear,
            _ => Kind::Read,
        };
        let (switch, op) = (packet.channel, self.config.op);
        if self.boots.get(usize::from(switch)) != Some(&packet.boot) {
            return;
        }
        let Some(attempt) = self.attempts.iter_mut().find(|a| a.generation == packet.generation) else {
            return;
        };
        let Some(requests) = attempt.requests.as_mut().filter(|requests| requests.kind == asked) else {
            return;
        };
        let row = if matches!(asked, Kind::Open | Kind::Close) { 0 } else { packet.seq };
        if !requests.answered(switch, row) {
            return;
        }
        self.progress = Some(now);
        if asked == Kind::Read {
            self.counts.read_packets += 1;
            attempt.read += packet.pairs.len() as u64;
            packet.pairs.iter().for_each(|pair| add(&mut attempt.sums, *pair, op));
        }
    }

    /// Does all that can be done without another packet.
    fn advance(&mut self) {
        loop {
            let mut is_changed = false;
            for at in 0..self.attempts.len() {
                is_changed |= self.step(at);
            }
            self.attempts.retain(|attempt| attempt.phase != Phase::Gone);
            is_changed |= self.begin();
            if !is_changed {
                return;
            }
        }
    }

    /// The next phase of an attempt, if its time has come.
    fn step(&mut self, at: usize) -> bool {
        let Reducer { config, attempts, committed, result, counts, .. } = self;
        let attempt = &mut attempts[at];
        let is_answered = attempt.requests.as_mut().is_none_or(|requests| requests.is_over(&attempt.lost));
        let (switches, rows) = (config.switches, config.layout.rows());
        let next = match attempt.phase {
            Phase::Opening if is_answered && attempt.is_doomed => Phase::Closing,
            Phase::Opening if is_answered => Phase::Collecting,
            Phase::Collecting if attempt.is_doomed || attempt.starts.iter().all(Option::is_none) => {
                Phase::Closing
            }
            Phase::Closing | Phase::Reading if is_answered && attempt.is_doomed => Phase::Clearing,
            Phase::Closing if is_answered => Phase::Reading,
            Phase::Reading if is_answered => Phase::Read,
            Phase::Read if attempt.is_doomed => Phase::Clearing,
            Phase::Read if attempt.round == *committed => Phase::Clearing,
            Phase::Clearing if is_answered => Phase::Gone,
            _ => return false,
        };
        if next == Phase::Clearing && !attempt.is_doomed {
            attempt.is_committed = true;
            *committed += 1;
            counts.spilled += attempt.spilled;
            counts.read += attempt.read;
            for (place, value) in std::mem::take(&mut attempt.sums) {
                add_wide(result, place, value, config.op);
            }
        }
        attempt.phase = next;
        attempt.requests = match next {
            Phase::Closing => Some(Requests::new(Kind::Close, switches, 1)),
            Phase::Reading => Some(Requests::new(Kind::Read, switches, rows)),
            Phase::Clearing => Some(Requests::new(Kind::Clear, switches, rows)),
            _ => None,
        };
        counts.doomed += u64::from(next == Phase::Gone && attempt.is_doomed);
        true
    }

    /// Begins the next attempt, if a bank is free for it.
    fn begin(&mut self) -> bool {
        let config = &self.config;
        let is_early = |attempt: &Attempt| {
            attempt.is_doomed || matches!(attempt.phase, Phase::Opening | Phase::Collecting)
        };
        let round = self.attempts.iter().map(|a| a.round + 1).max().unwrap_or(0).max(self.committed);
        let is_room = self.attempts.len() < usize::from(config.banks.clamp(1, 2));
        if !is_room || round >= config.rounds || self.attempts.iter().any(is_early) || self.trouble.is_some()
        {
            return false;
        }
        let mut generation = self.last + 1;
        if self.attempts.iter().any(|attempt| attempt.generation & 1 == generation & 1) {
            generation += 1;
        }
        if generation >= MOST_GENERATIONS {
            self.trouble = Some(Trouble::TooManyGenerations);
            return false;
        }
        self.last = generation;
        let timer = Timer::new(Time::ZERO, config.least_wait);
        let channels = usize::from(config.channels);
        self.attempts.push(Attempt {
            generation,
            round,
            phase: Phase::Opening,
            is_doomed: false,
            is_committed: false,
            requests: Some(Requests::new(Kind::Open, config.switches, 1)),
            lost: vec![false; config.switches.into()],
            sums: Sums::new(),
            spilled: 0,
            read: 0,
            seen: vec![BTreeMap::new(); channels],
            starts: vec![Some(timer); channels],
        });
        true
    }

    /// A packet to send now; ask again until there is none.
    pub fn poll(&mut self, now: Time) -> Option<(To, Packet)> {
        self.progress.get_or_insert(now);
        self.advance();
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        let Config { job, op, least_wait, most_wait, .. } = self.config;
        let header = Packet::new(Kind::Start, job, op);
        for attempt in &mut self.attempts {
            let generation = attempt.generation;
            if let Some(requests) = &mut attempt.requests {
                let Some((switch, row)) = requests.poll(&attempt.lost, now, (least_wait, most_wait)) else {
                    continue;
                };
                let boot = self.boots.get(usize::from(switch)).copied().unwrap_or(0);
                self.counts.read_packets += u64::from(requests.kind == Kind::Read);
                let request =
                    Packet { kind: requests.kind, generation, boot, channel: switch, seq: row, ..header };
                return Some((To::Switch(switch), request));
            }
            if attempt.phase != Phase::Collecting {
                continue;
            }
            for ((channel, start), member) in (0..).zip(&mut attempt.starts).zip(&mut self.members) {
                if let Some(timer) = start.as_mut().filter(|timer| timer.due <= now) {
                    timer.sent(now, most_wait);
                    member.heard.get_or_insert(now);
                    let aux = member.incarnation;
                    let start = Packet { generation, channel, seq: attempt.round, aux, ..header };
                    return Some((To::Mapper(channel), start));
                }
            }
        }
        None
    }

    /// When [`Reducer::poll`] may next have a packet, if nothing arrives.
    pub fn deadline(&self) -> Option<Time> {
        if !self.answers.is_empty() || self.last == 0 && self.config.rounds > 0 {
            return Some(Time::ZERO);
        }
        let of = |attempt: &Attempt| {
            let requests = attempt.requests.as_ref().and_then(Requests::deadline);
            let is_collecting = attempt.phase == Phase::Collecting;
            let starts =
                attempt.starts.iter().flatten().map(|timer| timer.due).filter(|_| is_collecting).min();
            requests.into_iter().chain(starts).min()
        };
        self.attempts.iter().filter_map(of).min()
    }
}

fn add(sums: &mut Sums, pair: Pair, op: Op) {
    add_wide(sums, pair.place, pair.value.into(), op);
}

fn add_wide(sums: &mut Sums, place: Place, value: u64, op: Op) {
    sums.entry(place).and_modify(|held| *held = op.fold_wide(*held, value)).or_insert(value);
}
