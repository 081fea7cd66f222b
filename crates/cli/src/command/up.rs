//! `p4rack up`

mod samples;
mod staged;

use crate::ExitCode;
use crate::output::{self, Format};
use agent::StatePlace;
use base_diag::{Diagnostic, Severity, SourceMap};
use base_time::Time;
use lab::RealSettings;
use p4rack::rack::Step;
use p4rack::{Racked, rack, up};
use rack_emulator::{Emulator, RunReport, Timeline};
use rack_model::{LinkId, Rack};
use serde_json::json;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Split a rack's program, bring up the emulated rack in virtual time and run its workloads
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack up examples/crosspod --html crosspod.html
  p4rack up examples/crosspod --phase loss --until 100ms
  p4rack up examples/slice --record captures --log events.log")]
pub struct Args {
    /// RACK.toml, or its directory
    rack: PathBuf,
    /// Bring the rack up on this machine instead: hosts and devices are network namespaces, devices are processes, and a prompt runs commands in hosts
    #[arg(long, conflicts_with_all = ["stage", "full_rate", "seed", "until", "log", "samples", "record", "html", "step"])]
    real: bool,
    /// With --real: address at which the rack serves P4Runtime
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9559", requires = "real")]
    grpc_server_addr: SocketAddr,
    /// With --real: save everything that controllers write to FILE or in etcd, and continue with it at the next start, as `p4rack switch --state`
    /// does. Its entries replace those in RACK.toml
    #[arg(long, value_name = "PLACE", requires = "real")]
    state: Option<StatePlace>,
    /// With --real: do not read commands, run until SIGTERM or SIGINT
    #[arg(long, requires = "real")]
    no_prompt: bool,
    /// Define a preprocessor macro for the program
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Run only this phase of an experiment, including the faults, workloads and entries of the phases it follows
    #[arg(long = "phase", alias = "stage", value_name = "NAME")]
    stage: Option<String>,
    /// Run links at their `full_rate`, where RACK.toml gives one
    #[arg(long)]
    full_rate: bool,
    /// Random seed; replaces the `seed` of RACK.toml, which is 0 by default
    #[arg(long)]
    seed: Option<u64>,
    /// Stop at this virtual time, such as 5ms
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Write a log of all events
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Write each received packet, response and completed transfer as CSV: phase, workload, from, to, sequence, time sent, time received and
    /// latency, in picoseconds
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// Capture the frames that arrive at either end of each link, as pcap files in DIR; created if missing
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Also write the run as a self-contained HTML page: placement, latencies, timeline
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print each event and wait: Enter continues to the next event, end of input runs the rest
    #[arg(long)]
    step: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// A rack of processes.
fn real(args: &Args, map: &mut SourceMap) -> ExitCode {
    let settings = RealSettings {
        rack: args.rack.clone(),
        defines: args.define.clone(),
        address: args.grpc_server_addr,
        state: args.state.clone(),
    };
    match lab::real(&settings, map) {
        Ok((network, warnings)) => {
            output::diagnostics_text(&warnings, map);
            super::lab::serve(&network, args.format, args.no_prompt)
        }
        Err(found) => output::failed(&found, map, args.format),
    }
}

/// Exit status 1 if the rack, its program or its entries are wrong, or a workload does not meet its expectations.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    if args.real {
        return real(args, &mut map);
    }
    let until = match args.until.as_deref().map(|t| t.parse::<base_time::Duration>()) {
        None => None,
        Some(Ok(duration)) => Some(Time::ZERO + duration),
        Some(Err(error)) => {
            report!("p4rack: --until: {error}");
            return ExitCode::from(2);
        }
    };
    // Progress on the terminal; warnings come before anything runs.
    let shows_progress = args.format == Format::Text && std::io::stderr().is_terminal();
    let mut show_step = |step: Step<'_>| {
        if shows_progress {
            report!("{step}");
        }
    };
    let mut racked = match rack::load_as(&args.rack, &args.define, &mut map, &|_| (), &mut show_step) {
        Ok(racked) => racked,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    if let Err(found) = racked.add_job_data() {
        return output::failed(&found, &map, args.format);
    }
    if let Some(seed) = args.seed {
        racked.rack.seed = seed;
    }
    racked.rack.until = until.or(racked.rack.until);
    if args.full_rate {
        racked.rack.at_full_rate();
    }
    let stage = match args.stage.as_deref().map(|name| racked.rack.stage_named(name)).transpose() {
        Ok(stage) => stage,
        Err(why) => {
            report!("p4rack: {why}");
            return ExitCode::from(2);
        }
    };
    let is_staged = stage.is_none() && !racked.rack.stages.is_empty();
    if is_staged && (args.log.is_some() || args.record.is_some() || args.step) {
        report!("p4rack: `--log`, `--record` and `--step` need a single run: name a phase with `--phase`");
        return ExitCode::from(2);
    }
    if args.format == Format::Text {
        output::diagnostics_text(&racked.warnings, &map);
        output::print(&super::split::summary(&racked));
        racked.jobs.iter().for_each(|jobs| output::print(&super::job::placement(jobs)));
    }
    if shows_progress {
        report!("bring up");
    }
    if is_staged {
        return staged::run(args, &racked, &map);
    }
    let mut running = match up::bring_up_in(&racked, stage) {
        Ok(running) => running,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    let bring_up = running.bring_up;
    if args.format == Format::Text {
        output::print(&format!("{bring_up}\n"));
    }
    running.emulator.keep_log(args.log.is_some() || args.step);
    let mut watch = match Watch::new(args, &racked, &mut running.emulator) {
        Ok(watch) => watch,
        Err(why) => {
            report!("p4rack: {why}");
            return ExitCode::FAILURE;
        }
    };
    let every = if watch.looks_at_each() { 1 } else { SAVE_EVERY };
    let report = match running.run_watched(every, &mut |emulator| watch.event(emulator, every)) {
        Ok(report) => report,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    watch.progress.end();
    let mut emulator = running.emulator;
    if let Err(why) = watch.save(&mut emulator).and_then(|()| watch.page(&racked, &emulator, &report)) {
        report!("p4rack: {why}");
        return ExitCode::FAILURE;
    }
    let found = judged(&racked, emulator.rack(), &report);
    let ok = !found.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    match args.format {
        Format::Text => {
            output::print(&report.to_table());
            output::diagnostics_text(&found, &map);
        }
        Format::Json => output::json(&json!({
            "ok": ok,
            "diagnostics": output::diagnostics_json(&found, &map),
            "placement": super::split::placement_json(&racked),
            "bring_up": bring_up,
            "report": report,
        })),
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Warnings about a run of a rack: frames that loop, workloads of which nothing arrived, and unmet expectations.
fn judged(racked: &Racked, rack: &Rack, report: &RunReport) -> Vec<Diagnostic> {
    let warnings = up::endless(report).into_iter().chain(up::silence(racked, rack, report));
    warnings.chain(up::unmet(rack, report)).collect()
}

/// Events from one time that files are written to the next.
const SAVE_EVERY: u64 = 50_000;

/// Observers of a running rack.
struct Watch {
    log: Option<Output>,
    samples: Option<Output>,
    /// The stage that runs; empty of none.
    stage: String,
    captures: Vec<(LinkId, Output)>,
    page: Option<(Output, Timeline)>,
    steps: bool,
    progress: Progress,
    events: u64,
}

/// Progress of a run.
struct Progress {
    /// Time of the last line; `None` if progress is not shown.
    shown: Option<Instant>,
    on_terminal: bool,
    /// A loop was reported.
    loop_is_reported: bool,
}

/// Time without a word before a run that is not watched on a terminal says how far it is.
const SILENCE: Duration = Duration::from_secs(10);

#[allow(clippy::disallowed_methods, reason = "progress is shown in real time")]
impl Progress {
    #[expect(clippy::disallowed_methods, reason = "the clock decides only how often progress is printed")]
    fn new(is_wanted: bool) -> Progress {
        let shown = is_wanted.then(Instant::now);
        Progress { shown, on_terminal: std::io::stderr().is_terminal(), loop_is_reported: false }
    }

    /// On a terminal one line that changes; elsewhere a line now and then.
    #[expect(clippy::disallowed_methods, reason = "the clock decides only how often progress is printed")]
    fn show(&mut self, events: u64, emulator: &Emulator) {
        let Some(shown) = &mut self.shown else { return };
        if let (Some(found), false) = (emulator.loops().first(), self.loop_is_reported) {
            self.loop_is_reported = true;
            let start = if self.on_terminal { "\r\x1b[K" } else { "" };
            report!("{start}frames loop endlessly: {}", found.path);
        }
        let (now, packets) = (emulator.now(), emulator.balance());
        if self.on_terminal {
            report_over!("\r{events} events, {now}, {} packets \x1b[K", packets.created);
        } else if shown.elapsed() >= SILENCE {
            *shown = Instant::now();
            report!("{events} events, {now}, {} packets, {} in flight", packets.created, packets.in_flight);
        }
    }

    /// The line on the terminal goes away.
    fn end(&self) {
        if self.shown.is_some() && self.on_terminal {
            report_over!("\r\x1b[K");
        }
    }
}

/// A file that is being written.
struct Output {
    path: PathBuf,
    file: File,
}

impl Output {
    /// Creates the file. Refuses a path that the rack was read from.
    fn new(path: PathBuf, racked: &Racked) -> Result<Output, String> {
        output::unread(&path, &racked.sources)?;
        let file = File::create(&path).map_err(|e| format!("`{}` cannot be written: {e}", path.display()))?;
        Ok(Output { path, file })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let result = self.file.write_all(bytes);
        result.map_err(|e| format!("`{}` cannot be written: {e}", self.path.display()))
    }
}

impl Watch {
    fn new(args: &Args, racked: &Racked, emulator: &mut Emulator) -> Result<Watch, String> {
        let open = |path: PathBuf| Output::new(path, racked);
        let log = args.log.clone().map(open).transpose()?;
        let page = args.html.clone().map(open).transpose()?.map(|file| (file, Timeline::default()));
        let samples = samples::open(args, racked)?;
        emulator.keep_samples(samples.is_some());
        let mut captures = vec![];
        if let Some(directory) = &args.record {
            let fail = |e| format!("`{}` cannot be created: {e}", directory.display());
            std::fs::create_dir_all(directory).map_err(fail)?;
            let links = (0..).map(LinkId).zip(emulator.rack().links.clone());
            for (id, link) in links {
                let ends = link.ends.map(|end| emulator.rack().end_name(end).replace(':', "."));
                let path = directory.join(format!("{}_{}.pcap", ends[0], ends[1]));
                captures.push((id, open(path)?));
                emulator.record(id);
            }
        }
        let progress = Progress::new(args.format == Format::Text && !args.step);
        let stage = args.stage.clone().unwrap_or_default();
        Ok(Watch { log, samples, stage, captures, page, steps: args.step, progress, events: 0 })
    }

    fn looks_at_each(&self) -> bool {
        self.steps || self.page.is_some()
    }

    /// Called after each event; `events` is the number of events so far.
    fn event(&mut self, emulator: &mut Emulator, events: u64) -> Result<(), String> {
        self.events += events;
        if let Some((_, timeline)) = &mut self.page {
            timeline.watch(emulator);
        }
        if self.steps {
            let text = emulator.take_log();
            output::print(&text);
            if let Some(log) = &mut self.log {
                log.write(text.as_bytes())?;
            }
            let next = || std::io::stdin().read_line(&mut String::new()).is_ok_and(|bytes| bytes > 0);
            self.steps = text.is_empty() || next();
        }
        if self.events.is_multiple_of(SAVE_EVERY) {
            self.save(emulator)?;
            self.progress.show(self.events, emulator);
        }
        Ok(())
    }

    fn page(&mut self, racked: &Racked, emulator: &Emulator, report: &RunReport) -> Result<(), String> {
        let Some((file, timeline)) = &mut self.page else { return Ok(()) };
        file.write(up::page(racked, emulator, report, timeline).as_bytes())
    }

    /// Writes buffered data.
    fn save(&mut self, emulator: &mut Emulator) -> Result<(), String> {
        let text = emulator.take_log();
        if let Some(log) = &mut self.log {
            log.write(text.as_bytes())?;
        }
        if let Some(samples) = &mut self.samples {
            samples::write(samples, &self.stage, emulator)?;
        }
        for (link, capture) in &mut self.captures {
            capture.write(&emulator.take_recording(*link).unwrap_or_default())?;
        }
        Ok(())
    }
}
