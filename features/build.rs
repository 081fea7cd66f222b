//! Does nothing: a crate without a build script has no build dependencies.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
