//! Relative relocations of the command in their packed form (`DT_RELR`), a hundredth of the size of the old one: 2.7 MB of 42.
//! A binary with packed relocations needs glibc 2.36 to start, so only a build for the machine that it runs on has them, where this glibc is installed.

// Cargo gives a build script its settings as variables.
#![allow(clippy::disallowed_methods)]

use std::process::Command;

/// The first glibc that reads packed relocations.
const GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name| std::env::var(name).unwrap_or_default();
    if variable("HOST") == variable("TARGET")
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && glibc().is_some_and(|version| version >= GLIBC)
    {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of the machine's glibc, from `glibc 2.36`; `None` where there is none.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
