//! Third-party features that all builds of tests share (`Cargo.toml` says why), and what the tests of all crates share.

use std::hash::{Hash, Hasher};
use std::ops::Range;

/// A number for a test: that of an environment variable, or, where there is none, `otherwise`.
#[allow(clippy::disallowed_methods)]
pub fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// True for `./test --all`, which sets `P4RACK_ALL`: tests take their long forms.
pub fn is_long() -> bool {
    std::env::var_os("P4RACK_ALL").is_some()
}

/// Seeds of a random test: `P4RACK_SEEDS=FROM..TO`, or a number of them from 0 on; else the long form's with `P4RACK_ALL`, or a few.
/// Ranges can be divided among processes.
#[allow(clippy::disallowed_methods)]
pub fn seeds(few: u64, all: u64) -> Range<u64> {
    let many = if is_long() { all } else { few };
    let Ok(text) = std::env::var("P4RACK_SEEDS") else { return 0..many };
    let number = |text: &str| {
        text.parse()
            .unwrap_or_else(|_| panic!("`P4RACK_SEEDS` is a number or a range FROM..TO, not `{text}`"))
    };
    match text.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => 0..number(&text),
    }
}

/// Hash of 128 bits, by which explorations of models distinguish states. It takes the words of a value one by one: in tests of millions of states most of the
/// time was in `SipHash`, or in gathering single bytes.
pub fn fingerprint(value: &impl Hash) -> u128 {
    let mut hasher = Fingerprint(0x9e37_79b9_7f4a_7c15, 1);
    value.hash(&mut hasher);
    u128::from(hasher.0) << 64 | u128::from(hasher.1)
}

struct Fingerprint(u64, u64);

impl Fingerprint {
    #[inline]
    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(29);
        self.1 = (self.1.rotate_left(23) ^ word).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.1 ^= self.0 >> 31;
    }
}

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.word(value.into());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.word(value.into());
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.word(value);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.word(value as u64);
    }

    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.word(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
