//! Third-party features that all builds of tests share (`Cargo.toml` says why), and what the tests of all crates share.

/// A number for a test: that of an environment variable, or, where there is none, `otherwise`.
#[allow(clippy::disallowed_methods)]
pub fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}
