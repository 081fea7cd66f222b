//! A file that fills a device, in whichever language it is.

use super::fill;
use crate::control::{Offered, offered};
use base_diag::Diagnostic;
use ir::Program;
use ir_interp::{StfRun, Switch};
use p4_entries::Statement;
use p4_stf::Spanned;
use p4runtime_store::Names;
use std::path::Path;

/// What a file says.
pub enum Filling {
    /// STF, but for packets.
    Stf(Vec<Spanned>),
    /// TOML, commands, or P4Runtime updates.
    Statements(Vec<Statement>),
}

/// A language of entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// `.stf`
    Stf,
    /// `.toml`
    Toml,
    /// `.txt`
    Commands,
    /// `.txtpb`, `.pbtxt`
    P4Runtime,
}

/// By the file's extension, else by its first line with words.
pub fn language(path: &Path, text: &str) -> Language {
    match path.extension().and_then(|e| e.to_str()) {
        Some("stf") => return Language::Stf,
        Some("toml") => return Language::Toml,
        Some("txtpb" | "pbtxt" | "textproto" | "prototxt" | "pb") => return Language::P4Runtime,
        _ => {}
    }
    let lines = text.lines().map(|l| l.split('#').next().unwrap_or_default().trim());
    let line = lines.into_iter().find(|l| !l.is_empty()).unwrap_or_default();
    let word = line.split_whitespace().next().unwrap_or_default();
    match word {
        "add" | "setdefault" | "packet" | "expect" => Language::Stf,
        _ if line.starts_with('[') || line.contains(" = ") => Language::Toml,
        _ if word.ends_with(':') || word.ends_with('{') || line.ends_with('{') => Language::P4Runtime,
        _ => Language::Commands,
    }
}

/// Reads a file; `start` is the number of its first byte in the source map.
pub fn read(program: &Program, path: &Path, text: &str, start: u32) -> Result<Filling, Vec<Diagnostic>> {
    use base_diag::codes::run::STF_REFUSED;
    let whole = |statements: Vec<Statement>, problems: Vec<Diagnostic>| match problems.is_empty() {
        true => Ok(Filling::Statements(statements)),
        false => Err(problems),
    };
    match language(path, text) {
        Language::Toml => {
            let (statements, problems) = p4_entries::read_toml(text, start);
            whole(statements, problems)
        }
        Language::Commands => {
            let (statements, problems) = p4_entries::read_commands(text, start);
            whole(statements, problems)
        }
        Language::Stf => {
            let (file, mut problems) = p4_stf::parse(text, start);
            for statement in &file.statements {
                use p4_stf::Statement::{Expect, NoPacket, Packet};
                if matches!(statement.kind, Packet { .. } | Expect { .. } | NoPacket) {
                    let problem = Diagnostic::error(STF_REFUSED, "this statement is no entry")
                        .at(statement.span, "packets and expectations make a test")
                        .help("give the file as a test, without `--entries`");
                    problems.push(problem);
                }
            }
            if problems.is_empty() { Ok(Filling::Stf(file.statements)) } else { Err(problems) }
        }
        Language::P4Runtime => {
            let Offered { info, plain, initial } = offered(program)?;
            let names = Names::new(&info, &plain, &initial);
            let (statements, problems) = p4runtime_entries::read(text, start, &plain, names);
            whole(statements, problems)
        }
    }
}

impl Filling {
    /// Writes it to a device.
    pub fn fill(&self, program: &Program, switch: &mut Switch) -> Result<(), Vec<Diagnostic>> {
        match self {
            Filling::Stf(statements) => stf(statements, switch),
            Filling::Statements(statements) => fill::fill(statements, program, switch),
        }
    }
}

/// Runs statements that are no packets.
pub(super) fn stf(statements: &[Spanned], switch: &mut Switch) -> Result<(), Vec<Diagnostic>> {
    let mut run = StfRun::new(switch, super::INTERVAL);
    statements.iter().for_each(|statement| run.statement(statement));
    let report = run.report();
    if report.passed() { Ok(()) } else { Err(report.problems) }
}
