//! What all commands print alike.

use crate::ExitCode;
use base_diag::{Diagnostic, Severity, SourceMap, Style, render, to_json};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Prints a line to standard error. Unlike `eprintln!`, it is no error if nobody listens any more.
macro_rules! tell {
    ($($text:tt)*) => { $crate::output::told(format_args!("{}\n", format_args!($($text)*))) };
}

/// The same without ending the line: of what the next one is to replace.
macro_rules! tell_over {
    ($($text:tt)*) => { $crate::output::told(format_args!($($text)*)) };
}

/// What [`tell!`] and [`tell_over!`] do.
pub fn told(text: std::fmt::Arguments) {
    let _ = std::io::stderr().write_fmt(text);
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON value on standard output.
    Json,
}

/// Prints diagnostics as text to standard error.
pub fn diagnostics_text(found: &[Diagnostic], map: &SourceMap) {
    let style = if std::io::stderr().is_terminal() { Style::Color } else { Style::Plain };
    for diagnostic in found {
        tell!("{}\n", render(diagnostic, map, style).trim_end());
    }
}

/// Diagnostics as a JSON array.
pub fn diagnostics_json(found: &[Diagnostic], map: &SourceMap) -> Value {
    found.iter().map(|d| to_json(d, map)).collect()
}

/// Prints a JSON value.
pub fn json(value: &Value) {
    print(&format!("{value:#}\n"));
}

/// Prints to standard output. A reader that has gone away is no error.
pub fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Writes a file that is none of those that were read; `-` is standard output.
pub fn write(path: &Path, bytes: &[u8], read: &[PathBuf]) -> Result<(), String> {
    if path == Path::new("-") {
        let _ = std::io::stdout().write_all(bytes);
        return Ok(());
    }
    unread(path, read)?;
    std::fs::write(path, bytes).map_err(|error| format!("`{}` cannot be written: {error}", path.display()))
}

/// Refuses a path that a file cannot be written to; `-` is standard output. What is there stays.
pub fn writable(path: &Path) -> Result<(), String> {
    if path == Path::new("-") || path.exists() {
        return Ok(());
    }
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    match directory.is_none_or(Path::is_dir) {
        true => Ok(()),
        false => Err(format!("`{}` cannot be written: there is no such directory", path.display())),
    }
}

/// Refuses a path to write to that leads to a file that was read.
pub fn unread(path: &Path, read: &[PathBuf]) -> Result<(), String> {
    let Ok(target) = path.canonicalize() else { return Ok(()) };
    match read.iter().any(|source| source.canonicalize().is_ok_and(|source| source == target)) {
        true => Err(format!("`{}` was read and is not written over: write elsewhere", path.display())),
        false => Ok(()),
    }
}

/// The files that a program was read from.
pub fn sources(map: &SourceMap) -> Vec<PathBuf> {
    map.files().map(|file| PathBuf::from(file.name().as_str())).collect()
}

/// Prints what went wrong and gives exit status 1.
pub fn failed(found: &[Diagnostic], map: &SourceMap, format: Format) -> ExitCode {
    match format {
        Format::Text => diagnostics_text(found, map),
        Format::Json => json(&json!({ "ok": false, "diagnostics": diagnostics_json(found, map) })),
    }
    ExitCode::FAILURE
}

/// `2 errors, 1 warning`
pub fn summary(found: &[Diagnostic]) -> String {
    let count = |severity| found.iter().filter(|d| d.severity == severity).count();
    let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    format!("{}, {}", plural(count(Severity::Error), "error"), plural(count(Severity::Warning), "warning"))
}
