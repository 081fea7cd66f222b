//! Packets from the command line and from captures, in one order.
//!
//! Packets of the command line come first. Captures are merged by their times; the first packet of all of them is
//! at the start of virtual time. With an interval their times decide the order only.

use super::spec::HexPacket;
use base_diag::Diagnostic;
use base_diag::codes::run::CAPTURE;
use base_pcap::{ReadError, Reader, Record};
use base_time::{Duration, Time};
use dataplane_api::Port;
use std::cmp::Reverse;
use std::collections::binary_heap::{BinaryHeap, PeekMut};
use std::io::Read;

/// An input packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Time of arrival.
    pub at: Time,
    /// Port of arrival.
    pub port: Port,
    /// The frame.
    pub bytes: Vec<u8>,
}

/// A frame in the memory where it was read; valid until the next one is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameRef<'f> {
    /// Time of arrival.
    pub at: Time,
    /// Port of arrival.
    pub port: Port,
    /// The frame.
    pub bytes: &'f [u8],
    /// See [`Feed::epoch_nanos`].
    pub epoch_nanos: u64,
}

/// Source of packets: packets in hex, then captures merged by time.
#[derive(Default)]
pub struct Feed<'r> {
    hex: std::collections::VecDeque<HexPacket>,
    captures: Vec<Capture<'r>>,
    /// Captures that have a next packet: its time and the position of the capture, the earliest on top.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    interval: Option<Duration>,
    /// When the last packet was.
    now: Option<Time>,
    /// Timestamp of the first captured packet, and its virtual time.
    origin: Option<(u64, Time)>,
    /// Packets that captures had cut.
    cut: u64,
    /// See [`Feed::output`].
    outputs: Vec<Port>,
    /// The bytes of the packet that was read last.
    bytes: Vec<u8>,
    /// Error of a capture, reported after the packet that was read before it.
    wrong: Option<Diagnostic>,
}

struct Capture<'r> {
    name: String,
    port: Port,
    reader: Reader<'r>,
    /// The next packet, if there is one.
    next: Record,
    is_over: bool,
    /// Error after the last packet.
    wrong: Option<Diagnostic>,
}

impl<'r> Feed<'r> {
    /// No packets yet; `interval` is the time between two of them.
    pub fn new(interval: Option<Duration>) -> Feed<'r> {
        Feed { interval, ..Feed::default() }
    }

    /// Adds a packet.
    pub fn packet(&mut self, packet: HexPacket) {
        self.hex.push_back(packet);
    }

    /// Adds a capture with input packets for `port`; `name` is for messages.
    pub fn capture(
        &mut self,
        name: &str,
        port: Port,
        source: impl Read + Send + 'r,
    ) -> Result<(), Diagnostic> {
        let reader = Reader::new(source).map_err(|e| wrong(name, &e))?;
        let mut capture = Capture {
            name: name.to_string(),
            port,
            reader,
            next: Record { nanos: 0, frame: vec![], original: 0 },
            is_over: false,
            wrong: None,
        };
        capture.advance();
        match capture.wrong.take() {
            Some(wrong) => Err(wrong),
            None => {
                if !capture.is_over {
                    self.order.push(Reverse((capture.next.nanos, self.captures.len())));
                }
                self.captures.push(capture);
                Ok(())
            }
        }
    }

    /// Packets that go out by this port are wanted.
    pub fn output(&mut self, port: Port) {
        self.outputs.push(port);
    }

    /// Ports with input packets or with output files.
    pub fn ports(&self) -> impl Iterator<Item = Port> {
        let inputs = self.hex.iter().map(|packet| packet.port).chain(self.captures.iter().map(|c| c.port));
        inputs.chain(self.outputs.iter().copied())
    }

    /// Nanoseconds that captured times are ahead of virtual time.
    pub fn epoch_nanos(&self) -> u64 {
        self.origin.map_or(0, |(nanos, at)| nanos.saturating_sub(at.as_ps() / 1000))
    }

    /// Packets that were longer on the wire than in their capture.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// The next packet.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Frame>, Diagnostic> {
        let read = self.read()?;
        Ok(read.map(|FrameRef { at, port, bytes, .. }| Frame { at, port, bytes: bytes.to_vec() }))
    }

    /// Reads the next frame without copying it.
    pub fn read(&mut self) -> Result<Option<FrameRef<'_>>, Diagnostic> {
        let step = self.interval.unwrap_or(super::INTERVAL);
        let after = self.now.map_or(Time::ZERO, |now| now + step);
        let Some((at, port)) = self.take(after)? else { return Ok(None) };
        self.now = Some(at);
        Ok(Some(FrameRef { at, port, bytes: &self.bytes, epoch_nanos: self.epoch_nanos() }))
    }

    /// Reads the next packet. Returns its time and port; the time is `after` if the packet has no other.
    fn take(&mut self, after: Time) -> Result<Option<(Time, Port)>, Diagnostic> {
        if let Some(packet) = self.hex.pop_front() {
            self.bytes = packet.bytes;
            return Ok(Some((after, packet.port)));
        }
        // The packets before a mistake were whole: they have run.
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        let Some(mut first) = self.order.peek_mut() else { return Ok(None) };
        let Reverse((nanos, at)) = *first;
        let capture = &mut self.captures[at];
        let port = capture.port;
        self.cut += u64::from(capture.next.frame.len() < capture.next.original as usize);
        std::mem::swap(&mut self.bytes, &mut capture.next.frame);
        capture.advance();
        if capture.is_over {
            self.wrong = capture.wrong.take();
            PeekMut::pop(first);
        } else {
            *first = Reverse((capture.next.nanos, at));
        }
        let (origin, start) = *self.origin.get_or_insert((nanos, after));
        let captured = start + Duration::from_ns(nanos.saturating_sub(origin));
        Ok(Some((if self.interval.is_some() { after } else { captured }, port)))
    }
}

impl Capture<'_> {
    fn advance(&mut self) {
        let next = &mut self.next;
        let read = self.reader.read(|frame| {
            (next.nanos, next.original) = (frame.nanos, frame.original);
            next.frame.clear();
            next.frame.extend_from_slice(frame.bytes);
        });
        self.is_over = !matches!(read, Ok(Some(())));
        if let Err(error) = read {
            self.wrong = Some(wrong(&self.name, &error));
        }
    }
}

fn wrong(name: &str, error: &ReadError) -> Diagnostic {
    Diagnostic::error(CAPTURE, "a capture cannot be read")
        .note(format!("`{name}`: {error}"))
        .help("packets are read from pcap and pcapng files of Ethernet frames")
}
