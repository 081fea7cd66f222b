//! Files with the state of a switch: text, JSON or binary. A file is written in the form that its name says, and read in the form that it has.

use agent::STATE_FORMAT;
use p4runtime_proto::p4rack::v1::SavedState;
use p4runtime_proto::{from_binary, from_json, from_text, to_binary, to_json, to_text};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Form of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Binary,
    Json,
    Text,
}

impl Form {
    fn of_name(file: &Path) -> Form {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("json") => Form::Json,
            Some("txtpb" | "txt" | "textproto") => Form::Text,
            _ => Form::Binary,
        }
    }

    /// A binary state begins with field 1 of the message, a string that begins so; a text has no length there.
    fn of_bytes(bytes: &[u8]) -> Form {
        match bytes {
            [0x0a, _, rest @ ..] if rest.starts_with(FORMATS.as_bytes()) => Form::Binary,
            _ if bytes.trim_ascii_start().starts_with(b"{") => Form::Json,
            _ => Form::Text,
        }
    }
}

/// Beginning of the formats' names, of all versions.
const FORMATS: &str = "p4rack state";

/// Writes a state. On an error, the file keeps its former contents.
pub fn write(file: &Path, state: &SavedState) -> Result<(), String> {
    let bytes = match Form::of_name(file) {
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
pub fn read(file: &Path) -> Result<SavedState, String> {
    let name = file.display();
    let bytes = std::fs::read(file).map_err(|error| format!("`{name}` cannot be read: {error}"))?;
    let no_state = || {
        format!("`{name}` is not a file that `p4rack ctl save` or `serialize_state` of p4rack has written")
    };
    let text = || std::str::from_utf8(&bytes).map_err(|_| no_state());
    let state: Result<SavedState, _> = match Form::of_bytes(&bytes) {
        Form::Binary => from_binary(&bytes),
        Form::Json => from_json(text()?),
        Form::Text => from_text(text()?),
    };
    match state {
        Ok(state) if state.format == STATE_FORMAT => Ok(state),
        Ok(state) if state.format.starts_with(FORMATS) => {
            Err(format!("`{name}` has the format `{}`: this command reads `{STATE_FORMAT}`", state.format))
        }
        Ok(_) => Err(no_state()),
        Err(why) => Err(format!("{}: {why}", no_state())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_recognised_whatever_the_name_of_the_file() {
        let state = SavedState { format: STATE_FORMAT.to_string(), ..SavedState::default() };
        assert_eq!(Form::of_bytes(&to_binary(&state)), Form::Binary);
        assert_eq!(Form::of_bytes(to_json(&state).unwrap().as_bytes()), Form::Json);
        let text = to_text(&state).unwrap();
        assert_eq!(Form::of_bytes(text.as_bytes()), Form::Text);
        // A line feed is also the first byte of the binary form.
        assert_eq!(Form::of_bytes(format!("\n{text}").as_bytes()), Form::Text);
        assert_eq!(Form::of_bytes(b"\n{}"), Form::Json);
        assert_eq!(Form::of_bytes(b""), Form::Text);
    }
}
