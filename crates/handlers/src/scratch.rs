//! A directory that is removed at the end.

use std::fs;
use std::path::{Path, PathBuf};

/// A new directory below the system's for such.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Result<Scratch, String> {
        let mut number = 0;
        loop {
            let path = std::env::temp_dir().join(format!("p4rack-handlers-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Scratch(path)),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && number < 10_000 => number += 1,
                Err(e) => return Err(format!("`{}`: {e}", path.display())),
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        fs::write(&path, text).map_err(|e| format!("`{}`: {e}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
