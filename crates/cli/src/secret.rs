//! Secrets, from files.

use agent::Secret;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file of the user's own: `$XDG_STATE_HOME/p4rack/secret`, or that below `~/.local/state`.
pub fn usual() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")))?;
    Some(state.join("p4rack/secret"))
}

/// The secret of a file.
pub fn read(path: &Path) -> Result<Secret, String> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
    Secret::new(text.trim()).ok_or_else(|| {
        format!("`{}` has no secret in it: that is one word of 16 characters or more", path.display())
    })
}

/// The same; a file that is not there is made, for its owner to read, with a new secret.
pub fn made(path: &Path) -> Result<Secret, String> {
    if path.exists() {
        return read(path);
    }
    let failed = |error: std::io::Error| format!("`{}` cannot be made: {error}", path.display());
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    // Another process may be about to make it, too: it is there as a whole or not at all.
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let made = (|| {
        let mut bytes = [0; 32];
        fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(format!("{text}\n").as_bytes())?;
        fs::hard_link(&new, path)
    })();
    let _ = fs::remove_file(&new);
    match made {
        Ok(()) => read(path),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => read(path),
        Err(error) => Err(failed(error)),
    }
}
