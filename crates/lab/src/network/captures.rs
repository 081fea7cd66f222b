//! The directory of a lab's captures: `pcaps`, or `pcaps-2` and so on while another lab writes there.
//!
//! A lock marks the directory. It ends with the process: after `kill -9` the next lab uses `pcaps` again.

use dataplane_ports::CaptureSink;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Labs that can write captures beside each other.
const MOST: u32 = 100;

/// A directory in which no other lab writes captures while this exists.
pub(crate) struct Captures {
    /// Path of the directory.
    pub(super) path: PathBuf,
    _lock: Flock<File>,
}

impl Captures {
    /// Creates the directory, or another one if a lab uses it; this is noted.
    pub(super) fn claim(wanted: &Path, notes: &mut Vec<String>) -> Result<Captures, String> {
        let name = wanted.file_name().unwrap_or_default().to_string_lossy();
        for number in 1..=MOST {
            let path = match number {
                1 => wanted.to_path_buf(),
                _ => wanted.with_file_name(format!("{name}-{number}")),
            };
            let failed = |error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
            std::fs::create_dir_all(&path).map_err(|error| failed(&error))?;
            let directory = File::open(&path).map_err(|error| failed(&error))?;
            match Flock::lock(directory, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => {
                    if number > 1 {
                        notes.push(format!(
                            "another lab writes captures to `{}`: those of this lab are in `{}`",
                            wanted.display(),
                            path.display()
                        ));
                    }
                    return Ok(Captures { path, _lock: lock });
                }
                Err((_, Errno::EWOULDBLOCK)) => {}
                Err((_, error)) => return Err(failed(&error)),
            }
        }
        Err(format!("`{}`: {MOST} labs write captures there", wanted.display()))
    }

    /// Captures of frames sent and received on a switch's port, named as BMv2 does.
    pub(super) fn open(&self, interface: &str) -> Result<(CaptureSink, CaptureSink), String> {
        let open = |way: &str| {
            let path = self.path.join(format!("{interface}_{way}.pcap"));
            CaptureSink::create(&path).map_err(|error| format!("`{}`: {error}", path.display()))
        };
        Ok((open("out")?, open("in")?))
    }
}
