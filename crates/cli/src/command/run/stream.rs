//! Runs as one JSON value that is printed as it grows: nothing is kept, however many packets there are.
//!
//! `{ "runs": [ { HEAD, "steps": [ STEP, ... ], TAIL }, ... ], "ok": true }`, a step a line.

use crate::output;
use serde_json::{Map, Value};

/// Position in the JSON value at which the next text belongs.
#[derive(Default)]
pub struct Stream {
    /// Runs that were begun.
    runs: u64,
    /// Steps of the run at hand; none if no run is open.
    steps: Option<u64>,
}

impl Stream {
    /// Another step; `head` has the first fields of a run that begins with it.
    pub fn step(&mut self, step: &Value, head: impl FnOnce() -> Value) {
        if self.steps.is_none() {
            self.begin(&head());
        }
        let comma = if self.steps.unwrap_or(0) > 0 { "," } else { "" };
        output::print(&format!("{comma}\n{step}"));
        self.steps = self.steps.map(|steps| steps + 1);
    }

    /// The run at hand is over, or has no steps at all; `tail` are its last fields.
    pub fn end_run(&mut self, head: impl FnOnce() -> Value, tail: &Value) {
        if self.steps.is_none() {
            self.begin(&head());
        }
        self.steps = None;
        output::print(&format!("\n]{}}}", fields(tail)));
    }

    /// Ends the list of runs.
    pub fn finish(&mut self, ok: bool) {
        let begin = if self.runs == 0 { "{\"runs\": [" } else { "" };
        output::print(&format!("{begin}\n], \"ok\": {ok}}}\n"));
    }

    fn begin(&mut self, head: &Value) {
        let before = if self.runs == 0 { "{\"runs\": [\n" } else { ",\n" };
        let head = fields(head);
        output::print(&format!("{before}{{{}, \"steps\": [", head.trim_start_matches(", ")));
        self.runs += 1;
        self.steps = Some(0);
    }
}

/// The fields of an object, each after a comma.
fn fields(object: &Value) -> String {
    let none = Map::new();
    let fields = object.as_object().unwrap_or(&none).iter();
    fields.map(|(name, value)| format!(", {}: {value}", Value::from(name.as_str()))).collect()
}
