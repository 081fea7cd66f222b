//! `protocol`: the Rust code of P4Runtime's messages and services, and their descriptors, from `crates/p4runtime-proto/proto`; and that of
//! etcd's, from `crates/state-etcd/proto`.
//!
//! ```text
//! proto/ ──protox──> p4runtime-proto/generated/descriptors.bin ──prost──> p4runtime-proto/generated/*.rs
//!                                                              ──tonic──> p4runtime-grpc/generated/{client,server}/*.rs
//!        ──protox──> descriptors ──tonic──> state-etcd/generated/{client,server}/*.rs
//! ```
//!
//! The build script generates them. The repository has copies, so that nobody who builds the command waits for the generators; `tidy`
//! compares them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Crates with generated code.
const CRATES: [&str; 3] = ["p4runtime-proto", "p4runtime-grpc", "state-etcd"];

/// Paths relative to the root, and contents.
type Generated = BTreeMap<PathBuf, Vec<u8>>;

/// Writes the copies, and removes those of files that are generated no longer.
pub fn run() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match write(&root, &generated()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("protocol: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Compares the copies with the generated files.
pub fn check(root: &Path, found: &mut Vec<String>) {
    let mut copies = copies(root);
    for (path, content) in generated() {
        if copies.remove(&path) != Some(content) {
            found.push(format!("{} is not what proto/ gives: run `cargo xtask protocol`", path.display()));
        }
    }
    for path in copies.into_keys() {
        found.push(format!("{} is generated no longer: run `cargo xtask protocol`", path.display()));
    }
}

fn write(root: &Path, generated: &Generated) -> std::io::Result<()> {
    let copies = copies(root);
    for path in copies.keys().filter(|path| !generated.contains_key(*path)) {
        std::fs::remove_file(root.join(path))?;
    }
    // An equal file keeps its time, and cargo what it has compiled of it.
    for (path, content) in generated.iter().filter(|(path, content)| copies.get(*path) != Some(content)) {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, content)?;
    }
    Ok(())
}

fn generated() -> Generated {
    let mut found = Generated::new();
    for name in CRATES {
        read(&Path::new(env!("OUT_DIR")).join(name), name, &mut found);
    }
    // Packages without a service.
    found.retain(|_, content| !content.is_empty());
    found
}

fn copies(root: &Path) -> Generated {
    let mut found = Generated::new();
    for name in CRATES {
        read(&root.join(folder(name)), name, &mut found);
    }
    found
}

/// The files of `from` as those of a crate's folder of generated code.
fn read(from: &Path, name: &str, found: &mut Generated) {
    for file in super::tidy::files(from) {
        if let (Ok(path), Ok(content)) = (file.strip_prefix(from), std::fs::read(&file)) {
            found.insert(folder(name).join(path), content);
        }
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new("crates").join(name).join("generated")
}
