//! Results as files: a capture for each port, and traces.

use super::Args;
use crate::output::pieces;
use base_diag::Diagnostic;
use base_diag::codes::run::UNWRITABLE;
use base_pcap::{Frame, Writer};
use base_time::Time;
use p4runtime_proto::p4::bm;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

type Capture = Writer<BufWriter<File>>;

/// Captures that are being written.
pub struct Captures {
    directory: Option<PathBuf>,
    named: BTreeMap<u32, PathBuf>,
    open: BTreeMap<u32, Capture>,
}

fn unwritable(path: &Path, error: &dyn std::fmt::Display) -> Vec<Diagnostic> {
    let problem = Diagnostic::error(UNWRITABLE, "a file cannot be written");
    vec![problem.note(format!("`{}`: {error}", path.display()))]
}

impl Captures {
    /// None is open yet.
    pub fn new(args: &Args) -> Captures {
        let named = args.interface.iter().filter_map(|i| Some((i.port, i.output.clone()?)));
        Captures { directory: args.output.clone(), named: named.collect(), open: BTreeMap::new() }
    }

    /// Opens the files of ports that the command line names, so that they exist even without packets.
    pub fn prepare(&mut self) -> Result<(), Vec<Diagnostic>> {
        let ports: Vec<u32> = self.named.keys().copied().collect();
        ports.into_iter().try_for_each(|port| self.file(port).map(drop))
    }

    /// Writes a frame that left at a time; `epoch_nanos` is added to that.
    pub fn write(
        &mut self,
        port: u32,
        at: Time,
        epoch_nanos: u64,
        frame: &[u8],
    ) -> Result<(), Vec<Diagnostic>> {
        let frame = Frame::whole(epoch_nanos.saturating_add(at.as_ns()), frame);
        let written = match self.open.get_mut(&port) {
            Some(writer) => writer.frame(frame),
            None => self.file(port)?.map_or(Ok(()), |writer| writer.frame(frame)),
        };
        written.map_err(|e| unwritable(&self.path(port).unwrap_or_default(), &e))
    }

    /// Capture file for the frames of a port, if there is one.
    fn path(&self, port: u32) -> Option<PathBuf> {
        let named = self.named.get(&port).cloned();
        named.or_else(|| Some(self.directory.as_ref()?.join(format!("{port}.pcap"))))
    }

    fn file(&mut self, port: u32) -> Result<Option<&mut Capture>, Vec<Diagnostic>> {
        if !self.open.contains_key(&port) {
            let Some(path) = self.path(port) else { return Ok(None) };
            if let Some(directory) = &self.directory {
                std::fs::create_dir_all(directory).map_err(|e| unwritable(directory, &e))?;
            }
            let file = File::create(&path).map_err(|e| unwritable(&path, &e))?;
            self.open.insert(port, Writer::new(pieces(file)).map_err(|e| unwritable(&path, &e))?);
        }
        Ok(self.open.get_mut(&port))
    }

    /// Ends all files.
    pub fn finish(&mut self) -> Result<(), Vec<Diagnostic>> {
        let mut open = std::mem::take(&mut self.open);
        for (port, writer) in &mut open {
            writer.flush().map_err(|e| unwritable(&self.path(*port).unwrap_or_default(), &e))?;
        }
        Ok(())
    }
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
            p4runtime_proto::to_text(traces).map_err(|e| unwritable(&self.path, &e))?.into_bytes()
        } else {
            p4runtime_proto::to_binary(traces)
        };
        let file = match self.to.take() {
            Some(file) => Ok(file),
            None => File::create(&self.path).map(pieces),
        };
        let mut file = file.map_err(|e| unwritable(&self.path, &e))?;
        file.write_all(&bytes).map_err(|e| unwritable(&self.path, &e))?;
        self.to = Some(file);
        Ok(())
    }

    /// Ends the file, which exists even without traces.
    pub fn finish(&mut self) -> Result<(), Vec<Diagnostic>> {
        self.write(&bm::PacketTraces::default())?;
        let flushed = self.to.as_mut().map_or(Ok(()), |file| file.flush());
        flushed.map_err(|e| unwritable(&self.path, &e))
    }
}
