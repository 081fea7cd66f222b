//! Errors of RPCs (P4Runtime 1.5, section 10).

use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::Error;
use std::fmt;

/// Why an RPC or a stream ends, as gRPC wants it.
#[derive(Clone, PartialEq, Debug)]
pub struct Status {
    /// Not `OK`.
    pub code: Code,
    /// For a developer.
    pub message: String,
    /// One for each update or query of the request, if some of them failed; else none.
    pub details: Vec<Error>,
}

impl Status {
    /// Without details.
    pub fn new(code: Code, message: impl Into<String>) -> Status {
        Status { code, message: message.into(), details: vec![] }
    }

    /// Status of a failed batch: `UNKNOWN`, and one detail for each element.
    pub(crate) fn of_batch(what: &str, details: Vec<Error>) -> Status {
        let failed = details.iter().filter(|error| error.canonical_code != 0).count();
        let first = details.iter().find(|error| error.canonical_code != 0);
        let first = first.map_or(String::new(), |error| format!("; the first: {}", error.message));
        let message = format!("{failed} of {} {what} failed{first}", details.len());
        Status { code: Code::Unknown, message, details }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str_name(), self.message)
    }
}
