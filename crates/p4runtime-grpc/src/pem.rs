//! Files with certificates and secrets.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Bytes of a file with a certificate in PEM form.
pub fn certificate_of(path: &Path) -> Result<Vec<u8>, String> {
    pem(path, "CERTIFICATE-----", "a certificate")
}

/// Bytes of a file with a private key in PEM form.
pub fn private_key(path: &Path) -> Result<Vec<u8>, String> {
    pem(path, "PRIVATE KEY-----", "a private key")
}

/// Reads a file that must contain a PEM section with this label.
fn pem(path: &Path, mark: &str, what: &str) -> Result<Vec<u8>, String> {
    let text = fs::read(path).map_err(|error| unreadable(path, &error))?;
    match text.windows(mark.len()).any(|part| part == mark.as_bytes()) {
        true => Ok(text),
        false => Err(format!("`{}` does not contain {what} in PEM form", path.display())),
    }
}

/// Text of a file that only its owner may read.
pub fn private(path: &Path) -> Result<String, String> {
    only_owner(path)?;
    fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

/// Refuses a file that others than its owner may read.
pub fn only_owner(path: &Path) -> Result<(), String> {
    let mode = fs::metadata(path).map_err(|error| unreadable(path, &error))?.permissions().mode();
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(format!(
            "other users can read `{}` (mode {:o}): run `chmod 600` on it",
            path.display(),
            mode & 0o777
        )),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("`{}` cannot be read: {error}", path.display())
}
