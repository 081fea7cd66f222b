//! The sending half of a connection: segments in flight, lost segments, and the window.
//!
//! | what | from |
//! |---|---|
//! | the scoreboard of selective acknowledgements, and sending during recovery | RFC 2018, RFC 6675 |
//! | losses found by time: a segment is lost if one that was sent later has arrived, and a round trip has passed | RACK, RFC 8985 |
//! | a probe two round trips after the last segment, for losses at the end | TLP, RFC 8985 |
//! | the retransmission timer | RFC 6298 |
//! | the congestion window | [`window`](super::window) |
//! | at most one reduction in a round trip for echoes of ECN | RFC 3168, RFC 8257 |
//! | new segments for the first acknowledgements out of order | RFC 3042, which the scoreboard includes |
//!
//! A transfer is cut into segments once; they are known by their number, and sent again as they are. The last one ends the stream.

use super::round_trip::RoundTrip;
use super::window::{Congestion, Window};
use base_time::{Duration, Time};
use std::collections::VecDeque;

/// Minimum of the timers for probes and for reordered segments: timers of hosts are coarse. As in Linux.
const LEAST_TIMER: Duration = Duration::from_ms(2);
/// Segments out of order that make a loss sure without waiting.
const SURE: u32 = 3;
/// Longest delay of an acknowledgement by the receiver.
pub(super) const MOST_DELAYED_ACK: Duration = Duration::from_ms(40);

/// The sender of a transfer. Offsets are bytes of the stream from 0; the end of the stream counts as one more byte.
#[derive(Debug)]
pub(super) struct Sender {
    mss: u32,
    length: u32,
    /// Number of segments, at least 1.
    count: u32,
    /// The segments that were sent and not acknowledged; the first is number `first`.
    segments: VecDeque<Segment>,
    first: u32,
    /// Among segments in flight: the number received out of order, and the number lost and not sent again.
    sacked: u32,
    lost: u32,
    /// The highest segment of which the receiver has said that it came out of order, and one.
    sacked_up_to: u32,
    /// End of the receiver's window, as an offset in the stream.
    allowed: u64,
    window: Window,
    /// The congestion window, and nothing else, has kept a segment back.
    is_limited: bool,
    phase: Phase,
    /// Segments are paced. The next one may be sent from then on; set while it waits for that alone.
    is_paced: bool,
    pace: Time,
    waits: Option<Time>,
    pub trip: RoundTrip,
    round: Round,
    /// The window was reduced for an echo of ECN when this was the next segment.
    reduced_at: u32,
    /// The receiver does not know of that yet.
    owes_reduced: bool,
    newest: Newest,
    /// Segments have overtaken others.
    reorders: bool,
    /// Expiry of the retransmission timer, the probe timer and the reordering timer.
    timeout: Option<Time>,
    probe: Option<Time>,
    overtaken: Option<Time>,
    /// The number after the last segment when the last one was sent again as a probe; none if no such probe is out.
    probed: Option<u32>,
    pub counts: Counts,
}

/// Counts of a connection's reactions to losses.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Counts {
    pub resent: u64,
    pub timeouts: u64,
    pub probes: u64,
    /// Acknowledgements with an echo of ECN, and reductions of the window for them.
    pub echoes: u64,
    pub reductions: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.resent += other.resent;
        self.timeouts += other.timeouts;
        self.probes += other.probes;
        self.echoes += other.echoes;
        self.reductions += other.reductions;
    }
}

/// Acknowledgements since the segment before `end` was sent last.
#[derive(Clone, Copy, Default, Debug)]
struct Round {
    end: u32,
    acknowledged: u32,
    echoed: u32,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    /// When it was sent last.
    at: Time,
    was_resent: bool,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Flying,
    Sacked,
    Lost,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Open,
    /// After a loss, until this segment is the first that is not acknowledged.
    Recovery(u32),
    /// After a timeout, likewise.
    Timeout(u32),
}

/// The most recently sent segment among those that arrived: time of sending, number, round trip.
#[derive(Clone, Copy, Default, Debug)]
struct Newest {
    sent: (Time, u32),
    trip: Duration,
}

/// The earliest of some times; [`Time::MAX`] of none.
#[inline]
pub(super) fn earliest<const N: usize>(times: [Option<Time>; N]) -> Time {
    times.into_iter().fold(Time::MAX, |earliest, at| earliest.min(at.unwrap_or(Time::MAX)))
}

/// A segment to be sent: its number among all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Number(pub u32);

impl Sender {
    /// A stream of `length` bytes in segments of `mss`; the receiver takes `allowed` bytes. Both are at least 1.
    pub fn new(length: u32, mss: u32, allowed: u64, trip: RoundTrip, congestion: Congestion) -> Sender {
        let mss = mss.max(1);
        Sender {
            mss,
            length,
            count: length.div_ceil(mss).max(1),
            segments: VecDeque::new(),
            first: 0,
            sacked: 0,
            lost: 0,
            sacked_up_to: 0,
            allowed,
            window: Window::new(mss, congestion),
            is_limited: false,
            phase: Phase::Open,
            is_paced: false,
            pace: Time::ZERO,
            waits: None,
            trip,
            round: Round::default(),
            reduced_at: 0,
            owes_reduced: false,
            newest: Newest::default(),
            reorders: false,
            timeout: None,
            probe: None,
            overtaken: None,
            probed: None,
            counts: Counts::default(),
        }
    }

    /// Sends segments evenly over a round trip from now on.
    pub fn paced(self, is_paced: bool) -> Sender {
        Sender { is_paced, ..self }
    }

    /// Range of a segment in the stream, and whether it is the last.
    pub fn range(&self, Number(number): Number) -> (u32, u32, bool) {
        let from = number.saturating_mul(self.mss).min(self.length);
        let to = from.saturating_add(self.mss).min(self.length);
        (from, to, number + 1 >= self.count)
    }

    /// The last segment that was sent, as [`range`](Self::range) has it; of none the beginning.
    pub fn sent_up_to(&self) -> (u32, u32, bool) {
        match (self.first + self.segments.len() as u32).checked_sub(1) {
            Some(last) => self.range(Number(last)),
            None => (0, 0, false),
        }
    }

    /// The receiver has everything and the end.
    pub fn is_done(&self) -> bool {
        self.first >= self.count
    }

    /// When a timer runs out.
    pub fn deadline(&self) -> Option<Time> {
        let at = earliest([self.timeout, self.probe, self.overtaken, self.waits]);
        (at < Time::MAX).then_some(at)
    }

    /// An acknowledgement: the receiver has everything up to `offset`, and the ranges in `sacks`; it accepts `window`
    /// bytes from there on. With an echo of ECN if it `is_echo`. True if it has more than before.
    pub fn acknowledged(
        &mut self,
        offset: u32,
        sacks: &[(u32, u32)],
        window: u64,
        is_echo: bool,
        now: Time,
    ) -> bool {
        self.allowed = self.allowed.max(u64::from(offset) + window);
        let before = (self.first, self.sacked);
        let upto = self.segments_up_to(offset);
        let delivered = self.take_first(upto, now);
        sacks.iter().for_each(|(from, to)| self.mark(*from, *to, now));
        let has_progress = self.first > before.0;
        if has_progress {
            self.trip.progress();
            self.timeout = None;
        }
        self.judge_probe(has_progress || self.sacked > before.1);
        self.leave_phase();
        self.count_echoes(self.first - before.0, is_echo);
        if has_progress && self.is_limited {
            self.grow(delivered, now);
        }
        self.find_losses(now);
        if has_progress {
            self.probe = None;
            self.plan(now);
        } else if self.sacked > 0 {
            self.probe = None;
        }
        has_progress
    }

    /// The next segment is the first since the window was reduced for an echo of ECN; asked for once.
    pub fn takes_reduced(&mut self) -> bool {
        std::mem::take(&mut self.owes_reduced)
    }

    /// A segment in flight has been sent more than once.
    pub fn was_resent(&self, Number(number): Number) -> bool {
        let segment = number.checked_sub(self.first).and_then(|at| self.segments.get(at as usize));
        segment.is_some_and(|segment| segment.was_resent)
    }

    /// Handles expired timers.
    pub fn tick(&mut self, now: Time) -> Option<Number> {
        if self.overtaken.is_some_and(|at| at <= now) {
            self.overtaken = None;
            self.find_losses(now);
        }
        if self.timeout.is_some_and(|at| at <= now) {
            self.time_out(now);
        }
        if self.probe.is_some_and(|at| at <= now) {
            self.probe = None;
            return self.send_probe(now);
        }
        None
    }

    /// The next segment that may be sent now; it counts as in flight afterwards.
    pub fn next(&mut self, now: Time) -> Option<Number> {
        let flying = self.segments.len() as u64 - u64::from(self.sacked + self.lost);
        let has_room = self.window.has_room(flying);
        let next = self.first + self.segments.len() as u32;
        let has_new = next < self.count && self.is_allowed(next);
        self.waits = None;
        if !has_room {
            self.is_limited = true;
            return None;
        }
        if self.is_paced && now < self.pace && (self.lost > 0 || has_new) {
            self.waits = Some(self.pace);
            return None;
        }
        // Lost segments are sent before new data (RFC 6675, NextSeg).
        if self.lost > 0
            && let Some(at) = self.segments.iter().position(|segment| segment.state == State::Lost)
        {
            self.lost -= 1;
            self.resend(at, now);
            self.keep_pace(now);
            self.plan(now);
            return Some(Number(self.first + at as u32));
        }
        if !has_new {
            self.is_limited = false;
            return None;
        }
        self.push(now);
        self.keep_pace(now);
        self.probe = None;
        self.plan(now);
        Some(Number(next))
    }

    fn keep_pace(&mut self, now: Time) {
        if let (true, Some(trip)) = (self.is_paced, self.trip.smoothed()) {
            self.pace = now + self.window.gap(trip);
        }
    }

    fn is_allowed(&self, number: u32) -> bool {
        u64::from(self.range(Number(number)).1) <= self.allowed
    }

    fn push(&mut self, now: Time) {
        self.segments.push_back(Segment { at: now, was_resent: false, state: State::Flying });
    }

    fn resend(&mut self, at: usize, now: Time) {
        self.segments[at] = Segment { at: now, was_resent: true, state: State::Flying };
        self.counts.resent += 1;
    }

    /// Number of segments that end at or before `offset`.
    fn segments_up_to(&self, offset: u32) -> u32 {
        let next = self.first + self.segments.len() as u32;
        let whole = if offset > self.length { self.count } else { (offset / self.mss).min(self.count - 1) };
        whole.min(next)
    }

    /// The segments before `upto` have arrived: how many are known to have only now.
    fn take_first(&mut self, upto: u32, now: Time) -> u32 {
        let (mut delivered, mut latest) = (0, None);
        while self.first < upto
            && let Some(segment) = self.segments.pop_front()
        {
            match segment.state {
                State::Sacked => self.sacked -= 1,
                State::Lost => self.lost -= 1,
                State::Flying => {}
            }
            if segment.state != State::Sacked {
                delivered += 1;
                // Only segments that were sent once give a round-trip time (Karn's algorithm).
                if !segment.was_resent {
                    latest = Some(segment.at);
                    self.reorders |= self.first + 1 < self.sacked_up_to;
                }
                self.arrived(segment, self.first, now);
            }
            self.first += 1;
        }
        if let Some(at) = latest {
            self.trip.add(now.since(at));
        }
        delivered
    }

    /// The bytes from `from` to `to` have come out of order.
    fn mark(&mut self, from: u32, to: u32, now: Time) {
        let (from, to) = (from.div_ceil(self.mss).max(self.first), self.segments_up_to(to));
        let highest = self.sacked_up_to;
        for number in from..to {
            let Some(segment) = self.segments.get_mut((number - self.first) as usize) else { return };
            if segment.state == State::Sacked {
                continue;
            }
            if segment.state == State::Lost {
                self.lost -= 1;
            }
            segment.state = State::Sacked;
            self.sacked += 1;
            self.sacked_up_to = self.sacked_up_to.max(number + 1);
            let segment = *segment;
            self.reorders |= !segment.was_resent && number + 1 < highest;
            self.arrived(segment, number, now);
        }
    }

    /// RACK: updates the most recently sent segment among those that arrived.
    fn arrived(&mut self, segment: Segment, number: u32, now: Time) {
        let trip = now.since(segment.at);
        // An acknowledgement that comes too soon is of the first of two.
        if segment.was_resent && trip < self.trip.least() {
            return;
        }
        if (segment.at, number) >= self.newest.sent {
            self.newest = Newest { sent: (segment.at, number), trip };
        }
    }

    /// Time by which segments may be late: zero if no reordering was seen and a loss is likely.
    fn patience(&self) -> Duration {
        let is_sure = self.sacked >= SURE || self.phase != Phase::Open;
        match is_sure && !self.reorders {
            true => Duration::ZERO,
            false => self.trip.least().scaled(1, 4).min(self.trip.smoothed().unwrap_or(Duration::MAX)),
        }
    }

    /// RACK: segments sent before one that arrived, and longer than a round trip ago, are lost.
    fn find_losses(&mut self, now: Time) {
        let wait = self.newest.trip + self.patience();
        let (mut latest, mut found) = (None, 0);
        let soonest = now + LEAST_TIMER;
        for (segment, number) in self.segments.iter_mut().zip(self.first..) {
            if segment.state != State::Flying {
                continue;
            }
            if (segment.at, number) >= self.newest.sent {
                if segment.was_resent {
                    continue;
                }
                // All that follow were sent later, too.
                break;
            }
            let due = segment.at + wait;
            match due <= now {
                true => {
                    segment.state = State::Lost;
                    found += 1;
                }
                false => latest = latest.max(Some(due.max(soonest))),
            }
        }
        self.lost += found;
        self.overtaken = latest;
        if found > 0 && self.phase == Phase::Open {
            self.enter_recovery();
        }
    }

    /// Counts segments of a round trip, and reduces the window for an echo of ECN: once in a round trip, and not after a loss.
    fn count_echoes(&mut self, acknowledged: u32, is_echo: bool) {
        let next = self.first + self.segments.len() as u32;
        self.round.acknowledged += acknowledged;
        if is_echo {
            self.counts.echoes += 1;
            self.round.echoed += acknowledged;
        }
        if self.first >= self.round.end && self.round.acknowledged > 0 {
            self.window.end_round(self.round.acknowledged, self.round.echoed);
            self.round = Round { end: next, ..Round::default() };
        }
        if is_echo && self.phase == Phase::Open && !self.is_reduced() {
            self.window.shrink_by_echo(self.segments.len() as u64 + u64::from(acknowledged));
            self.counts.reductions += 1;
            (self.reduced_at, self.owes_reduced) = (next, true);
        }
    }

    /// The window was reduced for an echo of ECN less than a round trip ago.
    fn is_reduced(&self) -> bool {
        self.first < self.reduced_at
    }

    fn enter_recovery(&mut self) {
        self.phase = Phase::Recovery(self.first + self.segments.len() as u32);
        if !self.is_reduced() {
            self.window.shrink(self.segments.len() as u64);
        }
        (self.probe, self.probed) = (None, None);
    }

    fn leave_phase(&mut self) {
        let (Phase::Recovery(until) | Phase::Timeout(until)) = self.phase else { return };
        if self.first >= until {
            self.phase = Phase::Open;
        }
    }

    /// Grows the window after `segments` segments were newly acknowledged.
    fn grow(&mut self, segments: u32, now: Time) {
        if !matches!(self.phase, Phase::Recovery(_)) && !self.is_reduced() {
            self.window.grow(segments, self.trip.smoothed().unwrap_or(Duration::ZERO), now);
        }
    }

    /// Nothing came for a long time: all that is not known to have arrived is lost.
    fn time_out(&mut self, now: Time) {
        self.counts.timeouts += 1;
        self.window.collapse(self.segments.len() as u64, !self.trip.is_backed_off());
        for segment in self.segments.iter_mut().filter(|segment| segment.state == State::Flying) {
            segment.state = State::Lost;
            self.lost += 1;
        }
        self.phase = Phase::Timeout(self.first + self.segments.len() as u32);
        self.trip.back_off();
        (self.probe, self.probed, self.overtaken) = (None, None, None);
        self.timeout = Some(now + self.trip.timeout());
    }

    /// TLP: a new segment if there is one, otherwise the last one again.
    fn send_probe(&mut self, now: Time) -> Option<Number> {
        if self.segments.is_empty() || self.phase != Phase::Open || self.sacked + self.lost > 0 {
            return None;
        }
        self.counts.probes += 1;
        let next = self.first + self.segments.len() as u32;
        self.timeout = Some(now + self.trip.timeout());
        if next < self.count && self.is_allowed(next) {
            self.push(now);
            return Some(Number(next));
        }
        self.probed = Some(next);
        self.resend(self.segments.len() - 1, now);
        Some(Number(next - 1))
    }

    /// TLP: an acknowledgement of data after the probe, without one for a second copy, shows that the first copy was
    /// lost.
    fn judge_probe(&mut self, has_progress: bool) {
        let Some(end) = self.probed else { return };
        if self.first > end {
            self.probed = None;
            if self.phase == Phase::Open {
                self.window.shrink(self.segments.len() as u64);
            }
        } else if self.first == end && !has_progress {
            self.probed = None;
        }
    }

    /// Sets the timers for segments in flight.
    fn plan(&mut self, now: Time) {
        if self.segments.is_empty() {
            (self.timeout, self.probe, self.overtaken) = (None, None, None);
            return;
        }
        let timeout = *self.timeout.get_or_insert(now + self.trip.timeout());
        if self.phase != Phase::Open || self.sacked + self.lost > 0 || self.probed.is_some() {
            return;
        }
        let Some(smoothed) = self.trip.smoothed() else { return };
        let delayed = if self.segments.len() == 1 { MOST_DELAYED_ACK } else { Duration::ZERO };
        let at = now + (smoothed * 2 + delayed).max(LEAST_TIMER);
        self.probe = (at < timeout).then_some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// A sender that has measured a round trip of 100 us, and the numbers of the segments that it sends at once.
    fn sender(segments: u32) -> Sender {
        let mut trip = RoundTrip::default();
        trip.add(Duration::from_us(100));
        Sender::new(segments * MSS, MSS, 1 << 20, trip, Congestion::Cubic)
    }

    fn sent(sender: &mut Sender, now: Time) -> Vec<u32> {
        std::iter::from_fn(|| sender.next(now)).map(|number| number.0).collect()
    }

    fn sack(from: u32, to: u32) -> (u32, u32) {
        (from * MSS, to * MSS)
    }

    #[test]
    fn slow_start_doubles_each_round_trip() {
        let mut sender = sender(100);
        assert_eq!(sent(&mut sender, at(0)), (0..10).collect::<Vec<_>>());
        assert!(sender.acknowledged(10 * MSS, &[], 1 << 20, false, at(100)));
        assert_eq!(sent(&mut sender, at(100)), (10..30).collect::<Vec<_>>());
    }

    #[test]
    fn one_loss_is_repaired_after_a_round_trip_and_halves_the_window() {
        let mut sender = sender(100);
        sent(&mut sender, at(0));
        // Segment 2 is lost; for each that comes out of order a new one is sent (limited transmit).
        sender.acknowledged(2 * MSS, &[], 1 << 20, false, at(100));
        assert_eq!(sent(&mut sender, at(100)), [10, 11, 12, 13]);
        sender.acknowledged(2 * MSS, &[sack(3, 4)], 1 << 20, false, at(101));
        assert_eq!(sent(&mut sender, at(101)), [14]);
        sender.acknowledged(2 * MSS, &[sack(3, 5)], 1 << 20, false, at(102));
        assert_eq!(sent(&mut sender, at(102)), [15]);
        // The third one makes it sure. The window of 12 becomes 8.4.
        sender.acknowledged(2 * MSS, &[sack(3, 6)], 1 << 20, false, at(103));
        assert_eq!((sender.window.segments(), sender.lost), (8, 1));
        sender.acknowledged(2 * MSS, &[sack(3, 8)], 1 << 20, false, at(104));
        assert_eq!(sent(&mut sender, at(104)), Vec::<u32>::new(), "eight are still under way");
        sender.acknowledged(2 * MSS, &[sack(3, 9)], 1 << 20, false, at(200));
        assert_eq!(sent(&mut sender, at(200)), [2]);
        sender.acknowledged(2 * MSS, &[sack(3, 16)], 1 << 20, false, at(202));
        assert_eq!(sent(&mut sender, at(202)), [16, 17, 18, 19, 20, 21, 22]);
        // Recovery is over when all that was sent before it has arrived.
        sender.acknowledged(16 * MSS, &[], 1 << 20, false, at(300));
        assert_eq!((sender.phase, sender.counts.resent), (Phase::Open, 1));
    }

    #[test]
    fn a_second_loss_of_one_segment_is_found_without_a_timeout() {
        let mut sender = sender(100);
        sent(&mut sender, at(0));
        sender.acknowledged(0, &[sack(1, 10)], 1 << 20, false, at(100));
        assert_eq!(sent(&mut sender, at(100)), [0, 10, 11, 12, 13, 14, 15]);
        // A later segment has arrived, this one has not.
        sender.acknowledged(0, &[sack(1, 16)], 1 << 20, false, at(200));
        assert_eq!(sent(&mut sender, at(200)).first(), Some(&0));
        assert_eq!(sender.counts, Counts { resent: 2, ..Counts::default() });
    }

    #[test]
    fn a_loss_at_the_end_is_found_by_a_probe() {
        let mut sender = sender(4);
        assert_eq!(sent(&mut sender, at(0)), [0, 1, 2, 3]);
        sender.acknowledged(2 * MSS, &[], 1 << 20, false, at(100));
        assert_eq!(sent(&mut sender, at(100)), Vec::<u32>::new());
        // Two round trips later, but not before 2 ms.
        assert_eq!(sender.deadline(), Some(at(2100)));
        assert_eq!(sender.tick(at(2100)), Some(Number(3)));
        sender.acknowledged(2 * MSS, &[(3 * MSS, 4 * MSS + 1)], 1 << 20, false, at(2200));
        assert_eq!(sent(&mut sender, at(2200)), [2]);
        sender.acknowledged(4 * MSS + 1, &[], 1 << 20, false, at(2300));
        assert!(sender.is_done());
        assert_eq!((sender.deadline(), sender.counts.timeouts), (None, 0));
    }

    #[test]
    fn after_a_timeout_everything_is_sent_again_from_one_segment_on() {
        let mut sender = sender(4);
        sent(&mut sender, at(0));
        assert_eq!(sender.tick(at(2000)), Some(Number(3)), "the probe");
        let timeout = sender.deadline().unwrap();
        assert_eq!(timeout, at(2000) + Duration::from_ms(200));
        assert_eq!(sender.tick(timeout), None);
        assert_eq!(sent(&mut sender, timeout), [0]);
        assert_eq!(sender.deadline(), Some(timeout + Duration::from_ms(400)));
        sender.acknowledged(MSS, &[], 1 << 20, false, timeout + Duration::from_us(100));
        assert_eq!(sent(&mut sender, timeout + Duration::from_us(100)), [1, 2]);
    }

    #[test]
    fn segments_that_were_overtaken_are_waited_for() {
        let mut sender = sender(100);
        sent(&mut sender, at(0));
        sender.acknowledged(0, &[sack(1, 2)], 1 << 20, false, at(100));
        // A quarter of the least round trip would be enough, but timers are coarse.
        assert_eq!((sender.lost, sender.overtaken), (0, Some(at(2100))));
        sender.acknowledged(2 * MSS, &[], 1 << 20, false, at(110));
        assert!(sender.reorders && sender.overtaken.is_none());
        assert_eq!(sender.counts.resent, 0);
    }

    #[test]
    fn paced_segments_follow_one_another() {
        let mut sender = sender(100).paced(true);
        // Ten segments, 200 %: one in 5 us.
        assert_eq!(sent(&mut sender, at(0)), [0]);
        assert_eq!((sender.deadline(), sent(&mut sender, at(4))), (Some(at(5)), vec![]));
        for us in 1..10 {
            assert_eq!(sent(&mut sender, at(5 * us)), [us as u32]);
        }
        // The window is used up.
        assert_eq!((sent(&mut sender, at(50)), sender.waits), (vec![], None));
        sender.acknowledged(MSS, &[], 1 << 20, false, at(100));
        assert_eq!(sent(&mut sender, at(100)), [10]);
    }

    #[test]
    fn no_more_is_sent_than_the_receiver_takes() {
        let mut sender = Sender::new(10 * MSS, MSS, 2500, RoundTrip::default(), Congestion::Cubic);
        assert_eq!(sent(&mut sender, at(0)), [0, 1]);
        sender.acknowledged(MSS, &[], 2500, false, at(100));
        assert_eq!(sent(&mut sender, at(100)), [2]);
        assert_eq!(sender.range(Number(9)), (9000, 10_000, true));
    }
}
