//! `p4rack reproduce`

use crate::reproduce::{CLIP, EXOPLANE, EXPERIMENTS, Experiment, FLEXSWITCH, Lab, P4COM};
use base_diag::SourceMap;
use base_time::{Duration, Time};
use cli::output::{self, Format};
use cli::{ExitCode, report};
use device_control::Codes;
use serde_json::json;
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Repeat a paper's experiments and print its numbers next to the measured ones
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack reproduce flightplan
  p4rack reproduce flightplan fig11
  p4rack reproduce flexswitch table1 table2 table3 fig2
  p4rack reproduce clip scaling fig7
  p4rack reproduce exoplane fig10 table3
  p4rack reproduce p4com fig6 table2 restart")]
pub struct Args {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(clap::Subcommand)]
enum Paper {
    /// Flightplan (NSDI'21): in-network functions of Crosspod on two switches
    Flightplan(Flightplan),
    /// FlexSwitch (NSDI'17): errors of building blocks for limited switches, and protocols made of them
    Flexswitch(Flexswitch),
    /// CLIP: groups of servers that grow and shrink without breaking flows
    Clip(Clip),
    /// ExoPlane: popular flows on the switch, the others on network cards
    Exoplane(Exoplane),
    /// P4COM: MapReduce jobs whose key-value pairs are reduced by a switch
    P4com(P4com),
}

#[derive(clap::Args)]
struct P4com {
    /// Figures or tables to reproduce; without any, list all
    #[arg(value_parser = find_p4com)]
    figures: Vec<&'static Experiment>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(clap::Args)]
struct Exoplane {
    /// Figures or tables to reproduce; without any, list all
    #[arg(value_parser = find_exoplane)]
    figures: Vec<&'static Experiment>,
    /// Directory of the racks of `fig14`, `fig16` and `ensembles`
    #[arg(long, value_name = "DIR", default_value = "examples/pinned")]
    racks: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(clap::Args)]
struct Clip {
    /// Figures or tables to reproduce; without any, list all
    #[arg(value_parser = find_clip)]
    figures: Vec<&'static Experiment>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(clap::Args)]
struct Flexswitch {
    /// Figures or tables to reproduce; without any, list all
    #[arg(value_parser = find_flexswitch)]
    figures: Vec<&'static Experiment>,
    /// Directory of the racks of `fig3`, `fig6` and `table3`
    #[arg(long, value_name = "DIR", default_value = "examples")]
    racks: PathBuf,
    /// Stop each run at this virtual time
    #[arg(long, value_name = "TIME")]
    until: Option<Duration>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(clap::Args)]
struct Flightplan {
    /// Figure or table to reproduce; without it, list all
    #[arg(value_parser = find)]
    figure: Option<&'static Experiment>,
    /// Directory of the experiments' racks
    #[arg(long, value_name = "DIR", default_value = "examples/crosspod")]
    racks: PathBuf,
    /// Use 10 Gbit/s links as in the paper instead of 1 Gbit/s
    #[arg(long)]
    full_rate: bool,
    /// Stop each run at this virtual time, and each CPU measurement after this much time
    #[arg(long, value_name = "TIME")]
    until: Option<Duration>,
    /// Also write the figure as a self-contained HTML page, if the figure has a page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

fn find(name: &str) -> Result<&'static Experiment, String> {
    find_in(&EXPERIMENTS, name)
}

fn find_flexswitch(name: &str) -> Result<&'static Experiment, String> {
    find_in(&FLEXSWITCH, name)
}

fn find_clip(name: &str) -> Result<&'static Experiment, String> {
    find_in(&CLIP, name)
}

fn find_exoplane(name: &str) -> Result<&'static Experiment, String> {
    find_in(&EXOPLANE, name)
}

fn find_p4com(name: &str) -> Result<&'static Experiment, String> {
    find_in(&P4COM, name)
}

fn find_in(all: &[&'static Experiment], name: &str) -> Result<&'static Experiment, String> {
    let known = || all.iter().map(|experiment| experiment.name);
    let found = all.iter().find(|experiment| experiment.name == name);
    found.copied().ok_or_else(|| match base_diag::did_you_mean(name, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", known().collect::<Vec<_>>().join(", ")),
    })
}

/// Exit status 1 if a rack is not there or wrong, 2 if there is no such figure.
pub fn run(args: Args) -> ExitCode {
    let args = match args.paper {
        Paper::Flightplan(args) => args,
        Paper::Flexswitch(args) => {
            return models(&FLEXSWITCH, &args.figures, args.racks, args.until, args.format);
        }
        Paper::Exoplane(args) => return models(&EXOPLANE, &args.figures, args.racks, None, args.format),
        Paper::Clip(args) => return models(&CLIP, &args.figures, PathBuf::new(), None, args.format),
        Paper::P4com(args) => return models(&P4COM, &args.figures, PathBuf::new(), None, args.format),
    };
    let Some(experiment) = args.figure else {
        list(&EXPERIMENTS, args.format);
        return ExitCode::SUCCESS;
    };
    // A long run is not to end at a file that cannot be written.
    if let Some(Err(why)) = args.html.as_deref().map(output::writable) {
        report!("p4rack: {why}");
        return ExitCode::FAILURE;
    }
    let mut map = SourceMap::new();
    let racks = args.racks;
    let mut lab = Lab {
        racks: racks.clone(),
        full_rate: args.full_rate,
        until: args.until.map(|until| Time::ZERO + until),
        map: &mut map,
        show_progress: &mut progress(args.format),
        codes: Codes::default(),
    };
    let shown = match experiment.run(&mut lab) {
        Ok(shown) => shown,
        Err(mut found) => {
            if let (Some(first), false) = (found.first_mut(), racks.is_dir()) {
                first.help.push("run this in the directory of p4rack's sources, or name its `examples/crosspod` with `--racks DIR`".to_string());
            }
            return output::failed(&found, &map, args.format);
        }
    };
    if let Some(path) = &args.html {
        let Some(page) = &shown.page else {
            report!("p4rack: {} has no HTML page", experiment.name);
            return ExitCode::from(2);
        };
        if let Err(why) = output::write(path, page.as_bytes(), &output::sources(&map)) {
            report!("p4rack: {why}");
            return ExitCode::FAILURE;
        }
    }
    match args.format {
        Format::Text => output::print(&experiment.text(&shown)),
        Format::Json => output::json(&experiment.json(&shown)),
    }
    ExitCode::SUCCESS
}

/// Shows messages of progress to whoever watches.
fn progress(format: Format) -> impl FnMut(&str) {
    let is_watched = format == Format::Text && std::io::stderr().is_terminal();
    move |what| {
        if is_watched {
            report!("{what}");
        }
    }
}

/// Each figure after the other; in JSON a list.
fn models(
    all: &[&Experiment],
    figures: &[&Experiment],
    racks: PathBuf,
    until: Option<Duration>,
    format: Format,
) -> ExitCode {
    if figures.is_empty() {
        list(all, format);
        return ExitCode::SUCCESS;
    }
    let mut map = SourceMap::new();
    let mut results = vec![];
    for (at, experiment) in figures.iter().enumerate() {
        let mut lab = Lab {
            racks: racks.clone(),
            full_rate: false,
            until: until.map(|until| Time::ZERO + until),
            map: &mut map,
            show_progress: &mut progress(format),
            codes: Codes::default(),
        };
        let shown = match experiment.run(&mut lab) {
            Ok(shown) => shown,
            Err(found) => return output::failed(&found, &map, format),
        };
        match format {
            Format::Text if at > 0 => output::print(&format!("\n{}", experiment.text(&shown))),
            Format::Text => output::print(&experiment.text(&shown)),
            Format::Json => results.push(experiment.json(&shown)),
        }
    }
    if format == Format::Json {
        output::json(&json!({ "ok": true, "results": results }));
    }
    ExitCode::SUCCESS
}

/// List of experiments.
fn list(all: &[&Experiment], format: Format) {
    match format {
        Format::Text => {
            let mut out = String::new();
            for experiment in all {
                let _ = writeln!(out, "{:<7} {}", experiment.name, experiment.about);
            }
            output::print(&out);
        }
        Format::Json => output::json(&json!({
            "ok": true,
            "experiments": all.iter().map(|e| json!({ "experiment": e.name, "about": e.about })).collect::<Vec<_>>(),
        })),
    }
}
