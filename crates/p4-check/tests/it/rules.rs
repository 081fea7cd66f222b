//! The rules of P4-16, section by section: `testdata/rules/*.rules`.
//!
//! A rule is a line `# SECTION SENTENCE`. Under it stand programs: `ok` before one that keeps the rule and is accepted,
//! `refused CODE ...` before one that breaks it and is refused, first with one of these codes. A rule has both.

use std::path::Path;

use base_diag::{Severity, SourceMap};

use crate::support::run_damaged;

/// A program under a rule.
struct Program {
    /// The codes of which one is expected; none for a program that keeps the rule.
    codes: Vec<String>,
    source: String,
}

struct Rule {
    title: String,
    programs: Vec<Program>,
}

fn read(text: &str) -> Vec<Rule> {
    let mut rules: Vec<Rule> = vec![];
    for line in text.lines().filter(|l| !l.is_empty()) {
        if let Some(title) = line.strip_prefix("# ") {
            rules.push(Rule { title: title.to_string(), programs: vec![] });
            continue;
        }
        let programs = &mut rules.last_mut().expect("a rule comes first").programs;
        match line.strip_prefix("refused ") {
            _ if line == "ok" => programs.push(Program { codes: vec![], source: String::new() }),
            Some(codes) => programs
                .push(Program { codes: codes.split(' ').map(String::from).collect(), source: String::new() }),
            None => {
                let source = &mut programs.last_mut().expect("`ok` or `refused` comes first").source;
                source.push_str(line);
                source.push('\n');
            }
        }
    }
    rules
}

/// The mistake in a rule's program, if any.
fn judge(program: &Program) -> Option<String> {
    let diagnostics = run_damaged(&program.source, &mut SourceMap::new());
    let errors: Vec<String> = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .map(|d| format!("{} {}", d.code, d.title))
        .collect();
    let fits = match errors.first() {
        None => program.codes.is_empty(),
        Some(first) => program.codes.iter().any(|code| first.starts_with(code.as_str())),
    };
    let wanted = if program.codes.is_empty() { "no error".to_string() } else { program.codes.join(" or ") };
    (!fits).then(|| format!("{}wanted {wanted}, found {errors:?}", program.source))
}

#[test]
fn every_rule_is_kept_and_broken() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/rules");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).expect("it is there").flatten().map(|f| f.path()).collect();
    files.sort();
    let mut found = vec![];
    for file in files {
        for rule in read(&std::fs::read_to_string(&file).expect("a text")) {
            let kept = rule.programs.iter().filter(|p| p.codes.is_empty()).count();
            if kept == 0 || kept == rule.programs.len() {
                found.push(format!(
                    "{}: a program that keeps it or one that breaks it is missing",
                    rule.title
                ));
            }
            found.extend(rule.programs.iter().filter_map(judge).map(|why| format!("{}\n{why}", rule.title)));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}
