//! Blocks are collected, repaired, and given on in order.

use crate::STREAMS;
use crate::code::{Field, MOST_DATA, MOST_PARITY, recover};
use crate::encoder::StreamKey;
use crate::mark::{Mark, Watch};
use crate::tag::{Kind, Parsed, SHORTEST, Tag, Tagged, parse};
use base_time::{Duration, Time};
use dataplane_api::{Emitter, ResumeAt};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Parameters of a decoder.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Limits {
    /// Longest wait of a frame for earlier ones.
    pub wait: Duration,
    /// A block is given up when a frame comes from more than so many blocks later.
    pub reach: u32,
    /// After so many frames sent the losses are looked at; 0 is never.
    pub over: u32,
    /// From so many millionths on a link is faulty.
    pub faulty_ppm: u32,
}

impl Limits {
    /// The largest `reach`.
    pub const MOST_REACH: u64 = 15;
}

/// Counters of a decoder.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counted {
    /// Data frames that came.
    pub received: u64,
    /// Data frames that were made again.
    pub recovered: u64,
    /// Data frames that were given up.
    pub lost: u64,
    /// Frames that came twice, or after they had been given up.
    pub late: u64,
    /// Frames with a tag that no encoder writes, or that contradict their block.
    pub malformed: u64,
    /// Frames of ports and classes beyond the [most](STREAMS).
    pub crowded: u64,
    /// An encoder restarted, or was out of reach for so long that the losses are unknown.
    pub restarts: u64,
}

/// A block more than this many after or before `reach` is from another time.
const FAR: u32 = 64;

/// Delivers tagged frames in order.
#[derive(Clone, Default, Debug)]
pub struct Decoder {
    pub(crate) limits: Limits,
    pub(crate) streams: BTreeMap<StreamKey, Stream>,
    /// When waiting frames are released.
    pub(crate) timers: BTreeSet<(Time, StreamKey)>,
    pub(crate) watches: BTreeMap<u16, Watch>,
    pub(crate) counted: Counted,
    pub(crate) field: Field,
}

/// Frames received for one port and class, from the next frame's block on.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Stream {
    /// The number of the first block of `blocks`.
    pub(crate) first: u32,
    /// The next data frame's index in it.
    pub(crate) next: u8,
    pub(crate) blocks: VecDeque<Block>,
    /// When frames came that had to wait, oldest first, with their block and index. Those given on are still there until
    /// they are at the front.
    pub(crate) waiting: VecDeque<(Time, u32, u8)>,
    /// Data frames of a full block, as the last one said.
    pub(crate) usual: u8,
    pub(crate) deadline: Option<Time>,
}

/// Frames received of a block.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Block {
    /// Data frames it has at most, as its data frames say; 0 if none came.
    pub(crate) most: u8,
    /// Data frames it has, as parity frames or the next block say.
    pub(crate) count: Option<u8>,
    /// Data frames without their tags.
    pub(crate) data: Vec<Option<Vec<u8>>>,
    /// Number of recovered frames of the block.
    pub(crate) recovered: u8,
    /// Rows of parity.
    pub(crate) parity: Vec<(u8, Vec<u8>)>,
}

impl Block {
    fn has(&self, index: u8) -> bool {
        self.data.get(usize::from(index)).is_some_and(Option::is_some)
    }

    /// The end of the block as far as it is known; 255 if nothing is.
    fn end(&self) -> u8 {
        match (self.count, self.most) {
            (Some(count), _) => count,
            (None, 0) => u8::MAX,
            (None, most) => most,
        }
    }

    /// Sets the number of data frames of the block. False if it contradicts received frames.
    fn set_count(&mut self, count: u8) -> bool {
        let in_range = (1..=MOST_DATA).contains(&count.into());
        let agrees = self.count.is_none_or(|known| known == count) && self.data.len() <= count.into();
        if in_range && agrees {
            self.count = Some(count);
        }
        in_range && agrees
    }

    /// Lost frames made again, with their indices, if enough is there.
    fn lost_frames(&self, field: &mut Field) -> Option<Vec<(usize, Vec<u8>)>> {
        let count = usize::from(self.count?);
        let come = self.data.iter().flatten().count();
        if come == count || come + self.parity.len() < count {
            return None;
        }
        let mut data: Vec<Option<&[u8]>> = self.data.iter().map(|frame| frame.as_deref()).collect();
        data.resize(count, None);
        let parity: Vec<(usize, &[u8])> =
            self.parity.iter().map(|(row, coded)| (usize::from(*row), &coded[..])).collect();
        let lost = recover(field, &data, &parity)?;
        lost.iter().all(|(_, frame)| frame.len() >= SHORTEST).then_some(lost)
    }

    /// The data frames it has, as far as that is known; else as many as is usual.
    fn length(&self, usual: u8) -> u8 {
        let most = if self.most > 0 { self.most } else { usual };
        self.count.unwrap_or(most).max(self.data.len() as u8)
    }
}

impl Decoder {
    /// An empty one.
    pub fn new(limits: Limits) -> Decoder {
        Decoder { limits, ..Decoder::default() }
    }

    /// Counters so far.
    pub fn counted(&self) -> Counted {
        self.counted
    }

    /// A frame came by `port`.
    pub fn decode(&mut self, port: u16, frame: &[u8], now: Time, out: &mut Emitter) {
        let tagged = match parse(frame) {
            Parsed::Plain => return out.carry_on(frame.to_vec()),
            Parsed::Malformed => return self.counted.malformed += 1,
            Parsed::Tagged(tagged) => tagged,
        };
        let key = (port, tagged.tag.class);
        if !self.streams.contains_key(&key) {
            if self.streams.len() == STREAMS {
                return self.counted.crowded += 1;
            }
            self.streams.insert(key, Stream { first: tagged.tag.block, ..Stream::default() });
        }
        let mut given = vec![];
        self.with_stream(key, &mut given, |work| work.take(&tagged, now));
        let own = (tagged.tag.kind == Kind::Data).then_some((tagged.tag.block, tagged.tag.index));
        self.send(key, given, own, out);
    }

    pub(crate) fn next_release(&self) -> Option<Time> {
        self.timers.first().map(|(time, _)| *time)
    }

    pub(crate) fn release_due(&mut self, now: Time, out: &mut Emitter) {
        while let Some((_, key)) = self.timers.first().copied().filter(|(time, _)| *time <= now) {
            let mut given = vec![];
            self.with_stream(key, &mut given, |work| work.release(now));
            self.send(key, given, None, out);
        }
    }

    /// Works on a stream and keeps its timer.
    fn with_stream(&mut self, key: StreamKey, given: &mut Vec<Given>, work: impl FnOnce(&mut Work<'_>)) {
        let Some(stream) = self.streams.get_mut(&key) else { return };
        let Decoder { limits, counted, field, .. } = self;
        let before = stream.deadline;
        work(&mut Work { key, limits, counted, field, stream, given });
        let after = stream.waiting.front().map(|(came, ..)| *came + limits.wait).filter(|at| *at < Time::MAX);
        if after != before {
            stream.deadline = after;
            self.timers.extend(after.map(|time| (time, key)));
            if let Some(time) = before {
                self.timers.remove(&(time, key));
            }
        }
    }

    /// Emits frames. The frame of the call carries the call on, if it is among them.
    fn send(&mut self, (port, _): StreamKey, given: Vec<Given>, own: Option<(u32, u8)>, out: &mut Emitter) {
        for one in given {
            match one {
                Given::Frame { number, delivered } if own == Some(number) => out.carry_on(delivered),
                Given::Frame { delivered, .. } => out.emit(delivered, ResumeAt::AfterCall),
                Given::Retired { sent, lost } => {
                    let Limits { over, faulty_ppm, .. } = self.limits;
                    let watch = self.watches.entry(port).or_default();
                    let mark: Option<Mark> = watch.add(port, sent, lost, over, faulty_ppm);
                    mark.inspect(|mark| out.emit(mark.frame(), ResumeAt::AfterCall));
                }
            }
        }
    }
}

/// Results of a stream, in order.
enum Given {
    /// A data frame, by its block and index, tagged as delivered.
    Frame { number: (u32, u8), delivered: Vec<u8> },
    /// A block is done with: so many frames were sent, so many did not come.
    Retired { sent: u32, lost: u32 },
}

/// A stream with all that work on it needs.
struct Work<'a> {
    key: StreamKey,
    limits: &'a Limits,
    counted: &'a mut Counted,
    field: &'a mut Field,
    stream: &'a mut Stream,
    given: &'a mut Vec<Given>,
}

impl Work<'_> {
    fn take(&mut self, tagged: &Tagged<'_>, now: Time) {
        let tag = tagged.tag;
        let sensible = match tag.kind {
            Kind::Data => usize::from(tag.count) <= MOST_DATA && tag.index < tag.count,
            Kind::Parity => {
                (1..=MOST_DATA).contains(&tag.count.into()) && usize::from(tag.index) < MOST_PARITY
            }
            Kind::Delivered => false,
        };
        if !sensible {
            return self.counted.malformed += 1;
        }
        let ahead = tag.block.wrapping_sub(self.stream.first);
        let reach = self.limits.reach;
        // Block numbers wrap around. A block ahead ends the wait for the oldest ones; a block slightly behind is late; any other distance means that the sender has restarted.
        if ahead as i32 >= 0 && ahead <= reach + FAR {
            while tag.block.wrapping_sub(self.stream.first) > reach {
                self.give_up_block();
            }
        } else if (1..=FAR).contains(&ahead.wrapping_neg()) {
            return self.counted.late += 1;
        } else {
            self.restart(tag.block);
        }
        let at = tag.block.wrapping_sub(self.stream.first) as usize;
        if self.stream.blocks.len() <= at {
            self.stream.blocks.resize_with(at + 1, Block::default);
        }
        // A frame also carries the number of frames of the block before it, whose last frames may be lost.
        if let Some(earlier) = at.checked_sub(1).filter(|_| tag.before > 0) {
            self.stream.blocks[earlier].set_count(tag.before);
        }
        match tag.kind {
            Kind::Data => self.take_data(at, tagged, now),
            _ => self.take_parity(at, tagged),
        }
        self.repair(at, tag.block, now);
        self.give_on();
    }

    fn take_data(&mut self, at: usize, tagged: &Tagged<'_>, now: Time) {
        let Tag { index, count, block: number, .. } = tagged.tag;
        let given_on = at == 0 && index < self.stream.next;
        let block = &mut self.stream.blocks[at];
        if given_on || block.has(index) {
            return self.counted.late += 1;
        }
        if index >= block.end() {
            return self.counted.malformed += 1;
        }
        self.counted.received += 1;
        block.most = block.most.max(count);
        self.stream.usual = count;
        if block.data.len() <= index.into() {
            block.data.resize(usize::from(index) + 1, None);
        }
        block.data[usize::from(index)] = Some(tagged.frame());
        if at > 0 || index > self.stream.next {
            self.stream.waiting.push_back((now, number, index));
        }
    }

    fn take_parity(&mut self, at: usize, tagged: &Tagged<'_>) {
        let Tag { index: row, count, .. } = tagged.tag;
        let block = &mut self.stream.blocks[at];
        if block.parity.iter().any(|(known, _)| *known == row) {
            return self.counted.late += 1;
        }
        if !block.set_count(count) {
            return self.counted.malformed += 1;
        }
        // A complete block needs no parity.
        if block.data.iter().flatten().count() < usize::from(count) {
            block.parity.push((row, tagged.coded().to_vec()));
        }
    }

    /// Makes lost frames of a block again, if enough of it is there.
    fn repair(&mut self, at: usize, number: u32, now: Time) {
        let Stream { next, blocks, waiting, .. } = &mut *self.stream;
        let Some(block) = blocks.get_mut(at) else { return };
        let Some(lost) = block.lost_frames(self.field) else { return };
        block.data.resize(block.count.unwrap_or(0).into(), None);
        block.recovered += lost.len() as u8;
        for (index, frame) in lost {
            block.data[index] = Some(frame);
            // Frames given up before stay lost.
            if at > 0 || index >= usize::from(*next) {
                self.counted.recovered += 1;
                waiting.push_back((now, number, index as u8));
            }
        }
    }

    /// Delivers the next frames, as far as they have arrived.
    fn give_on(&mut self) {
        while let Some(block) = self.stream.blocks.front_mut() {
            let next = self.stream.next;
            if next >= block.end() {
                self.retire();
            } else if let Some(frame) = block.data.get(usize::from(next)).and_then(Option::as_ref) {
                self.given.push(delivered(self.key, self.stream.first, next, frame));
                self.stream.next += 1;
            } else {
                break;
            }
        }
        self.forget_waiting();
    }

    fn forget_waiting(&mut self) {
        let Stream { first, next, .. } = *self.stream;
        let done = |(_, block, index): &(Time, u32, u8)| {
            let ahead = block.wrapping_sub(first) as i32;
            ahead < 0 || ahead == 0 && *index < next
        };
        while self.stream.waiting.front().is_some_and(done) {
            self.stream.waiting.pop_front();
        }
    }

    /// The first block is done with.
    fn retire(&mut self) {
        let block = self.stream.blocks.pop_front().unwrap_or_default();
        let came = block.data.iter().flatten().count() as u32 - u32::from(block.recovered);
        let sent = u32::from(block.length(self.stream.usual));
        self.given.push(Given::Retired { sent, lost: sent.saturating_sub(came) });
        self.stream.first = self.stream.first.wrapping_add(1);
        self.stream.next = 0;
    }

    /// Delivers the remaining frames of the first block; the missing ones count as lost.
    fn give_up_block(&mut self) {
        if self.stream.blocks.is_empty() {
            self.stream.blocks.push_back(Block::default());
        }
        let usual = self.stream.usual;
        let end = self.stream.blocks.front().map_or(0, |block| block.length(usual));
        self.give_up_to(end);
        self.retire();
        self.give_on();
    }

    /// Delivers received frames of the first block before `end`; missing ones are lost.
    fn give_up_to(&mut self, end: u8) {
        let Some(block) = self.stream.blocks.front_mut() else { return };
        for index in self.stream.next..end {
            match block.data.get(usize::from(index)).and_then(Option::as_ref) {
                Some(frame) => {
                    self.given.push(delivered(self.key, self.stream.first, index, frame));
                }
                None => self.counted.lost += 1,
            }
        }
        self.stream.next = self.stream.next.max(end);
    }

    /// The stream goes on at `block`, whatever was before.
    fn restart(&mut self, block: u32) {
        while !self.stream.blocks.is_empty() {
            self.give_up_block();
        }
        self.counted.restarts += 1;
        *self.stream = Stream { first: block, deadline: self.stream.deadline, ..Stream::default() };
    }

    /// Delivers frames that have waited long enough at `now`, and all before them.
    fn release(&mut self, now: Time) {
        while let Some((came, block, index)) = self.stream.waiting.front().copied() {
            if came + self.limits.wait > now {
                break;
            }
            while (block.wrapping_sub(self.stream.first) as i32) > 0 && !self.stream.blocks.is_empty() {
                self.give_up_block();
            }
            if block == self.stream.first {
                self.give_up_to(index);
            }
            self.give_on();
            // Delivered frames are removed; frames that cannot be delivered do not wait any longer.
            if self.stream.waiting.front() == Some(&(came, block, index)) {
                self.stream.waiting.pop_front();
            }
        }
    }
}

fn delivered((channel, class): StreamKey, block: u32, index: u8, frame: &[u8]) -> Given {
    let (kind, count, before, length) = (Kind::Delivered, 0, 0, frame.len() as u16);
    let tag = Tag { kind, class, index, count, before, channel, length, block };
    Given::Frame { number: (block, index), delivered: tag.put_on(frame) }
}
