//! Output of a program at its end. Unlike a pipe, this does not wait for programs left in the background.

use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::process::Stdio;

/// A file in memory, to which output goes.
pub struct Printed(File);

impl Printed {
    /// An empty one.
    pub fn new() -> io::Result<Printed> {
        Ok(Printed(File::from(memfd_create("printed", MFdFlags::MFD_CLOEXEC)?)))
    }

    /// Output end for a program. All ends of one file share their position.
    pub fn end(&self) -> io::Result<Stdio> {
        Ok(self.0.try_clone()?.into())
    }

    /// Text so far.
    pub fn text(&self) -> io::Result<String> {
        let mut bytes = vec![0; usize::try_from(self.0.metadata()?.len()).unwrap_or(usize::MAX)];
        let mut at = 0;
        while at < bytes.len() {
            match self.0.read_at(&mut bytes[at..], at as u64)? {
                0 => break,
                count => at += count,
            }
        }
        bytes.truncate(at);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
