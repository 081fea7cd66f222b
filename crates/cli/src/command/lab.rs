//! `p4rack lab`

use super::{Preprocessor, memory_of};
use crate::ExitCode;
use crate::log::LogArgs;
use crate::output::{self, Format};
use base_diag::SourceMap;
use lab::{Network, Outcome, Registry, Settings, Wishes};
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Run a lab: hosts with a real network stack, P4 switches, and a prompt
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  p4rack lab                                   the lab of this directory
  p4rack lab topology.json --programs solution
  p4rack lab exec h1 -- ping -c 3 h2
  p4rack lab test checks.txt exercises/basic"
)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// topology.json, p4app.json or RACK.toml, or a directory with one
    #[arg(default_value = ".", value_name = "DIR|FILE")]
    path: PathBuf,
    #[command(flatten)]
    options: Options,
    /// Do not read commands: run until SIGTERM or SIGINT
    #[arg(long)]
    no_prompt: bool,
    /// Output format; `json` answers each command with one line of JSON
    #[arg(long, value_enum, default_value = "text", conflicts_with = "no_prompt")]
    format: Format,
}

/// How a lab is brought up.
#[derive(clap::Args)]
struct Options {
    /// Program of all switches, or of one: FILE or SWITCH=FILE
    #[arg(long, value_name = "[SWITCH=]FILE", value_parser = program)]
    program: Vec<(Option<String>, PathBuf)>,
    /// Look for programs in this directory first
    #[arg(long, value_name = "DIR")]
    programs: Vec<PathBuf>,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Directory that paths in the file are relative to, and in which the hosts' commands run; default: that of the file. With this option, no P4Info and JSON are
    /// written for controllers
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// TCP port for the P4Runtime of the first switch; the other switches get the following ports. 0 selects free ports. Default: 50051, or 9559 for a
    /// p4app.json; free ports if a port is in use
    #[arg(long, value_name = "PORT")]
    grpc_port: Option<u16>,
    /// Do not record the frames of switch ports in pcaps/
    #[arg(long)]
    no_pcap: bool,
    /// Make an interface of this machine for each port of a switch, named as in Mininet (s1-eth1), that shows the state of its link: a link whose interface
    /// is set down is down. It carries no frames. Needs root, and only one lab at a time can have such interfaces
    #[arg(long)]
    switch_interfaces: bool,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Maximum memory for the programs and entries of all switches, in MiB, divided equally among them; docs/security.md states the default
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    max_memory: Option<u64>,
    #[command(flatten)]
    log: LogArgs,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Run a command in a host of a running lab
    #[command(after_help = "Examples:
  p4rack lab exec h1 -- ping -c 3 h2")]
    Exec {
        /// Id of the lab, as printed by `p4rack lab list`, or its process id; needed if several labs run
        #[arg(long, value_name = "ID")]
        lab: Option<String>,
        /// Name of the host
        host: String,
        /// Command and arguments; p4rack replaces the names of hosts by their addresses
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Bring a lab up, run a script of commands and expectations, and end the lab
    #[command(after_help = "Examples:
  p4rack lab test checks.txt exercises/basic --programs solution")]
    Test {
        /// Script of commands and expectations; docs/lab.md describes the format
        script: PathBuf,
        /// topology.json, p4app.json or RACK.toml, or a directory with one
        #[arg(default_value = ".", value_name = "DIR|FILE")]
        path: PathBuf,
        #[command(flatten)]
        options: Box<Options>,
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// List the running labs
    #[command(after_help = "Examples:
  p4rack lab list")]
    List {
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// Draw a lab's hosts, switches and links as SVG on standard output
    #[command(after_help = "Examples:
  p4rack lab draw topology.json > topology.svg")]
    Draw {
        /// topology.json, p4app.json or RACK.toml, or a directory with one
        #[arg(default_value = ".", value_name = "DIR|FILE")]
        path: PathBuf,
    },
    /// End the processes left by labs that were killed
    #[command(after_help = "Examples:
  p4rack lab clean")]
    Clean,
}

/// Exit status 1 if the lab cannot be brought up, a command fails or an expectation does not hold; that of the command for `exec`.
pub fn run(args: &Args) -> ExitCode {
    match &args.command {
        None => start(args),
        Some(Command::Exec { lab, host, command }) => exec(lab.as_deref(), host, command),
        Some(Command::Test { script, path, options, format }) => test(script, path, options, *format),
        Some(Command::List { format }) => list(*format),
        Some(Command::Draw { path }) => draw(path),
        Some(Command::Clean) => clean(),
    }
}

fn up(path: &Path, options: &Options, format: Format) -> Result<Network, ExitCode> {
    let mut map = SourceMap::new();
    let wishes = Wishes {
        programs: options.program.clone(),
        directories: options.programs.clone(),
        base: options.directory.clone(),
        options: options.preprocessor.options(),
    };
    let pcaps = (!options.no_pcap).then(|| PathBuf::from("pcaps"));
    let settings = Settings {
        grpc_port: options.grpc_port,
        pcaps,
        seed: options.seed,
        memory: memory_of(options.max_memory),
        give_back: crate::memory::give_back,
        // A description from elsewhere has none beside it.
        for_controllers: options.directory.is_none(),
        switch_interfaces: options.switch_interfaces,
    };
    match lab::up(path, &wishes, settings, &mut map) {
        Ok((network, warnings)) => {
            output::diagnostics_text(&warnings, &map);
            Ok(network)
        }
        Err(found) => Err(output::failed(&found, &map, format)),
    }
}

fn start(args: &Args) -> ExitCode {
    crate::memory::return_at_once();
    let network = match up(&args.path, &args.options, args.format) {
        Ok(network) => network,
        Err(code) => return code,
    };
    if let Err(why) = args.options.log.begin() {
        report!("p4rack: {why}");
        return ExitCode::FAILURE;
    }
    serve(&network, args.format, args.no_prompt)
}

/// Reads commands for a network that is up, or waits for a signal.
pub(super) fn serve(network: &Network, format: Format, no_prompt: bool) -> ExitCode {
    let ending = lab::on_signals(&network.id, network.registry.clone(), !no_prompt);
    if format == Format::Json {
        let say = |answer: &serde_json::Value| {
            output::print(&format!("{answer}\n"));
            output::flush();
        };
        return match lab::serve(network, std::io::stdin().lock(), say) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        };
    }
    output::print(&lab::welcome(network));
    if no_prompt {
        ending.wait();
        return ExitCode::SUCCESS;
    }
    if std::io::stdin().is_terminal() {
        output::print("`help` lists the commands, `exit` ends the lab\n");
    }
    match lab::prompt(network) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn exec(lab: Option<&str>, host: &str, command: &[String]) -> ExitCode {
    let directory = std::env::current_dir().unwrap_or_default();
    let why = match Registry::of_user().find(lab, &directory) {
        Ok(record) => lab::exec(&record, host, command),
        Err(why) => why,
    };
    report!("p4rack: {why}");
    ExitCode::FAILURE
}

fn test(script: &Path, path: &Path, options: &Options, format: Format) -> ExitCode {
    let failed = |why: String| {
        match format {
            Format::Text => report!("p4rack: {why}"),
            Format::Json => output::json(&json!({ "ok": false, "error": why })),
        }
        ExitCode::FAILURE
    };
    let text = match std::fs::read_to_string(script) {
        Ok(text) => text,
        Err(error) => return failed(format!("`{}`: {error}", script.display())),
    };
    let steps = match lab::read_script(&text) {
        Ok(steps) => steps,
        Err(why) => return failed(format!("`{}`: {why}", script.display())),
    };
    let network = match up(path, options, format) {
        Ok(network) => network,
        Err(code) => return code,
    };
    if let Err(why) = options.log.begin() {
        report!("p4rack: {why}");
        return ExitCode::FAILURE;
    }
    lab::on_signals(&network.id, network.registry.clone(), true);
    let outcomes = lab::run_script(&network, &steps, |outcome| {
        if format == Format::Text {
            output::print(&outcome_text(outcome));
        }
    });
    let failures = outcomes.iter().filter(|outcome| !outcome.ok).count();
    match format {
        Format::Text => output::print(&format!("{} passed, {failures} failed\n", outcomes.len() - failures)),
        Format::Json => {
            output::json(&json!({ "ok": failures == 0, "steps": outcomes, "notes": network.notes }))
        }
    }
    match failures {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn outcome_text(outcome: &Outcome) -> String {
    let word = if outcome.ok { "ok    " } else { "FAILED" };
    let mut text = format!("{word}  {}  {}\n", outcome.line, outcome.text);
    if !outcome.ok {
        outcome.output.lines().for_each(|line| text.push_str(&format!("          {line}\n")));
    }
    text
}

fn list(format: Format) -> ExitCode {
    let running = Registry::of_user().all().into_iter().filter(|(_, runs)| *runs).map(|(record, _)| record);
    match format {
        Format::Json => output::json(&json!(running.collect::<Vec<_>>())),
        Format::Text => running.for_each(|lab| {
            let hosts: Vec<&str> = lab.hosts.iter().map(|host| host.name.as_str()).collect();
            let switches: Vec<String> =
                lab.switches.iter().map(|switch| format!("{} {}", switch.name, switch.address)).collect();
            output::print(&format!(
                "{}  {}  hosts {}  switches {}\n",
                lab.id,
                lab.directory.display(),
                hosts.join(" "),
                switches.join(", ")
            ));
        }),
    }
    ExitCode::SUCCESS
}

fn draw(path: &Path) -> ExitCode {
    let mut map = SourceMap::new();
    match lab::draw(path, &mut map) {
        Ok(picture) => {
            output::print(&picture);
            ExitCode::SUCCESS
        }
        Err(found) => output::failed(&found, &map, Format::Text),
    }
}

fn clean() -> ExitCode {
    for (id, ended) in Registry::of_user().clean() {
        output::print(&format!("lab {id} was killed: {ended} processes of its hosts are ended\n"));
    }
    ExitCode::SUCCESS
}

/// `FILE` or `SWITCH=FILE`
fn program(text: &str) -> Result<(Option<String>, PathBuf), String> {
    Ok(match text.split_once('=') {
        Some((switch, file)) if !switch.contains('/') => (Some(switch.to_string()), PathBuf::from(file)),
        _ => (None, PathBuf::from(text)),
    })
}
