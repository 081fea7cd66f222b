//! Retransmission timeout of a connection: RFC 6298, with the bounds of Linux.

use base_time::Duration;

/// Before anything was measured.
const FIRST: Duration = Duration::from_ms(1000);
/// The least timeout, as in Linux. RFC 6298 has a second, for the clocks of its time.
const LEAST: Duration = Duration::from_ms(200);
/// The greatest.
const MOST: Duration = Duration::from_s(60);

/// Measured round trips of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundTrip {
    /// The smoothed round trip and its mean deviation.
    smoothed: Option<(Duration, Duration)>,
    least: Option<Duration>,
    /// Number of times that the timeout was doubled.
    doubled: u32,
}

impl RoundTrip {
    /// Adds the round-trip time of a segment that was sent once.
    pub fn add(&mut self, sample: Duration) {
        self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
        self.smoothed = Some(match self.smoothed {
            None => (sample, sample.scaled(1, 2)),
            Some((smoothed, deviation)) => {
                let off = smoothed.max(sample) - smoothed.min(sample);
                (smoothed.scaled(7, 8) + sample.scaled(1, 8), deviation.scaled(3, 4) + off.scaled(1, 4))
            }
        });
    }

    /// The smoothed round trip; none before the first measurement.
    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(|(smoothed, _)| smoothed)
    }

    /// The least of all; nothing before the first measurement.
    pub fn least(&self) -> Duration {
        self.least.unwrap_or(Duration::ZERO)
    }

    /// The retransmission timeout.
    pub fn timeout(&self) -> Duration {
        let timeout = self.smoothed.map_or(FIRST, |(smoothed, deviation)| smoothed + deviation * 4);
        let factor = 1 << self.doubled.min(16);
        (timeout.max(LEAST).min(MOST) * factor).min(MOST)
    }

    /// The timeout has passed: the next one is twice as long.
    pub fn back_off(&mut self) {
        self.doubled += 1;
    }

    /// Something was acknowledged.
    pub fn progress(&mut self) {
        self.doubled = 0;
    }

    /// The timeout has passed since something was acknowledged.
    pub fn is_backed_off(&self) -> bool {
        self.doubled > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_the_round_trip_and_doubles() {
        let mut trip = RoundTrip::default();
        let ms = Duration::from_ms;
        assert_eq!(trip.timeout(), ms(1000));
        trip.add(ms(100));
        // 100 + 4 * 50.
        assert_eq!((trip.timeout(), trip.smoothed()), (ms(300), Some(ms(100))));
        trip.add(ms(180));
        // 110 + 4 * (37.5 + 20).
        assert_eq!(trip.timeout(), ms(340));
        trip.back_off();
        trip.back_off();
        assert_eq!(trip.timeout(), ms(1360));
        trip.progress();
        (0..100).for_each(|_| trip.add(Duration::from_us(20)));
        assert_eq!((trip.timeout(), trip.least()), (ms(200), Duration::from_us(20)));
        (0..40).for_each(|_| trip.back_off());
        assert_eq!(trip.timeout(), MOST);
    }
}
