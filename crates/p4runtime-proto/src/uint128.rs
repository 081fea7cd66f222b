//! Election ids as numbers.

use crate::p4::v1::Uint128;

impl From<u128> for Uint128 {
    fn from(id: u128) -> Uint128 {
        Uint128 { high: (id >> 64) as u64, low: id as u64 }
    }
}

impl From<Uint128> for u128 {
    fn from(id: Uint128) -> u128 {
        u128::from(id.high) << 64 | u128::from(id.low)
    }
}
