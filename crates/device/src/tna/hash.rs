//! The hash units: checks by polynomial, exclusive-or sums, identity.

use crate::build::member;
use ir::{Const, Expr, ExprKind, Instance, Program};

/// Members of `HashAlgorithm_t` that an action selector may use.
pub(super) const SELECTOR_HASHES: [&str; 4] = ["IDENTITY", "CRC16", "CRC32", "XOR16"];

/// The function of a `Hash`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HashUnit {
    /// The data itself; its last bits are the low ones.
    Identity,
    /// The exclusive or of the words of so many bytes.
    Xor(usize),
    /// A cyclic redundancy check.
    Crc(Polynomial),
}

/// Parameters of a check (`CRCPolynomial`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Polynomial {
    /// 8 to 64 bits.
    width: u32,
    /// Without the highest term.
    coefficients: u64,
    /// Bytes and remainder are reflected.
    reversed: bool,
    initial: u64,
    xor: u64,
}

const CRC8: Polynomial = Polynomial { width: 8, coefficients: 0x07, reversed: false, initial: 0, xor: 0 };
const CRC16: Polynomial = Polynomial { width: 16, coefficients: 0x8005, reversed: true, initial: 0, xor: 0 };
const CRC32: Polynomial = Polynomial {
    width: 32,
    coefficients: 0x04c1_1db7,
    reversed: true,
    initial: 0xffff_ffff,
    xor: 0xffff_ffff,
};
const CRC64: Polynomial =
    Polynomial { width: 64, coefficients: 0x42f0_e1eb_a9ea_3693, reversed: false, initial: 0, xor: 0 };
/// `RANDOM` leaves the function open: any that spreads well will do. This is CRC-32C.
const RANDOM: Polynomial = Polynomial {
    width: 32,
    coefficients: 0x1edc_6f41,
    reversed: true,
    initial: 0xffff_ffff,
    xor: 0xffff_ffff,
};

impl HashUnit {
    /// The unit of an instance of `Hash`; `None` if its arguments are not known.
    pub fn of(program: &Program, instance: &Instance) -> Option<HashUnit> {
        Some(match member(program, instance, 0)?.as_str() {
            "IDENTITY" => HashUnit::Identity,
            "RANDOM" => HashUnit::Crc(RANDOM),
            "XOR8" => HashUnit::Xor(1),
            "XOR16" => HashUnit::Xor(2),
            "XOR32" => HashUnit::Xor(4),
            "CRC8" => HashUnit::Crc(CRC8),
            "CRC16" => HashUnit::Crc(CRC16),
            "CRC32" => HashUnit::Crc(CRC32),
            "CRC64" => HashUnit::Crc(CRC64),
            "CUSTOM" => HashUnit::Crc(Polynomial::of(program, instance.args.get(1)?)?),
            _ => return None,
        })
    }

    /// The hash of bytes.
    pub fn compute(self, data: &[u8]) -> u64 {
        match self {
            HashUnit::Identity => data.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)),
            HashUnit::Xor(bytes) => data.chunks(bytes).fold(0, |sum, word| {
                let filled = word.iter().chain(std::iter::repeat(&0)).take(bytes);
                sum ^ filled.fold(0, |value, byte| value << 8 | u64::from(*byte))
            }),
            HashUnit::Crc(polynomial) => polynomial.check(data),
        }
    }
}

impl Polynomial {
    /// `CRCPolynomial(coeff, reversed, msb, extended, init, xor)`: the width is that of `coeff`'s type. An extended
    /// polynomial is written with its highest term, one with `msb` shifted by one, its lowest term left out.
    fn of(program: &Program, argument: &Expr) -> Option<Polynomial> {
        let ExprKind::Const(Const::Instance(id)) = argument.kind else { return None };
        let args = &program.instances.get(id.index())?.args;
        let (number, width) = bits(&args.first()?.kind)?;
        let flag =
            |at: usize| matches!(args.get(at).map(|a| &a.kind), Some(ExprKind::Const(Const::Bool(true))));
        let value = |at: usize| args.get(at).and_then(|arg| bits(&arg.kind)).map_or(0, |(number, _)| number);
        let (msb, extended) = (flag(2), flag(3));
        let degree = if extended { 127u32.checked_sub(number.leading_zeros())? } else { width };
        let coefficients = if msb { number << 1 | 1 } else { number };
        if !(1..=64).contains(&degree) {
            return None;
        }
        let mask = u64::MAX >> (64 - degree);
        let low = |number: u128| number as u64 & mask;
        Some(Polynomial {
            width: degree,
            coefficients: low(coefficients),
            reversed: flag(1),
            initial: low(value(4)),
            xor: low(value(5)),
        })
    }

    fn check(self, data: &[u8]) -> u64 {
        let mask = u64::MAX >> (64 - self.width);
        let top = 1u64 << (self.width - 1);
        let step = |remainder: u64, bit: u64| {
            let carry = u64::from(remainder & top != 0) ^ bit;
            let shifted = remainder << 1 & mask;
            if carry == 1 { shifted ^ self.coefficients } else { shifted }
        };
        let remainder = data.iter().fold(self.initial, |remainder, byte| {
            let byte = if self.reversed { byte.reverse_bits() } else { *byte };
            (0..8).rev().fold(remainder, |remainder, at| step(remainder, u64::from(byte >> at & 1)))
        });
        let remainder = if self.reversed { remainder.reverse_bits() >> (64 - self.width) } else { remainder };
        (remainder ^ self.xor) & mask
    }
}

fn bits(kind: &ExprKind) -> Option<(u128, u32)> {
    match kind {
        ExprKind::Const(Const::Bits(bits)) => Some((bits.low_u128(), bits.width())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the catalogue of parametrised CRC algorithms: SMBUS, ARC, ISO-HDLC, ECMA-182, ISCSI.
    #[test]
    fn known_answers() {
        let check = |polynomial| HashUnit::Crc(polynomial).compute(b"123456789");
        assert_eq!(check(CRC8), 0xf4);
        assert_eq!(check(CRC16), 0xbb3d);
        assert_eq!(check(CRC32), 0xcbf4_3926);
        assert_eq!(check(CRC64), 0x6c40_df5f_0b49_7347);
        assert_eq!(check(RANDOM), 0xe306_9283);
        assert_eq!(HashUnit::Identity.compute(&[0x12, 0x34]), 0x1234);
        assert_eq!(HashUnit::Xor(1).compute(&[0x12, 0x34]), 0x26);
        assert_eq!(HashUnit::Xor(2).compute(&[0x12, 0x34, 0x01]), 0x1334);
        assert_eq!(HashUnit::Xor(4).compute(&[1, 2, 3, 4, 1]), 0x0002_0304);
    }
}
