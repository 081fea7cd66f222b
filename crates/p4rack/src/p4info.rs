//! P4Info and the source's own entries as files.

use base_diag::Diagnostic;
use ir::Program;
use p4runtime_proto::{FormError, Message, to_binary, to_json, to_text};

/// How a message is written.
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
    /// By a file's extension: `.txtpb`, `.textproto`, `.txt`; `.json`; `.bin`, `.pb`, `.binpb`.
    pub fn of_path(path: &std::path::Path) -> Option<Form> {
        Some(match path.extension()?.to_str()? {
            "txtpb" | "textproto" | "txt" => Form::Text,
            "json" => Form::Json,
            "bin" | "pb" | "binpb" => Form::Binary,
            _ => return None,
        })
    }
}

/// What the control plane of `program` can see.
pub fn p4info(program: &Program, form: Form) -> Result<Vec<u8>, Vec<Diagnostic>> {
    written(program, &p4info::p4info(program)?, "p4/config/v1/p4info.proto", form)
}

/// The entries that stand in the source, as a `WriteRequest`.
pub fn entries(program: &Program, form: Form) -> Result<Vec<u8>, Vec<Diagnostic>> {
    written(program, &p4info::entries(program)?, "p4/v1/p4runtime.proto", form)
}

fn written<M: Message>(
    program: &Program,
    message: &M,
    file: &str,
    form: Form,
) -> Result<Vec<u8>, Vec<Diagnostic>> {
    let text = |text: Result<String, FormError>| {
        text.map(String::into_bytes).map_err(|error| vec![p4info::too_deep(program, &error)])
    };
    match form {
        Form::Text => {
            let head = format!("# proto-file: {file}\n# proto-message: {}\n\n", M::full_name());
            text(to_text(message).map(|body| head + &body))
        }
        Form::Json => text(to_json(message)),
        Form::Binary => Ok(to_binary(message)),
    }
}
