//! Shared part of programs whose pairs send numbered packets and count each at the receiver.

use crate::kind::Load;
use crate::packet::{Route, Transport};
use crate::program::{Arrival, Desk, Setup, Side, Started, Taken};
use crate::source::{Pace, Source};
use crate::stamp::Stamp;
use crate::tally::{Came, Tally};
use crate::unused::Unused;
use base_time::{Rng, Time};

/// The source port of UDP workloads of one flow is this plus the pair's number, as far as ports go.
const FIRST_SOURCE_PORT: u16 = 49_152;

/// The pairs of a workload. Timer `n` is that of pair `n`.
pub struct Streams {
    /// Keys of the rack file.
    pub load: Load,
    /// The number of the first pair among those of all workloads.
    pub first: u32,
    pairs: Vec<Stream>,
    /// Pairs that have something left to send.
    sending: u32,
}

/// A pair.
pub struct Stream {
    /// From the sender to the receiver.
    pub route: Route,
    source: Source,
    /// Packets sent so far.
    sent: u64,
    /// One bit for each of the first 64 sequence numbers.
    seen: u64,
    highest: Option<u32>,
    more: Option<Box<More>>,
}

/// State that only few pairs need.
#[derive(Default)]
struct More {
    /// One bit for each sequence number from 64 on.
    seen: Vec<u64>,
}

// All-to-all among 1,024 hosts are a million of them: their size determines the memory and the time.
const _: () = assert!(size_of::<Stream>() <= 96);

impl Streams {
    /// All pairs, with the timers of their first packets.
    pub fn start(setup: &Setup<'_>, pace: Pace) -> (Streams, Started) {
        let load = setup.load;
        let mut started = Started::default();
        let mut sending = 0;
        let stream = |(pair, at): (&crate::program::Pair, u32)| {
            let chance = setup.chance.split_index(u64::from(at));
            let shift = load.stagger * u64::from(at);
            let source = Source::new(load, pace, shift, chance.split("gaps"));
            if load.count > 0 {
                sending += 1;
                started.wakes.push((at, source.next()));
            }
            Stream { route: pair.route, source, sent: 0, seen: 0, highest: None, more: None }
        };
        let pairs = setup.pairs.iter().zip(0..).map(stream).collect();
        (Streams { load: load.clone(), first: setup.first, pairs, sending }, started)
    }

    /// The pairs' random generators for everything but the times of sending.
    pub fn chances<'s>(setup: &'s Setup<'_>, label: &'static str) -> impl Iterator<Item = Rng> + 's {
        (0..setup.pairs.len() as u64).map(move |at| setup.chance.split_index(at).split(label))
    }

    /// True while something is left to send.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.sending > 0
    }

    /// A pair sends its next packet now: the stamp of that. Its timer is set again if one is left.
    #[inline]
    pub fn next(&mut self, pair: u32, desk: &mut Desk<'_>) -> Option<(&Stream, Stamp)> {
        let stream = self.pairs.get_mut(pair as usize)?;
        stream.source.advance(&self.load);
        let at = stream.source.next();
        self.next_then(pair, at, desk)
    }

    /// [`Streams::next`], with the packet after it at a time of the program's own.
    #[inline]
    pub fn next_then(&mut self, pair: u32, at: Time, desk: &mut Desk<'_>) -> Option<(&Stream, Stamp)> {
        let stream = self.pairs.get_mut(pair as usize)?;
        let sequence = stream.sent as u32;
        stream.sent += 1;
        desk.tally.sent += 1;
        match stream.sent < self.load.count {
            true => desk.wake(pair, at),
            false => self.sending -= 1,
        }
        Some((stream, Stamp { flow: self.first + pair, sequence, sent: desk.now }))
    }

    /// The port that a pair's packets come from, unless they are of many flows.
    pub fn source_port(&self, pair: u32) -> u16 {
        FIRST_SOURCE_PORT.saturating_add((self.first + pair) as u16)
    }

    /// A packet came to a receiver: one of a pair's UDP packets to this port counts, any other one is not of use.
    pub fn receive(&mut self, port: u16, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken {
        let (Some(stamp), Some((transport, payload)), Some(Side::Receiver)) =
            (arrival.stamp, arrival.transport, arrival.side)
        else {
            return Taken::Unused(Unused::NoReceiver);
        };
        let fits = matches!(transport, Transport::Udp { destination, .. } if destination == port);
        let size = self.load.size;
        match self.check(arrival.pair, (fits, size), desk, (stamp, payload)) {
            Err(reason) => Taken::Unused(reason),
            Ok(()) => {
                self.count(arrival.pair, stamp, size, desk.tally, desk.now);
                Taken::Received(stamp.sequence)
            }
        }
    }

    /// Checks that a stamped packet is the one that its pair has sent: ports or identifier, length and payload.
    /// Otherwise it counts as corrupt.
    pub fn check(
        &self,
        pair: u32,
        (fits, size): (bool, u32),
        desk: &mut Desk<'_>,
        (stamp, payload): (Stamp, &[u8]),
    ) -> Result<(), Unused> {
        let sent = self.pairs.get(pair as usize).map_or(0, |stream| stream.sent);
        let is_known = u64::from(stamp.sequence) < sent && stamp.sent <= desk.now;
        if fits && is_known && payload.len() == size as usize && stamp.rest_is_sound(payload) {
            return Ok(());
        }
        let reason = if fits { Unused::PayloadChanged } else { Unused::PortsChanged };
        desk.tally.corrupt(reason);
        Err(reason)
    }

    /// Counts a received packet of a pair with `bytes` bytes of payload.
    pub fn count(&mut self, pair: u32, stamp: Stamp, bytes: u32, tally: &mut Tally, now: Time) {
        if let Some(stream) = self.pairs.get_mut(pair as usize) {
            stream.count(stamp, bytes, tally, now);
        }
    }
}

impl Stream {
    fn count(&mut self, stamp: Stamp, bytes: u32, tally: &mut Tally, now: Time) {
        let (word, bit) = (stamp.sequence as usize / 64, 1 << (stamp.sequence % 64));
        let seen = match word.checked_sub(1) {
            None => &mut self.seen,
            Some(other) => {
                let others = &mut self.more.get_or_insert_default().seen;
                if word > others.len() {
                    others.resize(word, 0);
                }
                others.get_mut(other).unwrap_or(&mut self.seen)
            }
        };
        if *seen & bit != 0 {
            tally.duplicated += 1;
            return;
        }
        *seen |= bit;
        tally.reordered += u64::from(self.highest.is_some_and(|highest| highest > stamp.sequence));
        self.highest = self.highest.max(Some(stamp.sequence));
        tally.done(Came { flow: stamp.flow, sequence: stamp.sequence, sent: stamp.sent, at: now });
        tally.arrived(bytes.into(), now);
    }
}
