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

    /// Status of a failed batch: `UNKNOWN`, and one detail for each element. The message names the first one that failed by itself.
    pub(crate) fn of_batch(what: &str, details: Vec<Error>) -> Status {
        let mut status = Status { code: Code::Unknown, message: String::new(), details };
        let failed = status.causes().count();
        let others =
            status.details.iter().filter(|error| error.canonical_code == Code::Aborted as i32).count();
        let mut message = format!("{failed} of {} {what} failed", status.details.len());
        if others > 0 {
            message += &format!(", and {others} were rolled back or not tried");
        }
        if let Some((at, error)) = status.cause() {
            message += &format!("; the first: {what}[{at}]: {}", error.message);
        }
        status.message = message;
        status
    }

    /// For a batch: positions and errors of the elements that failed by themselves; others were not tried or were rolled back because of
    /// them.
    pub fn causes(&self) -> impl Iterator<Item = (usize, &Error)> {
        let by_itself =
            |error: &Error| ![Code::Ok as i32, Code::Aborted as i32].contains(&error.canonical_code);
        self.details.iter().enumerate().filter(move |(_, error)| by_itself(error))
    }

    /// The first of these.
    pub fn cause(&self) -> Option<(usize, &Error)> {
        self.causes().next()
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
