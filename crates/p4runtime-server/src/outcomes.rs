//! Results of the elements of a request (P4Runtime 1.5, sections 12.2 and 12.3).

use crate::status::Status;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::Error;
use p4runtime_store::Result;

/// One for each update or query, in order.
#[derive(Debug)]
pub struct Outcomes {
    what: &'static str,
    errors: Vec<Error>,
    failed: bool,
}

impl Default for Outcomes {
    fn default() -> Outcomes {
        Outcomes::of("updates")
    }
}

impl Outcomes {
    pub(crate) fn of(what: &'static str) -> Outcomes {
        Outcomes { what, errors: vec![], failed: false }
    }

    /// The next one has ended so.
    pub fn note<T>(&mut self, how: Result<T>) {
        self.failed |= how.is_err();
        self.errors.push(match how {
            Ok(_) => Error::default(),
            Err(fault) => {
                Error { canonical_code: fault.code as i32, message: fault.to_string(), ..Error::default() }
            }
        });
    }

    /// The next one stands after one that has failed.
    pub fn not_tried(&mut self) {
        self.failed = true;
        self.errors.push(aborted("not tried: an earlier update failed"));
    }

    /// Marks the successful elements as rolled back.
    pub fn rolled_back(&mut self) {
        for error in self.errors.iter_mut().filter(|error| error.canonical_code == 0) {
            self.failed = true;
            *error = aborted("rolled back: a later update failed");
        }
    }

    /// The next one has ended as an earlier request says.
    pub fn follow(&mut self, how: Error) {
        self.failed |= how.canonical_code != 0;
        self.errors.push(how);
    }

    /// Appends the outcomes of later elements.
    pub fn append(&mut self, others: Outcomes) {
        self.failed |= others.failed;
        self.errors.extend(others.errors);
    }

    /// True if one has failed.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Status of the whole request.
    pub fn status(self) -> std::result::Result<(), Status> {
        if self.failed() { Err(Status::of_batch(self.what, self.errors)) } else { Ok(()) }
    }
}

fn aborted(why: &str) -> Error {
    Error { canonical_code: Code::Aborted as i32, message: why.to_string(), ..Error::default() }
}
