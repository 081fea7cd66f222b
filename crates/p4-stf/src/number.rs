//! Numbers with digits that may be open.

use base_bits::Bits;
use base_bits::num_bigint::BigUint;

/// A number as written: `12`, `0x0a**`, `0b1*01`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Number {
    /// The base it is written in.
    pub base: Base,
    /// Without the prefix, most significant first; `None` is `*`. No digit is beyond the base.
    pub digits: Vec<Option<u8>>,
}

/// A base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// `0b`
    Binary,
    /// `0o`
    Octal,
    /// Without prefix.
    Decimal,
    /// `0x`
    Hexadecimal,
}

impl Base {
    /// 2, 8, 10 or 16.
    pub fn radix(self) -> u32 {
        match self {
            Base::Binary => 2,
            Base::Octal => 8,
            Base::Decimal => 10,
            Base::Hexadecimal => 16,
        }
    }

    /// Bits a digit stands for; none for decimal.
    pub fn bits_per_digit(self) -> Option<u32> {
        match self {
            Base::Binary => Some(1),
            Base::Octal => Some(3),
            Base::Decimal => None,
            Base::Hexadecimal => Some(4),
        }
    }
}

impl Number {
    /// Reads a number; none if the text is none. `*` may stand for digits except in decimal.
    pub fn parse(text: &str) -> Option<Number> {
        let (base, digits) = match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
            Some("0x") => (Base::Hexadecimal, &text[2..]),
            Some("0b") => (Base::Binary, &text[2..]),
            Some("0o") => (Base::Octal, &text[2..]),
            _ => (Base::Decimal, text),
        };
        let digit = |c: char| match c {
            '*' if base != Base::Decimal => Some(None),
            c => c.to_digit(base.radix()).map(|d| Some(d as u8)),
        };
        let digits: Vec<Option<u8>> = digits.chars().map(digit).collect::<Option<_>>()?;
        (!digits.is_empty()).then_some(Number { base, digits })
    }

    /// True if a digit is open.
    pub fn has_wildcards(&self) -> bool {
        self.digits.contains(&None)
    }

    /// The value, open digits read as 0.
    pub fn value(&self) -> BigUint {
        self.fold(|digit| digit.unwrap_or(0))
    }

    /// Ones for the digits that are written, zeros for those that are open and for all before the first: the
    /// mask that BMv2's test harness makes. None for decimal numbers.
    pub fn mask(&self) -> Option<BigUint> {
        let ones = self.base.radix() - 1;
        self.base.bits_per_digit()?;
        Some(self.fold(|digit| digit.map_or(0, |_| ones as u8)))
    }

    /// Number of leading bits that are written before the first open digit of `width` bits, if only trailing digits
    /// are open: a prefix.
    pub fn prefix_len(&self) -> Option<u32> {
        let bits = self.base.bits_per_digit()?;
        let written = self.digits.iter().take_while(|d| d.is_some()).count();
        let closed = self.digits[written..].iter().all(Option::is_none);
        closed.then_some(written as u32 * bits)
    }

    /// The value in `width` bits; none if it does not fit.
    pub fn bits(&self, width: u32) -> Option<Bits> {
        let value = self.value();
        (value.bits() <= u64::from(width)).then(|| Bits::from_biguint(width, value))
    }

    /// The value, if it fits.
    pub fn to_u64(&self) -> Option<u64> {
        u64::try_from(self.value()).ok()
    }

    fn fold(&self, digit: impl Fn(Option<u8>) -> u8) -> BigUint {
        let digits: Vec<u8> = self.digits.iter().map(|d| digit(*d)).collect();
        BigUint::from_radix_be(&digits, self.base.radix()).unwrap_or_default()
    }
}
