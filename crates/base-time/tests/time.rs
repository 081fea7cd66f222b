//! Durations, times and rates: exact arithmetic, texts both ways.

use base_time::{Duration, ParseUnitError, Rate, Rng, Time};

#[test]
fn durations_print_in_the_largest_unit_with_a_whole_part() {
    let cases = [
        (0, "0s"),
        (1, "1ps"),
        (80, "80ps"),
        (1_500, "1.5ns"),
        (10_000_000, "10us"),
        (2_120_000, "2.12us"),
        (1_000_000_000_001, "1.000000000001s"),
        (u64::MAX, "18446744.073709551615s"),
    ];
    for (ps, text) in cases {
        assert_eq!(Duration::from_ps(ps).to_string(), text);
        assert_eq!(text.parse(), Ok(Duration::from_ps(ps)));
    }
}

#[test]
fn any_duration_and_rate_is_read_back() {
    let mut rng = Rng::new(1);
    for _ in 0..2000 {
        let n = rng.next_u64() >> rng.below(64);
        let (span, rate) = (Duration::from_ps(n), Rate::from_bits_per_s(n));
        assert_eq!(span.to_string().parse(), Ok(span), "{span}");
        assert_eq!(rate.to_string().parse(), Ok(rate), "{rate}");
    }
}

#[test]
fn spaces_underscores_and_longer_units_are_read() {
    assert_eq!(" 1_500 ns ".parse(), Ok(Duration::from_ns(1500)));
    assert_eq!("0.5h".parse(), Ok(Duration::from_s(1800)));
    assert_eq!("2min".parse(), Ok(Duration::from_s(120)));
    assert_eq!("0".parse(), Ok(Duration::ZERO));
    assert_eq!("10us".parse(), Ok(Time::from_ps(10_000_000)));
}

#[test]
fn texts_that_are_no_durations() {
    let message = |text: &str| text.parse::<Duration>().unwrap_err().to_string();
    assert_eq!(message(""), "a number is missing");
    assert_eq!(message("us"), "a number is missing");
    assert_eq!(message("1."), "a number is missing");
    assert_eq!(message("-1us"), "a number is missing");
    assert_eq!(message("1..2us"), "a number is missing");
    assert_eq!(message("10"), "a unit is missing: one of ps, ns, us, ms, s, min, h");
    assert_eq!(message("10 lightyears"), "unknown unit `lightyears`: known are ps, ns, us, ms, s, min, h");
    assert_eq!(message("0.0001ns"), "finer than one ps");
    assert_eq!(message("9999h"), "the value is too big");
    assert_eq!(message(&format!("{}us", "9".repeat(60))), "the value is too big");
    assert_eq!(message(&format!("0.{}us", "3".repeat(60))), "finer than one ps");
}

#[test]
fn rates_in_usual_spellings() {
    for text in ["10Gbit/s", "10 Gbps", "10_000Mb/s", "0.01Tbit/s"] {
        assert_eq!(text.parse(), Ok(Rate::from_bits_per_s(10_000_000_000)), "{text}");
    }
    assert_eq!(Rate::from_bits_per_s(2_500_000_000).to_string(), "2.5Gbit/s");
    assert_eq!(Rate::default().to_string(), "0bit/s");
    let bytes = "1GB/s".parse::<Rate>();
    assert!(matches!(bytes, Err(ParseUnitError::UnknownUnit { found, .. }) if found == "GB/s"));
}

#[test]
fn the_time_for_bytes_is_exact_and_rounds_up() {
    let at = |bits: u64, bytes| Rate::from_bits_per_s(bits).time_for(bytes).as_ps();
    assert_eq!(at(100_000_000_000, 1), 80);
    assert_eq!(at(1_000_000_000, 1500), 12_000_000);
    assert_eq!(at(3, 1), 2_666_666_666_667);
    assert_eq!(at(7, 0), 0);
    assert_eq!(at(0, 1), u64::MAX);
    assert_eq!(at(0, 0), 0);
    assert_eq!(at(1, u64::MAX), u64::MAX);
}

/// Small numbers are divided with 64 bits, others with 128.
#[test]
fn numbers_of_any_size_follow_one_formula() {
    let mut rng = Rng::new(4);
    let most = u128::from(u64::MAX);
    for _ in 0..10_000 {
        let [rate, bytes, ps, other] = [(); 4].map(|()| rng.next_u64() >> rng.below(64));
        let (rate, span) = (rate.max(1), Duration::from_ps(ps));
        let [wide, long, picoseconds, numerator] = [rate, bytes, ps, other].map(u128::from);
        let of = Rate::from_bits_per_s(rate);
        let time = (long * 8).checked_mul(1_000_000_000_000).map_or(most, |work| work.div_ceil(wide));
        assert_eq!(u128::from(of.time_for(bytes).as_ps()), time.min(most), "{bytes} bytes at {rate}");
        let within = wide * picoseconds / 1_000_000_000_000 / 8;
        assert_eq!(u128::from(of.bytes_in(span)), within.min(most), "{rate} for {ps}");
        let scaled = picoseconds * numerator / wide;
        assert_eq!(u128::from(span.scaled(other, rate).as_ps()), scaled.min(most), "{ps} * {other} / {rate}");
        assert_eq!(span.scaled(other, 0), Duration::MAX);
    }
}

#[test]
fn bytes_in_the_time_for_bytes_are_those_bytes() {
    let mut rng = Rng::new(2);
    for _ in 0..2000 {
        let rate = Rate::from_bits_per_s(rng.between(1, 1_000_000_000_000));
        let bytes = rng.below(10_000);
        assert_eq!(rate.bytes_in(rate.time_for(bytes)), bytes, "{bytes} bytes at {rate}");
        let span = rate.time_for(bytes);
        if bytes > 0 {
            assert!(rate.bytes_in(span - Duration::from_ps(1)) < bytes);
            assert!(Rate::of(bytes, span).unwrap() <= rate);
        }
    }
    assert_eq!(Rate::of(1, Duration::ZERO), None);
}

#[test]
fn arithmetic_stops_at_the_ends() {
    let us = Duration::from_us(1);
    assert_eq!(Duration::MAX + us, Duration::MAX);
    assert_eq!(us - Duration::from_us(2), Duration::ZERO);
    assert_eq!(Duration::from_s(u64::MAX), Duration::MAX);
    assert_eq!(Time::MAX + us, Time::MAX);
    assert_eq!(Time::ZERO - us, Time::ZERO);
    assert_eq!(Time::ZERO.since(Time::MAX), Duration::ZERO);
    assert_eq!(us.scaled(3, 2).as_ns(), 1500);
    assert_eq!(us.scaled(1, 0), Duration::MAX);
    assert_eq!([us, us, us].into_iter().sum::<Duration>(), us * 3);
}
