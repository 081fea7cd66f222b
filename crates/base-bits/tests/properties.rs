//! Every operation against the same operation on big integers, for widths 0 to 300.

use base_bits::num_bigint::{BigInt, BigUint, Sign};
use base_bits::{BitReader, BitWriter, Bits, Literal, read_at, write_at};

/// A small generator, so that this crate's tests need no other crate.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Values near the borders come often: that is where carries and signs go wrong.
    fn bits(&mut self, width: u32) -> Bits {
        match self.below(8) {
            0 => Bits::zero(width),
            1 => Bits::ones(width),
            2 => Bits::min_signed(width),
            3 => Bits::max_signed(width),
            4 => Bits::new(width, u128::from(self.below(4))),
            _ => {
                let bytes: Vec<u8> = (0..width.div_ceil(8) + 2).map(|_| self.next() as u8).collect();
                Bits::from_be_bytes(width, &bytes)
            }
        }
    }
}

fn pow2(width: u32) -> BigInt {
    BigInt::from(BigUint::from(1u8) << width)
}

/// The number in 0..2^width that equals `value` modulo 2^width.
fn wrap(width: u32, value: &BigInt) -> BigInt {
    let modulus = pow2(width);
    ((value % &modulus) + &modulus) % &modulus
}

fn unsigned(bits: &Bits) -> BigInt {
    BigInt::parse_bytes(format!("0{}", bits.to_bit_string()).as_bytes(), 2).unwrap()
}

fn signed(bits: &Bits) -> BigInt {
    let value = unsigned(bits);
    if bits.to_bit_string().starts_with('1') { value - pow2(bits.width()) } else { value }
}

fn clamp(value: BigInt, low: BigInt, high: BigInt) -> BigInt {
    value.max(low).min(high)
}

fn for_each_case(seed: u64, mut check: impl FnMut(&mut Dice, u32)) {
    let mut dice = Dice(seed);
    for width in 0..=300 {
        for _ in 0..24 {
            check(&mut dice, width);
        }
    }
}

#[track_caller]
fn same(what: &str, got: &Bits, width: u32, want: &BigInt) {
    assert_eq!(got.width(), width, "{what}");
    assert_eq!(unsigned(got), wrap(width, want), "{what}: {got}");
    assert_eq!(*got, Bits::from_bigint(width, want), "{what}: not canonical");
}

#[test]
fn arithmetic() {
    for_each_case(1, |dice, w| {
        let (a, b) = (dice.bits(w), dice.bits(w));
        let (ua, ub) = (unsigned(&a), unsigned(&b));
        same("add", &a.add(&b), w, &(&ua + &ub));
        same("sub", &a.sub(&b), w, &(&ua - &ub));
        same("mul", &a.mul(&b), w, &(&ua * &ub));
        same("neg", &a.neg(), w, &-&ua);
        let zero = BigInt::from(0);
        if ub == zero {
            assert_eq!((a.div(&b), a.rem(&b)), (None, None));
        } else {
            same("div", &a.div(&b).unwrap(), w, &(&ua / &ub));
            same("rem", &a.rem(&b).unwrap(), w, &(&ua % &ub));
        }
        assert_eq!(a.cmp_unsigned(&b), ua.cmp(&ub));
        assert_eq!(a.cmp_signed(&b), signed(&a).cmp(&signed(&b)));
    });
}

#[test]
fn saturating_arithmetic() {
    for_each_case(2, |dice, w| {
        let (a, b) = (dice.bits(w), dice.bits(w));
        let (ua, ub, sa, sb) = (unsigned(&a), unsigned(&b), signed(&a), signed(&b));
        let top: BigInt = pow2(w) - 1;
        same("|+|", &a.saturating_add(&b), w, &clamp(&ua + &ub, 0.into(), top.clone()));
        same("|-|", &a.saturating_sub(&b), w, &clamp(&ua - &ub, 0.into(), top));
        let half = if w == 0 { BigInt::from(0) } else { pow2(w - 1) };
        let high = if w == 0 { BigInt::from(0) } else { &half - 1 };
        let low = -&half;
        same("signed |+|", &a.saturating_add_signed(&b), w, &clamp(&sa + &sb, low.clone(), high.clone()));
        same("signed |-|", &a.saturating_sub_signed(&b), w, &clamp(&sa - &sb, low, high));
    });
}

#[test]
fn logic_and_shifts() {
    for_each_case(3, |dice, w| {
        let (a, b) = (dice.bits(w), dice.bits(w));
        let (ua, ub) = (unsigned(&a), unsigned(&b));
        same("not", &a.not(), w, &(pow2(w) - 1 - &ua));
        same("and", &a.and(&b), w, &(&ua & &ub));
        same("or", &a.or(&b), w, &(&ua | &ub));
        same("xor", &a.xor(&b), w, &(&ua ^ &ub));
        let by = dice.below(u64::from(w) + 3);
        let amount = Bits::new(1 + dice.below(200) as u32, u128::from(by));
        let by = amount.low_u64();
        same("shl", &a.shl(&amount), w, &(&ua << by));
        same("shr", &a.shr(&amount), w, &(&ua >> by));
        same("shr_signed", &a.shr_signed(&amount), w, &(signed(&a) >> by));
        let huge = Bits::ones(150);
        assert!(a.shl(&huge).is_zero() && a.shr(&huge).is_zero());
        assert_eq!(a.shr_signed(&huge), if a.sign_bit() { Bits::ones(w) } else { Bits::zero(w) });
        assert_eq!(a.matches(&b, &a), (&ua & (&ua ^ &ub)) == BigInt::from(0));
    });
}

#[test]
fn shapes() {
    for_each_case(4, |dice, w| {
        let (a, v) = (dice.bits(w), dice.below(301) as u32);
        let b = dice.bits(v);
        same("concat", &a.concat(&b), w + v, &((unsigned(&a) << v) + unsigned(&b)));
        same("resize", &a.resize(v), v, &unsigned(&a));
        same("resize_signed", &a.resize_signed(v), v, &signed(&a));
        if w == 0 {
            return;
        }
        let lo = dice.below(u64::from(w)) as u32;
        let hi = lo + dice.below(u64::from(w - lo)) as u32;
        let part = hi - lo + 1;
        let text = a.to_bit_string();
        let (from, to) = ((w - 1 - hi) as usize, (w - lo) as usize);
        assert_eq!(a.slice(hi, lo).to_bit_string(), text[from..to]);
        let new = dice.bits(part);
        let want = format!("{}{}{}", &text[..from], new.to_bit_string(), &text[to..]);
        assert_eq!(a.with_slice(hi, lo, &new).to_bit_string(), want);
    });
}

#[test]
fn conversions_come_back() {
    for_each_case(5, |dice, w| {
        let a = dice.bits(w);
        assert_eq!(Bits::from_be_bytes(w, &a.to_be_bytes()), a);
        assert_eq!(a.to_be_bytes().len(), w.div_ceil(8) as usize);
        assert_eq!(Bits::from_bit_string(&a.to_bit_string()), Some(a.clone()));
        assert_eq!(a.to_bigint(), unsigned(&a));
        assert_eq!(a.to_bigint_signed(), signed(&a));
        assert_eq!(a.to_u128(), u128::try_from(unsigned(&a)).ok());
        assert_eq!(a.to_u64(), u64::try_from(unsigned(&a)).ok());
        assert_eq!(a.to_i128(), i128::try_from(signed(&a)).ok());
        for text in [a.to_decimal(), a.to_decimal_signed(), a.to_hex(), a.to_literal(), a.to_literal_signed()]
        {
            assert_eq!(Bits::parse(w, &text), Ok(a.clone()), "{text}");
        }
        let literal = Literal::parse(&a.to_literal_signed()).unwrap();
        assert_eq!((literal.bits(), literal.signed), (Some(a.clone()), true));
        assert_eq!(Literal::parse(&a.to_literal()).unwrap().value, unsigned(&a));
        assert_eq!(a.count_ones() as usize, a.to_bit_string().matches('1').count());
        let zeros = a.to_bit_string().find('1').unwrap_or(w as usize);
        assert_eq!(a.leading_zeros() as usize, zeros);
        assert_eq!((a.is_zero(), a.is_ones()), (a == Bits::zero(w), a == Bits::ones(w)));
    });
}

#[test]
fn fits_is_the_range_of_the_type() {
    for_each_case(6, |dice, w| {
        let value = BigInt::from_biguint(
            if dice.below(2) == 0 { Sign::Minus } else { Sign::Plus },
            dice.bits(w + 1).to_biguint(),
        );
        let zero = BigInt::from(0);
        assert_eq!(Bits::fits(w, false, &value), value >= zero && value < pow2(w), "{value} in bit<{w}>");
        let half = if w == 0 { BigInt::from(0) } else { pow2(w - 1) };
        let in_range = if w == 0 { value == zero } else { value >= -&half && value < half };
        assert_eq!(Bits::fits(w, true, &value), in_range, "{value} in int<{w}>");
    });
}

#[test]
fn what_is_written_is_read_back() {
    let mut dice = Dice(7);
    for _ in 0..400 {
        let widths: Vec<u32> = (0..dice.below(12)).map(|_| dice.below(301) as u32).collect();
        let fields: Vec<Bits> = widths.iter().map(|w| dice.bits(*w)).collect();
        let mut writer = BitWriter::new();
        fields.iter().for_each(|f| writer.push(f));
        let all: String = fields.iter().map(Bits::to_bit_string).collect();
        assert_eq!(writer.len_bits(), all.len() as u64);
        let bytes = writer.finish();
        assert_eq!(bytes.len(), all.len().div_ceil(8));
        let mut reader = BitReader::new(&bytes);
        for field in &fields {
            assert_eq!(reader.peek(field.width()).as_ref(), Some(field));
            assert_eq!(reader.read(field.width()).as_ref(), Some(field));
        }
        assert!(reader.remaining_bits() < 8 && reader.rest().is_empty());
        assert_eq!(reader.read(8), None);
        assert!(!reader.skip(8));
    }
}

#[test]
fn writing_in_place_leaves_the_rest() {
    let mut dice = Dice(8);
    for _ in 0..2000 {
        let total = 1 + dice.below(60) as u32;
        let before = dice.bits(total * 8);
        let mut bytes = before.to_be_bytes();
        let offset = dice.below(u64::from(total) * 8 + 1) as u32;
        let width = dice.below(u64::from(total * 8 - offset) + 1) as u32;
        let field = dice.bits(width);
        assert!(write_at(&mut bytes, u64::from(offset), &field));
        assert_eq!(read_at(&bytes, u64::from(offset), width), Some(field.clone()));
        let old = before.to_bit_string();
        let (head, tail) = (&old[..offset as usize], &old[(offset + width) as usize..]);
        let now = Bits::from_be_bytes(total * 8, &bytes).to_bit_string();
        assert_eq!(now, format!("{head}{}{tail}", field.to_bit_string()));
        assert!(!write_at(&mut bytes, u64::from(total) * 8 - u64::from(width) + 1, &field));
        assert!(!write_at(&mut bytes, u64::MAX, &field) || width == 0);
    }
}
