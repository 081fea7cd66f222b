//! Digests on their path to the controller (P4Runtime 1.5, section 9.7).

use base_time::{Duration, Time};
use control_writes::DigestConfig;
use p4runtime_proto::p4::v1::{DigestList, DigestListAck, P4Data};
use p4runtime_proto::to_binary;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Maximum number of messages in a list, if the controller sets no limit.
const MOST_IN_LIST: usize = 4096;
/// Maximum number of lists that wait for an acknowledgement; the oldest are dropped.
const MOST_LISTS: usize = 1024;

/// Buffered digests, and lists that wait for acknowledgement.
#[derive(Default, Debug)]
pub(crate) struct Digests {
    queues: BTreeMap<u32, Queue>,
    lists: u64,
}

#[derive(Default, Debug)]
struct Queue {
    /// Distinct digests, in the order of arrival.
    buffer: Vec<P4Data>,
    buffered: BTreeSet<Vec<u8>>,
    since: Time,
    /// Lists sent and not acknowledged: number, time of sending, contents.
    sent: VecDeque<(u64, Time, BTreeSet<Vec<u8>>)>,
}

fn nanoseconds(ns: i64) -> Duration {
    Duration::from_ns(u64::try_from(ns).unwrap_or(0))
}

impl Digests {
    /// Adds a digest of the data plane. Returns the list if it is full.
    pub(crate) fn push(
        &mut self,
        digest: u32,
        data: P4Data,
        config: &DigestConfig,
        now: Time,
    ) -> Option<DigestList> {
        let queue = self.queues.entry(digest).or_default();
        let timeout = nanoseconds(config.ack_timeout_ns);
        // After the timeout the same data may be sent again without an acknowledgement (P4Runtime 1.5, section 9.7).
        queue.sent.retain(|(_, at, _)| now.since(*at) < timeout);
        let bytes = to_binary(&data);
        if queue.buffered.contains(&bytes) || queue.sent.iter().any(|(_, _, held)| held.contains(&bytes)) {
            return None;
        }
        if queue.buffer.is_empty() {
            queue.since = now;
        }
        queue.buffered.insert(bytes);
        queue.buffer.push(data);
        let bound = match usize::try_from(config.max_list_size) {
            Ok(size @ 1..=MOST_IN_LIST) => size,
            _ => MOST_IN_LIST,
        };
        (config.max_timeout_ns == 0 || queue.buffer.len() >= bound).then(|| self.list(digest, now))
    }

    /// The lists that are due.
    pub(crate) fn due(&mut self, config: impl Fn(u32) -> Option<DigestConfig>, now: Time) -> Vec<DigestList> {
        let due = |(id, queue): (&u32, &Queue)| {
            let timeout = nanoseconds(config(*id)?.max_timeout_ns);
            (!queue.buffer.is_empty() && now.since(queue.since) >= timeout).then_some(*id)
        };
        let due: Vec<u32> = self.queues.iter().filter_map(due).collect();
        due.into_iter().map(|digest| self.list(digest, now)).collect()
    }

    /// Time at which the next list is due.
    pub(crate) fn deadline(&self, config: impl Fn(u32) -> Option<DigestConfig>) -> Option<Time> {
        let due = |(id, queue): (&u32, &Queue)| {
            let timeout = nanoseconds(config(*id)?.max_timeout_ns);
            (!queue.buffer.is_empty()).then(|| queue.since + timeout)
        };
        self.queues.iter().filter_map(due).min()
    }

    /// Records that the controller has received a list.
    pub(crate) fn acknowledge(&mut self, ack: &DigestListAck) {
        if let Some(queue) = self.queues.get_mut(&ack.digest_id) {
            queue.sent.retain(|(list, ..)| *list != ack.list_id);
        }
    }

    /// Drops the buffered and sent lists of a digest.
    pub(crate) fn forget(&mut self, digest: u32) {
        self.queues.remove(&digest);
    }

    fn list(&mut self, digest: u32, now: Time) -> DigestList {
        self.lists += 1;
        let queue = self.queues.entry(digest).or_default();
        let data = std::mem::take(&mut queue.buffer);
        queue.sent.push_back((self.lists, now, std::mem::take(&mut queue.buffered)));
        if queue.sent.len() > MOST_LISTS {
            queue.sent.pop_front();
        }
        DigestList { digest_id: digest, list_id: self.lists, data, timestamp: 0 }
    }
}
