//! Output of a run, during the run and at its end.

use super::Args;
use super::files::{self, Traces, unwritable};
use super::stream::Stream;
use crate::ExitCode;
use crate::output::{self, Batch, Format};
use base_diag::{Diagnostic, SourceMap};
use dataplane_ports::{CaptureFiles, Results};
use device_text::{state, trace};
use ir_fill::StfReport;
use p4rack::run::feed::Feed;
use p4rack::run::step::Step;
use p4rack::run::{Ended, json, text};
use p4runtime_proto::p4::bm;
use serde_json::{Value, json};

/// All runs of one call.
pub struct Report<'a> {
    args: &'a Args,
    captures: CaptureFiles,
    traces: Option<Traces>,
    /// Position in the JSON output.
    stream: Stream,
    program: String,
    passed: usize,
    failed: usize,
    /// Whether each packet is printed.
    prints_packets: bool,
    /// While packets run, lines are written in large pieces.
    _batch: Batch,
    /// A test was run, so there is a tally.
    tests: bool,
    prepared: bool,
}

impl<'a> Report<'a> {
    pub fn new(args: &'a Args) -> Report<'a> {
        Report {
            args,
            captures: files::captures(args),
            traces: args.trace_file.as_deref().map(Traces::new),
            stream: Stream::default(),
            program: String::new(),
            passed: 0,
            failed: 0,
            prints_packets: prints_packets(args),
            _batch: Batch::new(),
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

    /// True if packets go to files alone: of each no more is shown.
    pub fn is_of_files(&self) -> bool {
        self.as_text() && !self.prints_packets && self.traces.is_none()
    }

    /// Frames have left.
    pub fn sent(&mut self, results: &Results<'_>) -> Result<(), Vec<Diagnostic>> {
        self.captures.write_all(results).map_err(unwritable)
    }

    /// Opens the files that the command line names, if they are not.
    pub fn prepare(&mut self) -> Result<(), Vec<Diagnostic>> {
        if !self.prepared {
            self.prepared = true;
            self.captures.prepare().map_err(unwritable)?;
        }
        Ok(())
    }

    /// A packet is done.
    pub fn step(&mut self, step: &Step, map: &SourceMap) -> Result<(), Vec<Diagnostic>> {
        self.prepare()?;
        for sent in &step.sent {
            let written = self.captures.write(sent.port, sent.at, step.epoch_nanos, &sent.frame);
            written.map_err(unwritable)?;
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
        if self.prints_packets {
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
                report!("p4rack: {} packets are truncated in their capture", feed.cut());
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

    /// JSON after the steps.
    fn tail(&self, ended: &Ended) -> Value {
        let mut run = json!({ "counts": json::counters(&ended.counters) });
        if self.args.state {
            run["state"] = state::json(&ended.state);
        }
        run
    }

    /// Reports an input that is wrong: `what` was not run, or not to its end.
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
        let mut written = self.captures.finish().map_err(unwritable);
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

/// Whether each packet is printed as text. It is asked once: of a path it would be a system call for each packet.
fn prints_packets(args: &Args) -> bool {
    let of_test = !args.tests.is_empty() || args.program.is_dir();
    let to_files = args.output.is_some() || args.interface.iter().any(|i| i.output.is_some());
    args.packets || args.trace || args.decode || !(of_test || to_files)
}

/// JSON at the beginning of a run.
fn head(program: &str, engine: super::Engine) -> Value {
    let engine = if engine == super::Engine::Native { "native" } else { "interp" };
    json!({ "program": program, "engine": engine })
}
