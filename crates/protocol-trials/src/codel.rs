//! CoDel as RFC 8289 writes it (section 5: `dodequeue`, `dequeue`, `control_law`), with times in whole microseconds.

use std::collections::VecDeque;

/// The RFC's target and interval.
pub const TARGET: u64 = 5_000;
/// See [`TARGET`].
pub const INTERVAL: u64 = 100_000;

/// A packet in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Number of the packet.
    pub number: u64,
    /// When it came.
    pub since: u64,
}

/// The state of a queue.
#[derive(Clone, Default, Debug)]
pub struct Codel {
    first_above_time: u64,
    drop_next: u64,
    count: u64,
    lastcount: u64,
    dropping: bool,
}

impl Codel {
    /// The RFC's `dequeue`: numbers of the packets that are dropped, and the one that is delivered. The queue is measured in packets of one
    /// size: `bytes() <= maxpacket` is at most one packet.
    pub fn dequeue(&mut self, now: u64, queue: &mut VecDeque<Waiting>) -> (Vec<u64>, Option<u64>) {
        let mut dropped = vec![];
        let (mut packet, mut ok_to_drop) = self.dodequeue(now, queue);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                dropped.extend(packet.map(|packet| packet.number));
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now, queue);
                if !ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = control_law(self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            dropped.extend(packet.map(|packet| packet.number));
            (packet, _) = self.dodequeue(now, queue);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            // If dropping ended a short time ago, it goes on at about its last rate (RFC 8289, the dequeue routine).
            if delta > 1 && now - self.drop_next < 16 * INTERVAL {
                self.count = delta;
            }
            self.drop_next = control_law(now, self.count);
            self.lastcount = self.count;
        }
        (dropped, packet.map(|packet| packet.number))
    }

    fn dodequeue(&mut self, now: u64, queue: &mut VecDeque<Waiting>) -> (Option<Waiting>, bool) {
        let packet = queue.pop_front();
        let mut ok_to_drop = false;
        match packet {
            None => self.first_above_time = 0,
            Some(packet) => {
                let sojourn_time = now - packet.since;
                if sojourn_time < TARGET || queue.len() <= 1 {
                    self.first_above_time = 0;
                } else if self.first_above_time == 0 {
                    self.first_above_time = now + INTERVAL;
                } else if now >= self.first_above_time {
                    ok_to_drop = true;
                }
            }
        }
        (packet, ok_to_drop)
    }

    /// Drops of the current dropping state so far.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// As a table of square roots has it, which ends at 256 drops in a state.
fn control_law(t: u64, count: u64) -> u64 {
    t + (INTERVAL * INTERVAL / count.min(256)).isqrt()
}
