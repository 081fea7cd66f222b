//! Reading and printing: decimal, hexadecimal, P4 literals.

use crate::Bits;
use num_bigint::{BigInt, BigUint, Sign};
use std::fmt;

/// A number as P4 writes it (P4-16 §6.4.3.2): `31`, `0x1f`, `8w0x1f`, `-8s3`, `8s-3`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Literal {
    /// The number as written, with its sign and before it is cut to the width.
    pub value: BigInt,
    /// The width before `w` or `s`, if there is one.
    pub width: Option<u32>,
    /// True for `s`, and for a number without width.
    pub signed: bool,
}

/// Error of parsing a text as a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParseBitsError {
    /// Not a number in any form.
    NotANumber,
    /// A digit that the base does not have.
    BadDigit(char),
    /// The width before `w` or `s` is no number of at most 32 bits.
    BadWidth,
    /// The value needs more bits than `width`.
    DoesNotFit {
        /// The width that was asked for.
        width: u32,
    },
}

impl fmt::Display for ParseBitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseBitsError::NotANumber => write!(f, "not a number"),
            ParseBitsError::BadDigit(c) => write!(f, "`{}` is no digit here", c.escape_debug()),
            ParseBitsError::BadWidth => write!(f, "the width is no number"),
            ParseBitsError::DoesNotFit { width } => write!(f, "the value does not fit into {width} bits"),
        }
    }
}

impl std::error::Error for ParseBitsError {}

impl Literal {
    /// Reads a number in any of P4's forms; bases `0x`, `0o`, `0b`, `0d` and `_` between digits included.
    /// A minus sign may stand first or, as in our printed form `8s-3`, after the width.
    pub fn parse(text: &str) -> Result<Literal, ParseBitsError> {
        let (outer_minus, text) = strip_minus(text);
        let split = text.bytes().position(|c| c == b'w' || c == b's');
        let Some(at) = split else {
            return Ok(Literal { value: signed(outer_minus, digits(text)?), width: None, signed: true });
        };
        let width = text[..at].replace('_', "");
        if width.is_empty() || !width.bytes().all(|c| c.is_ascii_digit()) {
            return Err(ParseBitsError::BadWidth);
        }
        let width = width.parse().map_err(|_| ParseBitsError::BadWidth)?;
        let (inner_minus, number) = strip_minus(&text[at + 1..]);
        Ok(Literal {
            value: signed(outer_minus != inner_minus, digits(number)?),
            width: Some(width),
            signed: text.as_bytes()[at] == b's',
        })
    }

    /// The value in its own width, or `None` without one. Bits beyond the width are cut off.
    pub fn bits(&self) -> Option<Bits> {
        self.width.map(|width| Bits::from_bigint(width, &self.value))
    }
}

impl Bits {
    /// Reads `31`, `0x1f`, `0b11111`, `-3` into `width` bits; a negative number must fit `int<N>`, others
    /// `bit<N>`. A width in the text (`8w31`) must be the same.
    pub fn parse(width: u32, text: &str) -> Result<Bits, ParseBitsError> {
        let literal = Literal::parse(text)?;
        if literal.width.is_some_and(|written| written != width) {
            return Err(ParseBitsError::DoesNotFit { width });
        }
        let negative = literal.value.sign() == Sign::Minus;
        if !Bits::fits(width, negative, &literal.value) {
            return Err(ParseBitsError::DoesNotFit { width });
        }
        Ok(Bits::from_bigint(width, &literal.value))
    }

    /// Decimal, as `bit<N>`.
    pub fn to_decimal(&self) -> String {
        match self.to_u128() {
            Some(value) => value.to_string(),
            None => self.to_biguint().to_string(),
        }
    }

    /// Decimal, as `int<N>`.
    pub fn to_decimal_signed(&self) -> String {
        match self.to_i128() {
            Some(value) => value.to_string(),
            None => self.to_bigint_signed().to_string(),
        }
    }

    /// `0x1f`, without leading zeros, as `bit<N>`.
    pub fn to_hex(&self) -> String {
        match self.to_u128() {
            Some(value) => format!("{value:#x}"),
            None => format!("0x{}", self.to_biguint().to_str_radix(16)),
        }
    }

    /// `8w0x1f`.
    pub fn to_literal(&self) -> String {
        format!("{}w{}", self.width(), self.to_hex())
    }

    /// `8s-3`. Inside P4 expressions the sign stands first; see [`Literal`].
    pub fn to_literal_signed(&self) -> String {
        format!("{}s{}", self.width(), self.to_decimal_signed())
    }
}

/// As [`Bits::to_literal`].
impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_literal())
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_literal())
    }
}

fn strip_minus(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

fn signed(minus: bool, magnitude: BigUint) -> BigInt {
    BigInt::from_biguint(if minus { Sign::Minus } else { Sign::Plus }, magnitude)
}

fn digits(text: &str) -> Result<BigUint, ParseBitsError> {
    let bytes = text.as_bytes();
    let (radix, rest) = match (bytes.first(), bytes.get(1)) {
        (Some(b'0'), Some(b'x' | b'X')) => (16, &text[2..]),
        (Some(b'0'), Some(b'o' | b'O')) => (8, &text[2..]),
        (Some(b'0'), Some(b'b' | b'B')) => (2, &text[2..]),
        (Some(b'0'), Some(b'd' | b'D')) => (10, &text[2..]),
        _ => (10, text),
    };
    if rest.is_empty() || rest.starts_with('_') {
        return Err(ParseBitsError::NotANumber);
    }
    if let Some(bad) = rest.chars().find(|c| *c != '_' && !c.is_digit(radix)) {
        return Err(ParseBitsError::BadDigit(bad));
    }
    BigUint::parse_bytes(rest.replace('_', "").as_bytes(), radix).ok_or(ParseBitsError::NotANumber)
}
