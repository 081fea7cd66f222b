//! The congestion window of a connection, and the rules by which it grows and shrinks.
//!
//! | rule | growth | after a loss | after an echo of ECN |
//! |---|---|---|---|
//! | [`cubic`](super::cubic), RFC 9438 | a cubic function of time, at least as classic | x 0.7 | x 0.7 |
//! | Reno, RFC 5681 | one segment each round trip | x 1/2 | x 1/2 |
//! | [`dctcp`](super::dctcp), RFC 8257 | one segment each round trip | x 1/2 | x (1 - alpha/2), alpha: share of marked segments |
//!
//! Before the first reduction the window doubles each round trip (slow start).

use super::cubic::Cubic;
use super::dctcp::Marked;
use base_time::{Duration, Time};

/// Segments of the first window (RFC 6928).
const FIRST: u64 = 10;
/// Windows are counted in so small parts of a byte, so that little growth is not lost.
const PARTS: u64 = 1 << 16;

/// Congestion control of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Congestion {
    /// RFC 9438.
    #[default]
    Cubic,
    /// RFC 5681.
    Reno,
    /// RFC 8257.
    Dctcp,
}

impl Congestion {
    /// Names in rack files.
    pub const WORDS: &[&str] = &["cubic", "reno", "dctcp"];

    /// The one with this name, or the default.
    pub fn named(word: &str) -> Congestion {
        match word {
            "reno" => Congestion::Reno,
            "dctcp" => Congestion::Dctcp,
            _ => Congestion::Cubic,
        }
    }
}

/// The congestion window of a connection.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Segment size. This and the following sizes are in fractions of a byte.
    mss: u64,
    window: u64,
    /// Window at which slow start ends.
    threshold: u64,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    Cubic(Cubic),
    Reno,
    Dctcp(Marked),
}

impl Window {
    /// For segments of `mss` bytes.
    pub fn new(mss: u32, congestion: Congestion) -> Window {
        let mss = u64::from(mss) * PARTS;
        let rule = match congestion {
            Congestion::Cubic => Rule::Cubic(Cubic::new(mss)),
            Congestion::Reno => Rule::Reno,
            Congestion::Dctcp => Rule::Dctcp(Marked::default()),
        };
        Window { mss, window: FIRST * mss, threshold: u64::MAX, rule }
    }

    /// True if a segment may be sent while `flying` bytes are in flight.
    pub fn has_room(&self, flying: u64) -> bool {
        flying.saturating_add(1).saturating_mul(self.mss) <= self.window.max(self.mss)
    }

    /// Grows the window after `segments` segments of a fully used window were acknowledged; `trip` is the round-trip time.
    pub fn grow(&mut self, segments: u32, trip: Duration, now: Time) {
        let acknowledged = u64::from(segments) * self.mss;
        let slow = acknowledged.min(self.threshold.saturating_sub(self.window));
        self.window += slow;
        let left = acknowledged - slow;
        if left == 0 {
            return;
        }
        self.window = match &mut self.rule {
            Rule::Cubic(cubic) => cubic.grow(self.window, left, trip, now),
            Rule::Reno | Rule::Dctcp(_) => self.window + share(left, self.mss, self.window),
        };
    }

    /// A loss while `flying` segments are in flight: reduces the window.
    pub fn shrink(&mut self, flying: u64) {
        let used = self.used(flying);
        let reduced = match &mut self.rule {
            Rule::Cubic(cubic) => cubic.shrink(used),
            Rule::Reno | Rule::Dctcp(_) => used / 2,
        };
        self.reduce(reduced);
    }

    /// The receiver has echoed a mark of ECN: reduces the window.
    pub fn shrink_by_echo(&mut self, flying: u64) {
        let used = self.used(flying);
        let reduced = match &mut self.rule {
            Rule::Cubic(cubic) => cubic.shrink(used),
            Rule::Reno => used / 2,
            Rule::Dctcp(marked) => used - marked.reduction(used),
        };
        self.reduce(reduced);
    }

    /// A round trip is over, in which so many segments were acknowledged, of these so many with an echo of ECN.
    pub fn end_round(&mut self, acknowledged: u32, echoed: u32) {
        if let Rule::Dctcp(marked) = &mut self.rule {
            marked.add(echoed, acknowledged);
        }
    }

    /// Time between two segments that are sent evenly: 120 % of the window in a round trip, and 200 % in slow start, as in Linux.
    pub fn gap(&self, trip: Duration) -> Duration {
        let percent = if self.window < self.threshold / 2 { 200 } else { 120 };
        trip.scaled(100, percent * (self.window / self.mss).max(1))
    }

    fn used(&self, flying: u64) -> u64 {
        self.window.min(flying.saturating_mul(self.mss)).max(self.mss)
    }

    fn reduce(&mut self, to: u64) {
        self.window = to.max(2 * self.mss);
        self.threshold = self.window;
    }

    /// Nothing comes any more: as after a loss, if it `is_first`, and from one segment on.
    pub fn collapse(&mut self, flying: u64, is_first: bool) {
        if is_first {
            self.shrink(flying);
        }
        self.window = self.mss;
        if let Rule::Cubic(cubic) = &mut self.rule {
            cubic.restart();
        }
    }

    /// The window in segments, rounded down.
    #[cfg(test)]
    pub fn segments(&self) -> u64 {
        self.window / self.mss
    }
}

/// `value * part / whole`.
pub(super) fn share(value: u64, part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(part) / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    /// The window in segments after each of some round trips in which all of it was acknowledged.
    fn grown(window: &mut Window, trips: u64) -> Vec<u64> {
        let each = (1..=trips).map(|n| {
            for _ in 0..window.segments() {
                window.grow(1, Duration::from_ms(1), Time::ZERO + Duration::from_ms(n));
            }
            window.segments()
        });
        each.collect()
    }

    #[test]
    fn reno_halves_and_then_grows_by_a_segment_each_round_trip() {
        for congestion in [Congestion::Reno, Congestion::Dctcp] {
            let mut window = Window::new(MSS, congestion);
            assert_eq!(grown(&mut window, 2), [20, 40]);
            window.shrink(40);
            assert_eq!(window.segments(), 20);
            // A little less than a segment, since the window grows within a round trip.
            let back = grown(&mut window, 10);
            assert!((28..=30).contains(&back[9]), "{back:?}");
            window.shrink(3);
            assert_eq!(window.segments(), 2);
        }
    }

    #[test]
    fn segments_are_spread_over_a_round_trip() {
        let mut window = Window::new(MSS, Congestion::Reno);
        let trip = Duration::from_us(240);
        assert_eq!(window.gap(trip), Duration::from_us(12));
        window.shrink(10);
        assert_eq!(window.gap(trip), Duration::from_us(40));
    }

    #[test]
    fn an_echo_of_ecn_counts_as_a_loss_but_for_dctcp() {
        let echoed = |congestion| {
            let mut window = Window::new(MSS, congestion);
            grown(&mut window, 2);
            window.shrink_by_echo(40);
            window.segments()
        };
        assert_eq!([Congestion::Cubic, Congestion::Reno].map(echoed), [28, 20]);
        // Before it knows anything, DCTCP takes all segments for marked.
        assert_eq!(echoed(Congestion::Dctcp), 20);
        let mut window = Window::new(MSS, Congestion::Dctcp);
        (0..200).for_each(|_| window.end_round(10, 0));
        grown(&mut window, 2);
        window.shrink_by_echo(40);
        assert_eq!(window.segments(), 39);
    }
}
