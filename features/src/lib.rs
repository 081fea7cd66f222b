//! Third-party features that all builds of tests share (`Cargo.toml` says why), and what the tests of all crates share.

/// A number for a test: that of an environment variable, or, where there is none, `otherwise`.
#[allow(clippy::disallowed_methods)]
pub fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// True for `./test --all`, which sets `P4RACK_ALL`: tests take their long forms.
pub fn is_long() -> bool {
    std::env::var_os("P4RACK_ALL").is_some()
}

/// Seeds of a test that tries many: `0..short`, or `0..long` for `./test --all`. `P4RACK_SEEDS=FIRST..END` selects others, so that several processes can share a long form.
///
/// # Panics
/// If `P4RACK_SEEDS` is no range.
#[allow(clippy::disallowed_methods)]
pub fn seeds(short: u64, long: u64) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("P4RACK_SEEDS") else {
        return 0..if is_long() { long } else { short };
    };
    let range = text.split_once("..").and_then(|(first, end)| Some(first.parse().ok()?..end.parse().ok()?));
    range.unwrap_or_else(|| panic!("P4RACK_SEEDS is `{text}`; FIRST..END is wanted"))
}
