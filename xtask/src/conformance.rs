//! `conformance --suite DIR`: the front end beside p4c's public test data.
//!
//! `DIR` is a checkout of p4lang/p4c; nothing of it is kept. Every program of its samples must be accepted, every one
//! of its errors rejected, with the first error on the line that the reference output names. Each program is checked
//! by a process of its own, whose CPU time is measured. Every disagreement is printed with the reason that
//! `docs/conformance.md` gives for it; one without a reason fails the command.

use crate::process::{build, children_us};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The command's findings about one program.
struct Checked {
    accepted: bool,
    /// Line of the first error in the program itself.
    line: Option<u64>,
    /// The first error, for the list of disagreements.
    error: String,
    cpu_us: i64,
    crashed: bool,
}

/// Runs all and prints counts, times and every disagreement.
pub fn run(suite: &str) -> ExitCode {
    let suite = Path::new(suite);
    let Some(binary) = build() else { return ExitCode::FAILURE };
    let include = foreign_includes(suite);
    let mut checker = Checker { binary, include, reasons: Reasons::read(), unexplained: 0 };
    let samples = suite.join("testdata/p4_16_samples");
    let mut programs = programs(&samples);
    for folder in ["dash", "pins", "parser-inline"] {
        programs.extend(self::programs(&samples.join(folder)));
    }
    programs.extend([samples.join("fabric_20190420/fabric.p4"), samples.join("omec/up4.p4")]);
    programs.retain(|p| p.is_file());
    if programs.is_empty() {
        eprintln!(
            "conformance: `{}` is no checkout of p4c: it has no testdata/p4_16_samples",
            suite.display()
        );
        return ExitCode::FAILURE;
    }
    let mut times = vec![];
    let accepted = checker.accept(&programs, &mut times);
    let rejected = checker.reject(suite);
    times.sort_unstable();
    let at = |share: usize| times.get((times.len().max(1) - 1) * share / 100).copied().unwrap_or(0);
    println!("accepted  {accepted} of {} programs", programs.len());
    println!("rejected  {rejected}");
    println!("cpu time  median {} us, 99th percentile {} us, a process each", at(50), at(99));
    println!("{} disagreements have no reason in docs/conformance.md", checker.unexplained);
    if checker.unexplained == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Why we disagree, by program: the rows ``| `name.p4` | ... | reason |`` of `docs/conformance.md`.
pub struct Reasons(BTreeMap<String, String>);

impl Reasons {
    /// The table of the document.
    pub fn read() -> Reasons {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/conformance.md");
        let text = fs::read_to_string(path).unwrap_or_default();
        let row = |line: &str| {
            let (name, rest) = line.strip_prefix("| `")?.split_once("` |")?;
            let reason = rest.trim_end().trim_end_matches('|').rsplit('|').next()?;
            Some((name.to_string(), reason.trim().to_string()))
        };
        Reasons(text.lines().filter_map(row).collect())
    }

    /// The reference of a program, or of one of its outputs.
    pub fn of(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// Runs p4rack's example `conformance`, which knows the interpreter.
pub fn run_stf(suite: &str, name: &[&str]) -> ExitCode {
    run_example("conformance", suite, name)
}

/// Runs p4rack's example `conformance_split`, which knows the splitter.
pub fn run_split(suite: &str, rest: &[&str]) -> ExitCode {
    run_example("conformance_split", suite, rest)
}

/// Runs p4rack's example `conformance_tables`, which cuts long programs at their tables.
pub fn run_tables(checkout: &str, rest: &[&str]) -> ExitCode {
    run_example("conformance_tables", checkout, rest)
}

fn run_example(name: &str, suite: &str, rest: &[&str]) -> ExitCode {
    let example = ["run", "--release", "-q", "-p", "p4rack", "--example", name, "--", suite];
    let status = Command::new(env!("CARGO")).args(example).args(rest).status();
    if status.is_ok_and(|s| s.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Checker {
    binary: PathBuf,
    include: PathBuf,
    reasons: Reasons,
    /// Disagreements without a reason.
    unexplained: usize,
}

impl Checker {
    fn accept(&mut self, programs: &[PathBuf], times: &mut Vec<i64>) -> usize {
        let mut accepted = 0;
        for program in programs {
            let checked = self.check(program);
            times.push(checked.cpu_us);
            match checked.accepted {
                true => accepted += 1,
                false => self.disagree("refused", program, &checked.error),
            }
        }
        accepted
    }

    fn reject(&mut self, suite: &Path) -> String {
        let (mut all, mut rejected, mut same_line, mut with_line) = (0, 0, 0, 0);
        for program in programs(&suite.join("testdata/p4_16_errors")) {
            all += 1;
            let reference = reference_line(suite, &program);
            let checked = self.check(&program);
            if checked.crashed {
                println!("crashed   {}", show(&program));
            }
            if checked.accepted {
                let line = reference.map_or(String::new(), |l| format!(" in line {l}"));
                self.disagree("accepted", &program, &format!("the reference has an error{line}"));
                continue;
            }
            rejected += 1;
            let Some(expected) = reference else { continue };
            with_line += 1;
            match checked.line == Some(expected) {
                true => same_line += 1,
                false => self.disagree("line", &program, &format!("{expected} expected; {}", checked.error)),
            }
        }
        format!(
            "{rejected} of {all} programs; first error on the reference's line in {same_line} of {with_line}"
        )
    }

    fn disagree(&mut self, how: &str, program: &Path, what: &str) {
        let name = show(program);
        let reason = self.reasons.of(&name);
        self.unexplained += usize::from(reason.is_none());
        println!("{how:<9} {name}: {what}\n          {}", reason.map_or("NO REASON GIVEN", |r| r));
    }

    fn check(&self, program: &Path) -> Checked {
        let before = children_us();
        let output = Command::new(&self.binary)
            .args(["check", "--format", "json", "-I"])
            .arg(&self.include)
            .arg(program)
            .output();
        let cpu_us = children_us() - before;
        let Ok(output) = output else {
            return Checked {
                accepted: false,
                line: None,
                error: "cannot be run".into(),
                cpu_us,
                crashed: true,
            };
        };
        let results: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let diagnostics = results[0]["diagnostics"].as_array().cloned().unwrap_or_default();
        let first = diagnostics.iter().find(|d| d["severity"] == "error");
        let line = first.and_then(|d| d["labels"][0]["line"].as_u64());
        let error = first.map_or(String::new(), |d| {
            let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
            let (code, title, label) = (text(&d["code"]), text(&d["title"]), text(&d["labels"][0]["text"]));
            format!("line {}: {code} {title} ({label})", line.unwrap_or(0))
        });
        let crashed = !matches!(output.status.code(), Some(0 | 1));
        Checked { accepted: output.status.success(), line, error, cpu_us, crashed }
    }
}

/// The line of the first error in the reference's output, if it is in the program itself.
fn reference_line(suite: &Path, program: &Path) -> Option<u64> {
    let name = show(program);
    let text = fs::read_to_string(suite.join(format!("testdata/p4_16_errors_outputs/{name}-stderr"))).ok()?;
    let is_error = |l: &&str| (l.contains("error:") || l.contains("syntax error")) && !l.contains("warning:");
    let (_, rest) = text.lines().find(is_error)?.split_once(&format!("{name}("))?;
    rest.split(')').next()?.parse().ok()
}

/// The suite's architecture files that are not built in: ours are to be tried.
pub fn foreign_includes(suite: &Path) -> PathBuf {
    let target = std::env::temp_dir().join(format!("p4rack-conformance-{}", std::process::id()));
    let source = suite.join("p4include");
    let ours: Vec<&str> = p4_arch::include_names().collect();
    for file in files(&source) {
        let Ok(name) = file.strip_prefix(&source) else { continue };
        if ours.iter().any(|o| Path::new(o) == name) {
            continue;
        }
        let to = target.join(name);
        // A file that cannot be copied shows as a refused program.
        let _ = fs::create_dir_all(to.parent().unwrap_or(&target));
        let _ = fs::copy(&file, to);
    }
    target
}

fn programs(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let mut list: Vec<_> = entries.filter(|p| p.extension().is_some_and(|e| e == "p4")).collect();
    list.sort();
    list
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.into_iter().flat_map(|p| if p.is_dir() { files(&p) } else { vec![p] }).collect()
}

fn show(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_string()
}
