//! Single cases a reader can check by hand: literals, errors, prefixes, alignment.

use base_bits::{BitReader, BitWriter, Bits, Literal, ParseBitsError};

#[test]
fn literals_in_all_forms() {
    let cases = [
        ("31", 31, None, true),
        ("0x1F", 31, None, true),
        ("0b1_1111", 31, None, true),
        ("0o37", 31, None, true),
        ("0d31", 31, None, true),
        ("8w0x1f", 31, Some(8), false),
        ("8s-3", -3, Some(8), true),
        ("-8s3", -3, Some(8), true),
        ("1_6w1_0", 10, Some(16), false),
        ("0w0", 0, Some(0), false),
    ];
    for (text, value, width, signed) in cases {
        assert_eq!(Literal::parse(text), Ok(Literal { value: value.into(), width, signed }), "{text}");
    }
}

#[test]
fn texts_that_are_no_numbers() {
    use ParseBitsError::{BadDigit, BadWidth, NotANumber};
    let cases = [
        ("", NotANumber),
        ("-", NotANumber),
        ("0x", NotANumber),
        ("_1", NotANumber),
        ("8w", NotANumber),
        ("w1", BadWidth),
        ("99999999999w1", BadWidth),
        ("1-2w1", BadWidth),
        ("0b2", BadDigit('2')),
        ("12f", BadDigit('f')),
        ("1é", BadDigit('é')),
        ("--1", BadDigit('-')),
    ];
    for (text, error) in cases {
        assert_eq!(Literal::parse(text), Err(error), "{text}");
    }
}

#[test]
fn a_value_that_does_not_fit_is_refused() {
    assert_eq!(Bits::parse(8, "255"), Ok(Bits::ones(8)));
    assert_eq!(Bits::parse(8, "-128"), Ok(Bits::min_signed(8)));
    for text in ["256", "-129", "9w1", "0x100"] {
        assert_eq!(Bits::parse(8, text), Err(ParseBitsError::DoesNotFit { width: 8 }), "{text}");
    }
    assert_eq!(Bits::parse(0, "0"), Ok(Bits::zero(0)));
}

#[test]
fn printed_forms() {
    let value = Bits::new(8, 0xfd);
    assert_eq!(value.to_literal(), "8w0xfd");
    assert_eq!(value.to_literal_signed(), "8s-3");
    assert_eq!((value.to_decimal(), value.to_decimal_signed()), ("253".into(), "-3".into()));
    assert_eq!(format!("[{value:>8}]"), "[  8w0xfd]");
    assert_eq!(Bits::ones(132).to_hex(), format!("0x{}", "f".repeat(33)));
    assert_eq!(Bits::from_bit_string("01x"), None);
}

#[test]
fn prefixes() {
    assert_eq!(Bits::new(8, 0xf0).prefix_len(), Some(4));
    assert_eq!(Bits::zero(8).prefix_len(), Some(0));
    assert_eq!(Bits::ones(8).prefix_len(), Some(8));
    assert_eq!(Bits::new(8, 0xf1).prefix_len(), None);
    assert_eq!(Bits::zero(0).prefix_len(), Some(0));
}

#[test]
fn values_order_by_width_then_value() {
    let mut values = vec![Bits::ones(200), Bits::new(9, 0), Bits::new(8, 255), Bits::new(8, 3)];
    values.sort();
    assert_eq!(values, [Bits::new(8, 3), Bits::new(8, 255), Bits::new(9, 0), Bits::ones(200)]);
    assert_eq!(Bits::ones(4).cmp_signed(&Bits::zero(200)), std::cmp::Ordering::Less);
}

#[test]
fn writer_and_reader_keep_alignment() {
    let mut writer = BitWriter::new();
    writer.push_u128(3, 0b101);
    writer.push_bytes(&[0xff, 0x00]);
    assert!(!writer.is_aligned());
    writer.pad();
    writer.push_bool(true);
    assert_eq!(writer.len_bits(), 25);
    assert_eq!(writer.finish(), [0b1011_1111, 0b1110_0000, 0, 0b1000_0000]);
    let mut reader = BitReader::new(&[0xa5, 0x5a, 0xff]);
    assert_eq!(reader.read(4), Some(Bits::new(4, 0xa)));
    assert_eq!(reader.rest(), [0x5a, 0xff]);
    assert!(reader.skip(5));
    assert_eq!(reader.read_bool(), Some(true));
    assert_eq!(reader.position(), 10);
}

#[test]
#[cfg(not(debug_assertions))]
fn a_width_mismatch_is_defined_in_release_builds() {
    assert_eq!(Bits::new(8, 1).add(&Bits::new(16, 0x1ff)), Bits::zero(8));
    assert_eq!(Bits::new(8, 0xff).slice(9, 4), Bits::new(6, 0xf));
}
