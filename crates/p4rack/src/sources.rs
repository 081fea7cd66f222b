//! A text file in the source map, and errors for missing files and files that are not text.

use base_diag::{Diagnostic, SourceMap, Span, codes, did_you_mean};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Reason why a file has no text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoText {
    /// The file does not exist.
    Missing,
    /// The file exists but cannot be read, for this reason.
    Unreadable(String),
}

/// Reads a file of UTF-8. A byte-order mark is removed; invalid UTF-8 is refused with its place.
pub fn text(path: &Path) -> Result<String, NoText> {
    decoded(&bytes(path)?).map_err(NoText::Unreadable)
}

/// Reads a P4 source. Comments may be in another encoding: as in p4c, bytes that are not UTF-8 are left to the lexer.
pub fn program_text(path: &Path) -> Result<String, NoText> {
    let bytes = bytes(path)?;
    no_other_form(&bytes).map_err(NoText::Unreadable)?;
    Ok(unmarked(String::from_utf8_lossy(&bytes).into_owned()))
}

fn bytes(path: &Path) -> Result<Vec<u8>, NoText> {
    std::fs::read(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => NoText::Missing,
        ErrorKind::IsADirectory => NoText::Unreadable("it is a directory".to_string()),
        _ => NoText::Unreadable(error.to_string()),
    })
}

/// Decodes bytes, which must be UTF-8, and removes a byte-order mark.
pub fn decoded(bytes: &[u8]) -> Result<String, String> {
    no_other_form(bytes)?;
    match base_diag::from_utf8(bytes) {
        Ok(text) => Ok(unmarked(text.to_string())),
        Err(wrong) => Err(format!("{wrong}; save the file as UTF-8")),
    }
}

/// Refuses bytes that cannot have been meant as UTF-8.
fn no_other_form(bytes: &[u8]) -> Result<(), String> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err("it is UTF-16: save it as UTF-8".to_string()),
        _ if bytes.contains(&0) => Err("it is not text: it contains zero bytes".to_string()),
        _ => Ok(()),
    }
}

fn unmarked(text: String) -> String {
    match base_diag::without_mark(&text, 0) {
        (rest, 1..) => rest.to_string(),
        (_, 0) => text,
    }
}

/// Reads a file and adds it to the map; gives its text and the number of its first byte.
pub fn read(path: &Path, map: &mut SourceMap) -> Result<(String, u32), Diagnostic> {
    let text = text(path).map_err(|why| unreadable(path, why))?;
    let base = add(&path.display().to_string(), &text, map)?;
    Ok((text, base))
}

/// Adds a text to the map; gives the number of its first byte.
pub fn add(name: &str, text: &str, map: &mut SourceMap) -> Result<u32, Diagnostic> {
    let file = map.add_file(name, text, Span::NONE);
    let base = file.ok().and_then(|id| map.file(id)).map(|f| f.base());
    let too_large = || Diagnostic::error(codes::emulate::UNREADABLE_FILE, "the sources are too large");
    base.ok_or_else(|| too_large().note(name))
}

/// Says that a file cannot be read, and which may be meant if there is none.
pub fn unreadable(path: &Path, why: NoText) -> Diagnostic {
    let unreadable_because = |why: &str| {
        Diagnostic::error(codes::emulate::UNREADABLE_FILE, "a file cannot be read")
            .note(format!("`{}`: {why}", path.display()))
    };
    match (why, near(path)) {
        (NoText::Unreadable(why), _) => unreadable_because(&why),
        (NoText::Missing, Some(near)) => {
            unreadable_because("there is no such file").help(format!("did you mean `{}`?", near.display()))
        }
        (NoText::Missing, None) => unreadable_because("there is no such file").help("check the path"),
    }
}

/// The existing file whose name is most similar to `path`.
pub fn near(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let mut there = names(directory.unwrap_or(Path::new(".")));
    there.retain(|there| there != name);
    did_you_mean(name, there.iter().map(String::as_str)).map(|near| path.with_file_name(near))
}

/// The first file of a directory with this extension, by name.
pub fn first_with(directory: &Path, extension: &str) -> Option<PathBuf> {
    let paths = names(directory).into_iter().map(|name| directory.join(name));
    paths.into_iter().find(|path| path.extension().is_some_and(|e| e == extension))
}

/// Names of the entries of a directory, sorted; names that are not text are left out.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
