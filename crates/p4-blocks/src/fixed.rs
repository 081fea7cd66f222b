//! Logarithms and powers of two in fixed point: the same bits on every machine.

use std::sync::LazyLock;

/// Bits after the point of a logarithm.
pub(crate) const FRACTION: u32 = 52;

/// log2(x) for x >= 1, with [`FRACTION`] bits after the point, rounded down. A bit of the logarithm is a squaring of the mantissa.
pub(crate) fn log2(x: u128) -> u128 {
    let whole = x.max(1).ilog2();
    let mut mantissa = (x.max(1) << (127 - whole)) >> 64;
    let mut log = u128::from(whole);
    for _ in 0..FRACTION {
        mantissa = (mantissa * mantissa) >> 63;
        log <<= 1;
        if mantissa >> 64 != 0 {
            mantissa >>= 1;
            log |= 1;
        }
    }
    log
}

const ONE: u128 = 1 << 62;

/// 2^log, rounded to an integer, for a logarithm below 64 with [`FRACTION`] bits after the point.
pub(crate) fn exp2(log: u128) -> u128 {
    (power(log) + (ONE >> 1)) >> 62
}

/// The same, rounded down.
pub(crate) fn exp2_floor(log: u128) -> u128 {
    power(log) >> 62
}

/// 2^log with 62 bits after the point.
fn power(log: u128) -> u128 {
    // 2^(1/2), 2^(1/4), ...
    static ROOTS: LazyLock<Vec<u128>> = LazyLock::new(|| {
        let roots = std::iter::successors(Some(2 * ONE), |root| Some((root << 62).isqrt()));
        roots.skip(1).take(FRACTION as usize).collect()
    });
    let used = ROOTS.iter().zip((0..FRACTION).rev()).filter(|(_, bit)| log >> bit & 1 != 0);
    used.fold(ONE, |mantissa, (root, _)| (mantissa * root) >> 62) << (log >> FRACTION)
}

/// Results of a function of small numbers, each computed when it is first asked for.
pub(crate) struct Memo(Vec<Option<u64>>);

impl Memo {
    /// Keeps results for numbers below `size`.
    pub(crate) fn new(size: usize) -> Memo {
        Memo(vec![None; size])
    }

    pub(crate) fn of(&mut self, number: u64, compute: impl FnOnce() -> u64) -> u64 {
        match self.0.get_mut(number as usize) {
            Some(known) => *known.get_or_insert_with(compute),
            None => compute(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_right_in_the_digits_that_tables_use() {
        for x in (1..5000u128).chain([u64::MAX.into(), 1 << 64, 123_456_789_012]) {
            let log = log2(x) as f64 / (1u64 << FRACTION) as f64;
            assert!((log - (x as f64).log2()).abs() < 1e-12, "log2({x}) = {log}");
            if x < 1 << 62 {
                assert_eq!(exp2(log2(x)), x, "2^log2({x})");
            }
        }
        assert_eq!(exp2(log2(2) / 2), 1, "the square root of two, rounded");
        assert_eq!(exp2((20 << FRACTION) + (1 << (FRACTION - 1))), 1_482_910);
    }
}
