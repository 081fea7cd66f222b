//! Reads of clocks, queues and randomness: recorded in the split run, answered in the whole one.
//!
//! Reads are answered in the order in which they were recorded. Copies of one packet pass through egress in another
//! order if one of them is handed over, so the copies of one frame find *steady* queues and clocks in egress, which
//! depend only on the port that a copy is queued for, and steady random numbers, which depend only on their range: a
//! helper knows no port.

use base_time::Rng;
use dataplane_api::Port;
use device::{Environment, Observation, Recorder, Replayer, Source};
use std::sync::{Arc, Mutex, PoisonError};

/// Seed of the reads in egress for all copies of one frame, and the port that the packet is queued for; `None` if each
/// pass reads independently.
#[derive(Clone, Default, Debug)]
struct Steady(Arc<Mutex<(Option<u64>, Port)>>);

/// Steps that keep ports and sources apart, with values close to those of real clocks and queues.
const PORT_STEP: u64 = 7919;

impl Steady {
    fn set(&self, number: Option<u64>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = number;
    }

    fn queued_for(&self, port: Port) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = port;
    }

    fn answer(&self, source: &Source) -> Option<u128> {
        let (number, port) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seed = number?;
        let number = seed.wrapping_add(u64::from(port) * PORT_STEP);
        let value = match source {
            Source::EgressTimestamp | Source::EnqueueTimestamp => number,
            Source::EnqueueDepth => number % 61,
            Source::DequeueDepth => number % 53,
            Source::DequeueTimedelta => number % 47,
            Source::Random { lo, hi } => return Some(chance(seed, *lo, *hi)),
            _ => return None,
        };
        Some(u128::from(value))
    }
}

/// A number in `lo..=hi` that looks drawn, the same for one seed.
fn chance(seed: u64, lo: u128, hi: u128) -> u128 {
    let drawn = Rng::new(seed).split_index(hi as u64).next_u128();
    match hi.saturating_sub(lo).checked_add(1) {
        Some(span) => lo + drawn % span,
        None => drawn,
    }
}

/// The environment of the split run. Clones share the record.
#[derive(Clone, Default, Debug)]
pub struct Watch {
    recorder: Recorder,
    steady: Steady,
}

impl Watch {
    /// Takes the reads recorded since the last call, in order.
    pub fn take(&self) -> Vec<Observation> {
        self.recorder.take()
    }

    /// From now on, reads in egress follow this seed, or the real queues.
    pub fn set_steady(&self, number: Option<u64>) {
        self.steady.set(number);
    }

    /// A packet in the queue for this port passes through egress next.
    pub fn queued_for(&self, port: Port) {
        self.steady.queued_for(port);
    }
}

impl Environment for Watch {
    fn read(&mut self, source: &Source, value: u128) -> u128 {
        match self.steady.answer(source) {
            Some(steady) => steady,
            None => self.recorder.read(source, value),
        }
    }
}

/// The environment of the whole run. Clones share the answers.
#[derive(Clone, Default, Debug)]
pub struct Answers {
    replayer: Replayer,
    steady: Steady,
}

impl Answers {
    /// Answers with these observations, and in egress with the number if there is one.
    pub fn load(&self, observations: &[Observation], steady: Option<u64>) {
        self.replayer.clear();
        self.replayer.load(observations.iter().cloned());
        self.steady.set(steady);
    }

    /// A packet in the queue for this port passes through egress next.
    pub fn queued_for(&self, port: Port) {
        self.steady.queued_for(port);
    }
}

impl Environment for Answers {
    fn read(&mut self, source: &Source, value: u128) -> u128 {
        match self.steady.answer(source) {
            Some(steady) => steady,
            None => self.replayer.read(source, value),
        }
    }
}
