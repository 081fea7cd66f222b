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
use dataplane_ports::Results;
use inputs::{Case, Inputs};
use p4rack::run::Job;
use p4rack::run::entries::{self, Form};
use p4rack::run::pass::Watcher;
use p4rack::run::spec::{HexPacket, PortFiles, hex_packet, port_files};
use p4rack::run::step::Step;
use progress::{Progress, System};
use report::Report;
use std::path::PathBuf;

/// Run a program on packets from STF tests, captures or the command line
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack run router.p4 router.stf                      one test; exit status 0 if it passes
  p4rack run router.p4 tests/                          all tests in a directory
  p4rack run tests/                                    each NAME.p4 in a directory with its NAME.stf
  p4rack run router.p4 -i 1@in.pcap --entries e.toml   packets from a capture, results as text
  p4rack run router.p4 -i 1@in.pcap -o out             results in out/PORT.pcap
  p4rack run router.p4 --packet '1:0a0b' --trace       trace one packet step by step
  p4rack run snat.p4 snat.stf --handlers snat.c        with a handler in C, see docs/handlers.md")]
pub struct Args {
    /// P4-16 program, or a directory of programs with their tests
    program: PathBuf,
    /// STF tests or directories of them, `-` for standard input; each test runs on a fresh device
    tests: Vec<PathBuf>,
    /// Capture file of the packets that enter on PORT (pcap or pcapng, `-` for standard input), and the file for the packets sent on it
    #[arg(short, long, value_name = "PORT@IN[,OUT]", value_parser = port_files)]
    interface: Vec<PortFiles>,
    /// A packet that enters on PORT, its bytes in hexadecimal
    #[arg(long, value_name = "PORT:HEX", value_parser = hex_packet)]
    packet: Vec<HexPacket>,
    /// Table entries: TOML, STF, simple_switch_CLI commands, or P4Runtime updates as text or JSON
    #[arg(long, value_name = "FILE")]
    entries: Vec<PathBuf>,
    /// Format of the files of entries; the default follows each file's extension and content
    #[arg(long, value_enum, value_name = "FORM", requires = "entries")]
    entries_form: Option<EntriesForm>,
    /// Write sent packets to DIR/PORT.pcap
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Time between packets, such as 10us; replaces the captures' timestamps
    #[arg(long, value_name = "TIME", value_parser = interval)]
    interval: Option<Duration>,
    /// Random seed for the program
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Engine that runs the program; traces always use the interpreter
    #[arg(long, value_enum, default_value = "native")]
    engine: Engine,
    /// Port of the controller: packets sent on it are packet-ins
    #[arg(long, value_name = "PORT")]
    cpu_port: Option<u32>,
    /// Print a trace of each packet
    #[arg(long)]
    trace: bool,
    /// Write the traces as a p4.bm.PacketTraces message: text if the name ends in .txtpb, else binary
    #[arg(long, value_name = "FILE")]
    trace_file: Option<PathBuf>,
    /// Print the headers of sent packets
    #[arg(long)]
    decode: bool,
    /// Also print the packets of STF tests, with the packets sent or the reason of the drop
    #[arg(long)]
    packets: bool,
    /// Print registers, counters and meters at the end, without cells that are zero and meters that have no rate
    #[arg(long)]
    state: bool,
    #[command(flatten)]
    handlers: super::Handlers,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Engine {
    /// The reference interpreter
    Interp,
    /// Machine code compiled for the program
    Native,
}

/// A form of entries, as the command line names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum EntriesForm {
    /// TOML, see docs/entries.md
    Toml,
    /// STF statements other than packets
    Stf,
    /// simple_switch_CLI commands
    Commands,
    /// P4Runtime WriteRequest in protobuf text format
    P4runtime,
    /// P4Runtime WriteRequest in JSON
    P4runtimeJson,
    /// Runtime file of p4lang's tutorials
    Runtime,
}

impl From<EntriesForm> for Form {
    fn from(form: EntriesForm) -> Form {
        match form {
            EntriesForm::Toml => Form::Toml,
            EntriesForm::Stf => Form::Stf,
            EntriesForm::Commands => Form::Commands,
            EntriesForm::P4runtime => Form::P4RuntimeText,
            EntriesForm::P4runtimeJson => Form::P4RuntimeJson,
            EntriesForm::Runtime => Form::Runtime,
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
    /// True if packets are traced.
    fn traces(&self) -> bool {
        self.trace || self.decode || self.trace_file.is_some()
    }

    /// Engine of the run: the interpreter if traces are requested.
    fn engine(&self) -> Engine {
        if self.traces() { Engine::Interp } else { self.engine }
    }
}

fn usage(message: &str) -> ExitCode {
    report!("p4rack: {message}");
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
    let offers = p4rack::handlers::offers(&compiled, program, &args.handlers.options(args.seed), map)?;
    if args.format == Format::Text {
        output::diagnostics_text(&offers.warnings(), map);
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
        registry: offers.registry.clone(),
    };
    for case in cases {
        match case {
            Case::Test(path) => run_test(&job, &path, map, report),
            Case::Packets => run_packets(args, &job, map, report)?,
        }
    }
    let failures = offers.failures();
    if failures.is_empty() { Ok(()) } else { Err(failures) }
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

/// Progress of a run, as a line.
fn line(number: u64, at: Time) -> String {
    format!("{number} packets, virtual time {at} ")
}

/// A run with packets that only go to files.
struct Quiet<'r, 'a> {
    progress: &'r mut Progress<System>,
    report: &'r mut Report<'a>,
    map: &'r SourceMap,
}

impl Watcher for Quiet<'_, '_> {
    fn packets(&mut self, number: u64, at: Time) -> Result<(), Vec<Diagnostic>> {
        self.progress.steps(number, || line(number, at));
        self.report.prepare()
    }

    fn sent(&mut self, results: &Results<'_>) -> Result<(), Vec<Diagnostic>> {
        self.report.sent(results)
    }

    fn messages(&mut self, step: &Step) -> Result<(), Vec<Diagnostic>> {
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
            progress.steps(step.number, || line(step.number, step.at));
            report.step(step, map)
        })
    };
    progress.clear();
    let ended = ended?;
    report.ran(&feed, &ended);
    Ok(())
}
