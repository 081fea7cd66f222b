//! Congestion control: the number of packets that a mapper may have in flight.
//!
//! The window grows by one packet for each acknowledged packet until the first sign of congestion, then by one packet for each
//! window. Signs are an echo of ECN and a round-trip time of several times the least one. At the end of each window it
//! shrinks by half of the smoothed share of packets with a sign (DCTCP, RFC 8257). A loss halves it, at most once for each
//! window; a time-out sets it to one packet.

use crate::trip::Trip;
use base_time::{Duration, Time};

/// Packets in flight at first.
const FIRST: u64 = 10;

/// One packet, in the units of `allowed`.
const PACKET: u64 = 1 << 8;

/// The whole, in the units of `share`.
const WHOLE: u64 = 1 << 10;

/// Round trips of this many times the least one are a sign of congestion.
const LONG: u64 = 6;

/// The window of a channel.
#[derive(Clone, Debug)]
pub struct Congestion {
    /// Most packets: the cells of a channel.
    most: u64,
    least_wait: Duration,
    /// Packets allowed, in 1/256.
    allowed: u64,
    is_starting: bool,
    /// Smoothed share of packets with a sign, in 1/1024.
    share: u64,
    /// Packets of this window: acknowledged, and with a sign.
    window: (u64, u64),
    /// The window was cut for a loss.
    is_cut: bool,
    /// Least round-trip time.
    least: Option<Duration>,
    trip: Trip,
}

impl Congestion {
    /// At most so many packets; time-outs of at least so long.
    pub fn new(most: u32, least_wait: Duration) -> Congestion {
        let most = u64::from(most.max(1));
        Congestion {
            most,
            least_wait,
            allowed: FIRST.min(most) * PACKET,
            is_starting: true,
            share: 0,
            window: (0, 0),
            is_cut: false,
            least: None,
            trip: Trip::UNKNOWN,
        }
    }

    /// Packets that may be in flight: at least one.
    pub fn allowed(&self) -> usize {
        (self.allowed / PACKET) as usize
    }

    /// Time after which a packet without an answer is sent again.
    pub fn wait(&self) -> Duration {
        self.trip.wait(self.least_wait, Duration::MAX)
    }

    /// A packet is acknowledged. `sent` is when it was sent, if it was sent once; `has_waited`: the acknowledgement waited for others.
    pub fn acknowledged(&mut self, now: Time, sent: Option<Time>, is_marked: bool, has_waited: bool) {
        let trip = sent.map(|sent| now.since(sent));
        let is_long =
            !has_waited && trip.is_some_and(|trip| self.least.is_some_and(|least| trip > least * LONG));
        if let Some(trip) = trip {
            self.least = Some(self.least.map_or(trip, |least| least.min(trip)));
            self.trip.measured(trip);
        }
        let has_sign = is_marked || is_long;
        self.window.0 += 1;
        self.window.1 += u64::from(has_sign);
        self.is_starting &= !has_sign;
        self.allowed += if self.is_starting { PACKET } else { PACKET * PACKET / self.allowed.max(PACKET) };
        if self.window.0 >= self.allowed / PACKET {
            let share = WHOLE * self.window.1 / self.window.0.max(1);
            self.share = (self.share * 15 + share) / 16;
            if self.window.1 > 0 {
                // The first window with signs counts in full, as alpha begins at 1 in DCTCP.
                self.share = self.share.max(share / 2);
                self.allowed -= self.allowed * self.share / (2 * WHOLE);
            }
            self.window = (0, 0);
            self.is_cut = false;
        }
        self.allowed = self.allowed.clamp(PACKET, self.most * PACKET);
    }

    /// A packet was overtaken by several others.
    pub fn lost(&mut self) {
        self.is_starting = false;
        if !std::mem::replace(&mut self.is_cut, true) {
            self.allowed = (self.allowed / 2).max(PACKET);
            self.window = (0, 0);
        }
    }

    /// Nothing came back in time.
    pub fn timed_out(&mut self) {
        self.is_starting = false;
        self.is_cut = true;
        self.allowed = PACKET;
        self.window = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_ms(1);

    fn trip(congestion: &mut Congestion, us: u64, is_marked: bool) {
        let sent = Time::ZERO + Duration::from_s(1);
        congestion.acknowledged(sent + Duration::from_us(us), Some(sent), is_marked, false);
    }

    #[test]
    fn it_doubles_each_round_trip_until_the_first_mark() {
        let mut congestion = Congestion::new(256, WAIT);
        (0..10).for_each(|_| trip(&mut congestion, 50, false));
        assert_eq!(congestion.allowed(), 20);
        trip(&mut congestion, 50, true);
        let after = congestion.allowed();
        (0..after).for_each(|_| trip(&mut congestion, 50, false));
        assert!(congestion.allowed() <= after + 1, "{} after {after}", congestion.allowed());
        (0..100_000).for_each(|_| trip(&mut congestion, 50, false));
        assert_eq!(congestion.allowed(), 256, "never more than there are cells");
    }

    #[test]
    fn marks_long_trips_and_losses_make_it_smaller() {
        let full = || {
            let mut congestion = Congestion::new(256, WAIT);
            (0..300).for_each(|_| trip(&mut congestion, 50, false));
            assert_eq!(congestion.allowed(), 256);
            congestion
        };
        let mut marked = full();
        (0..2000).for_each(|_| trip(&mut marked, 50, true));
        assert!(marked.allowed() < 20, "{}", marked.allowed());
        let mut slow = full();
        (0..2000).for_each(|_| trip(&mut slow, 1000, false));
        assert!(slow.allowed() < 20, "{}", slow.allowed());
        let mut lossy = full();
        lossy.lost();
        lossy.lost();
        assert_eq!(lossy.allowed(), 128, "once for each window");
        lossy.timed_out();
        assert_eq!(lossy.allowed(), 1);
    }
}
