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
use std::io::Read;

/// A packet that comes in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// When.
    pub at: Time,
    /// Where.
    pub port: Port,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Where packets come from.
#[derive(Default)]
pub struct Feed<'r> {
    hex: std::collections::VecDeque<HexPacket>,
    captures: Vec<Capture<'r>>,
    interval: Option<Duration>,
    /// When the last packet was.
    now: Option<Time>,
    /// The time of the first captured packet, and when it came in.
    origin: Option<(u64, Time)>,
    /// Packets that captures had cut.
    cut: u64,
    /// See [`Feed::output`].
    outputs: Vec<Port>,
}

struct Capture<'r> {
    name: String,
    port: Port,
    reader: Reader<'r>,
    next: Option<Record>,
    /// What is wrong behind the packets that were read.
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

    /// Adds a capture, whose packets come in by `port`; `name` is for messages.
    pub fn capture(
        &mut self,
        name: &str,
        port: Port,
        source: impl Read + Send + 'r,
    ) -> Result<(), Diagnostic> {
        let reader = Reader::new(source).map_err(|e| wrong(name, &e))?;
        let mut capture = Capture { name: name.to_string(), port, reader, next: None, wrong: None };
        capture.advance();
        match capture.wrong.take() {
            Some(wrong) => Err(wrong),
            None => {
                self.captures.push(capture);
                Ok(())
            }
        }
    }

    /// Packets that go out by this port are wanted.
    pub fn output(&mut self, port: Port) {
        self.outputs.push(port);
    }

    /// The ports by which packets come in or are wanted.
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
        let step = self.interval.unwrap_or(super::INTERVAL);
        let after = self.now.map_or(Time::ZERO, |now| now + step);
        if let Some(packet) = self.hex.pop_front() {
            self.now = Some(after);
            return Ok(Some(Frame { at: after, port: packet.port, bytes: packet.bytes }));
        }
        // The packets before a mistake were whole: they have run.
        if let Some(wrong) = self.captures.iter_mut().find_map(|capture| capture.wrong.take()) {
            return Err(wrong);
        }
        let times = self.captures.iter().enumerate();
        let first = times.filter_map(|(at, c)| c.next.as_ref().map(|r| (r.nanos, at))).min();
        let Some((nanos, at)) = first else { return Ok(None) };
        let Some(capture) = self.captures.get_mut(at) else { return Ok(None) };
        let Some(record) = capture.next.take() else { return Ok(None) };
        let port = capture.port;
        capture.advance();
        let (origin, start) = *self.origin.get_or_insert((nanos, after));
        let captured = start + Duration::from_ns(nanos.saturating_sub(origin));
        let at = if self.interval.is_some() { after } else { captured };
        self.now = Some(at);
        self.cut += u64::from(record.frame.len() < record.original as usize);
        Ok(Some(Frame { at, port, bytes: record.frame }))
    }
}

impl Capture<'_> {
    fn advance(&mut self) {
        match self.reader.next().transpose() {
            Ok(next) => self.next = next,
            Err(error) => self.wrong = Some(wrong(&self.name, &error)),
        }
    }
}

fn wrong(name: &str, error: &ReadError) -> Diagnostic {
    Diagnostic::error(CAPTURE, "a capture cannot be read")
        .note(format!("`{name}`: {error}"))
        .help("packets are read from pcap and pcapng files of Ethernet frames")
}
