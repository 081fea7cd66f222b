//! Generates the code of protocols, if `cargo xtask protocol` asks for it: the generators take longer to compile than all of `xtask`.

#[cfg(feature = "generators")]
mod generators;

#[cfg(feature = "generators")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    generators::run()
}

#[cfg(not(feature = "generators"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
