//! A program in C with a switch of its own, compiled by the machine's compiler.

#![allow(clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The shared library: this test's own build has made it.
fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let made = own.parent().unwrap().read_dir().unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("libp4rack_switch") && name.ends_with(".so")
    };
    let made: Vec<PathBuf> = made.filter(is_it).collect();
    made.into_iter()
        .max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
        .expect("it was built")
}

#[test]
fn a_program_in_c_has_a_switch() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("switch-program");
    let compiled = Command::new("cc")
        .args([
            "-std=c11",
            "-fsanitize=undefined",
            "-fno-sanitize-recover=all",
            "-Wall",
            "-Wextra",
            "-Werror",
        ])
        .arg("-I")
        .args([root.join("include"), "-o".into(), program.clone(), root.join("tests/program.c"), library()])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let done = Command::new(&program).arg(root.join("../../examples")).output().unwrap();
    assert!(done.status.success() && done.stdout == b"ok\n", "{}", String::from_utf8_lossy(&done.stderr));
}
