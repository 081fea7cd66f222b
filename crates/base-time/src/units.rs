//! Exact decimal numbers with a unit, read and printed: `1.5us`, `2.5Gbit/s`.

use std::fmt;

/// Error of parsing a duration or a rate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParseUnitError {
    /// No number at the start.
    NoNumber,
    /// No unit, or one that is not known; the known ones are listed.
    UnknownUnit {
        /// Text found instead of a unit.
        found: String,
        /// All units, smallest first.
        known: &'static str,
    },
    /// More decimals than the smallest unit can hold.
    TooFine {
        /// The smallest unit.
        smallest: &'static str,
    },
    /// Beyond the range of the type.
    TooBig,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseUnitError::NoNumber => write!(f, "a number is missing"),
            ParseUnitError::UnknownUnit { found, known } if found.is_empty() => {
                write!(f, "a unit is missing: one of {known}")
            }
            ParseUnitError::UnknownUnit { found, known } => {
                write!(f, "unknown unit `{}`: known are {known}", found.escape_debug())
            }
            ParseUnitError::TooFine { smallest } => write!(f, "finer than one {smallest}"),
            ParseUnitError::TooBig => write!(f, "the value is too big"),
        }
    }
}

impl std::error::Error for ParseUnitError {}

/// Units of one quantity, smallest first, each with its size in the smallest.
pub(crate) struct Units {
    /// The names that are printed, with their sizes.
    pub printed: &'static [(&'static str, u64)],
    /// Other names that are read, with their sizes.
    pub also_read: &'static [(&'static str, u64)],
    /// The printed names, for messages.
    pub known: &'static str,
}

impl Units {
    /// The value of `text` in the smallest unit. Spaces around and before the unit are allowed.
    pub fn parse(&self, text: &str) -> Result<u64, ParseUnitError> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
        let (number, unit) = (text[..end].replace('_', ""), text[end..].trim_start());
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
            return Err(ParseUnitError::NoNumber);
        }
        let names = self.printed.iter().chain(self.also_read);
        let size = match names.clone().find(|(name, _)| *name == unit) {
            Some((_, size)) => u128::from(*size),
            None if unit.is_empty() && number.bytes().all(|c| c == b'0' || c == b'.') => 1,
            None => return Err(ParseUnitError::UnknownUnit { found: unit.into(), known: self.known }),
        };
        let too_fine = ParseUnitError::TooFine { smallest: self.printed[0].0 };
        let fraction = fraction.trim_end_matches('0');
        let scale = u32::try_from(fraction.len()).ok().and_then(|n| 10u128.checked_pow(n));
        let scale = scale.filter(|s| size % s == 0).ok_or(too_fine)?;
        let digits = |text: &str| {
            if text.is_empty() { Ok(0) } else { text.parse::<u128>().map_err(|_| ParseUnitError::TooBig) }
        };
        let value = digits(whole)?
            .checked_mul(size)
            .and_then(|v| v.checked_add(digits(fraction).ok()? * (size / scale)))
            .ok_or(ParseUnitError::TooBig)?;
        u64::try_from(value).map_err(|_| ParseUnitError::TooBig)
    }

    /// In the largest unit that leaves a whole part, with all decimals that are not zero.
    pub fn print(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.printed.iter().rev().find(|(_, size)| value >= *size);
        let (name, size) = *unit.unwrap_or(&self.printed[0]);
        let decimals = size.ilog10() as usize;
        let fraction = format!("{:0decimals$}", value % size);
        let fraction = fraction.trim_end_matches('0');
        if value.is_multiple_of(size) {
            f.pad(&format!("{}{name}", value / size))
        } else {
            f.pad(&format!("{}.{fraction}{name}", value / size))
        }
    }
}
