//! P4Info and the source's own entries as files.

use base_diag::{Diagnostic, codes};
use ir::Program;
use p4runtime_proto::{FormError, Message, to_binary, to_json, to_text};
use std::path::Path;

/// Outputs for control planes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The P4Info.
    P4Info,
    /// The entries declared in the source, as a P4Runtime `WriteRequest`.
    Entries,
}

/// Form in which a message is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Protobuf's text format.
    Text,
    /// ProtoJSON.
    Json,
    /// Protobuf's wire format.
    Binary,
}

impl Form {
    /// Form for a file's extension: `.txtpb`, `.textproto`, `.txt`; `.json`; `.bin`, `.pb`, `.binpb`.
    pub fn of_path(path: &Path) -> Option<Form> {
        Some(match path.extension()?.to_str()? {
            "txtpb" | "textproto" | "txt" => Form::Text,
            "json" => Form::Json,
            "bin" | "pb" | "binpb" => Form::Binary,
            _ => return None,
        })
    }

    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Form::Text => "txtpb",
            Form::Json => "json",
            Form::Binary => "bin",
        }
    }
}

/// The bytes of a file that says `what` of `program`.
pub fn file(program: &Program, what: What, form: Form) -> Result<Vec<u8>, Vec<Diagnostic>> {
    match what {
        What::P4Info => written(&p4info::p4info(program)?, "p4/config/v1/p4info.proto", form),
        What::Entries => written(&p4info::entries(program)?, "p4/v1/p4runtime.proto", form),
    }
}

fn written<M: Message>(message: &M, file: &str, form: Form) -> Result<Vec<u8>, Vec<Diagnostic>> {
    let text = match form {
        Form::Text => to_text(message)
            .map(|text| format!("# proto-file: {file}\n# proto-message: {}\n\n{text}", M::full_name())),
        Form::Json => to_json(message),
        Form::Binary => return Ok(to_binary(message)),
    };
    text.map(String::into_bytes).map_err(|error| vec![no_form(&error)])
}

/// The types of a program can be nested deeper than a message.
fn no_form(error: &FormError) -> Diagnostic {
    Diagnostic::error(codes::elaborate::TOO_DEEP, "types are nested too deeply for P4Info")
        .note(error.to_string())
}
