//! Time from a packet to its answer, and how long to wait before the packet is sent again (RFC 6298).

use base_time::Duration;

/// Smoothed round-trip time of a path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Trip {
    /// Mean and mean deviation.
    smooth: Option<(Duration, Duration)>,
    /// The wait is doubled so often: packets were sent again, and none that was sent once has been answered since.
    doublings: u32,
}

/// Doublings, at most.
const MOST_DOUBLINGS: u32 = 10;

impl Trip {
    /// For a path that is not known yet.
    pub const UNKNOWN: Trip = Trip { smooth: None, doublings: 0 };

    /// A packet that was sent once is answered after `trip`.
    pub fn measured(&mut self, trip: Duration) {
        self.doublings = 0;
        self.smooth = Some(match self.smooth {
            None => (trip, trip.scaled(1, 2)),
            Some((mean, deviation)) => {
                let off = mean.max(trip) - mean.min(trip);
                (mean.scaled(7, 8) + trip.scaled(1, 8), deviation.scaled(3, 4) + off.scaled(1, 4))
            }
        });
    }

    /// No answer came within the wait.
    pub fn late(&mut self) {
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
    }

    /// Time to wait for an answer: at least `least`, and at most `most` if that is longer.
    pub fn wait(&self, least: Duration, most: Duration) -> Duration {
        let wait = self.smooth.map_or(least, |(mean, deviation)| mean + deviation * 4).max(least);
        (wait * (1 << self.doublings)).min(most.max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_ms(1);
    const MOST: Duration = Duration::from_ms(50);

    #[test]
    fn it_waits_for_the_usual_round_trip_and_some_more() {
        let mut trip = Trip::UNKNOWN;
        assert_eq!(trip.wait(LEAST, MOST), LEAST);
        (0..50).for_each(|_| trip.measured(Duration::from_us(4000)));
        let wait = trip.wait(LEAST, MOST);
        assert!(wait >= Duration::from_us(4000) && wait < Duration::from_us(4400), "{wait}");
        (0..50).for_each(|_| trip.measured(Duration::from_us(10)));
        assert_eq!(trip.wait(LEAST, MOST), LEAST);
    }

    #[test]
    fn it_waits_longer_until_an_answer_is_measured() {
        let mut trip = Trip::UNKNOWN;
        trip.late();
        trip.late();
        assert_eq!(trip.wait(LEAST, MOST), LEAST * 4);
        (0..100).for_each(|_| trip.late());
        assert_eq!(trip.wait(LEAST, MOST), MOST);
        trip.measured(Duration::from_us(6000));
        assert_eq!(trip.wait(LEAST, MOST), Duration::from_us(18_000));
    }
}
