//! Files that are created once, by the first process that needs them.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Creates a file with these permissions if it is missing; its directories are accessible by the user only.
///
/// Another process may create the file at the same time, so it appears as a whole or not at all.
pub fn make(path: &Path, mode: u32, text: impl FnOnce() -> io::Result<String>) -> Result<(), String> {
    if path.exists() {
        return Ok(());
    }
    let failed = |error: io::Error| format!("`{}` cannot be created: {error}", path.display());
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".new-{}", std::process::id()));
    let new = path.with_file_name(name);
    let made = (|| {
        let text = text()?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        file.write_all(text.as_bytes())?;
        fs::hard_link(&new, path)
    })();
    let _ = fs::remove_file(&new);
    match made {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(failed(error)),
        _ => Ok(()),
    }
}
