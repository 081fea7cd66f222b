//! Inputs of a run: program, entries, and sources of packets.

use super::Args;
use base_diag::codes::emulate::UNREADABLE_FILE;
use base_diag::{Diagnostic, SourceMap};
use p4rack::run::feed::Feed;
use p4rack::run::spec::PortFiles;
use p4rack::sources;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Programs with the inputs of each.
pub struct Inputs {
    /// In order.
    pub programs: Vec<(String, Vec<Case>)>,
}

/// One run.
pub enum Case {
    /// An STF test.
    Test(PathBuf),
    /// Captures and packets of the command line.
    Packets,
}

impl Inputs {
    /// As the arguments say, or why they cannot be meant.
    pub fn of(args: &Args) -> Result<Inputs, String> {
        let feeds = args.interface.iter().any(|i| i.input.is_some()) || !args.packet.is_empty();
        if feeds && (!args.tests.is_empty() || args.program.is_dir()) {
            return Err(
                "packets come from tests, or from --interface and --packet, not from both".to_string()
            );
        }
        let stdin = args.tests.iter().filter(|t| is_stdin(t)).count()
            + args.entries.iter().filter(|e| is_stdin(e)).count()
            + args.interface.iter().filter(|i| i.input.as_deref().is_some_and(is_stdin)).count();
        if stdin > 1 {
            return Err("standard input (`-`) can be read only once".to_string());
        }
        if args.program.is_dir() {
            if !args.tests.is_empty() {
                return Err("a directory of programs has its own tests: give no others".to_string());
            }
            return Ok(Inputs { programs: with_tests(&args.program)? });
        }
        let program = args.program.display().to_string();
        let mut cases = vec![];
        for test in &args.tests {
            if test.is_dir() {
                let found = listed(test, "stf")?;
                if found.is_empty() {
                    return Err(format!("there are no .stf files in `{}`", test.display()));
                }
                cases.extend(found.into_iter().map(Case::Test));
            } else {
                cases.push(Case::Test(test.clone()));
            }
        }
        if args.tests.is_empty() {
            // The front end reports a missing program; a missing packet is the smaller mistake.
            if !feeds && args.program.exists() {
                return Err("no packets: give a test, --interface or --packet".to_string());
            }
            cases.push(Case::Packets);
        }
        Ok(Inputs { programs: vec![(program, cases)] })
    }
}

fn is_stdin(path: impl AsRef<Path>) -> bool {
    path.as_ref() == Path::new("-")
}

/// Every program of a directory that has a test of the same name.
fn with_tests(directory: &Path) -> Result<Vec<(String, Vec<Case>)>, String> {
    let programs = listed(directory, "p4")?.into_iter();
    let pairs = programs.map(|p| (p.display().to_string(), p.with_extension("stf")));
    let found: Vec<_> =
        pairs.filter(|(_, test)| test.is_file()).map(|(p, test)| (p, vec![Case::Test(test)])).collect();
    if found.is_empty() {
        return Err(format!("there is no NAME.p4 with a NAME.stf in `{}`", directory.display()));
    }
    Ok(found)
}

/// The files of a directory with that extension, sorted.
fn listed(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let unreadable = |e: std::io::Error| format!("`{}` cannot be read: {e}", directory.display());
    let mut found = vec![];
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|e| e == extension) && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a text, `-` from standard input; gives it with the number of its first byte in the map.
pub fn read(path: &Path, map: &mut SourceMap) -> Result<(String, u32), Vec<Diagnostic>> {
    if !is_stdin(path) {
        return sources::read(path, map).map_err(|d| vec![d]);
    }
    let mut bytes = vec![];
    std::io::stdin().read_to_end(&mut bytes).map_err(|e| vec![unreadable("standard input", &e)])?;
    let text = sources::decoded(&bytes).map_err(|why| vec![unreadable("standard input", &why)])?;
    let start = sources::add("<stdin>", &text, map).map_err(|d| vec![d])?;
    Ok((text, start))
}

fn unreadable(name: &str, error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error(UNREADABLE_FILE, "a file cannot be read").note(format!("`{name}`: {error}"))
}

/// The packets that the command line asks for.
pub fn feed(args: &Args) -> Result<Feed<'static>, Vec<Diagnostic>> {
    let mut feed = Feed::new(args.interval);
    args.packet.iter().for_each(|packet| feed.packet(packet.clone()));
    captures(&args.interface, feed)
}

/// A feed with the packets of captures.
pub fn captures(interfaces: &[PortFiles], mut feed: Feed<'static>) -> Result<Feed<'static>, Vec<Diagnostic>> {
    let mut wrong = vec![];
    for interface in interfaces {
        if interface.output.is_some() {
            feed.output(interface.port);
        }
        let Some(path) = &interface.input else { continue };
        let name = path.display().to_string();
        let opened = if is_stdin(path) {
            feed.capture("standard input", interface.port, std::io::stdin())
        } else {
            match File::open(path) {
                Ok(file) => feed.capture(&name, interface.port, BufReader::new(file)),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    Err(sources::unreadable(path, sources::NoText::Missing))
                }
                Err(error) => Err(unreadable(&name, &error)),
            }
        };
        wrong.extend(opened.err());
    }
    if wrong.is_empty() { Ok(feed) } else { Err(wrong) }
}
