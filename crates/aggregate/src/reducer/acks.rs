//! Acknowledgements, several in a packet: of a channel, those of packets that met congestion and of others apart.

use crate::packet::{CONGESTED, DIRECT, FULL, Kind, LAST, Packet, STORED};
use base_time::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Packets that are acknowledged at once, whatever the time.
const MOST: usize = 16;

/// Acknowledgements of a channel that wait to be sent.
const MOST_READY: usize = 256;

/// An acknowledgement waits for others for this part of the least time before a mapper sends again, and at most so long: a user may set a long time because
/// processes are slow, but a window that is full waits for it.
const PART: u64 = 32;
const MOST_DELAY: Duration = Duration::from_us(200);

/// The answer to the end of a generation waits for the START of a later one, which says the same, for this part of the least time before a mapper asks again, and at most so long:
/// nobody waits for it.
const PART_OF_ENDS: u64 = 4;
const MOST_DELAY_OF_ENDS: Duration = Duration::from_ms(5);

/// Acknowledgements that wait to be sent.
#[derive(Debug)]
pub(super) struct Acks {
    delay: Duration,
    delay_of_ends: Duration,
    channels: BTreeMap<u16, Waiting>,
    /// By channel and generation: answers to ends, and when they are sent.
    ends: BTreeMap<(u16, u32), (Time, Packet)>,
}

#[derive(Debug)]
struct Waiting {
    due: Time,
    is_marked: bool,
    /// The last packet, and the numbers of all.
    packet: Packet,
    numbers: Vec<u32>,
    /// Complete ones before it, in their order: mappers take a packet that later ones overtake for lost.
    ready: VecDeque<Packet>,
}

impl Acks {
    /// For mappers that wait at least so long.
    pub fn new(least_wait: Duration) -> Acks {
        let delay = |part, most| least_wait.scaled(1, part).min(most);
        let (delay, delay_of_ends) = (delay(PART, MOST_DELAY), delay(PART_OF_ENDS, MOST_DELAY_OF_ENDS));
        Acks { delay, delay_of_ends, channels: BTreeMap::new(), ends: BTreeMap::new() }
    }

    /// A packet of a channel is to be acknowledged.
    pub fn add(&mut self, packet: &Packet, is_marked: bool, now: Time) {
        let header = Packet { kind: Kind::Ack, aux: 0, map: 0, pairs: vec![], ..packet.clone() };
        let waiting = self.channels.entry(packet.channel).or_insert_with(|| Waiting {
            due: now + self.delay,
            is_marked,
            packet: header.clone(),
            numbers: vec![],
            ready: VecDeque::new(),
        });
        let is_awaited = packet.aux & DIRECT != 0 && packet.aux & (LAST | FULL) != 0;
        let is_other = waiting.is_marked != is_marked || waiting.packet.generation != packet.generation;
        if is_other || waiting.numbers.len() >= MOST {
            waiting.flush();
        }
        waiting.is_marked = is_marked;
        waiting.packet = header;
        waiting.numbers.push(packet.seq);
        if waiting.numbers.len() >= MOST || is_awaited {
            waiting.due = now;
        }
    }

    /// The packets of a channel's generation need no acknowledgement any more. True if one of them met congestion.
    pub fn forget(&mut self, channel: u16, generation: u32) -> bool {
        let Some(waiting) = self.channels.get_mut(&channel) else { return false };
        let is_it = |packet: &Packet| packet.generation == generation;
        let mut is_marked = waiting.ready.iter().any(|ack| is_it(ack) && ack.aux & CONGESTED != 0);
        waiting.ready.retain(|ack| !is_it(ack));
        if is_it(&waiting.packet) {
            is_marked |= waiting.is_marked && !waiting.numbers.is_empty();
            waiting.numbers.clear();
        }
        if waiting.ready.is_empty() && waiting.numbers.is_empty() {
            self.channels.remove(&channel);
        }
        is_marked
    }

    /// The answer to the end of a generation may wait.
    pub fn end(&mut self, end_ack: Packet, now: Time) {
        self.ends.insert((end_ack.channel, end_ack.generation), (now + self.delay_of_ends, end_ack));
    }

    /// A START of a generation is sent to a mapper: it says which earlier ones have ended.
    pub fn started(&mut self, channel: u16, generation: u32) {
        self.ends.retain(|(of, ended), _| *of != channel || *ended >= generation);
    }

    /// An acknowledgement to send now, and its channel.
    pub fn poll(&mut self, now: Time) -> Option<(u16, Packet)> {
        let due = self.ends.iter().find(|(_, (due, _))| *due <= now).map(|(at, _)| *at);
        if let Some(at) = due {
            return self.ends.remove(&at).map(|(_, end_ack)| (at.0, end_ack));
        }
        let is_due = |waiting: &Waiting| !waiting.ready.is_empty() || waiting.due <= now;
        let (channel, waiting) = self.channels.iter_mut().find(|(_, waiting)| is_due(waiting))?;
        if waiting.ready.is_empty() {
            waiting.flush();
        }
        let channel = *channel;
        let ack = waiting.ready.pop_front();
        if waiting.ready.is_empty() && waiting.numbers.is_empty() {
            self.channels.remove(&channel);
        }
        ack.map(|ack| (channel, ack))
    }

    /// When [`Acks::poll`] next has one.
    pub fn deadline(&self) -> Option<Time> {
        let due = |waiting: &Waiting| if waiting.ready.is_empty() { waiting.due } else { Time::ZERO };
        self.channels.values().map(due).chain(self.ends.values().map(|(due, _)| *due)).min()
    }
}

impl Waiting {
    /// Packets for all that wait: a map shows the 32 numbers before the largest one.
    fn flush(&mut self) {
        self.numbers.sort_unstable();
        self.numbers.dedup();
        let known = self.ready.len();
        while let Some(seq) = self.numbers.pop() {
            let mut map = 0;
            self.numbers.retain(|other| {
                let before = seq - other - 1;
                map |= 1u128.checked_shl(before).filter(|_| before < 32).unwrap_or(0);
                before >= 32
            });
            let marked = if self.is_marked { CONGESTED } else { 0 };
            let ack = Packet { seq, aux: marked | STORED, map, ..self.packet.clone() };
            // Mappers ask again for what is left out.
            self.ready.extend((self.ready.len() < MOST_READY).then_some(ack));
        }
        self.ready.make_contiguous()[known..].reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;

    fn overflow(seq: u32) -> Packet {
        Packet { generation: 1, channel: 2, seq, ..Packet::new(Kind::Overflow, 1, Op::Add) }
    }

    #[test]
    fn packets_are_acknowledged_together_and_after_a_while() {
        let mut acks = Acks::new(Duration::from_us(320));
        [7, 5, 90, 6, 5].iter().for_each(|seq| acks.add(&overflow(*seq), false, Time::ZERO));
        assert_eq!(acks.poll(Time::ZERO), None);
        let due = acks.deadline().expect("something waits");
        assert_eq!(due, Time::ZERO + Duration::from_us(10));
        let sent: Vec<_> =
            std::iter::from_fn(|| acks.poll(due)).map(|(at, p)| (at, p.seq, p.map, p.aux)).collect();
        assert_eq!(sent, [(2, 7, 3, STORED), (2, 90, 0, STORED)]);
        assert_eq!(acks.deadline(), None);
    }

    #[test]
    fn mappers_that_wait_long_are_answered_soon() {
        let mut acks = Acks::new(Duration::from_s(10));
        acks.add(&overflow(3), false, Time::ZERO);
        assert_eq!(acks.deadline(), Some(Time::ZERO + MOST_DELAY));
    }

    #[test]
    fn the_last_packet_does_not_wait() {
        let mut acks = Acks::new(Duration::from_us(320));
        acks.add(&overflow(3), false, Time::ZERO);
        acks.add(&Packet { aux: DIRECT, ..overflow(4) }, false, Time::ZERO);
        assert_eq!(acks.poll(Time::ZERO), None);
        acks.add(&Packet { aux: DIRECT | LAST, ..overflow(5) }, false, Time::ZERO);
        let (_, all) = acks.poll(Time::ZERO).expect("it is due");
        assert_eq!((all.seq, all.map), (5, 3));
    }

    /// A mapper with a small window waits for the answer to its last packet: it would wait for the time of an acknowledgement after each few packets.
    #[test]
    fn packets_that_fill_a_window_do_not_wait() {
        let mut acks = Acks::new(Duration::from_us(320));
        acks.add(&Packet { aux: DIRECT, ..overflow(3) }, false, Time::ZERO);
        // Of a switch, the bits are a row's.
        acks.add(&Packet { aux: FULL, ..overflow(4) }, false, Time::ZERO);
        assert_eq!(acks.poll(Time::ZERO), None);
        acks.add(&Packet { aux: DIRECT | FULL, ..overflow(5) }, false, Time::ZERO);
        let (_, all) = acks.poll(Time::ZERO).expect("it is due");
        assert_eq!((all.seq, all.map), (5, 3));
        assert_eq!(acks.deadline(), None);
    }

    #[test]
    fn packets_of_a_generation_that_is_over_are_forgotten() {
        let mut acks = Acks::new(Duration::from_us(320));
        assert!(!acks.forget(2, 1));
        acks.add(&overflow(1), true, Time::ZERO);
        acks.add(&overflow(2), false, Time::ZERO);
        acks.add(&Packet { generation: 2, ..overflow(3) }, false, Time::ZERO);
        assert!(!acks.forget(3, 1) && !acks.forget(2, 5));
        assert!(acks.forget(2, 1));
        let due = acks.deadline().expect("the next generation waits");
        let sent: Vec<u32> = std::iter::from_fn(|| acks.poll(due)).map(|(_, packet)| packet.seq).collect();
        assert_eq!(sent, [3]);
        acks.add(&overflow(4), false, Time::ZERO);
        assert!(!acks.forget(2, 1));
        assert_eq!(acks.deadline(), None);
    }

    /// Earlier packets are acknowledged first, also by acknowledgements of one moment.
    #[test]
    fn acknowledgements_keep_their_order() {
        let mut acks = Acks::new(Duration::from_us(320));
        [1, 2, 90, 91].iter().for_each(|seq| acks.add(&overflow(*seq), false, Time::ZERO));
        acks.add(&overflow(92), true, Time::ZERO);
        let due = Time::ZERO + Duration::from_us(10);
        let sent: Vec<u32> = std::iter::from_fn(|| acks.poll(due)).map(|(_, packet)| packet.seq).collect();
        assert_eq!(sent, [2, 91, 92]);
    }

    #[test]
    fn sixteen_do_not_wait_and_marked_ones_go_alone() {
        let mut acks = Acks::new(Duration::from_us(320));
        (1..=16).for_each(|seq| acks.add(&overflow(seq), false, Time::ZERO));
        let (_, all) = acks.poll(Time::ZERO).expect("they are enough");
        assert_eq!((all.seq, all.map), (16, 0x7fff));
        acks.add(&overflow(17), false, Time::ZERO);
        acks.add(&overflow(18), true, Time::ZERO);
        let (_, first) = acks.poll(Time::ZERO).expect("it is complete");
        assert_eq!((first.seq, first.aux), (17, STORED));
    }
}
