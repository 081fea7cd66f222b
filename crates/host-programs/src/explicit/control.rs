//! Control of a sender: the rates of RCP and D3, XCP's window, and pFabric's, which is fixed.
//!
//! | | a packet says | its acknowledgement brings | next packet |
//! |---|---|---|---|
//! | RCP | the wished rate | the lowest rate that a switch offered | when the last one has taken its time at that rate |
//! | D3 | once in a round trip: the rate that meets the deadline; what the last request asked for and was granted | the granted rate | as for RCP |
//! | pFabric | packets that are left | nothing | while less than the wished rate times the round trip is in flight |
//! | XCP | round trip, and rtt s / cwnd | xi_p and xi_n: the window changes by xi_p rtt (rtt s / cwnd) - xi_n rtt s | while less than the window is in flight |

use base_time::{Duration, Rate, Time};
use std::ops::Range;

/// A protocol's own words in a header.
pub(super) type Words = [u32; 4];

/// Protocol of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    Rcp,
    Xcp,
    Pfabric,
    D3,
}

impl Protocol {
    /// Number of its words in a header.
    #[inline(always)]
    pub fn words(self) -> usize {
        match self {
            Protocol::Rcp => 2,
            Protocol::Xcp => 3,
            Protocol::Pfabric => 1,
            Protocol::D3 => 4,
        }
    }

    /// Words that no switch changes.
    #[inline(always)]
    pub fn fixed(self) -> Range<usize> {
        match self {
            Protocol::Rcp => 1..2,
            Protocol::D3 => 1..4,
            Protocol::Xcp | Protocol::Pfabric => 0..1,
        }
    }

    /// Words of the receiver's answer to a packet.
    pub fn answer(self, wish: u32, came: Words) -> Words {
        match self {
            Protocol::Rcp | Protocol::D3 => [wish, came[0], 0, 0],
            Protocol::Xcp => came,
            // Answers hold nobody up: the highest priority.
            Protocol::Pfabric => [0; 4],
        }
    }
}

/// Packets under way.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Flight {
    pub packets: usize,
    pub bytes: u64,
}

/// How a sender paces its packets.
#[derive(Clone, Debug)]
pub(super) enum Control {
    Rate(Pace),
    Window(Window),
    Fixed(Fixed),
    Grant(Grant),
}

/// pFabric.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    rate: Rate,
    /// Bytes of a full packet.
    full: u64,
    /// The receiver has answered.
    is_open: bool,
    /// After a timeout, one packet is under way until one is acknowledged.
    is_careful: bool,
}

/// RCP.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// Wished rate, in kbit/s.
    wish: u32,
    /// The rate that came last; none before the answer to the SYN.
    rate: Option<Rate>,
    /// When the last packet with data was sent, and its bytes.
    sent: (Time, u64),
}

/// D3.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    pace: Pace,
    /// Bytes of a full packet.
    full: u64,
    /// When the last piece has to have come; none of a transfer that can wait.
    deadline: Option<Time>,
    /// Desired rate and grant of the last answered request, in kbit/s: the next request returns both.
    had: (u32, u32),
    /// The desired rate of the request under way.
    asked: Option<u32>,
    /// When the last request was sent.
    at: Time,
    /// The grant was returned.
    has_ended: bool,
}

/// XCP.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Bytes of a full packet.
    full: u64,
    /// Bytes with 16 bits after the point.
    window: u64,
    /// The receiver has answered.
    is_open: bool,
    /// When it was reduced for a loss.
    reduced: Option<Time>,
}

/// Packets of the first window of XCP, as RFC 3390 has them.
const FIRST: u64 = 4;
/// The largest window, in bytes.
const MOST: u64 = 1 << 26;
/// Packets that may be under way at any rate.
const LEAST_IN_FLIGHT: usize = 3;

impl Control {
    /// For a transfer that begins now, with full packets of so many bytes.
    pub fn new(protocol: Protocol, wish: u32, full: u64, now: Time) -> Control {
        match protocol {
            Protocol::Rcp => Control::Rate(Pace::new(wish, now)),
            Protocol::Xcp => {
                Control::Window(Window { full, window: (FIRST * full) << 16, is_open: false, reduced: None })
            }
            Protocol::Pfabric => Control::Fixed(Fixed {
                rate: Rate::from_bits_per_s(u64::from(wish) * 1000),
                full,
                is_open: false,
                is_careful: false,
            }),
            Protocol::D3 => Control::Grant(Grant {
                pace: Pace::new(wish, now),
                full,
                deadline: None,
                had: (0, 0),
                asked: None,
                at: now,
                has_ended: false,
            }),
        }
    }

    /// The same for a transfer with a deadline. Only D3 knows deadlines.
    #[must_use]
    pub fn with_deadline(mut self, at: Option<Time>) -> Control {
        if let Control::Grant(grant) = &mut self {
            grant.deadline = at;
        }
        self
    }

    /// True once the SYN is answered: data may be sent.
    pub fn is_open(&self) -> bool {
        match self {
            Control::Rate(pace) => pace.rate.is_some(),
            Control::Window(window) => window.is_open,
            Control::Fixed(fixed) => fixed.is_open,
            Control::Grant(grant) => grant.pace.rate.is_some(),
        }
    }

    /// Words of a packet of so many bytes; `trip_us` is the round trip, or 0, and `left` the number of packets that are not acknowledged.
    pub fn words(&self, trip_us: u32, bytes: u64, left: u32) -> Words {
        match self {
            Control::Rate(pace) => [pace.wish, 0, 0, 0],
            Control::Fixed(_) => [left, 0, 0, 0],
            Control::Grant(_) => [0; 4],
            Control::Window(window) => {
                // With 8 bits after the point.
                let inverse = (u128::from(trip_us) * u128::from(bytes)) << 24;
                let inverse = inverse / u128::from(window.window.max(1));
                let inverse = u32::try_from(inverse).unwrap_or(u32::MAX);
                [if trip_us == 0 { 0 } else { inverse.max(1) }, u32::MAX, 0, 0]
            }
        }
    }

    /// Words of a packet that asks for a rate; arguments as for [`Control::words`].
    pub fn request(&mut self, trip_us: u32, bytes: u64, left: u32, now: Time) -> Words {
        match self {
            Control::Grant(grant) => grant.request(left, now),
            _ => self.words(trip_us, bytes, left),
        }
    }

    /// The answer to a packet that asked for a rate has brought `came`.
    pub fn granted(&mut self, came: Words) {
        if let Control::Grant(grant) = self {
            grant.had = (grant.asked.take().unwrap_or(0), came[1]);
            grant.pace.rate = Some(Rate::from_bits_per_s(u64::from(came[1].max(1)) * 1000));
        }
    }

    /// A packet that asked for a rate was lost.
    pub fn unanswered(&mut self) {
        if let Control::Grant(grant) = self {
            grant.asked = None;
        }
    }

    /// True if switches keep something for the transfer, and have to know of its end.
    pub fn is_held(&self) -> bool {
        matches!(self, Control::Grant(grant) if grant.pace.rate.is_some() && !grant.has_ended)
    }

    /// [`Control::is_held`], and what they keep is known: no request is under way.
    pub fn may_end(&self) -> bool {
        self.is_held() && matches!(self, Control::Grant(grant) if grant.asked.is_none())
    }

    /// Words of the packet that ends a transfer: D3 returns what the transfer had.
    pub fn end(&mut self) -> Words {
        match self {
            Control::Grant(grant) => {
                grant.has_ended = true;
                [0, 0, grant.had.0, grant.had.1]
            }
            _ => [0; 4],
        }
    }

    /// From when on a packet with data asks for a rate, too, if `unsent` packets have not been sent; `None`: it does not.
    pub fn asks_from(&self, trip: Duration, unsent: u32) -> Option<Time> {
        let Control::Grant(grant) = self else { return None };
        // The answer would come when everything has been sent.
        let is_late = u64::from(unsent) * grant.full <= grant.pace.rate?.bytes_in(trip);
        (!is_late && !grant.has_ended && grant.asked.is_none()).then(|| grant.at + trip)
    }

    /// When a packet without data asks for a rate, if the next packet with data goes at `data`; `sent` is when any packet was sent last.
    pub fn asks_alone(&self, trip: Duration, unsent: u32, (sent, data): (Time, Time)) -> Option<Time> {
        let at = match self {
            // Packets with data that go a little later can ask themselves.
            Control::Grant(_) => self.asks_from(trip, unsent).map(|at| at + trip.scaled(1, 4)),
            _ => Some(sent + trip),
        };
        at.filter(|at| *at < data)
    }

    /// The acknowledgement of a packet of `bytes` that said `sent` and `trip_us` has brought `came`.
    pub fn answered(&mut self, (sent, trip_us, bytes): (Words, u32, u64), came: Words) {
        match self {
            Control::Rate(pace) => {
                pace.rate = Some(Rate::from_bits_per_s(u64::from(came[1].max(1)) * 1000));
            }
            Control::Fixed(fixed) => (fixed.is_open, fixed.is_careful) = (true, false),
            Control::Grant(_) => {}
            Control::Window(window) => {
                window.is_open = true;
                let [_, positive, negative, _] = came;
                // No switch on the path has a say.
                if positive == u32::MAX && negative == 0 {
                    return;
                }
                let trip = u128::from(trip_us);
                let more = (u128::from(positive) * trip * u128::from(sent[0])) >> 16;
                let less = (u128::from(negative) * trip * u128::from(bytes)) >> 8;
                let grown = (u128::from(window.window) + more).saturating_sub(less);
                let bounds = (u128::from(window.full) << 16, u128::from(MOST) << 16);
                window.window = grown.clamp(bounds.0, bounds.1.max(bounds.0)) as u64;
            }
        }
    }

    /// A packet with data of so many bytes was sent.
    pub fn sent(&mut self, now: Time, bytes: u64) {
        if let Control::Rate(pace) | Control::Grant(Grant { pace, .. }) = self {
            pace.sent = (now, bytes);
        }
    }

    /// Packets were lost, all of them after a timeout: XCP's window is halved at most once in a round trip.
    pub fn lost(&mut self, trip: Duration, is_timeout: bool, now: Time) {
        if let Control::Fixed(fixed) = self {
            fixed.is_careful = is_timeout;
        }
        if let Control::Window(window) = self {
            let least = window.full << 16;
            if is_timeout {
                window.window = least;
            } else if window.reduced.is_none_or(|at| at + trip < now) {
                window.window = (window.window / 2).max(least);
            } else {
                return;
            }
            window.reduced = Some(now);
        }
    }

    /// When the next packet with data goes, if it may; `heard` is the time of the last acknowledgement.
    #[inline]
    pub fn due(&self, flight: Flight, trip: Duration, heard: Time) -> Option<Time> {
        match self {
            Control::Rate(pace) | Control::Grant(Grant { pace, .. }) => pace.due(flight, trip),
            Control::Window(window) => {
                let is_free = flight.bytes + window.full <= window.window >> 16 || flight.packets == 0;
                (window.is_open && is_free).then_some(heard)
            }
            Control::Fixed(fixed) => {
                let window =
                    if fixed.is_careful { fixed.full } else { fixed.rate.bytes_in(trip).max(2 * fixed.full) };
                let is_free = flight.bytes + fixed.full <= window || flight.packets == 0;
                (fixed.is_open && is_free).then_some(heard)
            }
        }
    }
}

impl Pace {
    fn new(wish: u32, now: Time) -> Pace {
        Pace { wish, rate: None, sent: (now, 0) }
    }

    /// When the next packet with data goes, if it may.
    fn due(&self, flight: Flight, trip: Duration) -> Option<Time> {
        let rate = self.rate?;
        // Beyond twice the rate times the round trip acknowledgements are missing.
        let is_free = flight.bytes <= 2 * rate.bytes_in(trip) || flight.packets < LEAST_IN_FLIGHT;
        is_free.then(|| self.sent.0 + rate.time_for(self.sent.1))
    }
}

impl Grant {
    fn request(&mut self, left: u32, now: Time) -> Words {
        let desired = self.desired(left, now);
        (self.asked, self.at) = (Some(desired), now);
        [self.pace.wish, desired, self.had.0, self.had.1]
    }

    /// Rate in kbit/s at which so many packets meet the deadline, at most the wished one; 0 without a deadline, and after it.
    fn desired(&self, left: u32, now: Time) -> u32 {
        let Some(deadline) = self.deadline.filter(|deadline| *deadline > now) else { return 0 };
        let bits = u128::from(left) * u128::from(self.full) * 8;
        let desired = (bits * 1_000_000_000).div_ceil(u128::from(deadline.since(now).as_ps().max(1)));
        u32::try_from(desired).unwrap_or(u32::MAX).min(self.pace.wish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: u32 = 200;

    fn open() -> Control {
        let mut control = Control::new(Protocol::Xcp, 0, 1000, Time::ZERO);
        assert!(!control.is_open() && control.words(0, 66, 1) == [0, u32::MAX, 0, 0]);
        control.answered(([0; 4], 0, 66), [0, u32::MAX, 0, 0]);
        assert!(control.is_open());
        control
    }

    fn bytes(control: &Control) -> f64 {
        let Control::Window(window) = control else { panic!("{control:?}") };
        window.window as f64 / 65_536.0
    }

    #[test]
    fn a_window_changes_by_the_formula() {
        let mut control = open();
        // rtt s / cwnd = 200 * 1000 / 4000 = 50 us.
        let sent = control.words(TRIP, 1000, 1);
        assert_eq!(sent, [50 << 8, u32::MAX, 0, 0]);
        let (positive, negative) = (0.05, 0.0002);
        let scaled = |value: f64| (value * f64::from(1 << 24)).round() as u32;
        control.answered((sent, TRIP, 1000), [sent[0], scaled(positive), scaled(negative), 0]);
        let wanted = 4000.0 + positive * 200.0 * 50.0 - negative * 200.0 * 1000.0;
        assert!((bytes(&control) - wanted).abs() < 0.1, "{} {wanted}", bytes(&control));
        // A packet is the least, and any header is survived.
        control.answered((sent, TRIP, 1000), [0, 0, u32::MAX, 0]);
        assert_eq!(bytes(&control), 1000.0);
        control.answered(([u32::MAX; 4], u32::MAX, 1000), [0, u32::MAX, 1, 0]);
        assert_eq!(bytes(&control), MOST as f64);
    }

    #[test]
    fn losses_halve_the_window_once_in_a_round_trip() {
        let mut control = open();
        let at = |us: u64| Time::ZERO + Duration::from_us(us);
        let trip = Duration::from_us(200);
        control.lost(trip, false, at(100));
        control.lost(trip, false, at(200));
        assert_eq!(bytes(&control), 2000.0);
        control.lost(trip, false, at(301));
        control.lost(trip, false, at(800));
        assert_eq!(bytes(&control), 1000.0);
        let mut control = open();
        control.lost(trip, true, at(100));
        assert_eq!(bytes(&control), 1000.0);
    }

    #[test]
    fn a_fixed_window_is_the_rate_times_the_round_trip() {
        let mut control = Control::new(Protocol::Pfabric, 1_000_000, 1000, Time::ZERO);
        assert_eq!(control.words(0, 66, 17), [17, 0, 0, 0]);
        control.answered(([0; 4], 0, 66), [0; 4]);
        // 40 us at 1 Gbit/s are 5,000 bytes.
        let due = |control: &Control, packets: usize| {
            let flight = Flight { packets, bytes: 1000 * packets as u64 };
            control.due(flight, Duration::from_us(40), Time::ZERO).is_some()
        };
        assert_eq!([0, 4, 5].map(|packets| due(&control, packets)), [true, true, false]);
        control.lost(Duration::from_us(40), true, Time::ZERO);
        assert_eq!([0, 1].map(|packets| due(&control, packets)), [true, false]);
        control.answered(([0; 4], 0, 66), [0; 4]);
        assert!(due(&control, 4));
    }

    #[test]
    fn less_than_the_window_is_in_flight() {
        let control = open();
        let due = |packets: usize| {
            let flight = Flight { packets, bytes: 1000 * packets as u64 };
            control.due(flight, Duration::from_us(200), Time::ZERO).is_some()
        };
        assert_eq!([0, 3, 4].map(due), [true, true, false]);
    }

    #[test]
    fn a_request_asks_for_the_rate_that_meets_the_deadline_and_returns_the_last_grant() {
        let at = |us: u64| Time::ZERO + Duration::from_us(us);
        let trip = Duration::from_us(100);
        let control = Control::new(Protocol::D3, 1_000_000, 1000, at(0));
        let mut control = control.with_deadline(Some(at(1000)));
        // 10 packets of 1,000 bytes in 1 ms are 80 Mbit/s.
        assert_eq!(control.request(0, 78, 10, at(0)), [1_000_000, 80_000, 0, 0]);
        assert!(!control.is_open() && control.asks_from(trip, 10).is_none());
        control.granted([0, 90_000, 0, 0]);
        assert!(control.is_open() && control.words(100, 1000, 10) == [0; 4]);
        // 90 Mbit/s are 1,125 bytes in a round trip: with less to send, an answer would be late.
        assert_eq!([2, 1].map(|unsent| control.asks_from(trip, unsent)), [Some(at(100)), None]);
        let alone = |control: &Control, data: u64| control.asks_alone(trip, 10, (at(0), at(data)));
        assert_eq!((alone(&control, 126), alone(&control, 125)), (Some(at(125)), None));
        assert_eq!(control.request(100, 1000, 5, at(500)), [1_000_000, 80_000, 80_000, 90_000]);
        // Lost: the next request returns the same.
        control.unanswered();
        assert_eq!(control.request(100, 1000, 5, at(900)), [1_000_000, 400_000, 80_000, 90_000]);
        control.granted([0, 70_000, 0, 0]);
        // No more than the link's rate, and nothing after the deadline.
        assert_eq!(control.request(100, 1000, 5, at(999)), [1_000_000, 1_000_000, 400_000, 70_000]);
        control.granted([0, 60_000, 0, 0]);
        assert_eq!(control.request(100, 1000, 5, at(1000)), [1_000_000, 0, 1_000_000, 60_000]);
        control.granted([0, 50_000, 0, 0]);
        assert!(control.may_end() && control.end() == [0, 0, 0, 50_000]);
        assert!(!control.is_held() && control.asks_from(trip, 10).is_none());
        assert!(!Control::new(Protocol::Rcp, 1, 1000, at(0)).is_held());
    }
}
