//! `p4rack prove-split`

use super::Cut;
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::{Diagnostic, SourceMap};
use ir_prove::Effort;
use p4rack::proof::{self, Proved, Trial};
use p4rack::up::{self, Replaced, Verdict};
use p4rack::{SplitApp, rack};
use serde_json::{Value, json};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Check on generated packets and entries that a rack's split program behaves like the whole program
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack prove-split examples/slice --packets 1000
  p4rack prove-split examples/slice --all-cuts")]
pub struct Args {
    /// RACK.toml, or its directory
    rack: PathBuf,
    /// Define a preprocessor macro for the program
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Packets per run; each placement is run twice, drained and pipelined
    #[arg(long, default_value = "1000")]
    packets: NonZeroUsize,
    /// Random seed for packets, entries and delays
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Check every combination of regions kept at the origin or moved away
    #[arg(long)]
    all_cuts: bool,
    /// Regions to check. `marks` checks the rack's own map; any other value checks unmarked regions, each alone, moved to the first device that is not the origin
    #[arg(long, value_enum, default_value = "marks", conflicts_with = "all_cuts")]
    cut: Cut,
    /// Three more kinds of runs: frames are lost between devices; an equal plan takes over while a frame is between devices; and, for the rack's own
    /// map, the emulated rack's controller replaces the plan while packets are inside
    #[arg(long)]
    lossy: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Exit status 1 if a difference was found, or the rack is wrong.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    let mut racked = match rack::load(&args.rack, &args.define, &mut map) {
        Ok(racked) => racked,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    let effort = Effort { packets: args.packets.get(), seed: args.seed, ..Effort::default() };
    let trial = Trial { effort, lossy: args.lossy };
    let mut results = vec![];
    for app in &racked.apps {
        if let Err(found) = prove(args, app, &trial, &mut map, &mut results) {
            return output::failed(&found, &map, args.format);
        }
    }
    if args.lossy && !args.all_cuts && args.cut.policy().is_none() {
        match up::prove_replaced(&mut racked, &trial.effort) {
            Ok(verdict) => show_replaced(args, &verdict, &mut results),
            Err(found) => return output::failed(&found, &map, args.format),
        }
    }
    let ok = results.iter().all(|r| r["equal"] != Value::Bool(false));
    if args.format == Format::Json {
        output::json(&json!({ "ok": ok, "proofs": results }));
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Proof of one app.
fn prove(
    args: &Args,
    app: &SplitApp,
    trial: &Trial,
    map: &mut SourceMap,
    results: &mut Vec<Value>,
) -> Result<(), Vec<Diagnostic>> {
    if let Some(policy) = args.cut.policy() {
        return proof::prove_cuts(app, policy, trial, &mut |(name, result)| match result {
            Ok(proved) => show(args, proved, results),
            Err(found) => show_refused(args, &name, &found, results),
        });
    }
    if !args.all_cuts {
        show(args, proof::prove_app(app, trial)?, results);
        return Ok(());
    }
    for placement in proof::combinations(app)? {
        show(args, proof::prove_placement(app, placement, trial, map)?, results);
    }
    Ok(())
}

/// Prints a proof when it ends; JSON is printed at the end of all.
fn show(args: &Args, proved: Proved, results: &mut Vec<Value>) {
    let regions: Vec<String> = proved.regions.iter().map(|(r, d)| format!("{r} on {d}")).collect();
    let regions = if regions.is_empty() { "whole".to_string() } else { regions.join(", ") };
    if args.format == Format::Text {
        let line = match &proved.outcome {
            Ok(t) => {
                let lossy = match args.lossy {
                    true => format!(", {} hand-overs lost, {} plans replaced", t.lost, t.renewed),
                    false => String::new(),
                };
                format!(
                    "equal      {regions}\n           {} packets in, {} frames out, {} timers, {} accesses to \
                     state{lossy}\n",
                    t.packets, t.outputs, t.timers, t.accesses
                )
            }
            Err(failure) => format!("DIFFERENT  {regions}\n{}", failure.describe()),
        };
        output::print(&line);
    }
    results.push(match &proved.outcome {
        Ok(t) => json!({
            "placement": regions, "equal": true, "packets": t.packets, "outputs": t.outputs,
            "timers": t.timers, "accesses": t.accesses, "lost": t.lost, "replaced": t.renewed,
        }),
        Err(failure) => json!({ "placement": regions, "equal": false, "difference": failure.describe() }),
    });
}

/// Prints the result of the run in which the controller replaced plans.
fn show_replaced(args: &Args, verdict: &Verdict, results: &mut Vec<Value>) {
    const WHAT: &str = "plans replaced by the controller";
    let (word, equal, details) = match verdict {
        Verdict::Same(Replaced { packets, frames, plans }) => (
            "equal     ",
            Some(true),
            format!("{packets} packets in, {frames} frames out, {plans} plans replaced"),
        ),
        Verdict::Differs { packet, expected, found } => {
            let frames = |frames: &[(_, Vec<u8>)]| {
                frames.iter().map(|(_, frame)| hex(frame)).collect::<Vec<_>>().join(" ")
            };
            let (expected, found) = (frames(expected), frames(found));
            let text = format!(
                "packet {}\n           expected {expected}\n           found    {found}",
                hex(packet)
            );
            ("DIFFERENT ", Some(false), text)
        }
        Verdict::DependsOnTime => {
            ("not tried ", None, "the frames depend on how long packets take".to_string())
        }
        Verdict::Forgets(object) => {
            ("not tried ", None, format!("another plan empties `{object}`, which packets read"))
        }
        Verdict::NotReplaceable => {
            let why = "needs one app and one origin, a region elsewhere, a host at the origin, and no entries of single devices";
            ("not tried ", None, why.to_string())
        }
    };
    if args.format == Format::Text {
        output::print(&format!("{word} {WHAT}\n           {details}\n"));
    }
    results.push(json!({ "placement": WHAT, "equal": equal, "details": details }));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A region that `--cut` selects may be refused; this does not count as a difference.
fn show_refused(args: &Args, region: &str, found: &[Diagnostic], results: &mut Vec<Value>) {
    let why = found.first().map_or_else(String::new, |d| format!("{} {}", d.code, d.title));
    if args.format == Format::Text {
        output::print(&format!("refused    {region}: {why}\n"));
    }
    results.push(json!({ "placement": region, "equal": null, "refused": why }));
}
