//! `p4rack profile`

use crate::profile::{self, Core, Settings};
use base_time::{Duration, Rate};
use cli::output::{self, Format};
use cli::{ExitCode, report, report_over};
use serde_json::json;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Measure rate and latency of the network functions on this machine, as a table for `p4rack plan --rules`
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack profile fec-encode -o costs.csv")]
pub struct Args {
    /// Functions to measure; all by default
    functions: Vec<String>,
    /// Frame sizes in bytes
    #[arg(long, value_delimiter = ',', default_value = "100,500,1000,1500")]
    size: Vec<usize>,
    /// Duration of one run at a rate; each rate is run at least five times, and more often at low rates or on a busy machine
    #[arg(long, value_name = "TIME", default_value = "50ms")]
    time: Duration,
    /// Number of distinct frames; they are replayed in a loop
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(2500..=1_000_000))]
    frames: u32,
    /// Device class of this machine in the planner's rules
    #[arg(long, default_value = "CPU")]
    class: String,
    /// Power of the machine in watts, copied into the table; not measured
    #[arg(long, default_value_t = 150)]
    power: u32,
    /// Relative cost of the machine, copied into the table; not measured
    #[arg(long, default_value_t = 5)]
    cost: u32,
    /// Output file for the table instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Output format; with `json`, the table is written only to the file named by `--output`
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 1 if the file cannot be written, 2 if there is no such function or workload.
pub fn run(args: &Args) -> ExitCode {
    if !(Duration::from_ms(1)..=Duration::from_s(60)).contains(&args.time) {
        report!("p4rack: --time {}: choose 1ms to 60s", args.time);
        return ExitCode::from(2);
    }
    let settings = Settings {
        sizes: args.size.clone(),
        frames: args.frames as usize,
        span: args.time.as_ns(),
        class: args.class.clone(),
        power: args.power,
        cost: args.cost,
    };
    let all = profile::names();
    let functions = if args.functions.is_empty() { &all } else { &args.functions };
    let shows = args.format == Format::Text && std::io::stderr().is_terminal();
    let mut found = vec![];
    for function in functions {
        let mut watch = |size: usize, rate: u64| {
            if shows {
                report_over!("\r{function}, {size} bytes, {} \x1b[K", Rate::from_bits_per_s(rate));
            }
        };
        let measured = profile::measure(function, &settings, &mut Core::new(), &mut watch);
        if shows {
            report_over!("\r\x1b[K");
        }
        match measured {
            Ok(measured) => found.extend(measured),
            Err(why) => {
                report!("p4rack: {why}");
                return ExitCode::from(2);
            }
        }
    }
    if args.format == Format::Text {
        for one in &found {
            if let Some(doubt) = &one.doubt {
                report!("warning: {}, {} bytes: {doubt}", one.function, one.size);
            }
        }
    }
    let points: Vec<_> = found.iter().flat_map(|one| one.points.clone()).collect();
    let table = profile::table(&points, &settings);
    if let Some(path) = &args.output
        && let Err(why) = output::write(path, table.as_bytes(), &[])
    {
        report!("p4rack: {why}");
        return ExitCode::FAILURE;
    }
    match args.format {
        Format::Json => output::json(&json!({ "ok": true, "class": settings.class, "measured": found })),
        Format::Text if args.output.is_none() => output::print(&table),
        Format::Text => {}
    }
    ExitCode::SUCCESS
}
