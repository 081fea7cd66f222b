//! `p4rack block weights`

use super::{percent, wrong};
use crate::ExitCode;
use crate::output::{self, Format};
use p4_blocks::{percentage, reduce_weights};
use serde_json::json;

#[derive(clap::Args)]
pub struct Weights {
    /// Weights of the paths, at most 64 of at most 1000
    #[arg(required = true, value_name = "WEIGHT")]
    weights: Vec<u64>,
    /// The most that a path may get above its share, relative to the share
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    error: f64,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 2 if the weights are out of range.
pub fn run(args: &Weights) -> ExitCode {
    let Some((reduced, most)) = reduce_weights(&args.weights, args.error) else {
        let why = "at most 64 weights of at most 1000 are possible, and one has to be above 0";
        return wrong(why, args.format, 2);
    };
    let slots: u64 = reduced.iter().sum();
    match args.format {
        Format::Text => {
            let words: Vec<String> = reduced.iter().map(u64::to_string).collect();
            output::print(&format!(
                "{}: {slots} slots, no path more than {} above its share\n",
                words.join(" "),
                percent(most)
            ));
        }
        Format::Json => {
            output::json(&json!({ "ok": true, "weights": reduced, "slots": slots, "error": most }))
        }
    }
    ExitCode::SUCCESS
}
