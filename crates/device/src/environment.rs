//! Inputs of a device beside packets: clock, random numbers, queues.
//!
//! Every such read goes through an [`Environment`], which may record it ([`Recorder`]) or answer with the record of
//! another run ([`Replayer`]): so a run can be repeated in another order of packets.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Sources of environment reads.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Source {
    /// `ingress_global_timestamp` of a packet that starts, in microseconds.
    IngressTimestamp,
    /// `egress_global_timestamp`, in microseconds.
    EgressTimestamp,
    /// The clock as the named frame extern or value extern sees it in a call or tick, in picoseconds.
    ExternNow(String),
    /// The clock as the named meter sees it, in microseconds.
    MeterNow(String),
    /// A random number in a range.
    Random {
        /// The least that it may be.
        lo: u128,
        /// The greatest.
        hi: u128,
    },
    /// When the packet was enqueued, in microseconds.
    EnqueueTimestamp,
    /// Packets in the queue when it was enqueued.
    EnqueueDepth,
    /// Time in the queue, in microseconds.
    DequeueTimedelta,
    /// Packets in the queue when it left.
    DequeueDepth,
}

/// A read and its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observation {
    /// Source of the value.
    pub source: Source,
    /// Value that the program saw.
    pub value: u128,
}

/// Source of a device's inputs beside packets.
pub trait Environment: Send {
    /// Reads `source`, whose real value is `value`. Returns the value that the program sees.
    fn read(&mut self, source: &Source, value: u128) -> u128;

    /// True if every read returns the real value and is not recorded: then compiled code need not ask. The answer never changes.
    fn is_transparent(&self) -> bool {
        false
    }
}

/// Changes nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct PassThrough;

impl Environment for PassThrough {
    fn read(&mut self, _source: &Source, value: u128) -> u128 {
        value
    }

    fn is_transparent(&self) -> bool {
        true
    }
}

/// Changes nothing and writes everything down. Clones write into the same record: keep one, give one away.
#[derive(Clone, Default, Debug)]
pub struct Recorder {
    seen: Arc<Mutex<Vec<Observation>>>,
}

impl Recorder {
    /// Takes the reads since the last call, in order.
    pub fn take(&self) -> Vec<Observation> {
        std::mem::take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Environment for Recorder {
    fn read(&mut self, source: &Source, value: u128) -> u128 {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(Observation { source: source.clone(), value });
        value
    }
}

/// Answers reads with recorded values, for each source in order; reads without a record return the real value and are
/// counted. Clones share the record.
#[derive(Clone, Default, Debug)]
pub struct Replayer {
    record: Arc<Mutex<Record>>,
}

#[derive(Default, Debug)]
struct Record {
    waiting: BTreeMap<Source, VecDeque<u128>>,
    missed: u64,
}

impl Replayer {
    /// Adds to the end of the record.
    pub fn load(&self, observations: impl IntoIterator<Item = Observation>) {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        for observation in observations {
            record.waiting.entry(observation.source).or_default().push_back(observation.value);
        }
    }

    /// Discards the remaining record. Returns the numbers of unused and of missing answers.
    pub fn clear(&self) -> (u64, u64) {
        let record = std::mem::take(&mut *self.record.lock().unwrap_or_else(PoisonError::into_inner));
        (record.waiting.values().map(|w| w.len() as u64).sum(), record.missed)
    }
}

impl Environment for Replayer {
    fn read(&mut self, source: &Source, value: u128) -> u128 {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        match record.waiting.get_mut(source).and_then(VecDeque::pop_front) {
            Some(recorded) => recorded,
            None => {
                record.missed += 1;
                value
            }
        }
    }
}
