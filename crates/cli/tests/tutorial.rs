//! docs/tutorial.md and docs/handlers.md: every file in them is written, every command runs, and has the shown output.
//!
//! `p4rack bench` needs `p4rack-experiments` beside the command: `cargo test -p cli` alone does not build it, `cargo build -p experiments` does.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A block between fences: the words after the first, and the lines.
struct Block<'a> {
    kind: &'a str,
    file: Option<&'a str>,
    lines: Vec<&'a str>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = vec![];
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix("```") else { continue };
        let (kind, file) = head.split_once(' ').map_or((head, None), |(kind, file)| (kind, Some(file)));
        let lines = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(Block { kind, file, lines });
    }
    blocks
}

/// Does what a page says, in a directory of its own. Gives the directory and the number of commands.
fn follow(name: &str, page: &str) -> (PathBuf, usize) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a folder of its own");
    let (mut commands, mut said) = (0, String::new());
    for block in blocks(page) {
        match (block.kind, block.file) {
            (_, Some(file)) => {
                std::fs::write(directory.join(file), block.lines.join("\n") + "\n").expect("it is written");
            }
            ("sh", None) => {
                said.clear();
                for line in block.lines {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    assert_eq!(words[0], "p4rack", "{line}");
                    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
                    let output = command.args(&words[1..]).current_dir(&directory).output().expect("it runs");
                    said += &String::from_utf8_lossy(&output.stdout);
                    assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
                    commands += 1;
                }
            }
            ("text", None) => {
                for line in block.lines {
                    assert!(said.contains(line), "`{line}` is not in\n{said}");
                }
            }
            (kind, None) => panic!("a block of `{kind}` without a file's name"),
        }
    }
    (directory, commands)
}

#[test]
fn every_command_of_handlers_works() {
    let (directory, commands) = follow("handlers-page", include_str!("../../../docs/handlers.md"));
    assert_eq!(commands, 6);
    assert!(directory.join("fuzz/fuzz-grade.c").exists());
}

#[test]
fn every_command_of_the_tutorial_works() {
    let (directory, commands) = follow("tutorial", include_str!("../../../docs/tutorial.md"));
    assert_eq!(commands, 8);
    let program = std::fs::read_to_string(directory.join("filter.p4")).expect("the program");
    assert!(program.lines().count() <= 50, "the page says fifty lines");
    assert!(directory.join("run.html").exists() && directory.join("parts/nic.p4").exists());
}
