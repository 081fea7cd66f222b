//! Blocks are filled, and closed by the last frame or by a timer.

use crate::STREAMS;
use crate::code::{Field, MOST_DATA, MOST_PARITY, Parity};
use crate::tag::{ADDRESSES, Kind, LONGEST, SHORTEST, Tag};
use base_time::{Duration, Time};
use dataplane_api::{Emitter, ResumeAt};
use std::collections::{BTreeMap, BTreeSet};

/// A port and a class, which have blocks of their own.
pub(crate) type StreamKey = (u16, u8);

/// Arguments of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Protection {
    port: u16,
    class: u8,
    data: u8,
    parity: u8,
}

impl Protection {
    /// `k` data frames and `h` parity frames; `None` beyond the code's limits.
    pub fn new(port: u16, class: u8, k: u64, h: u64) -> Option<Protection> {
        let fits = class < 16 && (1..=MOST_DATA as u64).contains(&k) && h <= MOST_PARITY as u64;
        fits.then_some(Protection { port, class, data: k as u8, parity: h as u8 })
    }
}

/// Adds parity to frames.
#[derive(Clone, Default, Debug)]
pub struct Encoder {
    pub(crate) hold: Duration,
    pub(crate) streams: BTreeMap<StreamKey, Stream>,
    /// When open blocks are closed.
    pub(crate) timers: BTreeSet<(Time, StreamKey)>,
    pub(crate) passed: u64,
    pub(crate) field: Field,
}

/// The block of one port and class that is open or comes next.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Stream {
    /// Data and parity frames of a block.
    pub(crate) data: u8,
    /// Rows of the parity frames.
    pub(crate) parity: Parity,
    pub(crate) block: u32,
    /// Data frames of the block before.
    pub(crate) before: u8,
    /// Data frames so far.
    pub(crate) count: u8,
    /// The addresses of its first frame.
    pub(crate) addresses: [u8; ADDRESSES],
    /// When it is closed, while it is open and has parity.
    pub(crate) deadline: Option<Time>,
}

impl Encoder {
    /// Blocks are closed when `hold` has passed since their first frame.
    pub fn new(hold: Duration) -> Encoder {
        Encoder { hold, ..Encoder::default() }
    }

    /// Frames that went on without a tag: too short or too long, for a port and class beyond the [most](STREAMS), or with
    /// numbers beyond the code's.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// The frame goes on as it is.
    pub(crate) fn pass(&mut self, frame: &[u8], out: &mut Emitter) {
        self.passed += 1;
        out.carry_on(frame.to_vec());
    }

    /// The frame goes on with a tag; parity comes after the last one of a block.
    pub fn encode(&mut self, wanted: Protection, frame: &[u8], now: Time, out: &mut Emitter) {
        let key = (wanted.port, wanted.class);
        let room = self.streams.len() < STREAMS || self.streams.contains_key(&key);
        if !(SHORTEST..=LONGEST).contains(&frame.len()) || !room {
            return self.pass(frame, out);
        }
        let stream = self.streams.entry(key).or_insert_with(|| Stream::beginning(now));
        let rows = usize::from(wanted.parity);
        if (stream.data, stream.parity.rows.len()) != (wanted.data, rows) {
            close(key, stream, &mut self.timers, out);
            stream.data = wanted.data;
            stream.parity = Parity::new(rows);
        }
        if stream.count == 0 {
            stream.addresses.copy_from_slice(&frame[..ADDRESSES]);
            let deadline = now + self.hold;
            stream.deadline = (rows > 0 && deadline < Time::MAX).then_some(deadline);
            self.timers.extend(stream.deadline.map(|deadline| (deadline, key)));
        }
        let index = stream.count;
        out.carry_on(stream.tag(key, Kind::Data, index, stream.data, frame.len()).put_on(frame));
        stream.parity.add(&mut self.field, index.into(), frame);
        stream.count += 1;
        if stream.count == stream.data {
            close(key, stream, &mut self.timers, out);
        }
    }

    pub(crate) fn next_close(&self) -> Option<Time> {
        self.timers.first().map(|(time, _)| *time)
    }

    pub(crate) fn close_due(&mut self, now: Time, out: &mut Emitter) {
        while let Some((_, key)) = self.timers.first().copied().filter(|(time, _)| *time <= now) {
            match self.streams.get_mut(&key) {
                Some(stream) => close(key, stream, &mut self.timers, out),
                None => drop(self.timers.pop_first()),
            }
        }
    }
}

impl Stream {
    /// The first block's number comes of the time: an encoder that restarts is not taken for the one before.
    fn beginning(now: Time) -> Stream {
        let scattered = now.as_ps().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Stream { block: (scattered >> 32) as u32, ..Stream::default() }
    }

    fn tag(&self, key: StreamKey, kind: Kind, index: u8, count: u8, length: usize) -> Tag {
        let (channel, class) = key;
        let Stream { block, before, .. } = *self;
        Tag { kind, class, index, count, before, channel, length: length as u16, block }
    }
}

/// Closes the block, if it is open: its parity comes, and the next one begins.
fn close(key: StreamKey, stream: &mut Stream, timers: &mut BTreeSet<(Time, StreamKey)>, out: &mut Emitter) {
    if let Some(deadline) = stream.deadline.take() {
        timers.remove(&(deadline, key));
    }
    if stream.count == 0 {
        return;
    }
    for row in 0..stream.parity.rows.len() {
        let coded = stream.parity.coded(row);
        let tag = stream.tag(key, Kind::Parity, row as u8, stream.count, coded.len());
        out.emit(tag.parity_frame(stream.addresses, coded), ResumeAt::AfterCall);
    }
    stream.parity.clear();
    stream.before = stream.count;
    stream.block = stream.block.wrapping_add(1);
    stream.count = 0;
}
