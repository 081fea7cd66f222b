//! `protocol`: the Rust code of P4Runtime's messages and services, and their descriptors, from `crates/p4runtime-proto/proto`; and that of
//! etcd's, from `crates/state-etcd/proto`.
//!
//! ```text
//! proto/ ──protox──> p4runtime-proto/generated/descriptors.bin ──prost──> p4runtime-proto/generated/*.rs
//!                                                              ──tonic──> p4runtime-grpc/generated/{client,server}/*.rs
//!        ──protox──> descriptors ──tonic──> state-etcd/generated/{client,server}/*.rs
//! ```
//!
//! The build script generates them, with the feature `generators`. The repository has copies, so that nobody else waits for the generators,
//! and [`SUMS`]: the sum of every file that code is generated from, of every generated file, and the generators' versions. `tidy` compares
//! these.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Crates with generated code.
const CRATES: [&str; 3] = ["p4runtime-proto", "p4runtime-grpc", "state-etcd"];

/// Sources of the code besides `proto/` of the crates.
const GENERATORS: [&str; 1] = ["xtask/generators.rs"];

/// Packages that generate.
const PACKAGES: [&str; 6] =
    ["prettyplease", "prost", "prost-build", "protox", "tonic-build", "tonic-prost-build"];

/// A line for each file: MD5 of the content, path.
const SUMS: &str = "xtask/protocol.sums";

/// Paths relative to the root, and contents.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Writes the copies, and removes those of files that are generated no longer.
pub fn run() -> ExitCode {
    if !cfg!(feature = "generators") {
        return run_with_generators();
    }
    let root = root();
    match write(&root, &generated()).and_then(|()| std::fs::write(root.join(SUMS), sums(&root))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("protocol: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The same command of an `xtask` with the generators.
fn run_with_generators() -> ExitCode {
    let args = ["run", "--quiet", "--package", "xtask", "--features", "generators", "--", "protocol"];
    let status = Command::new(env!("CARGO")).args(args).current_dir(root()).status();
    if status.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reports every file that was written, changed or removed since the code was generated.
pub fn check(root: &Path, found: &mut Vec<String>) {
    let known = std::fs::read_to_string(root.join(SUMS)).unwrap_or_default();
    let (known, now) = (lines(&known), sums(root));
    let differing: BTreeSet<&str> = known.symmetric_difference(&lines(&now)).map(|(_, what)| *what).collect();
    for what in differing {
        found.push(format!("{what} is not what it was when code was generated: run `cargo xtask protocol`"));
    }
}

/// Sum and what it is of.
fn lines(sums: &str) -> BTreeSet<(&str, &str)> {
    sums.lines().filter_map(|line| line.split_once("  ")).collect()
}

fn sums(root: &Path) -> String {
    let mut files = Files::new();
    for name in CRATES {
        for folder in [folder(name), Path::new("crates").join(name).join("proto")] {
            read(&root.join(&folder), &folder, &mut files);
        }
    }
    for path in GENERATORS {
        files.insert(path.into(), std::fs::read(root.join(path)).unwrap_or_default());
    }
    let sums =
        files.iter().map(|(path, content)| format!("{:x}  {}\n", md5::compute(content), path.display()));
    sums.chain(versions(root)).collect()
}

/// A line for each version of a package in `Cargo.lock` that generates.
fn versions(root: &Path) -> Vec<String> {
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
    let lock: toml::Table = toml::from_str(&lock).unwrap_or_default();
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let mut versions = vec![];
    for package in packages {
        let [name, version] = ["name", "version"].map(|key| package.get(key).and_then(toml::Value::as_str));
        if let (Some(name), Some(version)) = (name, version)
            && PACKAGES.contains(&name)
        {
            versions.push(format!("{version}  {name}\n"));
        }
    }
    versions
}

fn write(root: &Path, generated: &Files) -> std::io::Result<()> {
    let mut copies = Files::new();
    for name in CRATES {
        read(&root.join(folder(name)), &folder(name), &mut copies);
    }
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

fn generated() -> Files {
    let mut found = Files::new();
    for name in CRATES {
        read(&Path::new(env!("OUT_DIR")).join(name), &folder(name), &mut found);
    }
    // Packages without a service.
    found.retain(|_, content| !content.is_empty());
    found
}

/// The files of `from` as those of the folder `to`.
fn read(from: &Path, to: &Path, found: &mut Files) {
    for file in super::tidy::files(from) {
        if let (Ok(path), Ok(content)) = (file.strip_prefix(from), std::fs::read(&file)) {
            found.insert(to.join(path), content);
        }
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new("crates").join(name).join("generated")
}
