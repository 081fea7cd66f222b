//! Packets from the command line and from captures, in one order.
//!
//! Packets of the command line come first. Captures are merged by their times; the first packet of all of them is
//! at the start of virtual time. With an interval their times decide the order only.

use super::spec::HexPacket;
use base_diag::Diagnostic;
use base_diag::codes::run::CAPTURE;
use base_pcap::{ReadError, Reader};
use base_time::{Duration, Time};
use dataplane_api::Port;
use dataplane_ports::{Filled, Moment, TimedFrame, TimedSource};
use std::collections::VecDeque;
use std::io::Read;
use target_native::Packet;

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

/// Source of packets: packets in hex, then captures merged by time.
pub struct Feed<'r> {
    hex: VecDeque<HexPacket>,
    captures: TimedSource<'r>,
    /// For each capture, its name.
    names: Vec<String>,
    /// See [`Feed::output`].
    outputs: Vec<Port>,
    /// The packet in hex that was read last, and its time.
    last: Option<(HexPacket, Time)>,
}

impl<'r> Feed<'r> {
    /// No packets yet; `interval` is the time between two of them.
    pub fn new(interval: Option<Duration>) -> Feed<'r> {
        let captures = TimedSource::new(interval, super::INTERVAL);
        Feed { hex: VecDeque::new(), captures, names: vec![], outputs: vec![], last: None }
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
        let added = Reader::new(source).and_then(|reader| self.captures.add(port, reader));
        added.map_err(|error| wrong(name, &error))?;
        self.names.push(name.to_string());
        Ok(())
    }

    /// Packets that go out by this port are wanted.
    pub fn output(&mut self, port: Port) {
        self.outputs.push(port);
    }

    /// Ports with input packets or with output files.
    pub fn ports(&self) -> impl Iterator<Item = Port> {
        let inputs = self.hex.iter().map(|packet| packet.port).chain(self.captures.ports().iter().copied());
        inputs.chain(self.outputs.iter().copied())
    }

    /// Nanoseconds that captured times are ahead of virtual time.
    pub fn epoch_nanos(&self) -> u64 {
        self.captures.epoch_nanos()
    }

    /// Packets that were longer on the wire than in their capture.
    pub fn cut(&self) -> u64 {
        self.captures.cut()
    }

    /// The next packet.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Frame>, Diagnostic> {
        let is_there = self.next_hex() || self.captures.advance().map_err(|error| self.wrong(error))?;
        let TimedFrame { at, port, bytes, .. } = self.frame();
        Ok(is_there.then(|| Frame { at, port, bytes: bytes.to_vec() }))
    }

    /// The packet that was read last, where it was read.
    pub fn frame(&self) -> TimedFrame<'_> {
        match &self.last {
            Some((packet, at)) => TimedFrame {
                at: *at,
                port: packet.port,
                bytes: &packet.bytes,
                epoch_nanos: self.epoch_nanos(),
            },
            None => self.captures.frame(),
        }
    }

    /// Fills packets, and notes in `came`, which is empty, when each of them comes. A packet that is too long is the [`frame`](Feed::frame) then.
    pub fn fill(&mut self, packets: &mut [Packet], came: &mut Vec<Moment>) -> Result<Filled, Diagnostic> {
        while let Some(packet) = packets.get_mut(came.len())
            && self.next_hex()
        {
            let TimedFrame { at, port, bytes, .. } = self.frame();
            if !packet.receive(port, bytes) {
                return Ok(Filled::Long);
            }
            came.push(self.captures.moment(at));
        }
        self.captures.fill(packets, came).map_err(|error| self.wrong(error))
    }

    /// Moment at which the [`frame`](Feed::frame) runs: not before those that were read earlier.
    pub fn moment(&mut self) -> Moment {
        let at = self.frame().at;
        self.captures.moment(at)
    }

    /// Reads the next packet in hex.
    fn next_hex(&mut self) -> bool {
        self.last = self.hex.pop_front().map(|packet| (packet, self.captures.step()));
        self.last.is_some()
    }

    /// An error of a capture, by its number.
    fn wrong(&self, (capture, error): (usize, ReadError)) -> Diagnostic {
        wrong(self.names.get(capture).map_or("", String::as_str), &error)
    }
}

fn wrong(name: &str, error: &ReadError) -> Diagnostic {
    Diagnostic::error(CAPTURE, "a capture cannot be read")
        .note(format!("`{name}`: {error}"))
        .help("packets are read from pcap and pcapng files of Ethernet frames")
}
