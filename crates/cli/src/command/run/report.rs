//! What a run prints, as it goes and at its end.

use super::Args;
use super::files::{Captures, Traces};
use super::stream::Stream;
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::{Diagnostic, SourceMap};
use ir_interp::StfReport;
use p4rack::run::feed::Feed;
use p4rack::run::step::Step;
use p4rack::run::{Ended, json, state, text, trace};
use p4runtime_proto::p4::bm;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// All runs of one call.
pub struct Report<'a> {
    args: &'a Args,
    captures: Captures,
    traces: Option<Traces>,
    /// Where the JSON goes.
    stream: Stream,
    program: String,
    passed: usize,
    failed: usize,
    /// A test was run, so there is a tally.
    tests: bool,
    prepared: bool,
}

impl<'a> Report<'a> {
    pub fn new(args: &'a Args) -> Report<'a> {
        Report {
            args,
            captures: Captures::new(args),
            traces: args.trace_file.as_deref().map(Traces::new),
            stream: Stream::default(),
            program: String::new(),
            passed: 0,
            failed: 0,
            tests: false,
            prepared: false,
        }
    }

    fn as_text(&self) -> bool {
        self.args.format == Format::Text
    }

    /// The program of the runs that follow.
    pub fn program(&mut self, program: &str) {
        self.program = program.to_string();
    }

    /// A packet is done.
    pub fn step(&mut self, step: &Step, map: &SourceMap) -> Result<(), Vec<Diagnostic>> {
        if !self.prepared {
            self.prepared = true;
            self.captures.prepare()?;
        }
        for sent in &step.sent {
            self.captures.write(sent, step.epoch_nanos)?;
        }
        if let Some(file) = &mut self.traces {
            file.write(&bm::PacketTraces { traces: trace::proto::traces(&step.trace, step.at, map) })?;
        }
        let args = self.args;
        if !self.as_text() {
            let program = &self.program;
            self.stream
                .step(&json::step(step, args.decode, args.trace, map), || head(program, args.engine()));
            return Ok(());
        }
        let of_test = !args.tests.is_empty() || args.program.is_dir();
        let wanted = if of_test { args.packets || args.decode } else { !self.captures.any() || args.decode };
        if wanted || args.packets || args.trace {
            output::print(&text::step(step, args.decode));
        } else {
            output::print(&text::messages(step));
        }
        if args.trace {
            output::print(&trace::text::trace(&step.trace, map));
        }
        Ok(())
    }

    /// A test is done.
    pub fn tested(&mut self, name: &str, result: &StfReport, ended: &Ended, map: &SourceMap) {
        self.tests = true;
        let passed = result.passed();
        if passed {
            self.passed += 1
        } else {
            self.failed += 1
        }
        if self.as_text() {
            result.readings.iter().for_each(|reading| output::print(&format!("{reading}\n")));
            let _ = std::io::stdout().flush();
            output::diagnostics_text(&result.problems, map);
            let word = if passed { "passed" } else { "FAILED" };
            output::print(&format!("{name}: {word} ({})\n", text::summary(&ended.counters)));
            self.state(ended);
            return;
        }
        let mut run = self.tail(ended);
        run["test"] = name.into();
        run["passed"] = passed.into();
        run["readings"] = result.readings.clone().into();
        run["diagnostics"] = output::diagnostics_json(&result.problems, map);
        self.end_run(&run);
    }

    /// Packets of captures and the command line are done.
    pub fn ran(&mut self, feed: &Feed, ended: &Ended) {
        self.passed += 1;
        if self.as_text() {
            self.state(ended);
            output::print(&format!("{}\n", text::summary(&ended.counters)));
            if feed.cut() > 0 {
                tell!("p4rack: {} packets were cut by their capture", feed.cut());
            }
            return;
        }
        let mut run = self.tail(ended);
        run["cut_by_capture"] = feed.cut().into();
        self.end_run(&run);
    }

    fn state(&self, ended: &Ended) {
        if self.args.state {
            output::print(&state::text(&ended.state));
        }
    }

    fn end_run(&mut self, tail: &Value) {
        let (program, engine) = (&self.program, self.args.engine());
        self.stream.end_run(|| head(program, engine), tail);
    }

    /// What it says behind the steps.
    fn tail(&self, ended: &Ended) -> Value {
        let mut run = json!({ "counts": json::counters(&ended.counters) });
        if self.args.state {
            run["state"] = state::json(&ended.state);
        }
        run
    }

    /// Something to be read is wrong: `what` was not run, or not to its end.
    pub fn wrong(&mut self, what: &str, found: &[Diagnostic], map: &SourceMap) {
        self.failed += 1;
        if self.as_text() {
            output::diagnostics_text(found, map);
            if self.tests || self.args.program.is_dir() || self.args.tests.len() > 1 {
                output::print(&format!("{what}: FAILED (not run to its end)\n"));
            }
        } else {
            let diagnostics = output::diagnostics_json(found, map);
            self.end_run(&json!({ "test": what, "passed": false, "diagnostics": diagnostics }));
        }
    }

    /// Ends files, prints the tally, gives the exit status.
    pub fn finish(mut self) -> ExitCode {
        let mut written = self.captures.finish();
        if let Some(file) = &mut self.traces {
            written = written.and(file.finish());
        }
        if let Err(found) = written {
            let program = self.program.clone();
            self.wrong(&program, &found, &SourceMap::new());
        }
        let ok = self.failed == 0;
        if !self.as_text() {
            self.stream.finish(ok);
        } else if self.passed + self.failed > 1 {
            let (passed, failed) = (self.passed, self.failed);
            output::print(&format!("{} runs: {passed} passed, {failed} failed\n", passed + failed));
        }
        if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// What JSON says of a run at its beginning.
fn head(program: &str, engine: super::Engine) -> Value {
    let engine = if engine == super::Engine::Native { "native" } else { "interp" };
    json!({ "program": program, "engine": engine })
}

/// Tells on a terminal how far a long run is.
pub struct Progress {
    next: Instant,
    shown: bool,
}

/// Between two lines of progress.
const PACE: Duration = Duration::from_millis(500);

impl Progress {
    #[expect(clippy::disallowed_methods, reason = "how often a terminal is told decides nothing")]
    pub fn new() -> Progress {
        Progress { next: Instant::now() + PACE, shown: false }
    }

    /// A packet is done.
    #[expect(clippy::disallowed_methods, reason = "how often a terminal is told decides nothing")]
    pub fn step(&mut self, step: &Step) {
        let now = Instant::now();
        if now < self.next || !std::io::stderr().is_terminal() {
            return;
        }
        self.next = now + PACE;
        self.shown = true;
        tell_over!("\r{} packets, virtual time {} ", step.number, step.at);
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.shown {
            tell_over!("\r{:60}\r", "");
        }
    }
}
