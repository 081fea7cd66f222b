//! Bit rates of links.

use crate::Duration;
use crate::units::{ParseUnitError, Units};
use std::fmt;
use std::str::FromStr;

const UNITS: Units = Units {
    printed: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
    ],
    also_read: &[
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
        ("b/s", 1),
        ("kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Gb/s", 1_000_000_000),
        ("Tb/s", 1_000_000_000_000),
    ],
    known: "bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s",
};

const PS_PER_S: u64 = 1_000_000_000_000;

/// Bits per second.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Rate(u64);

impl Rate {
    /// `n` bits per second.
    pub const fn from_bits_per_s(n: u64) -> Rate {
        Rate(n)
    }

    /// In bits per second.
    pub const fn bits_per_s(self) -> u64 {
        self.0
    }

    /// Time for which `bytes` bytes keep a link of this rate busy, rounded up to a whole picosecond, so that no link
    /// is ever faster than its rate. [`Duration::MAX`] at rate 0.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Duration {
        // Frames take this way: a division of 64 bits is several times as fast as one of 128.
        if let (Some(work @ 1..), 1..) = (bytes.checked_mul(8 * PS_PER_S), self.0) {
            return Duration::from_ps(work.div_ceil(self.0));
        }
        self.time_for_bits(u128::from(bytes) * 8)
    }

    /// [`time_for`](Rate::time_for) of a number of bits.
    pub fn time_for_bits(self, bits: u128) -> Duration {
        if bits == 0 {
            return Duration::ZERO;
        }
        let picoseconds = match (bits.checked_mul(u128::from(PS_PER_S)), self.0) {
            (_, 0) | (None, _) => u64::MAX,
            (Some(work), rate) => u64::try_from(work.div_ceil(u128::from(rate))).unwrap_or(u64::MAX),
        };
        Duration::from_ps(picoseconds)
    }

    /// Number of whole bytes transmitted in `span`.
    #[inline]
    pub fn bytes_in(self, span: Duration) -> u64 {
        if let Some(work) = self.0.checked_mul(span.as_ps()) {
            return work / (8 * PS_PER_S);
        }
        let bits = u128::from(self.0) * u128::from(span.as_ps()) / u128::from(PS_PER_S);
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }

    /// The rate of `bytes` bytes in `span`, rounded down; none if `span` is zero.
    pub fn of(bytes: u64, span: Duration) -> Option<Rate> {
        let work = u128::from(bytes) * 8 * u128::from(PS_PER_S);
        let rate = work.checked_div(u128::from(span.as_ps()))?;
        Some(Rate(u64::try_from(rate).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        UNITS.print(self.0, f)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads `1Gbit/s`, `2.5 Gbps`, `100Mb/s`. Bytes per second are refused: links are sold in bits.
impl FromStr for Rate {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Rate, ParseUnitError> {
        UNITS.parse(text).map(Rate)
    }
}
