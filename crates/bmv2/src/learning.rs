//! Digests as BMv2 publishes them: messages for subscribers, and their acknowledgements.
//!
//! ```text
//! message: "LEA|", switch id (8 bytes), context (4), list (4), buffer (8), number of samples (4), samples
//! ```
//!
//! Numbers are little-endian. A sample has the fields of a digest one after the other, each in whole bytes and network order. A sample that
//! was published is not published again before it is acknowledged.

use base_time::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Samples of a list that wait for their acknowledgement at most, and their bytes; the oldest buffers are forgotten.
const MOST_UNACKNOWLEDGED: usize = 1 << 16;
const MOST_BYTES_UNACKNOWLEDGED: usize = 4 << 20;

/// Samples in a message at most.
const MOST_IN_BUFFER: usize = 4096;

/// Bytes of samples that complete a message.
const MOST_BYTES_IN_BUFFER: usize = 64 << 10;

/// Lists of digests with their buffers.
#[derive(Debug)]
pub struct Learning {
    device_id: u64,
    lists: BTreeMap<i32, List>,
}

#[derive(Debug)]
struct List {
    most_samples: usize,
    timeout: Duration,
    /// Samples that are not sent yet, and their bytes.
    waiting: Vec<Vec<u8>>,
    waiting_bytes: usize,
    since: Time,
    /// Number of the buffer of `waiting`.
    buffer: u64,
    /// Samples of buffers that were sent, by their positions.
    sent: BTreeMap<u64, BTreeMap<i32, Vec<u8>>>,
    /// All samples in `waiting` and `sent`, and their bytes.
    known: BTreeSet<Vec<u8>>,
    known_bytes: usize,
}

impl Default for List {
    /// BMv2's settings.
    fn default() -> List {
        List {
            most_samples: 1,
            timeout: Duration::from_ms(1000),
            waiting: vec![],
            waiting_bytes: 0,
            since: Time::ZERO,
            buffer: 0,
            sent: BTreeMap::new(),
            known: BTreeSet::new(),
            known_bytes: 0,
        }
    }
}

impl Learning {
    /// Learning of a switch with this device id.
    pub fn new(device_id: u64) -> Learning {
        Learning { device_id, lists: BTreeMap::new() }
    }

    /// Takes a sample; returns the message that it completes.
    pub fn learn(&mut self, list: i32, sample: Vec<u8>, now: Time) -> Option<Vec<u8>> {
        let of = self.lists.entry(list).or_default();
        if !of.known.insert(sample.clone()) {
            return None;
        }
        if of.waiting.is_empty() {
            of.since = now;
        }
        of.known_bytes += sample.len();
        of.waiting_bytes += sample.len();
        of.waiting.push(sample);
        of.is_full().then(|| of.send(self.device_id, list))
    }

    /// Messages of buffers that have waited long enough.
    pub fn due(&mut self, now: Time) -> Vec<Vec<u8>> {
        let is_due = |of: &List| {
            !of.waiting.is_empty() && of.timeout != Duration::ZERO && now.since(of.since) >= of.timeout
        };
        let due = self.lists.iter_mut().filter(|(_, of)| is_due(of));
        due.map(|(list, of)| of.send(self.device_id, *list)).collect()
    }

    /// Samples of a buffer may be published again, all if none are named.
    pub fn acknowledge(&mut self, list: i32, buffer: u64, samples: Option<&[i32]>) {
        let Some(of) = self.lists.get_mut(&list) else { return };
        let Some(sent) = of.sent.get_mut(&buffer) else { return };
        let gone: Vec<Vec<u8>> = match samples {
            Some(samples) => samples.iter().filter_map(|at| sent.remove(at)).collect(),
            None => std::mem::take(sent).into_values().collect(),
        };
        if sent.is_empty() {
            of.sent.remove(&buffer);
        }
        gone.iter().for_each(|sample| of.forget(sample));
    }

    /// Sets the number of samples in a message. Returns the message that is complete by that.
    pub fn set_buffer_size(&mut self, list: i32, samples: usize) -> Option<Vec<u8>> {
        let of = self.lists.entry(list).or_default();
        of.most_samples = samples.clamp(1, MOST_IN_BUFFER);
        of.is_full().then(|| of.send(self.device_id, list))
    }

    /// Sets how long a message waits to be full; 0: until it is.
    pub fn set_timeout(&mut self, list: i32, timeout: Duration) {
        self.lists.entry(list).or_default().timeout = timeout;
    }

    /// Forgets all samples.
    pub fn reset(&mut self) {
        for of in self.lists.values_mut() {
            *of = List { most_samples: of.most_samples, timeout: of.timeout, ..List::default() };
        }
    }
}

impl List {
    fn is_full(&self) -> bool {
        self.waiting.len() >= self.most_samples || self.waiting_bytes >= MOST_BYTES_IN_BUFFER
    }

    /// A sample may be published again.
    fn forget(&mut self, sample: &[u8]) {
        if self.known.remove(sample) {
            self.known_bytes -= sample.len();
        }
    }

    fn send(&mut self, device_id: u64, list: i32) -> Vec<u8> {
        let samples = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let mut message = b"LEA|".to_vec();
        message.extend(device_id.to_le_bytes());
        message.extend(0u32.to_le_bytes());
        message.extend(list.to_le_bytes());
        message.extend(self.buffer.to_le_bytes());
        message.extend((samples.len() as u32).to_le_bytes());
        samples.iter().for_each(|sample| message.extend(sample));
        self.sent.insert(self.buffer, (0..).zip(samples).collect());
        self.buffer += 1;
        while (self.known.len() > MOST_UNACKNOWLEDGED || self.known_bytes > MOST_BYTES_UNACKNOWLEDGED)
            && let Some((_, oldest)) = self.sent.pop_first()
        {
            oldest.values().for_each(|sample| self.forget(sample));
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    /// Buffer, number and samples of a message about list 1.
    fn read(message: &[u8]) -> (u64, u32, &[u8]) {
        assert_eq!(&message[..20], b"LEA|\x07\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0");
        let number = |from: usize, to: usize| {
            message[from..to].iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
        };
        (number(20, 28), number(28, 32) as u32, &message[32..])
    }

    #[test]
    fn a_sample_comes_once_until_it_is_acknowledged() {
        let mut learning = Learning::new(7);
        let message = learning.learn(1, vec![1, 2], at(0)).expect("one sample fills a buffer");
        assert_eq!(read(&message), (0, 1, &[1, 2][..]));
        assert_eq!(learning.learn(1, vec![1, 2], at(1)), None);
        let other = learning.learn(1, vec![3, 4], at(1)).expect("another one");
        assert_eq!(read(&other), (1, 1, &[3, 4][..]));
        learning.acknowledge(1, 1, None);
        assert_eq!(learning.learn(1, vec![1, 2], at(2)), None);
        learning.acknowledge(1, 0, Some(&[0]));
        assert_eq!(read(&learning.learn(1, vec![1, 2], at(3)).expect("again")).0, 2);
        learning.reset();
        assert_eq!(read(&learning.learn(1, vec![1, 2], at(4)).expect("from the beginning")).0, 0);
        // Nothing is known of these.
        learning.acknowledge(9, 0, None);
        learning.acknowledge(1, 9, None);
    }

    #[test]
    fn buffers_are_sent_when_full_or_old() {
        let mut learning = Learning::new(7);
        assert_eq!(learning.set_buffer_size(1, 3), None);
        assert!(learning.learn(1, vec![1], at(0)).is_none() && learning.learn(1, vec![2], at(900)).is_none());
        assert!(learning.due(at(999)).is_empty());
        let due = learning.due(at(1000));
        assert_eq!(due.iter().map(|m| read(m)).collect::<Vec<_>>(), [(0, 2, &[1, 2][..])]);
        learning.set_timeout(1, Duration::ZERO);
        assert!(learning.learn(1, vec![3], at(2000)).is_none() && learning.due(at(9000)).is_empty());
        let full = learning.set_buffer_size(1, 1).expect("it is full now");
        assert_eq!(read(&full), (1, 1, &[3][..]));
    }

    #[test]
    fn what_nobody_acknowledges_is_forgotten_at_last() {
        let mut learning = Learning::new(7);
        for sample in 0..=MOST_UNACKNOWLEDGED as u32 {
            learning.learn(1, sample.to_be_bytes().to_vec(), at(0));
        }
        assert!(learning.learn(1, vec![0; 4], at(1)).is_some(), "the oldest may come again");
        assert!(learning.learn(1, vec![0, 0, 1, 0], at(1)).is_none());
    }

    #[test]
    fn large_samples_fill_messages_and_are_forgotten_sooner() {
        let mut learning = Learning::new(7);
        learning.set_buffer_size(1, MOST_IN_BUFFER);
        let sample = |number: usize| number.to_be_bytes().repeat(128);
        let in_message = MOST_BYTES_IN_BUFFER / 1024;
        let kept = MOST_BYTES_UNACKNOWLEDGED / 1024;
        let mut lengths = vec![];
        for number in 0..kept + in_message {
            lengths.extend(learning.learn(1, sample(number), at(0)).map(|message| read(&message).1 as usize));
        }
        assert_eq!(lengths, vec![in_message; kept / in_message + 1]);
        // The first message is forgotten, the second one is not.
        learning.set_buffer_size(1, 1);
        assert!(learning.learn(1, sample(in_message), at(1)).is_none());
        assert!(learning.learn(1, sample(0), at(1)).is_some());
        // That has cost the second one its place. All bytes are given back in the end.
        assert!(learning.learn(1, sample(in_message), at(1)).is_some());
        (0..200).for_each(|buffer| learning.acknowledge(1, buffer, None));
        let list = &learning.lists[&1];
        assert_eq!((list.known.len(), list.known_bytes, list.waiting_bytes), (0, 0, 0));
    }
}
