//! `conformance-arch --suite DIR`: our declarations of the architectures beside those that a p4c checkout has.
//!
//! Both are parsed and printed again, so that comments and layout do not count. Compared are the printed lines, each with the
//! declaration it stands in: type parameters, directions, types and names of parameters, default values, annotations. The order
//! of declarations and of methods does not count. Each line that only one of them has is printed, and fails the command.

use base_diag::SourceMap;
use p4_syntax::ast::{Decl, Program};
use p4_syntax::{LoadError, Loader, Options, parse, print};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Include file, its places in the checkout, and macros for it.
const INCLUDES: [(&str, &[&str], &[&str]); 9] = [
    ("core.p4", &["p4include"], &[]),
    ("v1model.p4", &["p4include"], &["V1MODEL_VERSION=20180101"]),
    ("v1model.p4", &["p4include"], &["V1MODEL_VERSION=20200408"]),
    ("psa.p4", &["p4include/bmv2", "p4include"], &[]),
    ("dpdk/psa.p4", &["p4include"], &[]),
    ("pna.p4", &["p4include"], &[]),
    ("dpdk/pna.p4", &["p4include"], &[]),
    ("tna.p4", &[TOFINO, "p4include"], &["__TARGET_TOFINO__=1"]),
    ("t2na.p4", &[TOFINO, "p4include"], &["__TARGET_TOFINO__=2"]),
];

const TOFINO: &str = "backends/tofino/bf-p4c/p4include";

/// Compares all and prints what differs.
pub fn run(suite: &str) -> ExitCode {
    let mut found = 0;
    for (name, folders, macros) in INCLUDES {
        let text = format!("#include <core.p4>\n#include <{name}>\n");
        let options =
            Options { defines: macros.iter().map(|m| m.to_string()).collect(), ..Options::default() };
        let folders: Vec<PathBuf> = folders.iter().map(|f| Path::new(suite).join(f)).collect();
        let ours = lines(&Architectures { text: &text, folders: None }, &options);
        let theirs = lines(&Architectures { text: &text, folders: Some(&folders) }, &options);
        let (ours, theirs) = match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (ours, theirs) => {
                for why in [ours.err(), theirs.err()].into_iter().flatten() {
                    println!("{name}: {why}");
                    found += 1;
                }
                continue;
            }
        };
        for line in ours.difference(&theirs) {
            println!("{name}: only ours    {line}");
        }
        for line in theirs.difference(&ours) {
            println!("{name}: only theirs  {line}");
        }
        let differ = ours.symmetric_difference(&theirs).count();
        let with = macros.iter().map(|m| format!(" {m}")).collect::<String>();
        println!("{name}{with}: {} lines, {differ} differ", ours.len());
        found += differ;
    }
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A text that includes an architecture: ours, or those of some folders.
struct Architectures<'a> {
    text: &'a str,
    folders: Option<&'a [PathBuf]>,
}

impl Loader for Architectures<'_> {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        if path == "main.p4" { Ok(self.text.into()) } else { Err(LoadError::NotFound) }
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        let Some(folders) = self.folders else { return p4_arch::include(name).map(Arc::from) };
        let text = folders.iter().find_map(|folder| fs::read_to_string(folder.join(name)).ok());
        text.map(Arc::from)
    }
}

/// The lines of all declarations, each behind the first line of its declaration.
fn lines(loader: &dyn Loader, options: &Options) -> Result<BTreeSet<String>, String> {
    let parsed = parse("main.p4", loader, options, &mut SourceMap::new());
    if let Some(first) = parsed.diagnostics.iter().find(|d| d.severity == base_diag::Severity::Error) {
        return Err(format!("cannot be read: {}", first.title));
    }
    let mut lines = BTreeSet::new();
    for decl in parsed.program.decls {
        if let Decl::Error(d) = &decl {
            lines.extend(d.members.iter().map(|m| format!("error {}", m.text)));
        } else if let Decl::MatchKind(d) = &decl {
            lines.extend(d.members.iter().map(|m| format!("match_kind {}", m.text)));
        } else {
            let text = print(&Program { decls: vec![decl], damage: vec![] });
            let head = text.lines().find(|l| !l.starts_with('@')).unwrap_or_default().to_string();
            lines.extend(text.lines().map(|line| format!("{head} | {}", line.trim())));
        }
    }
    Ok(lines)
}
