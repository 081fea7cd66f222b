//! Failed calls of handlers.

use base_diag::Diagnostic;
use base_diag::codes::handler as codes;
use base_time::{Duration, Time};
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

/// Calls of a handler that took more processor time than its budget.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slow {
    /// The handler.
    pub handler: String,
    /// The budget of a call.
    pub budget: Duration,
    /// Calls that took more.
    pub calls: u64,
    /// The longest of them.
    pub longest: Duration,
    /// The request of the longest.
    pub request: String,
}

/// News of a handler.
#[derive(Clone, Copy, Debug)]
pub enum News<'a> {
    /// A failure that is kept.
    Failed(&'a Failure),
    /// The number of slow calls is now a power of two.
    Slow(&'a Slow),
}

/// Gets news when they happen.
pub type Reporter = fn(News<'_>);

/// Failures of all instances of a library.
#[derive(Clone, Default, Debug)]
pub struct Failures(Arc<Mutex<All>>);

#[derive(Default, Debug)]
struct All {
    kept: Vec<Failure>,
    count: u64,
    slow: Vec<Slow>,
    report: Option<Reporter>,
}

impl Failures {
    pub(crate) fn add(&self, failure: Failure) {
        let All { kept, count, report, .. } = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        if kept.len() < MOST_KEPT {
            report.iter().for_each(|report| report(News::Failed(&failure)));
            kept.push(failure);
        }
    }

    /// Counts a call that took more than its budget.
    pub(crate) fn slow(
        &self,
        handler: &str,
        budget: Duration,
        took: Duration,
        request: impl FnOnce() -> String,
    ) {
        let All { slow, report, .. } = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = slow.iter().position(|one| one.handler == handler).unwrap_or_else(|| {
            let (handler, longest) = (handler.to_string(), Duration::ZERO);
            slow.push(Slow { handler, budget, calls: 0, longest, request: String::new() });
            slow.len() - 1
        });
        let one = &mut slow[at];
        one.calls += 1;
        if took > one.longest {
            (one.longest, one.request) = (took, request());
        }
        if one.calls.is_power_of_two() {
            report.iter().for_each(|report| report(News::Slow(one)));
        }
    }

    /// Handlers with calls that took more than their budgets.
    pub fn slow_calls(&self) -> Vec<Slow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).slow.clone()
    }

    /// Passes news on when they happen.
    pub fn report_to(&self, report: Reporter) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).report = Some(report);
    }

    /// The first of them, and how many there were.
    pub fn all(&self) -> (Vec<Failure>, u64) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (all.kept.clone(), all.count)
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
