//! Results as files: a capture for each port, and traces.

use super::Args;
use crate::output::pieces;
use base_diag::Diagnostic;
use base_diag::codes::run::UNWRITABLE;
use dataplane_ports::{CaptureFiles, Unwritable};
use p4runtime_proto::p4::bm;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that cannot be written, as a diagnostic.
pub fn unwritable(Unwritable { path, error }: Unwritable) -> Vec<Diagnostic> {
    problem(&path, &error)
}

fn problem(path: &Path, error: &dyn std::fmt::Display) -> Vec<Diagnostic> {
    let problem = Diagnostic::error(UNWRITABLE, "a file cannot be written");
    vec![problem.note(format!("`{}`: {error}", path.display()))]
}

/// Captures of the packets that are sent. None is open yet.
pub fn captures(args: &Args) -> CaptureFiles {
    let named = args.interface.iter().filter_map(|i| Some((i.port, i.output.clone()?)));
    CaptureFiles::new(args.output.clone(), named.collect())
}

/// The file of traces that is being written. Messages one after the other are one message with all their fields,
/// in both forms: nothing is kept.
pub struct Traces {
    path: PathBuf,
    is_text: bool,
    to: Option<BufWriter<File>>,
}

impl Traces {
    /// Text if the name says so, else binary.
    pub fn new(path: &Path) -> Traces {
        let is_text = path.extension().is_some_and(|e| e == "txtpb" || e == "pbtxt" || e == "textproto");
        Traces { path: path.to_path_buf(), is_text, to: None }
    }

    /// Appends traces.
    pub fn write(&mut self, traces: &bm::PacketTraces) -> Result<(), Vec<Diagnostic>> {
        let bytes = if self.is_text {
            p4runtime_proto::to_text(traces).map_err(|e| problem(&self.path, &e))?.into_bytes()
        } else {
            p4runtime_proto::to_binary(traces)
        };
        let file = match self.to.take() {
            Some(file) => Ok(file),
            None => File::create(&self.path).map(pieces),
        };
        let mut file = file.map_err(|e| problem(&self.path, &e))?;
        file.write_all(&bytes).map_err(|e| problem(&self.path, &e))?;
        self.to = Some(file);
        Ok(())
    }

    /// Ends the file, which exists even without traces.
    pub fn finish(&mut self) -> Result<(), Vec<Diagnostic>> {
        self.write(&bm::PacketTraces::default())?;
        let flushed = self.to.as_mut().map_or(Ok(()), |file| file.flush());
        flushed.map_err(|e| problem(&self.path, &e))
    }
}
