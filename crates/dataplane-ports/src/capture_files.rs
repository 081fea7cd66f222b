//! Captures of the frames that leave, a file for each port.

use crate::by_port::ByPort;
use crate::timed::Results;
use base_pcap::{Frame, Pieces};
use base_time::Time;
use dataplane_api::Port;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes that are written at a time.
const PIECE: usize = 1 << 16;

/// A capture that is being written.
pub(crate) struct CaptureFile {
    file: File,
    pieces: Pieces,
}

impl CaptureFile {
    /// Makes a file, in the place of one that is there; `piece` bytes are written at a time.
    pub(crate) fn create(path: &Path, piece: usize) -> io::Result<CaptureFile> {
        Ok(CaptureFile { file: File::create(path)?, pieces: Pieces::new(piece) })
    }

    #[inline]
    pub(crate) fn add(&mut self, nanos: u64, frame: &[u8]) -> io::Result<()> {
        if self.pieces.add(Frame::whole(nanos, frame)) { self.write() } else { Ok(()) }
    }

    #[cold]
    fn write(&mut self) -> io::Result<()> {
        self.file.write_all(self.pieces.piece())?;
        self.pieces.wrote();
        Ok(())
    }

    /// Writes all that was added.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.pieces.rest())
    }
}

/// A file that cannot be written.
#[derive(Debug)]
pub struct Unwritable {
    /// The file or folder.
    pub path: PathBuf,
    /// Reason.
    pub error: io::Error,
}

/// Captures of frames that leave. A port's file is made when its first frame comes.
#[derive(Default)]
pub struct CaptureFiles {
    directory: Option<PathBuf>,
    named: BTreeMap<Port, PathBuf>,
    open: ByPort<CaptureFile>,
}

impl CaptureFiles {
    /// Files of ports with a name of their own; those of other ports are `PORT.pcap` in the directory. Without one, their frames are not written.
    pub fn new(directory: Option<PathBuf>, named: BTreeMap<Port, PathBuf>) -> CaptureFiles {
        CaptureFiles { directory, named, open: ByPort::default() }
    }

    /// Opens the files of ports with names, so that they exist even without frames.
    pub fn prepare(&mut self) -> Result<(), Unwritable> {
        let ports: Vec<Port> = self.named.keys().copied().collect();
        ports.into_iter().try_for_each(|port| self.file(port).map(drop))
    }

    /// Writes a frame that left at a time, to which `epoch_nanos` are added.
    #[inline]
    pub fn write(&mut self, port: Port, at: Time, epoch_nanos: u64, frame: &[u8]) -> Result<(), Unwritable> {
        let nanos = epoch_nanos.saturating_add(at.as_ns());
        let written = match self.open.get_mut(port) {
            Some(capture) => capture.add(nanos, frame),
            None => self.file(port)?.map_or(Ok(()), |capture| capture.add(nanos, frame)),
        };
        written.map_err(|error| self.unwritable(port, error))
    }

    /// Writes all frames of a batch.
    pub fn write_all(&mut self, results: &Results<'_>) -> Result<(), Unwritable> {
        results.each(|moment, port, frame| self.write(port, moment.at, moment.epoch_nanos, frame))
    }

    /// Ends all files.
    pub fn finish(&mut self) -> Result<(), Unwritable> {
        for (port, mut capture) in std::mem::take(&mut self.open).into_all() {
            capture.flush().map_err(|error| self.unwritable(port, error))?;
        }
        Ok(())
    }

    #[cold]
    fn unwritable(&self, port: Port, error: io::Error) -> Unwritable {
        Unwritable { path: self.path(port).unwrap_or_default(), error }
    }

    /// Capture file for the frames of a port, if there is one.
    fn path(&self, port: Port) -> Option<PathBuf> {
        let named = self.named.get(&port).cloned();
        named.or_else(|| Some(self.directory.as_ref()?.join(format!("{port}.pcap"))))
    }

    #[cold]
    fn file(&mut self, port: Port) -> Result<Option<&mut CaptureFile>, Unwritable> {
        if self.open.get(port).is_none() {
            let Some(path) = self.path(port) else { return Ok(None) };
            if let Some(directory) = &self.directory {
                std::fs::create_dir_all(directory)
                    .map_err(|error| Unwritable { path: directory.clone(), error })?;
            }
            let made = CaptureFile::create(&path, PIECE);
            self.open.insert(port, made.map_err(|error| Unwritable { path, error })?);
        }
        Ok(self.open.get_mut(port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_pcap::Reader;
    use base_time::Duration;

    fn frames(path: &Path) -> Vec<(u64, Vec<u8>)> {
        let records = Reader::new(File::open(path).unwrap()).unwrap();
        records.map(Result::unwrap).map(|record| (record.nanos, record.frame)).collect()
    }

    #[test]
    fn each_port_has_a_file() {
        let directory = std::env::temp_dir().join(format!("capture-files-{}", std::process::id()));
        let (named, never) = (directory.join("named.pcap"), directory.join("never.pcap"));
        let mut files = CaptureFiles::new(
            Some(directory.join("out")),
            [(3, named.clone()), (4, never.clone())].into_iter().collect(),
        );
        files.prepare().unwrap();
        // More than a piece, by a port without a name and by one with a large number.
        let (long, many) = (vec![1; 1500], 100u32);
        for at in 0..many {
            for port in [3, 2, 5000] {
                let nanos = u64::from(at + port);
                files.write(port, Time::ZERO + Duration::from_ns(nanos), 1_000_000_000, &long).unwrap();
            }
        }
        assert!(std::fs::metadata(&named).unwrap().len() == PIECE as u64 * 2, "whole pieces are written");
        files.finish().unwrap();
        for (port, path) in
            [(3, named), (2, directory.join("out/2.pcap")), (5000, directory.join("out/5000.pcap"))]
        {
            let wanted: Vec<_> =
                (0..many).map(|at| (1_000_000_000 + u64::from(at + port), long.clone())).collect();
            assert!(frames(&path) == wanted, "{port}");
        }
        assert_eq!(frames(&never), []);
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn without_a_place_frames_are_not_written() {
        let mut files = CaptureFiles::new(None, BTreeMap::new());
        files.write(1, Time::ZERO, 0, &[1]).unwrap();
        files.finish().unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let full = PathBuf::from("/dev/full");
        let mut files = CaptureFiles::new(None, [(1, full.clone())].into_iter().collect());
        let mut write = || (0..PIECE / 1500 + 1).try_for_each(|_| files.write(1, Time::ZERO, 0, &[0; 1500]));
        assert_eq!(write().unwrap_err().path, full);
        assert_eq!(files.finish().unwrap_err().path, full);
    }
}
