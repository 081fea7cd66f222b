//! Secrets, from files.

use crate::once;
use agent::Secret;
use std::fs;
use std::io::Read;
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
        format!("`{}` does not contain a secret: one word of 16 characters or more", path.display())
    })
}

/// Reads the secret; if the file does not exist, creates it with a new secret, readable only by its owner.
pub fn made(path: &Path) -> Result<Secret, String> {
    once::make(path, 0o600, || {
        let mut bytes = [0; 32];
        fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("{text}\n"))
    })?;
    read(path)
}
