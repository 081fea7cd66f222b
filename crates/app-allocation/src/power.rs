//! Powers of ranks, without floats: the same on every machine.

/// Bits after the point of a logarithm.
const PLACES: u32 = 48;

/// 2^62 / rank^(skew / 1000).
pub(crate) fn inverse_power(rank: u64, skew: u32) -> u64 {
    let exponent = u128::from(skew) * u128::from(log2(rank)) / 1000;
    let whole = (exponent >> PLACES).min(63) as u32;
    exp2_minus(exponent as u64 & ((1 << PLACES) - 1)) >> whole
}

/// The logarithm of a number to base 2, with [`PLACES`] bits after the point.
fn log2(number: u64) -> u64 {
    let whole = number.max(1).ilog2();
    // The number as a value in 1..2 with 62 bits after the point; squaring it doubles its logarithm.
    let mut value = (u128::from(number.max(1)) << 62 >> whole) as u64;
    let mut part = 0;
    for _ in 0..PLACES {
        value = product(value, value);
        part <<= 1;
        if value >= 1 << 63 {
            part |= 1;
            value >>= 1;
        }
    }
    u64::from(whole) << PLACES | part
}

/// 2^-(1/2), 2^-(1/4), ... with 62 bits after the point: each is the root of the one before.
const ROOTS: [u64; PLACES as usize] = {
    let mut roots = [0; PLACES as usize];
    let mut factor = 1u64 << 61;
    let mut at = 0;
    while at < PLACES as usize {
        factor = ((factor as u128) << 62).isqrt() as u64;
        roots[at] = factor;
        at += 1;
    }
    roots
};

/// 2^(62 - part / 2^48) for a part below 2^48.
fn exp2_minus(part: u64) -> u64 {
    let bits = (0..PLACES).rev().zip(ROOTS);
    // A factor of 1 costs less than a branch that no processor can guess.
    let factors = bits.map(|(bit, root)| if part >> bit & 1 == 1 { root } else { 1 << 62 });
    factors.fold(1 << 62, product)
}

/// The product of two values with 62 bits after the point.
fn product(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 62) as u64
}

#[cfg(test)]
mod tests {
    use super::inverse_power;

    #[test]
    fn powers_are_exact_to_eight_digits() {
        for (rank, skew) in [(1, 990), (2, 1000), (10, 900), (1000, 950), (1_000_000, 990), (1 << 32, 1100)] {
            let wanted = 2f64.powi(62) / (rank as f64).powf(f64::from(skew) / 1000.0);
            let off = inverse_power(rank, skew) as f64 / wanted - 1.0;
            assert!(off.abs() < 1e-8, "{rank}^{skew}: off by {off}");
        }
        assert_eq!(inverse_power(7, 0), 1 << 62);
        assert_eq!(inverse_power(u64::MAX, 4000), 0);
    }
}
