//! Attempts at rounds, and their phases.

use super::{Reducer, Sums, Trouble, add_wide};
use crate::estimate::rows_of_answer;
use crate::packet::{Kind, MOST_ATTEMPT, MOST_ROWS};
use crate::requests::Requests;
use crate::timer::Timer;
use base_time::Time;
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Opening,
    Collecting,
    Closing,
    Reading,
    Clearing,
    Gone,
}

#[derive(Debug)]
pub(super) struct Attempt {
    pub generation: u32,
    pub round: u32,
    pub phase: Phase,
    pub is_doomed: bool,
    /// Only for clearing what an earlier reducer has left.
    pub is_purge: bool,
    pub is_committed: bool,
    /// The switches closed last; all before them are closed.
    pub closed: Range<u16>,
    pub requests: Option<Requests>,
    /// Switches that have restarted and hold nothing of it.
    pub lost: Vec<bool>,
    pub sums: Sums,
    pub overflowed: u64,
    pub read: u64,
    /// For each channel: packets that have arrived here, in words of 64.
    pub seen: Vec<BTreeMap<u32, u64>>,
    /// For each channel: packets past the switches that have arrived, and how many there are, once the mapper has said so.
    pub past: Vec<(u32, Option<u32>)>,
    /// For each channel: when START is sent again; none after its END.
    pub starts: Vec<Option<Timer>>,
    /// When the first START was sent.
    pub begun: Option<Time>,
}

impl Attempt {
    /// True if every packet of a channel past the switches has arrived, and the mapper has said how many there are.
    pub fn has_all(&self, channel: usize) -> bool {
        self.past.get(channel).is_some_and(|(arrived, all)| all.is_some_and(|all| *arrived >= all))
    }
}

impl Reducer {
    /// Does all that can be done without another packet.
    pub(super) fn advance(&mut self) {
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
        let Reducer { config, attempts, committed, result, counts, array, held, pace, .. } = self;
        // Rounds are read and committed in their order: the numbers of rows grow from attempt to attempt, and a parent's cells know the last ones. An earlier
        // attempt may still be collected, if one of its ENDs was lost.
        let is_turn = attempts[..at].iter().all(|attempt| attempt.phase == Phase::Clearing);
        let attempt = &mut attempts[at];
        let is_answered = attempt.requests.as_mut().is_none_or(|requests| requests.is_over(&attempt.lost));
        let (switches, window) = (config.switches, config.layout.window);
        // After an earlier reducer, any row may hold something.
        let array = array.filter(|_| !attempt.is_purge);
        let rows = Reducer::rows_of(&config.layout, array, attempt.round);
        let is_closed = attempt.closed.end == switches;
        let next = match attempt.phase {
            Phase::Opening if is_answered && attempt.is_doomed => Phase::Closing,
            Phase::Opening if is_answered => Phase::Collecting,
            Phase::Collecting if attempt.is_doomed || attempt.starts.iter().all(Option::is_none) => {
                Phase::Closing
            }
            // A parent that has restarted lets no more rows through.
            Phase::Reading if attempt.is_doomed && !is_closed => Phase::Closing,
            Phase::Reading if attempt.is_doomed => Phase::Clearing,
            Phase::Closing if is_answered && !attempt.is_doomed && is_turn => Phase::Reading,
            Phase::Closing if is_answered && attempt.is_doomed && is_closed => Phase::Clearing,
            Phase::Closing if is_answered && attempt.is_doomed => Phase::Closing,
            Phase::Reading if is_answered && !is_closed => Phase::Closing,
            Phase::Reading if is_answered => Phase::Clearing,
            Phase::Clearing if is_answered => Phase::Gone,
            _ => return false,
        };
        if next == Phase::Clearing && !attempt.is_doomed {
            attempt.is_committed = true;
            *committed += 1;
            counts.overflowed += attempt.overflowed;
            counts.read += attempt.read;
            for (place, value) in std::mem::take(&mut attempt.sums) {
                add_wide(result, place, value, config.op);
            }
        }
        if next == Phase::Closing {
            let end =
                if attempt.closed.end == 0 { switches.saturating_sub(config.parents) } else { switches };
            attempt.closed = attempt.closed.end..end;
        }
        attempt.phase = next;
        attempt.requests = match next {
            Phase::Closing => Some(Requests::new(Kind::Close, attempt.closed.clone(), (1, 1, 1), window)),
            Phase::Reading => {
                // A parent folds a row in a packet.
                let mut requests = Requests::new(Kind::Read, attempt.closed.clone(), (rows, 1, 1), window);
                requests.pace = *pace;
                if is_closed {
                    requests.expect(rows_of_answer(&config.layout, *held));
                }
                Some(requests)
            }
            Phase::Clearing => {
                Some(Requests::new(Kind::Clear, 0..switches, (rows, MOST_ROWS, MOST_ROWS), window))
            }
            _ => None,
        };
        counts.doomed += u64::from(next == Phase::Gone && attempt.is_doomed);
        true
    }

    /// Begins the next attempt, if a bank is free for it.
    fn begin(&mut self) -> bool {
        let config = &self.config;
        // Each mapper begins the next round when it has ended this one; a round that is discarded is repeated first.
        let is_early = |attempt: &Attempt| attempt.is_doomed || attempt.phase == Phase::Opening;
        let round = self.attempts.iter().map(|a| a.round + 1).max().unwrap_or(0).max(self.committed);
        let is_room = self.attempts.len() < usize::from(config.banks.clamp(1, 2));
        let is_ready = !self.is_asking() && self.trouble.is_none();
        if !is_room || round >= config.rounds || self.attempts.iter().any(is_early) || !is_ready {
            return false;
        }
        let mut number = (self.last & MOST_ATTEMPT) + 1;
        // The lowest bit is the bank, which two attempts cannot share.
        if self.attempts.iter().any(|attempt| attempt.generation & 1 == number & 1) {
            number += 1;
        }
        if number > MOST_ATTEMPT {
            self.trouble = Some(Trouble::TooManyGenerations);
            return false;
        }
        let generation = self.last & !MOST_ATTEMPT | number;
        self.last = generation;
        let is_doomed = self.purges > 0;
        self.purges = self.purges.saturating_sub(1);
        let timer = Timer::new(Time::ZERO, config.least_wait);
        let channels = usize::from(config.channels);
        self.attempts.push(Attempt {
            generation,
            round,
            phase: Phase::Opening,
            is_doomed,
            is_purge: is_doomed,
            is_committed: false,
            closed: 0..0,
            requests: Some(Requests::new(Kind::Open, 0..config.switches, (1, 1, 1), config.layout.window)),
            lost: vec![false; config.switches.into()],
            sums: Sums::new(),
            overflowed: 0,
            read: 0,
            seen: vec![BTreeMap::new(); channels],
            past: vec![(0, None); channels],
            starts: vec![Some(timer); channels],
            begun: None,
        });
        true
    }
}
