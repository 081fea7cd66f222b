//! The sending half of a transfer: paced by what comes back ([`Control`]), with lost pieces sent again.
//!
//! Each packet is a *transmission* with a number that its acknowledgement repeats. Paths keep the order of packets, so transmissions are lost when
//! [`SURE`] later ones have been acknowledged, or at a timeout.

use super::control::{Control, Flight, Words};
use super::header::{DATA, END, REF, SYN};
use base_time::{Duration, Time};
use std::collections::VecDeque;

/// Later transmissions that make a loss sure.
const SURE: usize = 3;
/// The least timeout, and the one before a round trip is known.
const LEAST_TIMEOUT: Duration = Duration::from_ms(2);
const FIRST_TIMEOUT: Duration = Duration::from_ms(20);
/// Doublings of a timeout at most.
const MOST_DOUBLED: u32 = 6;

/// A packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Next {
    pub flags: u8,
    /// The piece of data, if there is one.
    pub piece: Option<u32>,
    pub transmission: u32,
    pub words: Words,
    pub trip_us: u32,
}

/// The sender of a transfer of so many pieces.
#[derive(Debug)]
pub(super) struct Sender {
    pieces: u32,
    /// The first piece that was never sent, and pieces to send again.
    fresh: u32,
    lost: VecDeque<u32>,
    acknowledged: Vec<bool>,
    left: u32,
    /// Transmissions in order; the first has number `first`.
    flight: VecDeque<Transmission>,
    first: u32,
    bytes_in_flight: u64,
    control: Control,
    /// Smoothed round trip and its mean deviation.
    trip: Option<(Duration, Duration)>,
    /// When any packet was sent, and when something was acknowledged.
    sent: Time,
    heard: Time,
    doubled: u32,
    pub counts: Counts,
}

/// Counts of a sender.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Counts {
    pub resent: u64,
    pub timeouts: u64,
    pub requests: u64,
}

#[derive(Clone, Copy, Debug)]
struct Transmission {
    piece: Option<u32>,
    at: Time,
    bytes: u64,
    /// Words and round trip that it had.
    words: Words,
    trip_us: u32,
    /// True of a request for a rate.
    asks: bool,
    is_over: bool,
}

impl Sender {
    /// A transfer that begins now.
    pub fn new(pieces: u32, control: Control, now: Time) -> Sender {
        Sender {
            pieces,
            fresh: 0,
            lost: VecDeque::new(),
            acknowledged: vec![false; pieces as usize],
            left: pieces,
            flight: VecDeque::new(),
            first: 0,
            bytes_in_flight: 0,
            control,
            trip: None,
            sent: now,
            heard: now,
            doubled: 0,
            counts: Counts::default(),
        }
    }

    /// True if every piece was acknowledged.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// When something new was acknowledged last.
    pub fn heard(&self) -> Time {
        self.heard
    }

    /// The smoothed round trip in whole microseconds; 0 if it is unknown.
    fn trip_us(&self) -> u32 {
        self.trip.map_or(0, |(trip, _)| u32::try_from(trip.as_us().max(1)).unwrap_or(u32::MAX))
    }

    /// A transmission was acknowledged, with these words.
    pub fn acknowledged(&mut self, transmission: u32, words: Words, now: Time) {
        let Some(index) = transmission.checked_sub(self.first).map(|index| index as usize) else { return };
        let Some(found) = self.flight.get_mut(index).filter(|found| !found.is_over) else { return };
        found.is_over = true;
        self.bytes_in_flight -= found.bytes;
        let (piece, at, asks) = (found.piece, found.at, found.asks);
        self.control.answered((found.words, found.trip_us, found.bytes), words);
        if asks {
            self.control.granted(words);
        }
        self.add_trip(now.since(at));
        (self.heard, self.doubled) = (now, 0);
        if let Some(known) = piece.and_then(|piece| self.acknowledged.get_mut(piece as usize))
            && !std::mem::replace(known, true)
        {
            self.left -= 1;
        }
        let mut has_lost = false;
        for before in 0..index.saturating_sub(SURE - 1) {
            has_lost |= self.lose(before);
        }
        if has_lost {
            self.control.lost(self.span(), false, now);
        }
        while self.flight.front().is_some_and(|front| front.is_over) {
            self.flight.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    fn add_trip(&mut self, sample: Duration) {
        self.trip = Some(match self.trip {
            None => (sample, sample.scaled(1, 2)),
            Some((trip, deviation)) => {
                let off = trip.max(sample) - trip.min(sample);
                (trip.scaled(7, 8) + sample.scaled(1, 8), deviation.scaled(3, 4) + off.scaled(1, 4))
            }
        });
    }

    /// The round trip, as far as it is known.
    fn span(&self) -> Duration {
        self.trip.map_or(Duration::ZERO, |(trip, _)| trip)
    }

    /// The piece of a transmission in flight will be sent again. False of one that is not in flight.
    fn lose(&mut self, index: usize) -> bool {
        let Some(found) = self.flight.get_mut(index).filter(|found| !found.is_over) else { return false };
        found.is_over = true;
        self.bytes_in_flight -= found.bytes;
        let (piece, asks) = (found.piece, found.asks);
        if asks {
            self.control.unanswered();
        }
        if let Some(piece) = piece
            && self.acknowledged.get(piece as usize) == Some(&false)
        {
            self.lost.push_back(piece);
        }
        true
    }

    /// The packet to send now, or else when it wants to send next: [`Time::MAX`] if it waits for nothing. `bytes` is the length of a frame with
    /// a piece.
    pub fn next(&mut self, bytes: impl Fn(Option<u32>) -> u64, now: Time) -> Result<Next, Time> {
        if self.is_done() {
            return Err(Time::MAX);
        }
        let mut timeout = self.timeout();
        if timeout <= now {
            self.counts.timeouts += 1;
            self.doubled += 1;
            (0..self.flight.len()).for_each(|index| {
                self.lose(index);
            });
            self.control.lost(self.span(), true, now);
            self.first = self.first.wrapping_add(self.flight.len() as u32);
            self.flight.clear();
            timeout = Time::MAX;
        }
        if !self.control.is_open() {
            let is_silent = self.flight.is_empty();
            return if is_silent { Ok(self.send(SYN, None, bytes(None), now)) } else { Err(timeout) };
        }
        while self.lost.front().is_some_and(|piece| self.acknowledged.get(*piece as usize) != Some(&false)) {
            self.lost.pop_front();
        }
        let data = self.data_due();
        if data <= now {
            let again = self.lost.pop_front();
            let piece = again.unwrap_or(self.fresh);
            self.counts.resent += u64::from(again.is_some());
            self.fresh += u32::from(again.is_none());
            let length = bytes(Some(piece));
            self.control.sent(now, length);
            let asks = self.control.asks_from(self.span(), self.unsent()).is_some_and(|at| at <= now);
            let flags = if asks { DATA | REF } else { DATA };
            return Ok(self.send(flags, Some(piece), length, now));
        }
        let request = self.request_due(data);
        if request <= now {
            self.counts.requests += 1;
            return Ok(self.send(REF, None, bytes(None), now));
        }
        if self.unsent() == 0 && self.control.may_end() {
            return Ok(self.send(END, None, bytes(None), now));
        }
        Err(data.min(request).min(timeout))
    }

    fn send(&mut self, flags: u8, piece: Option<u32>, bytes: u64, now: Time) -> Next {
        let transmission = self.first.wrapping_add(self.flight.len() as u32);
        let trip_us = self.trip_us();
        let asks = flags != END && flags & (SYN | REF) != 0;
        let words = match flags {
            END => self.control.end(),
            _ if asks => self.control.request(trip_us, bytes, self.left, now),
            _ => self.control.words(trip_us, bytes, self.left),
        };
        self.flight.push_back(Transmission { piece, at: now, bytes, words, trip_us, asks, is_over: false });
        self.bytes_in_flight += bytes;
        self.sent = now;
        Next { flags, piece, transmission, words, trip_us }
    }

    /// The last packet of a transfer that is over, if switches do not know of its end.
    pub fn end(&mut self, now: Time) -> Option<Next> {
        self.control.is_held().then(|| self.send(END, None, 0, now))
    }

    /// Pieces to send, for the first time or again.
    fn unsent(&self) -> u32 {
        self.pieces - self.fresh + self.lost.len() as u32
    }

    /// When the next piece goes; [`Time::MAX`] if none is left or may go.
    #[inline]
    fn data_due(&self) -> Time {
        let (Some((trip, _)), false) = (self.trip, self.lost.is_empty() && self.fresh >= self.pieces) else {
            return Time::MAX;
        };
        let flight = Flight { packets: self.flight.len(), bytes: self.bytes_in_flight };
        self.control.due(flight, trip, self.heard).unwrap_or(Time::MAX)
    }

    /// When the sender asks for the rate with a packet without data, if the next piece goes later, at `data`; else [`Time::MAX`].
    #[inline]
    fn request_due(&self, data: Time) -> Time {
        match self.trip {
            Some((trip, _)) if data < Time::MAX => {
                self.control.asks_alone(trip, self.unsent(), (self.sent, data)).unwrap_or(Time::MAX)
            }
            _ => Time::MAX,
        }
    }

    /// When what is under way counts as lost; [`Time::MAX`] of nothing.
    #[inline]
    fn timeout(&self) -> Time {
        let Some(oldest) = self.flight.front() else { return Time::MAX };
        let span = match self.trip {
            None => FIRST_TIMEOUT,
            Some((trip, deviation)) => (trip * 2 + deviation * 4).max(LEAST_TIMEOUT),
        };
        oldest.at.max(self.heard) + span * (1 << self.doubled.min(MOST_DOUBLED))
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::Protocol;
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// 1000 bytes for a piece: 10 us at 800 Mbit/s.
    fn bytes(piece: Option<u32>) -> u64 {
        if piece.is_some() { 1000 } else { 66 }
    }

    impl Sender {
        /// When it wants to send next, at any time.
        fn deadline(&self) -> Option<Time> {
            let is_new = !self.control.is_open() && self.flight.is_empty();
            let data = self.data_due();
            let at =
                [if is_new { self.sent } else { Time::MAX }, data, self.request_due(data), self.timeout()];
            at.into_iter().min().filter(|at| !self.is_done() && *at < Time::MAX)
        }

        /// When it wants to send next, as it says where it has nothing to send.
        fn silent(&mut self, now: Time) -> Option<Time> {
            self.next(bytes, now).err().filter(|at| *at < Time::MAX)
        }
    }

    fn open(pieces: u32) -> Sender {
        let mut sender = Sender::new(pieces, Control::new(Protocol::Rcp, 0, 1000, at(0)), at(0));
        let next = sender.next(bytes, at(0)).unwrap();
        assert_eq!((next.flags, next.piece, next.transmission), (SYN, None, 0));
        assert_eq!(sender.silent(at(50)), sender.deadline());
        sender.acknowledged(0, [0, 800_000, 0, 0], at(100));
        sender
    }

    #[test]
    fn the_rate_that_comes_back_is_the_pace() {
        let mut sender = open(100);
        assert_eq!(sender.trip_us(), 100);
        assert_eq!(sender.next(bytes, at(100)).unwrap().piece, Some(0));
        assert_eq!(sender.silent(at(100)), sender.deadline());
        assert_eq!(sender.deadline(), Some(at(110)));
        assert_eq!(sender.next(bytes, at(110)).unwrap().piece, Some(1));
        // A new rate holds at once: 5 us for a piece.
        sender.acknowledged(1, [0, 1_600_000, 0, 0], at(112));
        assert_eq!(sender.deadline(), Some(at(115)));
        // And a low one: a request goes first, a round trip after the last packet.
        sender.acknowledged(2, [0, 800, 0, 0], at(113));
        let trip = u64::from(sender.trip_us());
        assert!(sender.deadline().unwrap() <= at(111 + trip));
        assert_eq!(sender.next(bytes, at(112 + trip)).unwrap().flags, REF);
    }

    #[test]
    fn lost_pieces_are_sent_again_and_the_end_is_found_by_a_timeout() {
        let mut sender = open(5);
        let mut sent = vec![];
        for us in (100..150).step_by(10) {
            sent.push(sender.next(bytes, at(us)).unwrap());
        }
        // The first is lost, and the last.
        for (sent, us) in sent[1..4].iter().zip(200..) {
            sender.acknowledged(sent.transmission, [0, 800_000, 0, 0], at(us));
        }
        let next = sender.next(bytes, at(204)).unwrap();
        assert_eq!((next.flags, next.piece, next.transmission), (DATA, Some(0), 6));
        sender.acknowledged(6, [0, 800_000, 0, 0], at(300));
        let timeout = sender.deadline().unwrap();
        assert!(timeout >= at(2300), "{timeout}");
        assert_eq!(sender.next(bytes, timeout).unwrap().piece, Some(4));
        assert!(!sender.is_done());
        sender.acknowledged(7, [0, 800_000, 0, 0], timeout);
        assert!(sender.is_done() && sender.deadline().is_none());
        assert_eq!(sender.counts, Counts { resent: 2, timeouts: 1, requests: 0 });
    }

    #[test]
    fn a_piece_is_lost_when_three_later_ones_have_come() {
        let mut sender = open(10);
        let sent = [100, 110, 120, 130, 140].map(|us| sender.next(bytes, at(us)).unwrap().piece);
        assert_eq!(sent, [0, 1, 2, 3, 4].map(Some));
        (2..4).for_each(|transmission| sender.acknowledged(transmission, [0, 800_000, 0, 0], at(200)));
        assert_eq!(sender.next(bytes, at(200)).unwrap().piece, Some(5), "one of two may have been overtaken");
        sender.acknowledged(4, [0, 800_000, 0, 0], at(210));
        assert_eq!(sender.next(bytes, at(210)).unwrap().piece, Some(0));
    }

    #[test]
    fn timeouts_double_until_something_is_acknowledged() {
        let mut sender = open(2);
        let mut both = |us| [us, us + 10].map(|us| sender.next(bytes, at(us)).unwrap().piece);
        assert_eq!(both(100), [Some(0), Some(1)]);
        assert_eq!(both(2100), [Some(0), Some(1)], "2 ms are the least");
        assert_eq!(sender.deadline(), Some(at(6100)));
        sender.acknowledged(3, [0, 800_000, 0, 0], at(2200));
        assert_eq!(sender.deadline(), Some(at(4200)));
    }

    #[test]
    fn acknowledgements_of_nothing_change_nothing() {
        let mut sender = open(2);
        for transmission in [0, 1, 77, u32::MAX] {
            sender.acknowledged(transmission, [0, 5, 0, 0], at(101));
        }
        assert_eq!(sender.next(bytes, at(100)).unwrap().piece, Some(0));
        assert_eq!(sender.deadline(), Some(at(110)));
    }

    #[test]
    fn without_acknowledgements_sending_stops() {
        let mut sender = open(100_000);
        // Twice 100 us at 10 us each, and one over.
        let sent = (0..100).filter(|n| sender.next(bytes, at(100 + 10 * n)).is_ok()).count();
        assert_eq!(sent, 21);
    }

    #[test]
    fn a_transfer_with_a_deadline_asks_once_in_a_round_trip() {
        let control = Control::new(Protocol::D3, 1_000_000, 1000, at(0)).with_deadline(Some(at(10_000)));
        let mut sender = Sender::new(100, control, at(0));
        let first = sender.next(bytes, at(0)).unwrap();
        assert_eq!((first.flags, first.words), (SYN, [1_000_000, 80_000, 0, 0]));
        sender.acknowledged(0, [0, 800_000, 0, 0], at(100));
        // Of two packets the first asks, and the second does not, as there is no answer yet.
        let sent = [100, 110].map(|us| sender.next(bytes, at(us)).unwrap());
        assert_eq!(sent.map(|next| next.flags), [DATA | REF, DATA]);
        // 100 pieces of 1,000 bytes are left, and 9.9 ms.
        assert_eq!(sent[0].words, [1_000_000, 80_809, 80_000, 800_000]);
        assert_eq!(sent[1].words, [0; 4]);
        sender.acknowledged(1, [0, 8_000, 0, 0], at(200));
        // The next piece goes a millisecond after the last: a request goes alone.
        assert_eq!(sender.silent(at(224)), sender.deadline());
        assert_eq!(sender.deadline(), Some(at(225)));
        assert_eq!(sender.next(bytes, at(225)).unwrap().flags, REF);
        let end = sender.end(at(226)).unwrap();
        assert_eq!((end.flags, end.words), (END, [0, 0, 80_809, 8_000]));
        assert_eq!(sender.end(at(226)), None);
    }

    #[test]
    fn a_transfer_ends_for_switches_when_its_last_request_is_answered_or_lost() {
        for is_answered in [true, false] {
            let mut sender = Sender::new(12, Control::new(Protocol::D3, 1_000_000, 1000, at(0)), at(0));
            sender.next(bytes, at(0)).unwrap();
            sender.acknowledged(0, [0, 800_000, 0, 0], at(100));
            let flags: Vec<u8> =
                (100..220).step_by(10).map(|us| sender.next(bytes, at(us)).unwrap().flags).collect();
            assert!(flags[0] == DATA | REF && flags[1..] == [DATA; 11], "{flags:?}");
            assert_eq!(sender.silent(at(220)), sender.deadline(), "what it has is not known yet");
            let granted = if is_answered {
                sender.acknowledged(1, [0, 400_000, 0, 0], at(230));
                400_000
            } else {
                (2..5).for_each(|transmission| sender.acknowledged(transmission, [0, 7, 0, 0], at(230)));
                assert_eq!(sender.next(bytes, at(230)).unwrap().piece, Some(0));
                800_000
            };
            let end = sender.next(bytes, at(240)).unwrap();
            assert_eq!((end.flags, end.words), (END, [0, 0, 0, granted]));
        }
    }

    #[test]
    fn a_transfer_ends_for_switches_when_everything_is_sent() {
        let mut sender = Sender::new(3, Control::new(Protocol::D3, 1_000_000, 1000, at(0)), at(0));
        sender.next(bytes, at(0)).unwrap();
        sender.acknowledged(0, [0, 800_000, 0, 0], at(100));
        // Three packets take less than a round trip: none asks.
        let sent = [100, 110, 120].map(|us| sender.next(bytes, at(us)).unwrap().flags);
        assert_eq!(sent, [DATA; 3]);
        let end = sender.next(bytes, at(120)).unwrap();
        assert_eq!((end.flags, end.transmission, end.words), (END, 4, [0, 0, 0, 800_000]));
        assert_eq!((sender.silent(at(120)), sender.end(at(120))), (sender.deadline(), None));
        // A lost piece goes again without a request, and its acknowledgement is no answer to one.
        (2..5).for_each(|transmission| sender.acknowledged(transmission, [0, 7, 0, 0], at(200)));
        let again = sender.next(bytes, at(200)).unwrap();
        assert_eq!((again.flags, again.piece, again.transmission), (DATA, Some(0), 5));
        sender.acknowledged(5, [0, 7, 0, 0], at(300));
        assert!(sender.is_done() && sender.end(at(300)).is_none());
    }
}
