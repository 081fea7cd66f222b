//! Files with the state of a switch: text, JSON or binary, by the name.

use agent::STATE_FORMAT;
use p4runtime_proto::p4rack::v1::SavedState;
use p4runtime_proto::{from_binary, from_json, from_text, to_binary, to_json, to_text};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Form of a file.
#[derive(Clone, Copy)]
enum Form {
    Binary,
    Json,
    Text,
}

impl Form {
    fn of(file: &Path) -> Form {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("json") => Form::Json,
            Some("txtpb" | "txt" | "textproto") => Form::Text,
            _ => Form::Binary,
        }
    }
}

/// Writes a state. On an error, the file keeps its former contents.
pub(super) fn write(file: &Path, state: &SavedState) -> Result<(), String> {
    let bytes = match Form::of(file) {
        Form::Binary => Ok(to_binary(state)),
        Form::Json => to_json(state).map(String::into_bytes),
        Form::Text => to_text(state).map(String::into_bytes),
    };
    let failed = |why: String| format!("`{}` cannot be written: {why}", file.display());
    let bytes = bytes.map_err(|error| failed(error.to_string()))?;
    let new = beside(file);
    std::fs::write(&new, bytes).and_then(|()| std::fs::rename(&new, file)).map_err(|error| {
        let _ = std::fs::remove_file(&new);
        failed(error.to_string())
    })
}

/// A file in the same directory, of this process alone.
fn beside(file: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(format!(".new-{}", std::process::id()));
    file.with_file_name(name)
}

/// Reads a state.
pub(super) fn read(file: &Path) -> Result<SavedState, String> {
    let name = file.display();
    let bytes = std::fs::read(file).map_err(|error| format!("`{name}` cannot be read: {error}"))?;
    let text = || std::str::from_utf8(&bytes).map_err(|_| format!("`{name}` is not UTF-8 text"));
    let state: Result<SavedState, _> = match Form::of(file) {
        Form::Binary => from_binary(&bytes),
        Form::Json => from_json(text()?),
        Form::Text => from_text(text()?),
    };
    match state {
        Ok(state) if state.format == STATE_FORMAT => Ok(state),
        Ok(state) if state.format.starts_with("p4rack state") => {
            Err(format!("`{name}` has the format `{}`: this command reads `{STATE_FORMAT}`", state.format))
        }
        Ok(_) => Err(format!("`{name}` is not a file that `p4rack ctl save` has written")),
        Err(why) => Err(format!("`{name}` is not a file that `p4rack ctl save` has written: {why}")),
    }
}
