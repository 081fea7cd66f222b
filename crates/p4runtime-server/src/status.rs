//! Errors of RPCs (P4Runtime 1.5, section 10).

use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::Error;
use std::fmt;

/// Reason why an RPC or a stream ends, as a gRPC status.
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

    /// For a batch: position and error of the first element that failed by itself; other elements were not tried or were rolled back
    /// because of it.
    pub fn cause(&self) -> Option<(usize, &Error)> {
        let by_itself =
            |error: &Error| ![Code::Ok as i32, Code::Aborted as i32].contains(&error.canonical_code);
        self.details.iter().enumerate().find(|(_, error)| by_itself(error))
    }

    /// True if something that the request needed did not answer: the request may succeed later.
    pub fn is_unavailable(&self) -> bool {
        let code = self.cause().map_or(self.code as i32, |(_, error)| error.canonical_code);
        code == Code::Unavailable as i32
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str_name(), self.message)
    }
}
