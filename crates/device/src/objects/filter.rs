//! TNA's `Lpf` and `Wred`: averages of values over time, and decisions by them.
//!
//! ```text
//! sample    y += (x - y) * (1 - e^(-dt / T))      T: the gain's time constant if x > y, else the decay's
//! rate      y = y * e^(-dt / T) + x               T: the decay's time constant
//! result    y / 2^scale, rounded down
//! Wred      y as of samples; never drops up to `least`, always above `most`, in between with a probability that rises
//!           from 0 to `probability`
//! ```
//!
//! A register beside the object has its settings, a cell for each of its own ([`Settings`]); without them, a filter's
//! result is its input, and nothing is dropped.

use ir::InstanceId;
use std::collections::BTreeMap;

/// State of a cell: the average, and when it was updated.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Average {
    /// A number's representation, which is never that of no number.
    bits: u64,
    at_ns: u64,
}

/// An array of averages, or the object of a table's entries.
pub(crate) struct Filter {
    /// Register with the settings.
    pub(crate) settings: Option<InstanceId>,
    /// Results of a `Wred` for drop and no drop; none of an `Lpf`.
    pub(crate) decision: Option<[u64; 2]>,
    /// Number of cells.
    pub(crate) size: u64,
    /// Cells that were updated.
    pub(crate) cells: BTreeMap<u64, Average>,
}

/// Settings of a cell: the fields of the register's cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Settings {
    Lpf { is_rate: bool, gain_ns: u64, decay_ns: u64, scale: u32 },
    Wred { time_ns: u64, least: u64, most: u64, probability: u64 },
}

/// The probability that stands for 1.
pub(crate) const CERTAIN: u64 = 1 << 32;

impl Settings {
    /// The settings in the fields of a cell.
    pub(crate) fn of(is_wred: bool, fields: [u64; 4]) -> Settings {
        let [a, b, c, d] = fields;
        match is_wred {
            true => Settings::Wred { time_ns: a, least: b, most: c, probability: d },
            false => Settings::Lpf { is_rate: a != 0, gain_ns: b, decay_ns: c, scale: d.min(63) as u32 },
        }
    }
}

impl Average {
    /// The average after `x` at a time.
    pub(crate) fn update(&mut self, settings: Settings, x: u64, now_ns: u64) -> f64 {
        let (y, x) = (f64::from_bits(self.bits), x as f64);
        let passed = now_ns.saturating_sub(self.at_ns) as f64;
        let left = |constant: u64| if constant == 0 { 0.0 } else { decayed(passed / constant as f64) };
        let y = match settings {
            Settings::Lpf { is_rate: true, decay_ns, .. } => y * left(decay_ns) + x,
            Settings::Lpf { gain_ns, decay_ns, .. } => {
                x + (y - x) * left(if x > y { gain_ns } else { decay_ns })
            }
            Settings::Wred { time_ns, .. } => x + (y - x) * left(time_ns),
        };
        *self = Average { bits: y.to_bits(), at_ns: now_ns.max(self.at_ns) };
        y
    }

    /// For comparing states.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        [self.bits.to_be_bytes(), self.at_ns.to_be_bytes()].concat()
    }
}

/// The result of an `Lpf` for an average.
pub(crate) fn scaled(settings: Settings, average: f64) -> u128 {
    match settings {
        Settings::Lpf { scale, .. } => average as u128 >> scale,
        Settings::Wred { .. } => average as u128,
    }
}

/// Probability with which a `Wred` drops, in parts of [`CERTAIN`].
pub(crate) fn probability(settings: Settings, average: f64) -> u64 {
    let Settings::Wred { least, most, probability, .. } = settings else { return 0 };
    if least == 0 && most == 0 || average <= least as f64 {
        return 0;
    }
    if average > most as f64 {
        return CERTAIN;
    }
    let share = (average - least as f64) / most.saturating_sub(least).max(1) as f64;
    (share * probability as f64) as u64
}

/// e^-x, by operations that give the same bits on every machine.
fn decayed(x: f64) -> f64 {
    if x > 700.0 {
        return 0.0;
    }
    // e^-x = 2^-n * e^-r with 0 <= r < ln 2.
    let n = (x / std::f64::consts::LN_2).floor();
    let r = x - n * std::f64::consts::LN_2;
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 1..20 {
        term *= -r / f64::from(k);
        sum += term;
    }
    sum * 2f64.powi(-(n as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decay_is_the_exponential_function() {
        for x in [0.0, 1e-9, 0.1, 0.69, 0.7, 1.0, 5.5, 100.0, 699.0] {
            let exact = f64::exp(-x);
            assert!((decayed(x) - exact).abs() <= exact * 1e-12, "{x}");
        }
        assert_eq!(decayed(1e9), 0.0);
    }

    #[test]
    fn rises_and_falls_have_their_own_constants() {
        let settings = Settings::of(false, [0, 1000, 2000, 0]);
        let mut average = Average::default();
        let risen = average.update(settings, 1000, 1000);
        assert!((risen - 1000.0 * (1.0 - f64::exp(-1.0))).abs() < 1e-9);
        let fallen = average.update(settings, 0, 2000);
        assert!((fallen - risen * f64::exp(-0.5)).abs() < 1e-9);
        // No time has passed: a sample changes nothing, a rate adds up.
        assert_eq!(average.update(settings, 77, 2000), fallen);
        let rate = Settings::of(false, [1, 0, 1000, 4]);
        let mut average = Average::default();
        average.update(rate, 100, 1000);
        assert_eq!(average.update(rate, 60, 1000), 160.0);
        assert_eq!(scaled(rate, 160.0), 10);
        assert!((average.update(rate, 0, 2000) - 160.0 * f64::exp(-1.0)).abs() < 1e-9);
    }

    #[test]
    fn drops_rise_between_the_thresholds() {
        let settings = Settings::of(true, [0, 100, 200, CERTAIN / 2]);
        let drops = [0.0, 100.0, 150.0, 200.0, 201.0].map(|average| probability(settings, average));
        assert_eq!(drops, [0, 0, CERTAIN / 4, CERTAIN / 2, CERTAIN]);
        assert_eq!(probability(Settings::of(true, [0; 4]), 1e9), 0);
    }
}
