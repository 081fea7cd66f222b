//! A text file in the source map.

use base_diag::{Diagnostic, SourceMap, Span, codes};
use std::path::Path;

/// Reads a file and adds it to the map; gives its text and the number of its first byte.
pub fn read(path: &Path, map: &mut SourceMap) -> Result<(String, u32), Diagnostic> {
    let name = path.display().to_string();
    let text = std::fs::read(path).map_err(|error| {
        Diagnostic::error(codes::emulate::UNREADABLE_FILE, "a file cannot be read")
            .note(format!("`{name}`: {error}"))
            .help("check the path; paths in a RACK.toml are relative to its directory")
    })?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let file = map.add_file(name.as_str(), text.as_str(), Span::NONE);
    let base = file.ok().and_then(|id| map.file(id)).map(|f| f.base());
    match base {
        Some(base) => Ok((text, base)),
        None => {
            Err(Diagnostic::error(codes::emulate::UNREADABLE_FILE, "the sources are too large").note(name))
        }
    }
}
