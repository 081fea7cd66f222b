//! Output shared by all commands.

use crate::ExitCode;
use base_diag::{Diagnostic, Severity, SourceMap, Style, render, to_json};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{BufWriter, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Prints a line to standard error. Unlike with `eprintln!`, a closed stream is no error.
#[macro_export]
macro_rules! report {
    ($($text:tt)*) => { $crate::output::write_report(format_args!("{}\n", format_args!($($text)*))) };
}

/// Like `report!`, without a line end: the next line replaces the text.
#[macro_export]
macro_rules! report_over {
    ($($text:tt)*) => { $crate::output::write_report(format_args!($($text)*)) };
}

/// Implementation of [`report!`] and [`report_over!`]. Flushes earlier output first.
pub fn write_report(text: std::fmt::Arguments) {
    flush();
    let _ = std::io::stderr().write_fmt(text);
}

/// Output format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Format {
    /// Human-readable text
    Text,
    /// One JSON value on standard output
    Json,
}

/// Prints diagnostics as text to standard error.
pub fn diagnostics_text(found: &[Diagnostic], map: &SourceMap) {
    let style = if std::io::stderr().is_terminal() { Style::Color } else { Style::Plain };
    for diagnostic in found {
        report!("{}\n", render(diagnostic, map, style).trim_end());
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

/// Prints to standard output. A closed pipe is no error.
pub fn print(text: &str) {
    let _ = match lock().as_mut() {
        Some(batch) => batch.write_all(text.as_bytes()),
        None => std::io::stdout().write_all(text.as_bytes()),
    };
}

/// Writes buffered output.
pub fn flush() {
    let _ = match lock().as_mut() {
        Some(batch) => batch.flush(),
        None => std::io::stdout().flush(),
    };
}

/// Output buffered while a [`Batch`] lives.
static BATCH: Mutex<Option<BufWriter<Stdout>>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<BufWriter<Stdout>>> {
    BATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes that are written at once.
const BATCH_BYTES: usize = 1 << 16;

/// While it lives, output to a file or pipe is written in large pieces: one system call for many lines. A terminal
/// shows each line at once.
pub(crate) struct Batch(());

impl Batch {
    pub(crate) fn new() -> Batch {
        if !std::io::stdout().is_terminal() {
            *lock() = Some(pieces(std::io::stdout()));
        }
        Batch(())
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        flush();
        *lock() = None;
    }
}

/// Writes in large pieces.
pub(crate) fn pieces<W: Write>(to: W) -> BufWriter<W> {
    BufWriter::with_capacity(BATCH_BYTES, to)
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

/// A field of CSV (RFC 4180): in quotes if it needs them.
pub fn csv_field(text: &str) -> Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}

/// Refuses a path that cannot be written to; `-` is standard output. Existing content stays.
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
        true => Err(format!("`{}` is an input and is not overwritten: choose another file", path.display())),
        false => Ok(()),
    }
}

/// The files that a program was read from.
pub fn sources(map: &SourceMap) -> Vec<PathBuf> {
    map.files().map(|file| PathBuf::from(file.name().as_str())).collect()
}

/// Prints diagnostics and returns exit status 1.
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

#[cfg(test)]
mod tests {
    use super::pieces;
    use base_pcap::{Record, Writer};
    use std::io::Write;

    /// Counts how often it is written to.
    #[derive(Default)]
    struct Counting {
        writes: usize,
        bytes: usize,
    }

    impl Write for &mut Counting {
        fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
            self.writes += 1;
            self.bytes += buffer.len();
            Ok(buffer.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Packets cost no system call each: output to files is written in large pieces.
    #[test]
    fn packets_are_written_in_large_pieces() {
        let mut lines = Counting::default();
        let mut out = pieces(&mut lines);
        (0..10_000).for_each(|n| writeln!(out, "{n}: 1 in, 1 out").expect("it is written"));
        drop(out);
        assert!(lines.writes <= 1 + lines.bytes / 50_000, "{} writes", lines.writes);
        let mut capture = Counting::default();
        let mut writer = Writer::new(pieces(&mut capture)).expect("it begins");
        let record = Record { nanos: 1, frame: vec![7; 64], original: 64 };
        (0..10_000).for_each(|_| writer.write(&record).expect("it is written"));
        drop(writer);
        assert!(capture.writes <= 1 + capture.bytes / 50_000, "{} writes", capture.writes);
    }
}
