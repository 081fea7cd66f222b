//! The master of a job: it opens generations at the switches, collects what they overflow, reads what they hold, and commits.
//!
//! ```text
//! Opening ── OPENED ──> Collecting ── END of all ──> Closing ── CLOSED ──> Reading ── all rows ──> commit, Clearing ── CLEARED ──> gone
//!                                                      ^── the switches that fold what was read ──┘
//! ```
//!
//! A *generation* is an attempt at a round, in the bank of its lowest bit. While one generation is collected, read and cleared, the
//! next round is opened and collected in the other bank: a mapper begins it when it has sent the round before, whatever the others do. A generation is *doomed* when a switch has restarted before its commit, or a
//! mapper has: what it collected is thrown away, its bank is closed and cleared, and the round gets another generation.
//!
//! Another reducer may have used the switches before, and have ended at any point. So each bank is first asked for its last generation; if there was any, both banks are opened,
//! closed and cleared, and all generations are larger: the upper half is the *run*, larger than all that the switches know, the lower half the *attempt*, larger than all that
//! cells may know. Packets of an earlier run that are still under way then meet other generations.

mod acks;
mod arrivals;
mod attempt;

use crate::key::Place;
use crate::layout::Layout;
use crate::op::Op;
use crate::packet::{Kind, Packet, ROUND_BITS};
use crate::requests::{Asked, Pace, Requests};
use crate::timer::Timer;
use acks::Acks;
use attempt::{Attempt, Phase};
use base_time::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Acknowledgements that wait to be sent; further ones are left out, and mappers ask again.
const MOST_ANSWERS: usize = 1 << 12;

/// So often, a run begins anew because another one has a bank. An earlier run has one OPEN under way at most, but a run at the same time does it again and again.
const MOST_TAKEN: u32 = 8;

/// The largest first run: as many may follow it between two starts of the switches.
const MOST_FIRST_RUN: u32 = 0x7fff;

/// Configuration of a reducer.
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
    /// Number of parents: the switches with the largest numbers, which fold pairs that the others have left. They are closed and read after those.
    pub parents: u16,
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
    /// A random number, another one for each reducer: an answer to the questions of an earlier one is not taken for an answer to this one's.
    pub nonce: u64,
}

/// Destination of a packet that the reducer sends.
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
    /// There are no numbers for another generation: the switches have had as many since they started.
    TooManyGenerations,
    /// The switch with this number has restarted and kept its boot number: nothing can be trusted any more.
    BootKept(u16),
    /// Another reducer of the job uses this switch at the same time.
    Shared(u16),
}

/// Counts of a reducer. Those of pairs are of committed generations.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Pairs that switches or mappers sent past the slots.
    pub overflowed: u64,
    /// Pairs read from slots.
    pub read: u64,
    /// Packets of READ and their answers, repetitions included.
    pub read_packets: u64,
    /// Generations that were thrown away.
    pub doomed: u64,
    /// Restarts of switches that were noticed.
    pub restarts: u64,
    /// Packets that came without their pairs, which a full queue had cut off.
    pub trimmed: u64,
}

/// The sums of a job or a generation.
pub type Sums = BTreeMap<Place, u64>;

/// The master of a job.
#[derive(Debug)]
pub struct Reducer {
    config: Config,
    /// Boot number of each switch; 0 before it is known.
    boots: Vec<u16>,
    /// Questions to all banks, each as a row of its switch, until all are answered: an OPEN without a boot number, which opens nothing.
    questions: Option<Requests>,
    /// Times that banks were asked again.
    again: u32,
    /// Answers so far: the first run after all that banks have had, and their largest attempt; the largest generation, and the switch that has had it.
    seen: (u32, u32),
    newest: (u32, u16),
    /// A switch that does not know an open generation: another run has its bank, or it has restarted and kept its boot number.
    suspect: Option<u16>,
    /// Times that this run began anew because another one had a bank.
    taken: u32,
    /// When something last went on: an answer, an END, a restart that is noticed; at first, when it sent its first packet.
    progress: Option<Time>,
    members: Vec<Member>,
    attempts: Vec<Attempt>,
    /// The last generation; without an attempt before the first one.
    last: u32,
    /// Generations that are only opened, closed and cleared: one for each bank, after an earlier reducer.
    purges: u8,
    /// An array: the round in which it begins, and its elements.
    array: Option<(u32, u64)>,
    committed: u32,
    result: Sums,
    answers: VecDeque<(To, Packet)>,
    acks: Acks,
    /// Pairs and rows of late answers of the last switches.
    held: (u64, u64),
    /// Speed of the last READs.
    pace: Pace,
    counts: Counts,
    trouble: Option<Trouble>,
}

/// A mapper.
#[derive(Clone, Copy, Default, Debug)]
struct Member {
    incarnation: u32,
    heard: Option<Time>,
}

impl Reducer {
    /// A reducer that has sent nothing.
    pub fn new(config: Config) -> Reducer {
        let first_run = (config.nonce >> 32) as u32 & MOST_FIRST_RUN;
        Reducer {
            boots: vec![0; config.switches.into()],
            questions: (config.switches > 0).then(|| Reducer::questions(config.switches)),
            again: 0,
            seen: (0, 0),
            newest: (0, 0),
            suspect: None,
            taken: 0,
            progress: None,
            members: vec![Member::default(); config.channels.into()],
            attempts: vec![],
            last: first_run << ROUND_BITS,
            purges: 0,
            array: None,
            committed: 0,
            result: Sums::new(),
            answers: VecDeque::new(),
            acks: Acks::new(config.least_wait),
            held: (0, 0),
            pace: Pace::FIRST,
            counts: Counts::default(),
            trouble: None,
            config,
        }
    }

    /// The rounds that are not yet committed are an array of so many elements: only its rows are read and cleared. Without it, all rows are.
    pub fn set_elements(&mut self, elements: u64) {
        self.array = Some((self.committed, elements));
    }

    /// Rows of a round that hold something.
    fn rows_of(layout: &Layout, array: Option<(u32, u64)>, round: u32) -> u32 {
        let Some((first, elements)) = array else { return layout.rows() };
        let before = u64::from(round.saturating_sub(first)) * layout.elements();
        let rows = elements.saturating_sub(before).div_ceil(layout.lanes.into());
        rows.clamp(1, layout.rows().into()) as u32
    }

    /// The largest generation so far.
    pub fn generation(&self) -> u32 {
        self.last
    }

    /// Questions to both banks of each switch.
    fn questions(switches: u16) -> Requests {
        Requests::new(Kind::Open, 0..switches, (2, 1, 1), 2)
    }

    /// True while banks are asked what they hold: before the first round in which switches take part, or again.
    fn is_asking(&self) -> bool {
        let is_done = self.committed == self.config.rounds && self.attempts.is_empty();
        self.questions.is_some() && self.config.switches > 0 && !is_done
    }

    /// The generation of a question to a bank.
    fn question(&self, bank: u32) -> u32 {
        (self.config.nonce as u32).wrapping_add(self.again) << 1 | bank
    }

    /// Asks all banks again, because one may have a generation of another run.
    fn ask_again(&mut self) {
        if self.questions.is_none() {
            self.questions = Some(Reducer::questions(self.config.switches));
            self.again = self.again.wrapping_add(1);
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

    /// The fold of all committed rounds, which is thrown away here.
    pub fn take_result(&mut self) -> Sums {
        std::mem::take(&mut self.result)
    }

    /// Further rounds of the same mappers, under an operator of their own. The reducer is done before. If its switches do not know the
    /// operator, `is_switched` is false, and nobody asks them.
    pub fn extend(&mut self, rounds: u32, op: Op, is_switched: bool) {
        (self.config.rounds, self.config.op) = (self.config.rounds + rounds, op);
        self.config.switches = if is_switched { self.boots.len() as u16 } else { 0 };
        // Nobody had anything to say meanwhile.
        self.progress = None;
    }

    /// Counts since the start of the reducer.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Why the job does not go on, if it does not. A mapper that vanished may come back.
    pub fn trouble(&self, now: Time) -> Option<Trouble> {
        if self.trouble.is_some() {
            return self.trouble;
        }
        let has_waited = self.progress.is_some_and(|progress| now.since(progress) > self.config.patience);
        let questions = self.questions.as_ref().filter(|_| self.is_asking());
        let asked = self.attempts.iter().filter_map(|attempt| attempt.requests.as_ref()).chain(questions);
        if let Some(switch) = asked.filter_map(Requests::first_pending).next().filter(|_| has_waited) {
            return Some(Trouble::NoSwitch(switch));
        }
        let collecting = self.attempts.iter().find(|attempt| attempt.phase == Phase::Collecting)?;
        // A mapper that has sent the round before may have waited for others for any time.
        let begun = collecting.begun?;
        let silent = |(start, member): (&Option<Timer>, &Member)| {
            start.is_some()
                && now.since(member.heard.map_or(begun, |heard| heard.max(begun))) > self.config.patience
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
            Kind::Overflow => self.overflowed(packet, is_marked, now),
            Kind::End => self.ended(packet, now),
            Kind::Ack => self.greeted(packet, now),
            Kind::Opened | Kind::Closed | Kind::ReadReply | Kind::Cleared => {
                self.answered(packet, now);
            }
            _ => {}
        }
        if let Some(member) = self.members.get_mut(usize::from(packet.channel))
            && matches!(packet.kind, Kind::Overflow | Kind::End | Kind::Ack)
        {
            member.heard = Some(now);
        }
        self.advance();
    }

    /// A packet has arrived without its pairs ([`Packet::parse_trimmed`]): its sender is asked for it again at once.
    pub fn trimmed(&mut self, now: Time, header: &Packet) {
        if header.job != self.config.job {
            return;
        }
        self.counts.trimmed += 1;
        match header.kind {
            Kind::Overflow => self.overflow_trimmed(header, now),
            Kind::ReadReply => self.answer_trimmed(header, now),
            _ => {}
        }
    }

    /// A packet to send now; ask again until there is none.
    pub fn poll(&mut self, now: Time) -> Option<(To, Packet)> {
        self.progress.get_or_insert(now);
        self.advance();
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        if let Some((channel, ack)) = self.acks.poll(now) {
            return Some((To::Mapper(channel), ack));
        }
        let Config { job, op, least_wait, most_wait, .. } = self.config;
        let header = Packet::new(Kind::Start, job, op);
        let questions = if self.is_asking() { self.questions.as_mut() } else { None };
        if let Some(asked) = questions.and_then(|of| of.poll(&[], now, (least_wait, most_wait))) {
            let (kind, generation, channel) = (Kind::Open, self.question(asked.row), asked.switch);
            return Some((To::Switch(channel), Packet { kind, generation, channel, ..header }));
        }
        for at in 0..self.attempts.len() {
            let (earlier, rest) = self.attempts.split_at_mut(at);
            let Some(attempt) = rest.first_mut() else { break };
            let generation = attempt.generation;
            if let Some(requests) = &mut attempt.requests {
                let asked = requests.poll(&attempt.lost, now, (least_wait, most_wait));
                let Some(Asked { switch, row, rows, is_repeated }) = asked else { continue };
                // It would not be answered by a bank that has another generation.
                let is_late = self.progress.is_some_and(|progress| now.since(progress) > most_wait);
                let boot = self.boots.get(usize::from(switch)).copied().unwrap_or(0);
                self.counts.read_packets += u64::from(requests.kind == Kind::Read);
                // Reads are numbered like packets, because a parent folds their answers by number.
                let seq = match requests.kind {
                    Kind::Read => generation << ROUND_BITS | row,
                    _ => row,
                };
                let aux = if matches!(requests.kind, Kind::Read | Kind::Clear) { rows } else { 0 };
                let of_answer = if requests.kind == Kind::Read { requests.of_answer(rows) } else { 0 };
                let (kind, map) = (requests.kind, of_answer.into());
                let request = Packet { kind, generation, boot, channel: switch, seq, aux, map, ..header };
                if is_repeated && is_late {
                    self.ask_again();
                }
                return Some((To::Switch(switch), request));
            }
            // Mappers are started only while their pairs are collected.
            if attempt.phase != Phase::Collecting {
                continue;
            }
            for ((channel, start), member) in (0..).zip(&mut attempt.starts).zip(&mut self.members) {
                let Some(before) = before(earlier, channel, member) else { continue };
                if let Some(timer) = start.as_mut().filter(|timer| timer.due <= now) {
                    timer.sent(now, most_wait);
                    attempt.begun.get_or_insert(now);
                    self.acks.started(channel, generation);
                    // The run is the same.
                    let (boot, aux) = (before as u16, member.incarnation);
                    let start = Packet { generation, channel, seq: attempt.round, boot, aux, ..header };
                    return Some((To::Mapper(channel), start));
                }
            }
        }
        None
    }

    /// When [`Reducer::poll`] may next have a packet, if nothing arrives.
    pub fn deadline(&self) -> Option<Time> {
        let is_idle = self.attempts.is_empty() && self.trouble.is_none();
        let begins = is_idle && self.committed < self.config.rounds && !self.is_asking();
        if !self.answers.is_empty() || begins {
            return Some(Time::ZERO);
        }
        let asked = self.questions.as_ref().filter(|_| self.is_asking()).and_then(Requests::deadline);
        let of = |(at, attempt): (usize, &Attempt)| {
            let requests = attempt.requests.as_ref().and_then(Requests::deadline);
            let is_collecting = attempt.phase == Phase::Collecting;
            let starts =
                (0..).zip(&attempt.starts).zip(&self.members).filter_map(|((channel, start), member)| {
                    start.filter(|_| is_collecting && before(&self.attempts[..at], channel, member).is_some())
                });
            requests.into_iter().chain(starts.map(|timer| timer.due)).min()
        };
        self.attempts.iter().enumerate().filter_map(of).chain(self.acks.deadline()).chain(asked).min()
    }
}

/// The generation that a mapper has not ended, of attempts earlier than the one to begin; 0 if it has ended all. None: it must not begin yet, because
/// nothing is known of it, and a START without its incarnation would end the earlier one. The earlier ones are open and not doomed, or this one would be doomed, too.
fn before(earlier: &[Attempt], channel: u16, member: &Member) -> Option<u32> {
    let is_at_work =
        |attempt: &&Attempt| attempt.starts.get(usize::from(channel)).is_some_and(Option::is_some);
    match earlier.iter().find(is_at_work) {
        None => Some(0),
        Some(attempt) => (member.incarnation > 0).then_some(attempt.generation),
    }
}

/// Folds a value into those of a key.
pub(crate) fn add_wide(sums: &mut Sums, place: Place, value: u64, op: Op) {
    sums.entry(place).and_modify(|held| *held = op.fold_wide(*held, value)).or_insert(value);
}
