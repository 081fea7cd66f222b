//! Timeout for a device's answers: RFC 6298's retransmission timer over the measured times of answers.
//!
//! Asks have numbers, so that the answer to one that was given up says how long it took, too (the RFC's section 3 has to leave
//! those out): where answers take longer than expected, the first ones are lost and those that follow are not.
//!
//! ```text
//! timeout = smooth + max(4 * varies, smooth / 4)
//! ```
//!
//! The RFC's least margin is the granularity of the clock. Here it is a quarter of the time: the variation of answers that always take the same time goes to 0,
//! and a device that is given up has to be repaired.

use crate::timing::Timing;
use base_time::Duration;

/// Before anything is known (RFC 6298, 2.1).
const FIRST: Duration = Duration::from_s(1);

/// Response times of one device.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Patience {
    /// Smoothed time of answers, and its smoothed variation.
    known: Option<(Duration, Duration)>,
    /// Answers that did not come since the last one that did: for each it is twice as long.
    missed: u32,
}

impl Patience {
    /// Records the response time of an answer.
    pub(crate) fn learn(&mut self, took: Duration) {
        self.missed = 0;
        self.known = Some(match self.known {
            None => (took, took.scaled(1, 2)),
            Some((smooth, varies)) => {
                let off = if took > smooth { took - smooth } else { smooth - took };
                (smooth.scaled(7, 8) + took.scaled(1, 8), varies.scaled(3, 4) + off.scaled(1, 4))
            }
        });
    }

    /// An answer has not come.
    pub(crate) fn miss(&mut self) {
        self.missed = self.missed.saturating_add(1);
    }

    /// The last answer has not come.
    pub(crate) fn is_missing(&self) -> bool {
        self.missed > 0
    }

    /// Timeout for the next answer.
    pub(crate) fn span(&self, timing: &Timing) -> Duration {
        let usual =
            self.known.map_or(FIRST, |(smooth, varies)| smooth + (varies * 4).max(smooth.scaled(1, 4)));
        let usual = usual.max(timing.patience_least);
        // An overflow is longer than any wait.
        let longer = usual.as_ps().checked_mul(1 << self.missed.min(32)).map(Duration::from_ps);
        longer.unwrap_or(timing.patience_most).min(timing.patience_most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        drain: Duration::ZERO,
        quiet: Duration::ZERO,
        patience_least: Duration::from_ms(10),
        patience_most: Duration::from_s(60),
        look: Duration::from_ms(10),
        lease: Duration::from_ms(100),
        merge: Duration::from_ms(1_000),
    };

    fn ms(ms: u64) -> Duration {
        Duration::from_ms(ms)
    }

    #[test]
    fn who_answers_soon_is_missed_soon() {
        let mut patience = Patience::default();
        assert_eq!(patience.span(&TIMING), FIRST);
        patience.learn(ms(100));
        // 100 ms, and four times half of that.
        assert_eq!(patience.span(&TIMING), ms(300));
        (0..100).for_each(|_| patience.learn(ms(100)));
        let span = patience.span(&TIMING);
        assert!(span > ms(120) && span < ms(126), "{span:?}");
        (0..100).for_each(|_| patience.learn(ms(1)));
        assert_eq!(patience.span(&TIMING), TIMING.patience_least);
    }

    /// Means are rounded down.
    #[test]
    fn who_always_takes_the_same_time_is_in_time() {
        let timing = Timing { patience_least: Duration::ZERO, ..TIMING };
        for took in (1..200).map(|number| Duration::from_us(97 * number)) {
            let mut patience = Patience::default();
            (0..200).for_each(|_| patience.learn(took));
            assert!(patience.span(&timing) > took, "{took:?}: {:?}", patience.span(&timing));
        }
    }

    #[test]
    fn who_is_slow_is_waited_for() {
        let mut patience = Patience::default();
        let spans: Vec<Duration> = (0..8)
            .map(|_| {
                patience.miss();
                patience.span(&TIMING)
            })
            .collect();
        assert_eq!(spans, [2, 4, 8, 16, 32, 60, 60, 60].map(Duration::from_s));
        // The first answer, long after it was given up.
        patience.learn(Duration::from_s(9));
        assert_eq!(patience.span(&TIMING), Duration::from_s(27));
    }
}
