//! `p4rack block choose`

use super::{percent, wrong};
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::did_you_mean;
use block_trials::{Found, Placed, choose};
use p4_blocks::{Arch, Block, PURPOSES, Purpose, Wanted, percentage};
use rmt_fit::{BUILT_IN, Device};
use serde_json::{Value, json};
use std::fmt::Write;

#[derive(clap::Args)]
pub struct Choose {
    /// `number-of-keys`, `sum-of-key`, `product` or `quotient`
    #[arg(value_parser = find)]
    purpose: &'static Purpose,
    /// Largest allowed error of the result
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    error: f64,
    /// Set a parameter of the blocks that have it
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = setting)]
    set: Vec<(String, u64)>,
    /// Number of concurrent flows, keys or packets for which the error is computed
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    flows: u32,
    /// Choose by the resources of each block on this Tofino; by default, by the stages and memory that each block states
    #[arg(long, value_name = "DEVICE", value_parser = device)]
    device: Option<Device>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

fn find(name: &str) -> Result<&'static Purpose, String> {
    PURPOSES.iter().find(|purpose| purpose.name == name).ok_or_else(|| {
        let names = || PURPOSES.iter().map(|purpose| purpose.name);
        match did_you_mean(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the purposes are {}", names().collect::<Vec<_>>().join(", ")),
        }
    })
}

fn setting(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE is wanted")?;
    let value = value.parse().map_err(|_| format!("`{value}` is no number"))?;
    Ok((name.to_string(), value))
}

fn device(name: &str) -> Result<Device, String> {
    Device::built_in(name).ok_or_else(|| format!("the devices are {}", BUILT_IN.join(", ")))
}

/// Exit status 1 if no block is possible, 2 if no block has a parameter.
pub fn run(args: &Choose) -> ExitCode {
    if let Some(why) = args.set.iter().find_map(|(name, _)| args.purpose.check_name(name).err()) {
        return wrong(&why, args.format, 2);
    }
    let wanted = Wanted {
        error: args.error,
        flows: args.flows,
        given: args.set.clone(),
        control: args.purpose.control.to_string(),
        arch: if args.device.is_some() { Arch::Tna } else { Arch::V1Model },
    };
    let all = choose(args.purpose, &wanted, args.device.as_ref());
    let best = all.first().and_then(|variant| variant.found.as_ref().ok());
    match args.format {
        Format::Text => output::print(&text(&all)),
        Format::Json => {
            let all: Vec<Value> = all.iter().map(described).collect();
            output::json(&json!({ "ok": best.is_some(), "purpose": args.purpose.name, "blocks": all }));
        }
    }
    match best {
        Some(_) => ExitCode::SUCCESS,
        None if args.format == Format::Json => ExitCode::FAILURE,
        None => wrong(
            &format!("no block for {} reaches {}", args.purpose.about, percent(args.error)),
            args.format,
            1,
        ),
    }
}

/// The blocks, the best first, and how a program uses the best.
fn text(all: &[Placed]) -> String {
    let mut out = String::new();
    for Placed { block, found } in all {
        let _ = match found {
            Ok(found) => {
                writeln!(out, "{:<24} error {:<9} {}", block.name, percent(found.error), cost(block, found))
            }
            Err(why) => writeln!(out, "{:<24} {why}", block.name),
        };
    }
    if let Some(Placed { block, found: Ok(found) }) = all.first() {
        let _ = write!(out, "\n#include <{}>\n", p4_blocks::path(block, &found.request));
    }
    out
}

fn cost(block: &Block, found: &Found) -> String {
    match &found.tofino {
        Some(cost) => cost.rows().map(|(name, amount)| format!("{amount} {name}")).join(", "),
        None => {
            let cost = (block.cost)(&found.request.values);
            format!("{} stages, {} state bits, {} entries", cost.stages, cost.state_bits, cost.entries())
        }
    }
}

fn described(Placed { block, found }: &Placed) -> Value {
    match found {
        Ok(found) => {
            let cost = (block.cost)(&found.request.values);
            json!({
                "block": block.name,
                "include": p4_blocks::path(block, &found.request),
                "error": found.error,
                "state_bits": cost.state_bits,
                "entries": cost.entries(),
                "stages": cost.stages,
                "tofino": found.tofino,
            })
        }
        Err(why) => json!({ "block": block.name, "refused": why }),
    }
}
