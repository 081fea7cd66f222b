//! Files on disk as the compiler's sources.

use p4_syntax::{LoadError, Loader};
use std::io::ErrorKind;
use std::sync::Arc;

/// Reads files from disk; architecture files are built in.
#[derive(Clone, Copy, Default, Debug)]
pub struct Disk;

impl Loader for Disk {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into()),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Err(LoadError::NotFound)
            }
            Err(error) => Err(LoadError::Unreadable(error.to_string())),
        }
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        p4_arch::include(name).map(Arc::from)
    }
}
