//! `p4rack job`

mod run;
mod shown;
mod switches;

use super::convert::misfit;
use crate::ExitCode;
use crate::output;
use base_diag::{Diagnostic, SourceMap};
use p4rack::job::{Text, files, files_for_bmv2, files_for_tna, network, read};
use p4rack::jobs::Jobs;
use reduce_jobs::plan::Placed;
use reduce_jobs::{Job, Plan, Topology, plan};
use reduce_workers::{Attachment, GroupPlan};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Run MapReduce jobs whose key-value pairs are reduced by switches on the path
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack job check words.job
  p4rack job compile words.job --rack RACK.toml -o out
  p4rack job compile words.job --rack RACK.toml -o out --tna tor
  p4rack job compile words.job --rack RACK.toml -o out --bmv2 tor
  p4rack job run words.job --local
  p4rack job switches sums.job -o out
  p4rack job worker m1 --master 10.0.0.1:9600

A job file declares data sets, mappers that generate pairs from them, and reducers:

 dataset d1 = \"10.0.1.1:/data/part1\"                    host and path of a file, or of a directory of files
 mapper  m1 = words(d1)                                 or lines(d1), count(d1, key = COLUMN)
 mapper  m2 = run(d1, command = \"...\")                  or pairs(d1, key = COLUMN, value = COLUMN)
 mapper  m3 = program(at = \"10.0.1.3\")                  a program that joins the group of its reducer (p4rack.agg, p4rack_reduce.h)
 reducer counts = add(m1, m2, at = \"10.0.0.1\")          or max, min, or

COLUMN is a column's name in the first line of a CSV file, or its number from 1. Arguments of a reducer; defaults are first, or after `=`:

 at = HOST                        host of the reducer
 by = switch | hosts              switch: switches on the path reduce pairs; hosts: all pairs travel to the reducer
 key = hashed | text | number     value = u32 | u64
 profile = pipeline | software    switches with a pipeline of stages, or software switches, whose slots hold whole keys
 profile = arrays                 mappers send arrays, whose elements travel without keys
 values = N                       values of a key; default: the number that the mappers generate
 rows = 8192, rounds = 1          rows of slots in a switch, a power of two; slices of the keys, processed in turn
 window = 256                     packets of a mapper in flight
 keys, distinct = 1000000         estimates for the placement: keys of one mapper, distinct keys of all mappers
 number, port = 42606, seed = 1   number of the job in packets, default the next free one; UDP port; seed of hashes")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Check job files and report their mistakes
    Check(Inputs),
    /// Write programs, entries and a RACK.toml for each switch, and print where pairs are reduced
    Compile {
        #[command(flatten)]
        inputs: Inputs,
        /// Output directory; created if missing
        #[arg(short, long, value_name = "DIR")]
        output: PathBuf,
        #[command(flatten)]
        targets: Targets,
    },
    /// Run a job: this process is the master and all reducers
    Run(run::Args),
    /// Run the switches of a job on this machine, for programs that join its groups, until standard input ends
    Switches(switches::Args),
    /// Run the worker of a mapper, for a master in another process
    Worker {
        /// Name of the mapper
        mapper: String,
        /// Address of the master
        #[arg(long, value_name = "HOST:PORT")]
        master: String,
        /// Network interface for the pairs, with AF_XDP
        #[arg(long, value_name = "INTERFACE")]
        xdp: Option<String>,
    },
}

/// Jobs, and the network they run on.
#[derive(clap::Args)]
struct Inputs {
    /// Job files; several jobs share the switches of the network
    #[arg(required = true, value_name = "JOB")]
    jobs: Vec<PathBuf>,
    /// Hosts, switches and links: a RACK.toml or its directory (default: the RACK.toml beside the first job, if there is one)
    #[arg(long, value_name = "RACK.toml")]
    rack: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: output::Format,
}

/// Switches that do not run `p4rack switch`.
#[derive(clap::Args)]
struct Targets {
    /// Also write the program and the entries of this switch for a Tofino 1: SWITCH.tna.p4 and SWITCH.tna.stf. May be repeated
    #[arg(long, value_name = "SWITCH")]
    tna: Vec<String>,
    /// Also write the program and the commands of this switch for BMv2: SWITCH.bmv2.p4 and SWITCH.commands.txt. May be repeated
    #[arg(long, value_name = "SWITCH")]
    bmv2: Vec<String>,
    /// Boot number in the commands for BMv2; each start of the switch needs another one
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    boot: u16,
}

/// Jobs on a network.
struct Loaded {
    texts: Vec<Text>,
    topology: Topology,
    plan: Plan,
}

/// Exit status 1 if a job has mistakes, or stops.
pub fn run(args: Args) -> ExitCode {
    let mut map = SourceMap::new();
    match args.command {
        Command::Check(inputs) => check(&inputs, &mut map),
        Command::Compile { inputs, output, targets } => compile(&inputs, &output, &targets, &mut map),
        Command::Run(args) => run::run(&args, &mut map),
        Command::Switches(args) => switches::run(&args, &mut map),
        Command::Worker { mapper, master, xdp } => {
            match reduce_workers::work(&master, &mapper, xdp.as_deref()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(why) => {
                    report!("p4rack: {why}");
                    ExitCode::FAILURE
                }
            }
        }
    }
}

/// The RACK.toml that is named, or beside the job.
fn rack_of(rack: Option<&Path>, job: &Path) -> Option<PathBuf> {
    let beside = || Some(job.parent()?.join("RACK.toml")).filter(|path| path.exists());
    rack.map(Path::to_path_buf).or_else(beside)
}

fn load(jobs: &[PathBuf], rack: &Path, map: &mut SourceMap) -> Result<Loaded, Vec<Diagnostic>> {
    let texts = read(jobs, map)?;
    let topology = network(rack, map)?;
    let all: Vec<Job> = texts.iter().map(|text| text.job.clone()).collect();
    let plan = plan(&all, &topology)?;
    Ok(Loaded { texts, topology, plan })
}

/// The jobs on their network. If there is none, or they have mistakes, they are reported, and the exit status is returned.
fn loaded(
    jobs: &[PathBuf],
    rack: Option<&Path>,
    map: &mut SourceMap,
    format: output::Format,
) -> Result<Loaded, ExitCode> {
    let Some(rack) = rack_of(rack, &jobs[0]) else {
        report!("p4rack: a job needs a network: name its RACK.toml with --rack");
        return Err(ExitCode::from(2));
    };
    load(jobs, &rack, map).map_err(|found| output::failed(&found, map, format))
}

fn check(inputs: &Inputs, map: &mut SourceMap) -> ExitCode {
    let checked = match rack_of(inputs.rack.as_deref(), &inputs.jobs[0]) {
        Some(rack) => load(&inputs.jobs, &rack, map).map(|loaded| loaded.texts),
        None => read(&inputs.jobs, map),
    };
    let texts = match checked {
        Ok(texts) => texts,
        Err(found) => return output::failed(&found, map, inputs.format),
    };
    match inputs.format {
        output::Format::Text => {
            texts.iter().for_each(|text| output::print(&shown::job(&text.job)));
        }
        output::Format::Json => {
            let jobs: Vec<_> = texts.iter().map(|text| shown::job_json(&text.job)).collect();
            output::json(&json!({ "ok": true, "jobs": jobs }));
        }
    }
    ExitCode::SUCCESS
}

fn compile(inputs: &Inputs, directory: &Path, targets: &Targets, map: &mut SourceMap) -> ExitCode {
    let loaded = match loaded(&inputs.jobs, inputs.rack.as_deref(), map, inputs.format) {
        Ok(loaded) => loaded,
        Err(status) => return status,
    };
    let mut others = match files_for_tna(&loaded.plan, &loaded.topology, &targets.tna) {
        Ok(files) => files,
        Err(found) => return output::failed(&found, map, inputs.format),
    };
    let is_program = |(name, _): &&(String, String)| name.ends_with(".p4");
    let misfits = others
        .iter()
        .filter(is_program)
        .filter_map(|(name, text)| misfit(name, text).map(|why| format!("{name}: {why}")));
    let notes: Vec<String> = misfits.collect();
    match files_for_bmv2(&loaded.plan, &loaded.topology, &targets.bmv2, targets.boot) {
        Ok(files) => others.extend(files),
        Err(found) => return output::failed(&found, map, inputs.format),
    }
    let written = match write(&loaded, others, directory, map) {
        Ok(written) => written,
        Err(why) => {
            report!("p4rack: {why}");
            return ExitCode::FAILURE;
        }
    };
    match inputs.format {
        output::Format::Text => {
            output::print(&shown::plan(&loaded.texts, &loaded.topology, &loaded.plan));
            let names: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
            output::print(&format!("\nwritten: {}\n", names.join(", ")));
            notes.iter().for_each(|note| report!("note: {note}"));
        }
        output::Format::Json => {
            let mut value = shown::plan_json(&loaded.texts, &loaded.topology, &loaded.plan);
            value["files"] = json!(written);
            if !targets.tna.is_empty() {
                value["notes"] = json!(notes);
            }
            output::json(&value);
        }
    }
    ExitCode::SUCCESS
}

/// A file for each group of programs.
fn groups(loaded: &Loaded, attachment: impl Fn(usize) -> Attachment) -> Vec<(String, String)> {
    let group = |placed: &Placed| {
        let job = &loaded.texts[placed.job].job;
        let reducer = &job.reducers[placed.reducer];
        let text = || GroupPlan::of(placed, job, &loaded.topology, &attachment).text();
        job.is_group(reducer).then(|| (format!("{}.group.json", reducer.name.value), text()))
    };
    loaded.plan.reducers.iter().filter_map(group).collect()
}

/// Where the jobs of a rack are reduced, as text.
pub fn placement(jobs: &Jobs) -> String {
    shown::plan(&jobs.texts, &jobs.topology, &jobs.plan)
}

/// The same as JSON.
pub fn placement_json(jobs: &Jobs) -> serde_json::Value {
    shown::plan_json(&jobs.texts, &jobs.topology, &jobs.plan)["reducers"].take()
}

/// Writes the files of a plan, and others; gives their paths.
fn write(
    loaded: &Loaded,
    others: Vec<(String, String)>,
    directory: &Path,
    map: &SourceMap,
) -> Result<Vec<PathBuf>, String> {
    let made = std::fs::create_dir_all(directory);
    made.map_err(|error| format!("`{}` cannot be made: {error}", directory.display()))?;
    let read = output::sources(map);
    let mut files = files(&loaded.plan, &loaded.topology);
    files.extend(others);
    let kernel = |host: usize| Attachment::Kernel { address: loaded.topology.hosts[host].address };
    files.extend(groups(loaded, kernel));
    let workers =
        serde_json::to_string_pretty(&shown::plan_json(&loaded.texts, &loaded.topology, &loaded.plan))
            .map_err(|error| error.to_string())?;
    files.push(("workers.json".into(), workers + "\n"));
    let mut written = vec![];
    for (name, text) in files {
        let path = directory.join(name);
        // A switch that starts now may be reading it.
        if std::fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
            output::write(&path, text.as_bytes(), &read)?;
        }
        written.push(path);
    }
    Ok(written)
}
