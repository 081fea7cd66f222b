//! When a flow sends next.

use crate::kind::Load;
use base_time::{Duration, Rng, Time};

/// When packets are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Evenly.
    Even,
    /// Gaps are exponentially distributed.
    Poisson,
    /// Evenly in bursts, with silence between them; the lengths of both are exponentially distributed.
    OnOff {
        /// From one packet of a burst to the next.
        gap: Duration,
        /// The mean length of a burst.
        on: Duration,
        /// The mean length of a silence.
        off: Duration,
    },
}

/// The times at which packets of one pair are sent.
pub struct Source {
    gaps: Gaps,
    /// Number of packets sent.
    sent: u64,
    /// Delay of this pair's start after the workload's first pair.
    shift: Duration,
    /// When the next one is sent, if any is left.
    next: Time,
}

enum Gaps {
    /// Packet n is sent as the workload says, without rounding errors that add up.
    Even,
    Exponential(Box<(Duration, Rng)>),
    /// Evenly until the burst is over.
    Bursts(Box<Bursts>),
}

struct Bursts {
    gap: Duration,
    on: Duration,
    off: Duration,
    ends: Time,
    chance: Rng,
}

impl Source {
    /// Source of a pair that starts `shift` after the workload's start; `chance` belongs to the pair.
    pub fn new(load: &Load, pace: Pace, shift: Duration, mut chance: Rng) -> Source {
        let start = load.start + shift;
        let mean = load.time_of(1).since(load.start);
        let mut next = start;
        let gaps = match pace {
            Pace::Poisson => {
                next += chance.exponential(mean);
                Gaps::Exponential(Box::new((mean, chance)))
            }
            Pace::OnOff { gap, on, off } => {
                let ends = start + chance.exponential(on);
                Gaps::Bursts(Box::new(Bursts { gap, on, off, ends, chance }))
            }
            Pace::Even => Gaps::Even,
        };
        Source { gaps, sent: 0, shift, next }
    }

    /// When the next one is sent.
    pub fn next(&self) -> Time {
        self.next
    }

    /// One was sent.
    pub fn advance(&mut self, load: &Load) {
        self.sent += 1;
        self.next = match &mut self.gaps {
            Gaps::Even => load.time_of(self.sent) + self.shift,
            Gaps::Exponential(drawn) => {
                let (mean, chance) = &mut **drawn;
                self.next + chance.exponential(*mean)
            }
            Gaps::Bursts(bursts) => {
                let Bursts { gap, on, off, ends, chance } = &mut **bursts;
                let next = self.next + *gap;
                if next <= *ends {
                    next
                } else {
                    let start = *ends + chance.exponential(*off);
                    *ends = start + chance.exponential(*on);
                    start
                }
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Value;
    use crate::udp::UDP;

    fn times(pace: Pace, count: usize) -> Vec<u64> {
        let rate = Value::Rate("80Mbit/s".parse().unwrap());
        let mut load = Load::new(&UDP, count as u64, 100).with("rate", rate);
        load.start = Time::ZERO + Duration::from_us(5);
        let mut source = Source::new(&load, pace, Duration::from_us(2), Rng::new(3));
        let mut next = || {
            let at = source.next();
            source.advance(&load);
            at.as_us()
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn even_sources_keep_their_rate() {
        // 100 bytes at 80 Mbit/s are 10 us.
        assert_eq!(times(Pace::Even, 3), [7, 17, 27]);
        assert_eq!(times(Pace::Even, 100_000)[99_999], 7 + 999_990);
    }

    #[test]
    fn poisson_sources_keep_their_mean_rate() {
        let times = times(Pace::Poisson, 100_000);
        assert!(times.is_sorted());
        let last = times[99_999];
        assert!(last.abs_diff(1_000_000) < 10_000, "{last}");
        let short = times.windows(2).filter(|w| w[1] - w[0] < 1).count();
        // Of gaps of 10 us on average, 4.8 % begin and end in the same microsecond.
        assert!((4_500..5_200).contains(&short), "{short}");
    }

    #[test]
    fn sources_with_bursts_are_silent_between_them() {
        let (on, off) = (Duration::from_us(100), Duration::from_us(900));
        let gap = Duration::from_us(10);
        let times = times(Pace::OnOff { gap, on, off }, 100_000);
        let silences: Vec<u64> = times.windows(2).map(|w| w[1] - w[0]).filter(|gap| *gap > 10).collect();
        let mean = silences.iter().sum::<u64>() / silences.len() as u64;
        assert!((850..1000).contains(&mean), "{mean}");
        // A burst of 100 us has 10.5 packets on average: its first, and one for each gap that fits.
        let per_burst = times.len() / silences.len();
        assert!((10..=11).contains(&per_burst), "{per_burst}");
    }
}
