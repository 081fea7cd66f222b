//! `conformance-p4info --suite DIR`: P4Info and entries beside p4c's reference outputs.
//!
//! `DIR` is a checkout of p4lang/p4c; nothing of it is kept. Every `*.p4info.txtpb` and `*.entries.txtpb` of its sample
//! outputs is read as a message and compared with what `p4rack p4info` writes for the program. Where they differ, the
//! tables, actions and so on that only one of the two has are named.

use crate::conformance::{Reasons, foreign_includes};
use crate::process::build;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::WriteRequest;
use p4runtime_proto::{Message, from_text, to_text};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// How an output compares with its reference.
enum Outcome {
    /// The same message.
    Equal,
    /// The same but for the order of repeated fields.
    Reordered,
    /// Lines that only our P4Info has, and lines that only the reference has.
    Differs(Vec<String>, Vec<String>),
    /// There is no output, or one of the two is no message; why.
    Missing(String),
}

/// Prints every difference, then counts by class.
pub fn run(suite: &str) -> ExitCode {
    let suite = Path::new(suite);
    let Some(binary) = build() else { return ExitCode::FAILURE };
    let include = foreign_includes(suite);
    let samples = programs(&suite.join("testdata/p4_16_samples"));
    let outputs = suite.join("testdata/p4_16_samples_outputs");
    let out = std::env::temp_dir().join(format!("p4rack-p4info-{}", std::process::id()));
    let reasons = Reasons::read();
    let mut unexplained = 0;
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (suffix, flag) in [(".p4info.txtpb", "--output"), (".entries.txtpb", "--entries")] {
        for reference in references(&outputs, suffix) {
            let name = reference.file_name().unwrap_or_default().to_string_lossy().replace(suffix, "");
            let outcome = match samples.get(&name) {
                None => Outcome::Missing("the program is not there".to_string()),
                Some(program) => {
                    let made = Command::new(&binary)
                        .args(["p4info", "--format", "text", flag])
                        .arg(&out)
                        .arg("-I")
                        .arg(&include)
                        .arg(program)
                        .output();
                    match made {
                        Ok(made) if made.status.success() => match flag {
                            "--output" => compare::<P4Info>(&out, &reference),
                            _ => compare::<WriteRequest>(&out, &reference),
                        },
                        Ok(made) => Outcome::Missing(first_error(&made.stderr)),
                        Err(error) => Outcome::Missing(error.to_string()),
                    }
                }
            };
            let class = print(&name, suffix, &outcome);
            *counts.entry((suffix, class)).or_default() += 1;
            if class == "equal" {
                continue;
            }
            match reasons.of(&format!("{name}{suffix}")).or_else(|| reasons.of(&name)) {
                Some(reason) => println!("    because   {reason}"),
                None => unexplained += 1,
            }
        }
    }
    let _ = fs::remove_file(&out);
    if counts.is_empty() {
        eprintln!("conformance-p4info: `{}` has no testdata/p4_16_samples_outputs", suite.display());
        return ExitCode::FAILURE;
    }
    for ((suffix, class), count) in &counts {
        println!("{count:>5} {class:<10} {suffix}");
    }
    println!("{unexplained} differences have no reason in docs/conformance.md");
    if unexplained == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(name: &str, suffix: &str, outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Equal => return "equal",
        Outcome::Reordered => {
            println!("reordered {name}{suffix}");
            return "reordered";
        }
        Outcome::Missing(why) => {
            println!("missing   {name}{suffix}: {why}");
            return "missing";
        }
        Outcome::Differs(ours, theirs) => {
            println!("differs   {name}{suffix}");
            ours.iter().for_each(|block| println!("    ours      {block}"));
            theirs.iter().for_each(|block| println!("    reference {block}"));
        }
    }
    "differs"
}

fn compare<M: Message>(ours: &Path, reference: &Path) -> Outcome {
    let blocks = |path: &Path| {
        let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
        let message: M = from_text(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        to_text(&message).map(|text| blocks(&text)).map_err(|e| e.to_string())
    };
    match (blocks(ours), blocks(reference)) {
        (Ok(ours), Ok(theirs)) if ours == theirs => Outcome::Equal,
        (Ok(mut ours), Ok(mut theirs)) => {
            ours.sort();
            theirs.sort();
            if ours == theirs {
                return Outcome::Reordered;
            }
            let only = |a: &[String], b: &[String]| a.iter().filter(|x| !b.contains(x)).cloned().collect();
            Outcome::Differs(only(&ours, &theirs), only(&theirs, &ours))
        }
        (Err(why), _) | (_, Err(why)) => Outcome::Missing(why),
    }
}

/// The fields of a message, each on one line. Messages without fields say nothing.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = vec![];
    for line in text.lines() {
        match blocks.last_mut() {
            Some(block) if line.starts_with(' ') || line == "}" => {
                block.push(' ');
                block.push_str(line.trim_start());
            }
            _ => blocks.push(line.to_string()),
        }
    }
    blocks.retain(|block| !block.ends_with("{ }"));
    blocks
}

fn first_error(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines().find(|l| l.starts_with("error")).unwrap_or("no output").to_string()
}

fn references(outputs: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(outputs).into_iter().flatten().flatten().map(|e| e.path());
    let mut list: Vec<_> = entries.filter(|p| p.to_string_lossy().ends_with(suffix)).collect();
    list.sort();
    list
}

/// The programs of a directory and those in it, by file name; of two with one name the one higher up.
fn programs(dir: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for path in fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()) {
            if path.is_dir() {
                open.push(path);
            } else if let Some(name) = path.file_name().map(|n| n.to_string_lossy().into_owned())
                && name.ends_with(".p4")
            {
                found.entry(name).or_insert(path);
            }
        }
    }
    found
}
