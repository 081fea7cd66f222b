//! `p4rack profile`

use crate::ExitCode;
use p4rack::profile::{self, Settings};
use std::path::PathBuf;

/// Measure what functions on frames cost on this machine, as a table that `p4rack plan --rules` reads
#[derive(clap::Args)]
pub struct Args {
    /// Which functions; without any, all
    functions: Vec<String>,
    /// Bytes of a frame, several times
    #[arg(long, value_delimiter = ',', default_value = "100,500,1000,1500")]
    size: Vec<usize>,
    /// How many frames are timed
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    frames: u32,
    /// The planner's name for machines like this one
    #[arg(long, default_value = "CPU")]
    class: String,
    /// What a machine takes, in watts; not measured
    #[arg(long, default_value_t = 150)]
    power: u32,
    /// What a machine costs, beside others; not measured
    #[arg(long, default_value_t = 5)]
    cost: u32,
    /// Write the table here and not to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Exit status 1 if the file cannot be written, 2 if there is no such function or workload.
pub fn run(args: &Args) -> ExitCode {
    let settings = Settings {
        sizes: args.size.clone(),
        frames: args.frames as usize,
        class: args.class.clone(),
        power: args.power,
        cost: args.cost,
    };
    let all = profile::names();
    let functions = if args.functions.is_empty() { &all } else { &args.functions };
    let mut points = vec![];
    for function in functions {
        match profile::measure(function, &settings) {
            Ok(measured) => points.extend(measured),
            Err(why) => {
                eprintln!("p4rack: {why}");
                return ExitCode::from(2);
            }
        }
    }
    let table = profile::table(&points, &settings);
    let Some(path) = &args.output else {
        print!("{table}");
        return ExitCode::SUCCESS;
    };
    match std::fs::write(path, table) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("p4rack: `{}` cannot be written: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}
