//! Failed calls of handlers.

use base_diag::Diagnostic;
use base_diag::codes::handler as codes;
use base_time::Time;
use std::sync::{Arc, Mutex, PoisonError};

/// The most failures that are kept; later ones are only counted.
const MOST_KEPT: usize = 100;

/// A call that did not return.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The handler.
    pub handler: String,
    /// Reason: `signal 11 (segmentation fault)`, `no answer in 1 s`.
    pub why: String,
    /// The fields of the request.
    pub request: String,
    /// Time of the packet.
    pub at: Time,
    /// True if packets of the flow crashed the handler twice in a minute: later calls for the flow fail at once.
    pub poisons: bool,
}

/// Failures of all instances of a library.
#[derive(Clone, Default, Debug)]
pub struct Failures(Arc<Mutex<(Vec<Failure>, u64)>>);

impl Failures {
    pub(crate) fn add(&self, failure: Failure) {
        let (kept, count) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        if kept.len() < MOST_KEPT {
            kept.push(failure);
        }
    }

    /// The first of them, and how many there were.
    pub fn all(&self) -> (Vec<Failure>, u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The failures for people: one diagnostic for each handler.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let (kept, count) = self.all();
        let mut names: Vec<&str> = kept.iter().map(|failure| failure.handler.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let of = |name: &str| {
            let own: Vec<&Failure> = kept.iter().filter(|failure| failure.handler == name).collect();
            let title = format!("handler `{name}` failed");
            let mut problem = Diagnostic::error(codes::HANDLER_FAILED, title);
            for failure in own.iter().take(3) {
                problem =
                    problem.note(format!("at {}: {}; request: {}", failure.at, failure.why, failure.request));
            }
            for failure in own.iter().filter(|failure| failure.poisons).take(3) {
                let what = "packets of this request's flow crashed the handler twice: later calls for this flow return `false`";
                problem = problem.note(format!("{what}: {}", failure.request));
            }
            if own.len() > 3 {
                problem = problem.note(format!("{count} calls failed"));
            }
            problem.help("`--sanitize address,undefined` shows where")
        };
        names.into_iter().map(of).collect()
    }
}
