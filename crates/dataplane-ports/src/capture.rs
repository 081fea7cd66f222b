//! Capture files as ports: frames come from one as fast as they are taken, and go to another.

use crate::batch::Batch;
use crate::capture_files::CaptureFile;
use crate::port::{Sink, Source, Wait};
use base_pcap::Reader;
use base_time::Time;
use dataplane_api::Port;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use target_native::Packet;

/// Bytes that are written at a time.
const WRITTEN: usize = 1 << 18;

/// Frames of a capture, without their times.
pub struct CaptureSource(Reader<'static>);

/// A capture that is being written; times count from the start of the process.
pub struct CaptureSink(CaptureFile);

impl CaptureSource {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<CaptureSource> {
        let reader = Reader::new(File::open(path)?);
        let reader = reader.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        Ok(CaptureSource(reader))
    }
}

impl Source for CaptureSource {
    fn receive(&mut self, port: Port, batch: &mut Batch) -> io::Result<()> {
        while !batch.room().is_empty() {
            match self.0.read(|frame| batch.push(port, frame.bytes)) {
                Ok(Some(())) => {}
                // Frames can leave by the port all the same: it is up.
                Ok(None) => break,
                Err(error) => return Err(io::Error::new(ErrorKind::InvalidData, error)),
            }
        }
        Ok(())
    }

    fn wait(&mut self, _: &Arc<mio::Waker>) -> Wait {
        // Nothing comes after the end.
        Wait::Woken
    }

    fn keeps(&self) -> bool {
        true
    }
}

impl CaptureSink {
    /// Makes a file, in the place of one that is there.
    pub fn create(path: &Path) -> io::Result<CaptureSink> {
        CaptureFile::create(path, WRITTEN).map(CaptureSink)
    }
}

impl Sink for CaptureSink {
    fn send(&mut self, packets: &mut [Packet], which: &[usize], now: Time) -> usize {
        which.iter().filter(|at| self.send_frame(packets[**at].frame(), now)).count()
    }

    fn send_frame(&mut self, frame: &[u8], now: Time) -> bool {
        self.0.add(now.as_ns(), frame).is_ok()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
