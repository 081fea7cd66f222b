//! Points in virtual time and the spans between them, in whole picoseconds.

use crate::units::{ParseUnitError, Units};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

const UNITS: Units = Units {
    printed: &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)],
    also_read: &[("µs", 1_000_000), ("min", 60_000_000_000_000), ("h", 3_600_000_000_000_000)],
    known: "ps, ns, us, ms, s, min, h",
};

/// A span of time in picoseconds: a byte at 100 Gbit/s takes 80 of them, and 213 days fit.
///
/// Arithmetic stops at [`Duration::MAX`] and at zero instead of wrapping.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Duration(u64);

/// A point in virtual time: picoseconds since the start of the run.
///
/// Arithmetic stops at [`Time::MAX`], which no event reaches and which serves as "never".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Time(u64);

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);
    /// The longest span, some 213 days.
    pub const MAX: Duration = Duration(u64::MAX);

    /// `n` picoseconds.
    pub const fn from_ps(n: u64) -> Duration {
        Duration(n)
    }

    /// `n` nanoseconds.
    pub const fn from_ns(n: u64) -> Duration {
        Duration(n.saturating_mul(1_000))
    }

    /// `n` microseconds.
    pub const fn from_us(n: u64) -> Duration {
        Duration(n.saturating_mul(1_000_000))
    }

    /// `n` milliseconds.
    pub const fn from_ms(n: u64) -> Duration {
        Duration(n.saturating_mul(1_000_000_000))
    }

    /// `n` seconds.
    pub const fn from_s(n: u64) -> Duration {
        Duration(n.saturating_mul(1_000_000_000_000))
    }

    /// In picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// In nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }

    /// In microseconds, rounded down.
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000_000
    }

    /// True for no time.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self * numerator / denominator`, rounded down; [`Duration::MAX`] if it does not fit or the denominator
    /// is 0.
    #[inline]
    pub fn scaled(self, numerator: u64, denominator: u64) -> Duration {
        if let Some(product) = self.0.checked_mul(numerator) {
            return product.checked_div(denominator).map_or(Duration::MAX, Duration);
        }
        let product = u128::from(self.0) * u128::from(numerator);
        let scaled = product.checked_div(u128::from(denominator));
        Duration(scaled.and_then(|v| u64::try_from(v).ok()).unwrap_or(u64::MAX))
    }
}

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Never.
    pub const MAX: Time = Time(u64::MAX);

    /// `n` picoseconds after the start.
    pub const fn from_ps(n: u64) -> Time {
        Time(n)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Nanoseconds since the start, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }

    /// Microseconds since the start, rounded down: v1model's unit.
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The span since `earlier`; none at all if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}

impl std::iter::Sum for Duration {
    fn sum<I: Iterator<Item = Duration>>(spans: I) -> Duration {
        spans.fold(Duration::ZERO, Add::add)
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, span: Duration) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.pad("0s") } else { UNITS.print(self.0, f) }
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As the span since the start: `2.12us`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Duration(self.0), f)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads `10us`, `1.5 ms`, `0`.
impl FromStr for Duration {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Duration, ParseUnitError> {
        UNITS.parse(text).map(Duration)
    }
}

/// Reads the span since the start.
impl FromStr for Time {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Time, ParseUnitError> {
        UNITS.parse(text).map(Time)
    }
}
