//! Frames of captures at their times: batches of them, and what is sent of a batch.
//!
//! ```text
//! captures ──> Merged, the earliest next ──> packets of a batch, a moment for each ──> engine ──> Results ──> CaptureFiles
//! ```
//!
//! A lane takes frames as they come; a run has them in the order of their captures' times, whenever that is.

use base_pcap::{Merged, ReadError, Reader};
use base_time::{Duration, Time};
use dataplane_api::{Output, Port};
use target_native::{Fate, Packet};

/// Moment of arrival.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Moment {
    /// Virtual time.
    pub at: Time,
    /// Nanoseconds that captured times are ahead of virtual time.
    pub epoch_nanos: u64,
}

/// A frame in the memory where it was read; valid until the next one is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedFrame<'f> {
    /// Time of arrival.
    pub at: Time,
    /// Port of arrival.
    pub port: Port,
    /// The frame.
    pub bytes: &'f [u8],
    /// See [`Moment::epoch_nanos`].
    pub epoch_nanos: u64,
}

/// Reason for which a batch takes no more frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filled {
    /// All packets have a frame.
    Full,
    /// The next frame is too long for a packet.
    Long,
    /// There are no more frames.
    End,
}

/// Frames of captures, merged by time. The first one of all is at the time at which it is read.
pub struct TimedSource<'r> {
    merged: Merged<'r>,
    /// By a capture's number.
    ports: Vec<Port>,
    /// Time between two frames, in place of what captures say.
    interval: Option<Duration>,
    /// Time between two frames that have none.
    step: Duration,
    /// Time of the last frame.
    now: Option<Time>,
    /// Latest time of all.
    latest: Time,
    /// Timestamp of the first captured frame, and its virtual time.
    origin: Option<(u64, Time)>,
    epoch_nanos: u64,
    cut: u64,
}

impl<'r> TimedSource<'r> {
    /// No captures yet. With an interval it is the time between any two frames, else `step` that between frames without a time.
    pub fn new(interval: Option<Duration>, step: Duration) -> TimedSource<'r> {
        TimedSource {
            merged: Merged::default(),
            ports: vec![],
            interval,
            step: interval.unwrap_or(step),
            now: None,
            latest: Time::ZERO,
            origin: None,
            epoch_nanos: 0,
            cut: 0,
        }
    }

    /// Adds a capture with frames for a port, and reads the first one.
    pub fn add(&mut self, port: Port, capture: Reader<'r>) -> Result<(), ReadError> {
        self.merged.add(capture)?;
        self.ports.push(port);
        Ok(())
    }

    /// Ports of the captures.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Nanoseconds that captured times are ahead of virtual time; 0 before the first captured frame.
    pub fn epoch_nanos(&self) -> u64 {
        self.epoch_nanos
    }

    /// Frames so far that were longer on the wire than in their capture.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Time of a frame that is none of the captures' and comes next.
    pub fn step(&mut self) -> Time {
        let next = self.after();
        self.now = Some(next);
        next
    }

    fn after(&self) -> Time {
        self.now.map_or(Time::ZERO, |now| now + self.step)
    }

    /// Moment at which a frame runs: not before those that were read earlier.
    pub fn moment(&mut self, at: Time) -> Moment {
        self.latest = self.latest.max(at);
        Moment { at: self.latest, epoch_nanos: self.epoch_nanos }
    }

    /// Reads the next frame; false if there is none. An error has the number of the capture, which has no more frames.
    pub fn advance(&mut self) -> Result<bool, (usize, ReadError)> {
        let Some(_) = self.merged.advance()? else { return Ok(false) };
        let after = self.after();
        let frame = self.merged.frame();
        self.cut += u64::from(frame.bytes.len() < frame.original as usize);
        let (origin, start) = match self.origin {
            Some(origin) => origin,
            None => {
                self.epoch_nanos = frame.nanos.saturating_sub(after.as_ps() / 1000);
                *self.origin.insert((frame.nanos, after))
            }
        };
        let captured = start + Duration::from_ns(frame.nanos.saturating_sub(origin));
        self.now = Some(if self.interval.is_some() { after } else { captured });
        Ok(true)
    }

    /// The frame that was read last.
    pub fn frame(&self) -> TimedFrame<'_> {
        let port = self.merged.given().and_then(|given| self.ports.get(given)).copied().unwrap_or_default();
        let (at, bytes) = (self.now.unwrap_or(Time::ZERO), self.merged.frame().bytes);
        TimedFrame { at, port, bytes, epoch_nanos: self.epoch_nanos }
    }

    /// Fills the packets behind those that have a moment in `came`. A frame that is too long is [`frame`](TimedSource::frame) then. An error has the number of the
    /// capture, which has no more frames.
    pub fn fill(
        &mut self,
        packets: &mut [Packet],
        came: &mut Vec<Moment>,
    ) -> Result<Filled, (usize, ReadError)> {
        for packet in packets.iter_mut().skip(came.len()) {
            if !self.advance()? {
                return Ok(Filled::End);
            }
            let TimedFrame { at, port, bytes, .. } = self.frame();
            if !packet.receive(port, bytes) {
                return Ok(Filled::Long);
            }
            let moment = self.moment(at);
            came.push(moment);
        }
        Ok(Filled::Full)
    }
}

/// Results of a batch: the frames that leave.
#[derive(Clone, Copy)]
pub struct Results<'b> {
    /// The packets, with their fates.
    pub packets: &'b [Packet],
    /// Further frames that leave, in order.
    pub outputs: &'b [Output],
    /// For each output, the position of its packet.
    pub came_of: &'b [usize],
    /// When each packet came.
    pub came: &'b [Moment],
}

impl Results<'_> {
    /// Passes all frames to `take`, those of a packet after those of the packets before it. An error ends it.
    #[inline]
    pub fn each<E>(&self, mut take: impl FnMut(Moment, Port, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut outputs = self.outputs.iter().zip(self.came_of).peekable();
        for (at, moment) in self.came.iter().enumerate() {
            while let Some((output, _)) = outputs.next_if(|(_, of)| **of == at) {
                take(*moment, output.port, &output.frame)?;
            }
            if let Some(packet) = self.packets.get(at)
                && let Fate::Sent(port) = packet.fate()
            {
                take(*moment, port, packet.frame())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_pcap::{Frame, Writer};
    use target_native::MOST_BYTES;

    fn capture(frames: &[(u64, &[u8])]) -> Vec<u8> {
        let mut capture = Writer::new(vec![]).unwrap();
        frames.iter().for_each(|(nanos, frame)| capture.frame(Frame::whole(*nanos, frame)).unwrap());
        capture.into_inner()
    }

    /// Ports, first bytes and times of the frames of batches of two; in the place of a long frame, its length.
    fn batches(source: &mut TimedSource<'_>) -> Vec<(Port, usize, u64)> {
        let (mut packets, mut all) = (vec![Packet::default(); 2], vec![]);
        loop {
            let mut came = vec![];
            let filled = source.fill(&mut packets, &mut came).unwrap();
            let frames = packets.iter().zip(&came);
            all.extend(frames.map(|(p, moment)| (p.in_port(), p.frame()[0].into(), moment.at.as_ns())));
            match filled {
                Filled::Full => assert_eq!(came.len(), 2),
                Filled::End => return all,
                Filled::Long => {
                    let TimedFrame { at, port, bytes, .. } = source.frame();
                    all.push((port, bytes.len(), at.as_ns()));
                }
            }
        }
    }

    fn source<'r>(interval: Option<Duration>, captures: &'r [Vec<u8>]) -> TimedSource<'r> {
        let mut source = TimedSource::new(interval, Duration::from_ns(7));
        for (port, capture) in (1..).zip(captures) {
            source.add(port, Reader::new(capture.as_slice()).unwrap()).unwrap();
        }
        source
    }

    #[test]
    fn batches_have_the_frames_in_the_order_of_their_times() {
        let long = vec![9; MOST_BYTES + 1];
        let captures =
            [capture(&[(100, &[1]), (130, &long), (120, &[2])]), capture(&[(110, &[3]), (130, &[4])])];
        // In the first capture, a frame stands behind a later one.
        let at_their_times = [(1, 1, 0), (2, 3, 10), (1, MOST_BYTES + 1, 30), (1, 2, 20), (2, 4, 30)];
        let mut read = source(None, &captures);
        assert_eq!(batches(&mut read), at_their_times);
        assert_eq!((read.epoch_nanos(), read.ports(), read.cut()), (100, &[1, 2][..], 0));
        let mut read = source(Some(Duration::from_ns(50)), &captures);
        let times: Vec<u64> = batches(&mut read).iter().map(|(_, _, at)| *at).collect();
        assert_eq!(times, [0, 50, 100, 150, 200]);
    }

    #[test]
    fn a_frame_does_not_run_before_those_that_were_read_earlier() {
        let captures = [capture(&[(100, &[1]), (150, &[2]), (120, &[3])])];
        assert_eq!(batches(&mut source(None, &captures)), [(1, 1, 0), (1, 2, 50), (1, 3, 50)]);
    }

    #[test]
    fn captures_begin_when_they_are_read() {
        let captures = [capture(&[(1_000_000, &[1])])];
        let mut read = source(None, &captures);
        let steps = [read.step(), read.step()].map(|at| at.as_ns());
        assert_eq!((steps, read.epoch_nanos()), ([0, 7], 0));
        assert_eq!(read.advance(), Ok(true));
        let frame =
            TimedFrame { at: Time::ZERO + Duration::from_ns(14), port: 1, bytes: &[1], epoch_nanos: 999_986 };
        assert_eq!(read.frame(), frame);
    }

    #[test]
    fn frames_before_a_mistake_are_in_the_batch() {
        let mut captures = [capture(&[(1, &[1]), (2, &[2])]), capture(&[(3, &[3])])];
        captures[0].pop();
        let mut read = source(None, &captures);
        let (mut packets, mut came) = (vec![Packet::default(); 4], vec![]);
        let (capture, error) = read.fill(&mut packets, &mut came).unwrap_err();
        assert_eq!((capture, came.len()), (0, 1));
        assert_eq!(error.message, "the file ends within a block");
        came.clear();
        assert_eq!(read.fill(&mut packets, &mut came), Ok(Filled::End));
        assert_eq!((came.len(), packets[0].in_port()), (1, 2));
    }

    #[test]
    fn results_of_a_packet_come_after_those_of_packets_before_it() {
        let outputs: Vec<Output> = (0..4u8).map(|at| Output { port: 50, frame: vec![at] }).collect();
        let came = [10, 20, 30].map(|at| Moment { at: Time::ZERO + Duration::from_ns(at), epoch_nanos: 5 });
        // No packet has a fate of its own here: all were copied.
        let packets = vec![Packet::default(); 3];
        let results = Results { packets: &packets, outputs: &outputs, came_of: &[0, 0, 2, 2], came: &came };
        let mut all = vec![];
        let ended = results.each(|moment, port, frame| {
            all.push((moment.at.as_ns(), port, frame[0]));
            if frame[0] == 2 { Err("enough") } else { Ok(()) }
        });
        assert_eq!((&all[..], ended), (&[(10, 50, 0), (10, 50, 1), (30, 50, 2)][..], Err("enough")));
    }
}
