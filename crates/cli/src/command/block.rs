//! `p4rack block`

mod choose;
mod weights;

use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::did_you_mean;
use block_trials::{TofinoCost, tofino_cost};
use p4_blocks::{BLOCKS, Block, Direction, Form, PURPOSES, Request};
use rmt_fit::Device;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// List, explain and size building blocks for limited switches
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack block list
  p4rack block explain count-min --set rows=4
  p4rack block generate bitmap --error 5% --flows 50000
  p4rack block generate multiply-normalised --error 0.6% -o include
  p4rack block choose number-of-keys --error 5% --flows 50000 --device tofino1
  p4rack block weights 13 3 --error 10%")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List all blocks
    List {
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// Show what a block computes, its interface, error, parameters, cost and how a program uses it
    Explain {
        #[command(flatten)]
        chosen: Chosen,
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// Choose the sizes of a block for a given error, describe the block, and write its P4 with `-o`
    Generate(Generate),
    /// Choose among the blocks that compute the same, by error and resources
    Choose(choose::Choose),
    /// Reduce the weights of a group of paths to the smallest numbers with a given error
    Weights(weights::Weights),
}

#[derive(clap::Args)]
struct Chosen {
    /// Name of the block; `p4rack block list` lists the names
    #[arg(value_parser = find)]
    block: &'static Block,
    /// Set a parameter; `as=NAME` names the control
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',')]
    set: Vec<String>,
    /// Number of concurrent flows, keys or packets for which the error is computed
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    flows: u32,
}

#[derive(clap::Args)]
struct Generate {
    #[command(flatten)]
    chosen: Chosen,
    /// Choose the cheapest sizes with at most this error; `--set` fixes parameters. By default, parameters have the values that `explain` shows
    #[arg(long, value_name = "PERCENT", value_parser = p4_blocks::percentage)]
    error: Option<f64>,
    /// Generate the exact twin of the block: the same interface, with exact results, for software devices
    #[arg(long)]
    exact: bool,
    /// Write the block's P4 to a file below DIR, where other compilers find it with `-I DIR`; without `-o`, no file is written
    #[arg(short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

fn find(name: &str) -> Result<&'static Block, String> {
    p4_blocks::find(name).ok_or_else(|| match did_you_mean(name, BLOCKS.iter().map(|block| block.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`p4rack block list` lists the blocks".to_string(),
    })
}

/// Exit status 1 if no size reaches the error or a file cannot be written, 2 if a parameter is wrong.
pub fn run(args: Args) -> ExitCode {
    match args.action {
        Action::List { format } => {
            list(format);
            ExitCode::SUCCESS
        }
        Action::Explain { chosen, format } => match chosen.block.read(&chosen.set.join(",")) {
            Ok(request) => {
                let error = p4_blocks::expected_error(chosen.block, &request.values, chosen.flows);
                match format {
                    Format::Text => output::print(&explained(&chosen, &request, error)),
                    Format::Json => output::json(&described(&chosen, &request, error)),
                }
                ExitCode::SUCCESS
            }
            Err(why) => wrong(&why, format, 2),
        },
        Action::Generate(args) => generate(&args),
        Action::Choose(args) => choose::run(&args),
        Action::Weights(args) => weights::run(&args),
    }
}

fn wrong(why: &str, format: Format, status: u8) -> ExitCode {
    match format {
        Format::Text => report!("p4rack: {why}"),
        Format::Json => output::json(&json!({ "ok": false, "error": why })),
    }
    ExitCode::from(status)
}

fn list(format: Format) {
    match format {
        Format::Text => {
            let mut out = String::new();
            for block in BLOCKS {
                let _ = writeln!(out, "{:<22} {}", block.name, block.about);
            }
            output::print(&out);
        }
        Format::Json => {
            let blocks: Vec<Value> =
                BLOCKS.iter().map(|block| json!({ "block": block.name, "about": block.about })).collect();
            output::json(&json!({ "ok": true, "blocks": blocks }));
        }
    }
}

fn generate(args: &Generate) -> ExitCode {
    let Chosen { block, set, flows } = &args.chosen;
    let mut request = match block.read(&set.join(",")) {
        Ok(request) => request,
        Err(why) => return wrong(&why, args.format, 2),
    };
    if let Some(wanted) = args.error {
        let fixed: Vec<&str> =
            set.iter().filter_map(|part| part.split_once('=')).map(|(name, _)| name).collect();
        match p4_blocks::size(block, &request.values, &fixed, *flows, wanted) {
            None => {
                let why = format!("no size of `{}` changes its error: {}", block.name, block.error);
                return wrong(&why, args.format, 1);
            }
            Some(Err(nearest)) if nearest.error.is_infinite() => {
                let largest = p4_blocks::path(block, &Request { values: nearest.values, ..request });
                let others = PURPOSES.iter().find(|purpose| purpose.blocks.contains(&block.name));
                let others = others.map_or(String::new(), |purpose| {
                    format!("; `p4rack block choose {}` tries other blocks", purpose.name)
                });
                let why = format!(
                    "`{}` is too small for {flows} flows with every size, the largest `#include <{largest}>`{others}",
                    block.name
                );
                return wrong(&why, args.format, 1);
            }
            Some(Err(nearest)) => {
                let near = p4_blocks::path(block, &Request { values: nearest.values, ..request });
                let why = format!(
                    "no size of `{}` reaches {} with {flows} flows: the nearest is {} with `#include <{near}>`",
                    block.name,
                    percent(wanted),
                    percent(nearest.error)
                );
                return wrong(&why, args.format, 1);
            }
            Some(Ok(sized)) => request.values = sized.values,
        }
    }
    let error = p4_blocks::expected_error(block, &request.values, *flows);
    let file = args.output.as_ref().map(|output| output.join(p4_blocks::path(block, &request)));
    if let Some(file) = &file {
        let form = if args.exact { Form::Exact } else { Form::Approximate };
        let made = file
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .map_err(|why| format!("{}: {why}", file.display()));
        let text = p4_blocks::source(block, &request, form);
        if let Err(why) = made.and_then(|()| output::write(file, text.as_bytes(), &[])) {
            return wrong(&why, args.format, 1);
        }
    }
    match args.format {
        Format::Text => {
            let mut out = explained(&args.chosen, &request, error);
            if let Some(file) = &file {
                let _ = writeln!(out, "\nwritten: {}", file.display());
            }
            output::print(&out);
        }
        Format::Json => {
            let mut value = described(&args.chosen, &request, error);
            value["file"] = json!(file.map(|file| file.display().to_string()));
            output::json(&value);
        }
    }
    ExitCode::SUCCESS
}

/// With three decimals, or two significant digits if they would be zeros.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match share {
        share if share.is_infinite() => "no bound".to_string(),
        share if share > 0.0 && percent < 0.0005 => {
            format!("{percent:.0$} %", (1.0 - percent.log10()).ceil().min(12.0) as usize)
        }
        _ => format!("{percent:.3} %"),
    }
}

fn explained(chosen: &Chosen, request: &Request, error: Option<f64>) -> String {
    let Chosen { block, flows, .. } = chosen;
    let Request { values, control, .. } = request;
    let mut out = format!("{}: {}\n\nInterface\n", block.name, block.about);
    for port in (block.ports)(values) {
        let direction = if port.direction == Direction::In { "in " } else { "out" };
        let _ = writeln!(out, "  {direction} bit<{}> {}", port.bits, port.name);
    }
    out += "\nParameters\n";
    for parameter in block.parameters {
        let (least, most) = parameter.range;
        let (name, about) = (parameter.name, parameter.about);
        let _ = writeln!(out, "  {name:<9} {:<8} {about}; {least} to {most}", values.get(name));
    }
    let _ = write!(out, "\nError\n  {}\n", block.error);
    if let (Some(of), Some(error)) = (p4_blocks::error_of(block), error) {
        let _ = writeln!(out, "  {of}, with {flows} flows: {}", percent(error));
    }
    let cost = (block.cost)(values);
    let _ = write!(
        out,
        "\nCost\n  state     {} bits\n  hashes    {}\n  stages    {}\n  entries   {}\n",
        cost.state_bits,
        cost.hashes,
        cost.stages,
        cost.entries()
    );
    for table in &cost.tables {
        let kind = if table.ternary { "ternary" } else { "exact" };
        let _ = writeln!(out, "    {:<12} {:<6} {kind}", table.table, table.entries);
    }
    let _ = match tofino(block, request) {
        Ok(cost) => writeln!(
            out,
            "  Tofino    {}",
            cost.rows().map(|(name, amount)| format!("{amount} {name}")).join(", ")
        ),
        Err(why) => writeln!(out, "  Tofino    {why}"),
    };
    let arguments: Vec<String> = (block.ports)(values).iter().map(|port| port.name.to_string()).collect();
    let _ = write!(
        out,
        "\nUse\n  #include <{}>\n  {control}() block;\n  block.apply({});\n",
        p4_blocks::path(block, request),
        arguments.join(", ")
    );
    out
}

/// Resources of the block on a Tofino 1.
fn tofino(block: &Block, request: &Request) -> Result<TofinoCost, String> {
    let device = Device::built_in("tofino1").ok_or("the device is not known")?;
    tofino_cost(block, request, &device)
}

fn described(chosen: &Chosen, request: &Request, error: Option<f64>) -> Value {
    let Chosen { block, flows, .. } = chosen;
    let Request { values, control, .. } = request;
    let ports = (block.ports)(values);
    let port = |port: &p4_blocks::Port| {
        let direction = if port.direction == Direction::In { "in" } else { "out" };
        json!({ "name": port.name, "direction": direction, "bits": port.bits })
    };
    let cost = (block.cost)(values);
    let table = |table: &p4_blocks::Entries| json!({ "table": table.table, "ternary": table.ternary, "entries": table.entries });
    json!({
        "ok": true,
        "block": block.name,
        "about": block.about,
        "include": p4_blocks::path(block, request),
        "control": control,
        "ports": ports.iter().map(port).collect::<Vec<_>>(),
        "parameters": values.iter().map(|(name, value)| (name.to_string(), json!(value))).collect::<serde_json::Map<_, _>>(),
        "error": {
            "text": block.error,
            "of": p4_blocks::error_of(block),
            "flows": flows,
            "expected": error.filter(|error| error.is_finite()),
        },
        "cost": {
            "state_bits": cost.state_bits,
            "hashes": cost.hashes,
            "stages": cost.stages,
            "entries": cost.entries(),
            "tables": cost.tables.iter().map(table).collect::<Vec<_>>(),
            "tofino": tofino(block, request).map_or_else(|why| json!({ "refused": why }), |cost| json!(cost)),
        },
    })
}
