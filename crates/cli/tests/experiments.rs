//! `p4rack bench`, `p4rack profile`, `p4rack profile-app`, `p4rack reproduce` and `p4rack traffic` run the program `p4rack-experiments`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty directory.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("experiments-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a directory for the test");
    path
}

/// A program that prints its name and arguments and ends with status 7. The shell writes it: no other process of this one has it open.
fn program(directory: &Path, name: &str) {
    let text = format!("#!/bin/sh\\necho {name} \"$@\"\\nexit 7\\n");
    let write = "printf \"$1\" > p4rack-experiments && chmod +x p4rack-experiments";
    let status = Command::new("sh").args(["-c", write, "sh", &text]).current_dir(directory).status();
    assert!(status.expect("a shell").success());
}

/// The command as the only file of a directory.
fn alone(directory: &Path, path: &Path, args: &[&str]) -> Output {
    let own = directory.join("p4rack");
    std::fs::hard_link(env!("CARGO_BIN_EXE_p4rack"), &own).expect("one file system");
    let output = Command::new(&own).args(args).env("PATH", path).output().expect("the binary runs");
    std::fs::remove_file(own).expect("it is there");
    output
}

#[test]
fn the_program_beside_the_command_gets_all_arguments() {
    let (beside, path) = (directory("beside"), directory("second"));
    program(&beside, "beside");
    program(&path, "path");
    for command in ["bench", "profile", "profile-app", "reproduce", "traffic"] {
        let output =
            alone(&beside, &path, &[command, "flightplan", "--help", "-x", "--format=json", "--", "a b"]);
        let expected = format!("beside {command} flightplan --help -x --format=json -- a b\n");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
        assert_eq!(output.status.code(), Some(7));
    }
}

#[test]
fn the_program_may_be_on_the_path() {
    let (beside, path) = (directory("without"), directory("path"));
    program(&path, "path");
    let output = alone(&beside, &path, &["bench", "--help"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "path bench --help\n");
}

#[test]
fn a_missing_program_is_reported_with_its_build() {
    let (beside, path) = (directory("nothing"), directory("nowhere"));
    for command in ["bench", "profile", "profile-app", "reproduce", "traffic"] {
        let output = alone(&beside, &path, &[command, "--help"]);
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{reported}");
        let place = format!("neither in `{}` nor on PATH", beside.display());
        for words in [
            command,
            &place,
            "cargo build --release -p experiments",
            "cargo install --path crates/experiments",
        ] {
            assert!(reported.contains(words), "no `{words}` in\n{reported}");
        }
    }
}
