//! Third-party features that all builds of tests share (`Cargo.toml` says why), and what the tests of all crates share.

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
