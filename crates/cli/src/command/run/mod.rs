//! `p4rack run`

mod files;
pub mod inputs;
mod progress;
mod report;
mod stream;

use super::Preprocessor;
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::codes::run as codes;
use base_diag::{Diagnostic, SourceMap};
use base_time::{Duration, Time};
use inputs::{Case, Inputs};
use p4rack::run::Job;
use p4rack::run::entries::{self, Form};
use p4rack::run::pass::Watcher;
use p4rack::run::spec::{HexPacket, PortFiles, hex_packet, port_files};
use p4rack::run::step::Step;
use progress::{Progress, System};
use report::Report;
use std::path::PathBuf;

/// Run a program on packets: an STF test, captures, or hexadecimal
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack run router.p4 router.stf                      a test: status 0 if it passes
  p4rack run router.p4 tests/                          all tests of a directory
  p4rack run tests/                                    every NAME.p4 there with its NAME.stf
  p4rack run router.p4 -i 1@in.pcap --entries e.toml   packets of a capture, results as text
  p4rack run router.p4 -i 1@in.pcap -o out             results in out/PORT.pcap
  p4rack run router.p4 --packet '1:0a0b' --trace       a packet's way, step by step")]
pub struct Args {
    /// A P4-16 program, or a directory of programs with their tests
    program: PathBuf,
    /// STF tests, or directories of them; each runs on a device of its own. `-` is standard input
    tests: Vec<PathBuf>,
    /// Packets that come in by a port, and a file for those that go out: pcap or pcapng, `-` is standard input
    #[arg(short, long, value_name = "PORT@IN[,OUT]", value_parser = port_files)]
    interface: Vec<PortFiles>,
    /// A packet that comes in by a port
    #[arg(long, value_name = "PORT:HEX", value_parser = hex_packet)]
    packet: Vec<HexPacket>,
    /// Entries of the device: TOML, STF, commands of simple_switch_CLI, or P4Runtime updates as text or JSON
    #[arg(long, value_name = "FILE")]
    entries: Vec<PathBuf>,
    /// The form of the files of entries; without it the form is known by a file's extension and content
    #[arg(long, value_enum, value_name = "FORM", requires = "entries")]
    entries_form: Option<EntriesForm>,
    /// Write what goes out into DIR/PORT.pcap
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Time between two packets, instead of that in the captures
    #[arg(long, value_name = "TIME", value_parser = interval)]
    interval: Option<Duration>,
    /// Decides what the program draws at random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// What runs the program; traces are the interpreter's
    #[arg(long, value_enum, default_value = "native")]
    engine: Engine,
    /// Packets that go out here are for the controller
    #[arg(long, value_name = "PORT")]
    cpu_port: Option<u32>,
    /// Show each packet's way
    #[arg(long)]
    trace: bool,
    /// Write the traces as p4.bm.PacketTraces: text if the name ends in .txtpb, else binary
    #[arg(long, value_name = "FILE")]
    trace_file: Option<PathBuf>,
    /// Show the headers of packets that go out
    #[arg(long)]
    decode: bool,
    /// Show every packet of a test too
    #[arg(long)]
    packets: bool,
    /// Show registers, counters and meters at the end
    #[arg(long)]
    state: bool,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Engine {
    /// The reference interpreter
    Interp,
    /// Machine code, compiled for the program
    Native,
}

/// A form of entries, as the command line names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum EntriesForm {
    /// TOML: `docs/entries.md`
    Toml,
    /// The statements of an STF test that are no packets
    Stf,
    /// Commands of simple_switch_CLI
    Commands,
    /// A P4Runtime WriteRequest in protobuf's text format
    P4runtime,
    /// A P4Runtime WriteRequest in JSON
    P4runtimeJson,
}

impl From<EntriesForm> for Form {
    fn from(form: EntriesForm) -> Form {
        match form {
            EntriesForm::Toml => Form::Toml,
            EntriesForm::Stf => Form::Stf,
            EntriesForm::Commands => Form::Commands,
            EntriesForm::P4runtime => Form::P4RuntimeText,
            EntriesForm::P4runtimeJson => Form::P4RuntimeJson,
        }
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    text.parse().map_err(|error| format!("{error}"))
}

/// Exit status 1 if a test fails or something to be read is wrong, 2 if the options do not fit together.
pub fn run(args: &Args) -> ExitCode {
    let inputs = match Inputs::of(args) {
        Ok(inputs) => inputs,
        Err(message) => return usage(&message),
    };
    let mut report = Report::new(args);
    for (program, cases) in inputs.programs {
        report.program(&program);
        let mut map = SourceMap::new();
        if let Err(found) = run_program(args, &program, cases, &mut map, &mut report) {
            report.wrong(&program, &found, &map);
        }
    }
    report.finish()
}

impl Args {
    /// True if packets' ways are to be told.
    fn traces(&self) -> bool {
        self.trace || self.decode || self.trace_file.is_some()
    }

    /// What runs the program.
    fn engine(&self) -> Engine {
        if self.traces() { Engine::Interp } else { self.engine }
    }
}

fn usage(message: &str) -> ExitCode {
    tell!("p4rack: {message}");
    ExitCode::from(2)
}

fn run_program(
    args: &Args,
    program: &str,
    cases: Vec<Case>,
    map: &mut SourceMap,
    report: &mut Report,
) -> Result<(), Vec<Diagnostic>> {
    let mut warnings = vec![];
    let compiled = p4rack::rack::compile_program(program, &args.preprocessor.options(), map, &mut warnings)?;
    if args.format == Format::Text {
        output::diagnostics_text(&warnings, map);
    }
    let mut fillings = vec![];
    for path in &args.entries {
        let (text, start) = inputs::read(path, map)?;
        let filling = match args.entries_form {
            Some(form) => entries::read_as(&compiled, path, &text, start, form.into()),
            None => entries::read(&compiled, path, &text, start),
        };
        let filling = filling.map_err(name_form)?;
        if args.format == Format::Text {
            output::diagnostics_text(&filling.warnings, map);
        }
        fillings.push(filling);
    }
    let job = Job {
        program: compiled,
        fillings,
        seed: args.seed,
        interval: args.interval,
        cpu_port: args.cpu_port,
        trace: args.traces(),
        engine: match args.engine() {
            Engine::Interp => p4rack::run::Engine::Interp,
            Engine::Native => p4rack::run::Engine::Native,
        },
    };
    for case in cases {
        match case {
            Case::Test(path) => run_test(&job, &path, map, report),
            Case::Packets => run_packets(args, &job, map, report)?,
        }
    }
    Ok(())
}

/// A file that was taken for another form than it has is read when the form is named.
fn name_form(mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let is_syntax =
        |problem: &&mut Diagnostic| [codes::ENTRIES_SYNTAX, codes::STF_SYNTAX].contains(&problem.code);
    if let Some(first) = problems.iter_mut().find(is_syntax) {
        first.help.push("`--entries-form` names another form".to_string());
    }
    problems
}

fn run_test(job: &Job, path: &std::path::Path, map: &mut SourceMap, report: &mut Report) {
    let name = path.display().to_string();
    let test = inputs::read(path, map).and_then(|(text, start)| {
        let (test, problems) = p4_stf::parse(&text, start);
        if problems.is_empty() { Ok(test) } else { Err(problems) }
    });
    let map = &*map;
    let outcome = test.and_then(|test| job.test(&test, &mut |step| report.step(step, map)));
    match outcome {
        Ok((result, ended)) => report.tested(&name, &result, &ended, map),
        Err(found) => report.wrong(&name, &found, map),
    }
}

/// How far a run is.
fn line(number: u64, at: Time) -> String {
    format!("{number} packets, virtual time {at} ")
}

/// A run whose packets go to files.
struct Quiet<'r, 'a> {
    progress: &'r mut Progress<System>,
    report: &'r mut Report<'a>,
    map: &'r SourceMap,
}

impl Watcher for Quiet<'_, '_> {
    fn packet(&mut self, number: u64, at: Time) -> Result<(), Vec<Diagnostic>> {
        self.progress.step(|| line(number, at));
        self.report.prepare()
    }

    fn sent(&mut self, at: Time, epoch_nanos: u64, port: u32, frame: &[u8]) -> Result<(), Vec<Diagnostic>> {
        self.report.sent(at, epoch_nanos, port, frame)
    }

    fn told(&mut self, step: &Step) -> Result<(), Vec<Diagnostic>> {
        self.report.step(step, self.map)
    }
}

fn run_packets(
    args: &Args,
    job: &Job,
    map: &mut SourceMap,
    report: &mut Report,
) -> Result<(), Vec<Diagnostic>> {
    let mut feed = inputs::feed(args)?;
    let map = &*map;
    let mut progress = Progress::new(System::new());
    let ended = if report.is_of_files() && job.passes() {
        job.pass(&mut feed, &mut Quiet { progress: &mut progress, report: &mut *report, map })
    } else {
        job.feed(&mut feed, &mut |step| {
            progress.step(|| line(step.number, step.at));
            report.step(step, map)
        })
    };
    progress.clear();
    let ended = ended?;
    report.ran(&feed, &ended);
    Ok(())
}
