//! docs/tutorial.md and docs/handlers.md: every file in them is written, every command runs, and has the shown output.
//! The other pages: commands about files of `examples` have the shown output.
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

/// The output that a page shows after a command, without lines that only say that some are left out.
fn shown<'p>(page: &'p str, command: &str) -> Vec<&'p str> {
    let block = blocks(page)
        .into_iter()
        .find(|block| block.lines.first().and_then(|line| line.strip_prefix("$ ")) == Some(command));
    let lines = block.unwrap_or_else(|| panic!("no page shows `{command}`")).lines;
    let output = lines.into_iter().skip(1).take_while(|line| !line.starts_with("$ "));
    output.filter(|line| !line.is_empty() && *line != "...").collect()
}

/// Whether a line is the shown one, whose columns may be nearer to each other, and where ` ...` stands for any words.
fn is_as_shown(line: &str, shown: &str) -> bool {
    let (mut words, mut parts) = (line.split_whitespace(), shown.split_whitespace().peekable());
    while let Some(part) = parts.next() {
        let found = match (part, parts.peek()) {
            ("...", None) => return true,
            ("...", Some(_)) => {
                let end = parts.next().expect("it was peeked");
                words.any(|word| word == end)
            }
            _ => words.next() == Some(part),
        };
        if !found {
            return false;
        }
    }
    words.next().is_none()
}

#[test]
fn examples_print_what_the_pages_show() {
    let pages = [
        (include_str!("../../../docs/allocation.md"), "p4rack plan examples/pinned/planned.toml"),
        (
            include_str!("../../../docs/emulator.md"),
            "p4rack up examples/slice/replan.toml --html replan.html",
        ),
        (include_str!("../../../docs/how-to/pin-flows.md"), "p4rack up examples/pinned/moving.toml"),
        (include_str!("../../../docs/how-to/see-a-flow.md"), "p4rack analyze examples/apps/RACK.toml"),
        (include_str!("../../../docs/planning.md"), "p4rack plan examples/slice"),
    ];
    for (page, command) in pages {
        let args = command.split_whitespace().skip(1).map(|word| match word {
            page if page.ends_with(".html") => format!("{}/{page}", env!("CARGO_TARGET_TMPDIR")),
            file if file.starts_with("examples/") => format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR")),
            word => word.to_string(),
        });
        let output = Command::new(env!("CARGO_BIN_EXE_p4rack")).args(args).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let mut lines = said.lines();
        let shown = shown(page, command);
        assert!(shown.len() >= 4, "{command}: {shown:?}");
        for line in shown {
            // In the page's order.
            assert!(
                lines.any(|said| is_as_shown(said, line)),
                "`{command}`: not there, or not in this order: `{line}`\n{said}"
            );
        }
    }
}
