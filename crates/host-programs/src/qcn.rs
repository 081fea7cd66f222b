//! `qcn`: UDP packets in one direction, at a rate that congestion notifications lower (QCN, IEEE 802.1Qau; Alizadeh et al., Allerton'08).
//!
//! ```text
//! sender    data -> ... at the current rate      <- notification of a switch: rate *= 1 - feedback / 128
//! ```
//!
//! A sender without notifications comes back to its rate in cycles of 150,000 bytes or 15 ms: five halve the distance to the rate before the
//! notification, then each raises that rate, too.

use crate::kind::{Count, Key, Kind, Load, Size, Wanted};
use crate::packet::{Transport, build};
use crate::program::{Arrival, Begun, Desk, HostProgram, Report, Setup, Side, Socket, Taken};
use crate::source::Pace;
use crate::streams::Streams;
use crate::udp::PORT;
use crate::unused::Unused;
use base_time::{Duration, Rate, Time};

/// EtherType of notifications.
pub const CNM: u16 = 0x22e7;
/// Bytes of Ethernet's, IPv4's and UDP's headers.
const HEADERS: u64 = 42;

/// The workload.
pub static QCN: Kind = Kind {
    word: "qcn",
    count: Count::PACKETS,
    size: Some(Size::of_payload(1400)),
    // The rate at the beginning, which is also the largest.
    keys: &[Key::new("rate", Wanted::Rate), PORT],
    rule: None,
    since_start: |load, n| load.rate("rate").time_for_bits(u128::from(n) * u128::from(load.size) * 8),
    frame_bytes: Load::payload_with_headers,
    start,
};

struct Qcn {
    streams: Streams,
    port: u16,
    /// Rates of the pairs.
    limiters: Vec<Limiter>,
    notifications: u64,
}

fn start(setup: Setup<'_>) -> Begun {
    let load = setup.load;
    let (streams, mut started) = Streams::start(&setup, Pace::Even);
    let pairs = (0..).zip(&setup.pairs);
    started.sockets.extend(pairs.map(|(pair, _)| (pair, Side::Sender, Socket::EtherType(CNM))));
    let limiters = setup.pairs.iter().map(|_| Limiter::new(load.rate("rate"), load.start)).collect();
    Ok((Box::new(Qcn { streams, port: load.port(), limiters, notifications: 0 }), started))
}

impl HostProgram for Qcn {
    fn tick(&mut self, pair: u32, desk: &mut Desk<'_>) {
        let (source, size) = (self.streams.source_port(pair), self.streams.load.size);
        let Some(limiter) = self.limiters.get_mut(pair as usize) else { return };
        let bytes = u64::from(size) + HEADERS;
        let at = desk.now + limiter.sent(bytes, desk.now);
        let Some((stream, stamp)) = self.streams.next_then(pair, at, desk) else { return };
        let udp = Transport::Udp { source, destination: self.port };
        let fill = |payload: &mut [u8]| stamp.write(payload);
        let frame = build(stream.route, udp, stamp.sequence as u16, size as usize, fill);
        desk.send(pair, Side::Sender, frame);
    }

    fn frame(&mut self, arrival: &Arrival<'_>, desk: &mut Desk<'_>) -> Taken {
        if arrival.packet.is_none() {
            let Some((pair, feedback)) = notification(arrival.frame, &self.streams, self.limiters.len())
            else {
                return Taken::Unused(Unused::NoReceiver);
            };
            self.notifications += 1;
            if let Some(limiter) = self.limiters.get_mut(pair as usize) {
                limiter.notified(feedback, desk.now);
            }
            return Taken::Used;
        }
        self.streams.receive(self.port, arrival, desk)
    }

    fn is_active(&self) -> bool {
        self.streams.is_active()
    }

    fn report(&self, _: Time) -> Report {
        Report { measures: vec![("notifications", self.notifications)], ..Report::default() }
    }
}

/// The pair whose packet a notification has, by its UDP source port, and the feedback.
fn notification(frame: &[u8], streams: &Streams, pairs: usize) -> Option<(u32, u8)> {
    let feedback = frame.get(15)? & 63;
    // Ethernet, 24 bytes of the notification, and IPv4 without options.
    let port = u16::from_be_bytes(frame.get(58..60)?.try_into().ok()?);
    let pair = (0..pairs as u32).find(|pair| streams.source_port(*pair) == port)?;
    Some((pair, feedback))
}

/// A sender's rate (802.1Qau's reaction point). Rates are in bits per second.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Limiter {
    most: u64,
    current: u64,
    target: u64,
    /// Bytes since the last cycle of bytes ended, and when the last cycle of time did.
    bytes: u64,
    since: Time,
    /// Cycles of bytes and of time that have ended since the last notification.
    cycles: (u32, u32),
}

/// Cycles in which the rate comes back halfway to the target.
const FAST: u32 = 5;
/// A cycle of bytes and of time in that phase; half as much later.
const CYCLE_BYTES: u64 = 150_000;
const CYCLE_TIME: Duration = Duration::from_ms(15);
/// Added to the target in each later cycle; in the second line for each cycle in which both kinds of cycles are past the first phase.
const ACTIVE: u64 = 5_000_000;
const HYPER: u64 = 50_000_000;
/// The least rate.
const LEAST: u64 = 10_000_000;

impl Limiter {
    fn new(rate: Rate, now: Time) -> Limiter {
        let most = rate.bytes_in(Duration::from_s(1)).saturating_mul(8).max(LEAST);
        Limiter { most, current: most, target: most, bytes: 0, since: now, cycles: (FAST, FAST) }
    }

    /// A packet is sent: the time until the next one.
    fn sent(&mut self, bytes: u64, now: Time) -> Duration {
        self.bytes += bytes;
        let part = |cycles: u32| if cycles < FAST { 1 } else { 2 };
        if self.bytes >= CYCLE_BYTES / part(self.cycles.0) {
            self.bytes = 0;
            self.cycles.0 += 1;
            self.raise();
        }
        if now.since(self.since) >= CYCLE_TIME.scaled(1, part(self.cycles.1)) {
            self.since = now;
            self.cycles.1 += 1;
            self.raise();
        }
        Rate::from_bits_per_s(self.current).time_for(bytes)
    }

    fn raise(&mut self) {
        let (bytes, time) = self.cycles;
        if bytes > FAST && time > FAST {
            self.target += HYPER * u64::from(bytes.min(time) - FAST);
        } else if bytes > FAST || time > FAST {
            self.target += ACTIVE;
        }
        self.target = self.target.min(self.most);
        self.current = self.current.midpoint(self.target);
    }

    /// A notification with feedback from 1 to 63 has come.
    fn notified(&mut self, feedback: u8, now: Time) {
        // Notifications within one cycle belong to one congestion.
        if self.cycles.0 > 0 {
            self.target = self.current;
        }
        self.current = (self.current - self.current * u64::from(feedback.min(63)) / 128).max(LEAST);
        (self.bytes, self.since, self.cycles) = (0, now, (0, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter() -> Limiter {
        Limiter::new(Rate::from_bits_per_s(1_000_000_000), Time::ZERO)
    }

    #[test]
    fn a_notification_lowers_the_rate_by_its_feedback() {
        let mut limiter = limiter();
        limiter.notified(32, Time::ZERO);
        assert_eq!((limiter.current, limiter.target), (750_000_000, 1_000_000_000));
        // A second one at once keeps the target.
        limiter.notified(63, Time::ZERO);
        assert_eq!((limiter.current, limiter.target), (750_000_000 - 750_000_000 * 63 / 128, 1_000_000_000));
        for _ in 0..100 {
            limiter.notified(63, Time::ZERO);
        }
        assert_eq!(limiter.current, LEAST);
    }

    #[test]
    fn the_rate_comes_back_in_cycles() {
        let mut limiter = limiter();
        limiter.notified(32, Time::ZERO);
        limiter.target = 900_000_000;
        let mut seen = vec![];
        for _ in 0..6 {
            let cycles = limiter.cycles.0;
            while limiter.cycles.0 == cycles {
                limiter.sent(1_500, Time::ZERO);
            }
            seen.push(limiter.current);
        }
        // Five cycles of 100 packets halve the distance to 900 Mbit/s; the sixth, of 50, raises the target by 5.
        assert_eq!(seen[..2], [825_000_000, 862_500_000]);
        assert_eq!((limiter.target, seen[5]), (905_000_000, seen[4].midpoint(905_000_000)));
        // A sender at its largest rate stays there.
        for _ in 0..100_000 {
            limiter.sent(1_500, Time::ZERO);
        }
        assert_eq!(limiter.current, 999_999_999);
        let mut slow = limiter.clone();
        slow.notified(63, Time::ZERO);
        // Time alone brings it back, too: 15 ms in each cycle.
        for ms in 1..=75 {
            slow.sent(1, Time::ZERO + Duration::from_ms(ms));
        }
        assert_eq!(slow.cycles, (0, 5));
    }

    #[test]
    fn gaps_follow_the_rate() {
        let mut limiter = limiter();
        assert_eq!(limiter.sent(1_250, Time::ZERO), Duration::from_us(10));
        limiter.notified(63, Time::ZERO);
        assert!(limiter.sent(1_250, Time::ZERO) > Duration::from_us(19));
    }
}
