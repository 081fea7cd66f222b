//! `seawall`: UDP packets of a tenant that shares links with others by weights (Seawall; Shieh et al., NSDI'11).
//!
//! ```text
//! sender    data -> ... a switch marks packets that find a long queue, with the number of the link in DSCP
//! receiver  <- in each millisecond with packets: how many came, were lost, and were marked by each link
//! ```
//!
//! A sender has one rate for each link, whatever number of receivers it sends to: [`source`].

mod source;

use crate::kind::{Count, Key, Kind, Load, Size, Wanted};
use crate::packet::{Route, Transport, UDP as PROTOCOL, build, set_ecn};
use crate::program::{Arrival, Begun, Desk, HostProgram, Report, Setup, Side, Socket, Taken};
use crate::source::Pace;
use crate::streams::Streams;
use crate::unused::Unused;
use base_time::{Duration, Rate, Time};
use source::{Feedback, Source};

/// Bytes of Ethernet's, IPv4's and UDP's headers.
const HEADERS: u64 = 42;
/// Time between two reports of a receiver, and between two changes of a source's rates.
const PERIOD: Duration = Duration::from_ms(1);
/// A sender that has heard nothing for so long halves its rates.
const PATIENCE: Duration = Duration::from_ms(50);
/// Links in a report.
const MOST_LINKS: usize = 8;
/// ECN's bits of a sender that understands marks, and of a mark (RFC 3168).
const CAPABLE: u8 = 2;
const MARKED: u8 = 3;

/// The workload.
pub static SEAWALL: Kind = Kind {
    word: "seawall",
    count: Count::PACKETS,
    size: Some(Size::of_payload(1400)),
    keys: &[
        // The rate that each pair wishes, in bits of frames.
        Key::new("rate", Wanted::Rate),
        Key::new("weight", Wanted::Number { least: 1, most: 64, default: Some(1) }),
        Key::new("share", Wanted::Choice(&["source", "pair"])),
        Key::new("port", Wanted::Port(|_| 9303)),
    ],
    rule: None,
    since_start: |load, n| load.rate("rate").time_for_bits(u128::from(n) * u128::from(load.size) * 8),
    frame_bytes: Load::payload_with_headers,
    start,
};

/// Timers of P pairs: timer `n` is the next packet of pair `n`, timer `P + n` its receiver's next report, and timer `2P + m` the end of source `m`'s period.
struct Seawall {
    streams: Streams,
    port: u16,
    pairs: Vec<Pair>,
    sources: Vec<Source>,
    marks: u64,
    losses: u64,
}

struct Pair {
    /// Number of the source, and of the pair there.
    place: (usize, usize),
    left: u64,
    /// From the receiver.
    back: Route,
    /// When the sender last heard of its packets, or lost patience.
    heard: Time,
    /// The receiver's counts of this period, and the number of the packet that it waits for.
    counts: Feedback,
    next: u32,
}

fn start(setup: Setup<'_>) -> Begun {
    let load = setup.load;
    let (streams, mut started) = Streams::start(&setup, Pace::Even);
    let mut seawall =
        Seawall { streams, port: load.port(), pairs: vec![], sources: vec![], marks: 0, losses: 0 };
    let mut sizes: Vec<(std::net::Ipv4Addr, usize)> = vec![];
    for (at, pair) in (0u32..).zip(&setup.pairs) {
        let own = sizes.iter().position(|(address, _)| *address == pair.route.source);
        let own = own.filter(|_| load.text("share") != "pair").unwrap_or(sizes.len());
        if own == sizes.len() {
            sizes.push((pair.route.source, 0));
        }
        let Some((_, size)) = sizes.get_mut(own) else { continue };
        let (heard, counts) = (load.start + load.stagger * u64::from(at), Feedback::default());
        let (place, back) = ((own, *size), pair.back);
        seawall.pairs.push(Pair { place, left: load.count, back, heard, counts, next: 0 });
        *size += 1;
        let socket = Socket::Ports {
            protocol: PROTOCOL,
            address: pair.route.destination,
            source: Some(seawall.port),
            destination: Some(seawall.streams.source_port(at)),
        };
        started.sockets.push((at, Side::Sender, socket));
        started.wakes.push((setup.pairs.len() as u32 + at, heard + PERIOD));
    }
    let wish = load.rate("rate").bits_per_s();
    for ((_, size), at) in sizes.into_iter().zip(0u32..) {
        seawall.sources.push(Source::new(load.number("weight"), wish, size));
        started.wakes.push((2 * setup.pairs.len() as u32 + at, load.start + PERIOD));
    }
    Ok((Box::new(seawall), started))
}

impl Seawall {
    /// The next packet of a pair.
    fn send(&mut self, number: u32, desk: &mut Desk<'_>) {
        let (source, size) = (self.streams.source_port(number), self.streams.load.size);
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        let Some(limiter) = self.sources.get_mut(pair.place.0) else { return };
        if desk.now.since(pair.heard) > PATIENCE {
            pair.heard = desk.now;
            limiter.silent(pair.place.1);
        }
        let rate = Rate::from_bits_per_s(limiter.rate(pair.place.1));
        pair.left = pair.left.saturating_sub(1);
        if pair.left == 0 {
            limiter.end(pair.place.1);
        }
        let at = desk.now + rate.time_for(u64::from(size) + HEADERS);
        let Some((stream, stamp)) = self.streams.next_then(number, at, desk) else { return };
        let udp = Transport::Udp { source, destination: self.port };
        let fill = |payload: &mut [u8]| stamp.write(payload);
        let mut frame = build(stream.route, udp, stamp.sequence as u16, size as usize, fill);
        set_ecn(&mut frame, CAPABLE);
        desk.send(number, Side::Sender, frame);
    }

    /// The receiver of a pair reports its counts, if there are any.
    fn report_counts(&mut self, number: u32, desk: &mut Desk<'_>) {
        let destination = self.streams.source_port(number);
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        let (counts, back) = (std::mem::take(&mut pair.counts), pair.back);
        if counts == Feedback::default() {
            return;
        }
        let bytes = counts.bytes();
        let udp = Transport::Udp { source: self.port, destination };
        let fill = |payload: &mut [u8]| payload.copy_from_slice(&bytes);
        desk.send(number, Side::Receiver, build(back, udp, 0, bytes.len(), fill));
    }
}

impl Feedback {
    /// Received, lost, and for each link its number and its marks, in 32 bits each.
    fn bytes(&self) -> Vec<u8> {
        let links = self.marks.iter().flat_map(|(link, count)| [u32::from(*link), *count]);
        [self.received, self.lost].into_iter().chain(links).flat_map(u32::to_be_bytes).collect()
    }

    fn read(bytes: &[u8]) -> Option<Feedback> {
        let mut words =
            bytes.chunks_exact(4).map(|word| word.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)));
        let (received, lost) = (words.next()?, words.next()?);
        let mut marks = vec![];
        while let (Some(link), Some(count)) = (words.next(), words.next()) {
            marks.push((u8::try_from(link).ok()?, count));
        }
        Some(Feedback { received, lost, marks })
    }

    /// Counts a packet with this byte of DSCP and ECN.
    fn count(&mut self, traffic_class: u8) {
        self.received += 1;
        let (link, ecn) = (traffic_class >> 2, traffic_class & 3);
        if ecn != MARKED {
            return;
        }
        if let Some((_, count)) = self.marks.iter_mut().find(|(number, _)| *number == link) {
            *count += 1;
        } else if self.marks.len() < MOST_LINKS {
            self.marks.push((link, 1));
        }
    }
}

impl HostProgram for Seawall {
    fn tick(&mut self, timer: u32, desk: &mut Desk<'_>) {
        let pairs = self.pairs.len() as u32;
        if timer < pairs {
            return self.send(timer, desk);
        }
        match timer.checked_sub(2 * pairs) {
            None => self.report_counts(timer - pairs, desk),
            Some(source) => {
                if let Some(source) = self.sources.get_mut(source as usize) {
                    source.end_period();
                }
            }
        }
        if self.streams.is_active() {
            desk.wake(timer, desk.now + PERIOD);
        }
    }

    fn frame(&mut self, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken {
        if let (None, Some(Side::Sender), Some((_, payload))) =
            (arrival.stamp, arrival.side, arrival.transport)
        {
            let (Some(pair), Some(feedback)) =
                (self.pairs.get_mut(arrival.pair as usize), Feedback::read(payload))
            else {
                return Taken::Unused(Unused::PayloadChanged);
            };
            pair.heard = desk.now;
            self.marks += feedback.marks.iter().map(|(_, count)| u64::from(*count)).sum::<u64>();
            self.losses += u64::from(feedback.lost);
            if let Some(source) = self.sources.get_mut(pair.place.0) {
                source.heard(pair.place.1, &feedback);
            }
            return Taken::Used;
        }
        let taken = self.streams.receive(self.port, arrival, desk);
        if let (Taken::Received(sequence), Some(packet), Some(pair)) =
            (taken, arrival.packet, self.pairs.get_mut(arrival.pair as usize))
        {
            pair.counts.lost += sequence.saturating_sub(pair.next);
            pair.next = pair.next.max(sequence.saturating_add(1));
            pair.counts.count(packet.header.get(1).copied().unwrap_or_default());
        }
        taken
    }

    fn is_active(&self) -> bool {
        self.streams.is_active()
    }

    fn report(&self, _: Time) -> Report {
        Report { measures: vec![("marks", self.marks), ("losses", self.losses)], ..Report::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_by_link() {
        let mut counts = Feedback::default();
        // Links 1 and 5 mark, one packet is not marked, and more links than a report has.
        for class in
            [1 << 2 | 3, 5 << 2 | 3, 1 << 2 | 3, 2].into_iter().chain((10..20).map(|link| link << 2 | 3))
        {
            counts.count(class);
        }
        assert_eq!((counts.received, counts.marks.len()), (14, MOST_LINKS));
        assert_eq!(counts.marks[..3], [(1, 2), (5, 1), (10, 1)]);
        counts.lost = 3;
        assert_eq!(Feedback::read(&counts.bytes()), Some(counts.clone()));
        // A cut report has the links that are complete.
        assert_eq!(Feedback::read(&counts.bytes()[..20]).unwrap().marks, [(1, 2)]);
        assert_eq!(Feedback::read(&[0; 7]), None);
    }
}
