//! `crc7`: the 7-bit CRC of SD and MMC cards.
//!
//! | | |
//! |---|---|
//! | synopsis | `bit<7> crc7(in bit<N> data)`, for any `N` |
//! | what it does | the remainder of the bits, most significant first, by x^7 + x^3 + 1, starting from 0 |
//! | state | none |
//! | cost | one look-up for each byte |
//!
//! ```p4
//! @value_extern("crc7") extern bit<7> crc7(in bit<40> command);
//! // crc7(0x4000000000) is 0x4a: the command that resets an SD card is sent as 40 00 00 00 00 95
//! ```

use base_bits::Bits;
use base_time::{Duration, Time};
use dataplane_api::{Direction, Effect, ExternError, Method, Registry, ValueExtern, ValueType};

/// The name in `@value_extern("crc7")`.
pub const NAME: &str = "crc7";

/// x^3 + 1, where the leading bit of a CRC is the highest of a byte.
const POLYNOMIAL: u8 = 0x09 << 1;

/// CRC of each byte, starting from 0; CRCs are in the upper 7 bits.
const TABLE: [u8; 256] = table();

/// Offers `crc7`.
pub fn register(registry: &mut Registry) {
    let method =
        Method::new(NAME, Effect::Pure).param(Direction::In, ValueType::AnyBit).returns(ValueType::Bit(7));
    registry.add_value(NAME, crate::function::<Crc7>(method, Duration::from_ns(20)));
}

/// The function.
#[derive(Clone, Copy, Default, Debug)]
pub struct Crc7;

impl ValueExtern for Crc7 {
    fn call(&mut self, _method: usize, inputs: &[Bits], outputs: &mut [Bits], _now: Time) {
        if let ([data], [crc]) = (inputs, outputs) {
            *crc = Bits::new(7, crc7(data).into());
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        vec![]
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), ExternError> {
        crate::restore_nothing(snapshot)
    }
}

/// Zero bits in front change nothing: the data is taken as whole bytes.
fn crc7(data: &Bits) -> u8 {
    let step = |crc: u8, byte: u8| TABLE[usize::from(crc ^ byte)];
    let crc = match data.to_u128() {
        Some(small) => small.to_be_bytes().into_iter().fold(0, step),
        None => data.to_biguint().to_bytes_be().into_iter().fold(0, step),
    };
    crc >> 1
}

const fn table() -> [u8; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = at as u8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x80 != 0 { crc << 1 ^ POLYNOMIAL } else { crc << 1 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
}
