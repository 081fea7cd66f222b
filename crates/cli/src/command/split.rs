//! `p4rack split`

use super::convert::to_tna;
use crate::ExitCode;
use crate::output::{self, Format};
use base_diag::{Diagnostic, SourceMap, codes};
use ir_footprint::overhead;
use ir_split::{CallEnd, Placement, RuntimeName, SectionInfo, SectionKind};
use p4rack::pinned::PinnedApp;
use p4rack::{Racked, SplitApp, rack};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use target_tna::{Converted, Options};

/// Write the P4 program and the table entries of each device of a rack
#[derive(clap::Args)]
#[command(after_help = "Examples:
  p4rack split examples/slice -o out
  p4rack split examples/slice/plain.toml -o out --overhead
  p4rack split examples/firewall -o out --tna tor
  p4rack split examples/slice --print-after section")]
pub struct Args {
    /// RACK.toml, or its directory
    rack: PathBuf,
    /// Output directory, created if missing; without it, only the summary is printed
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Define a preprocessor macro for the program
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Format of the table entries
    #[arg(long = "for", value_enum, value_name = "SWITCH", default_value = "bmv2")]
    target: Target,
    /// Also write the program of this device for a Tofino 1, as TNA source: DEVICE.tna.p4. May be repeated
    #[arg(long, value_name = "DEVICE", requires = "output")]
    tna: Vec<String>,
    /// With `--tna`: times count steps of 1,024 ns instead of microseconds, because a Tofino cannot divide its nanoseconds
    #[arg(long, requires = "tna")]
    ticks: bool,
    /// Also print the cost of the code that p4rack adds on each device: tables, bits of entries, registers and headers, branches, ports
    #[arg(long)]
    overhead: bool,
    /// Print the result of this step of the split and write no files; may be repeated
    #[arg(long, value_name = "STEP", value_parser = steps(), conflicts_with_all = ["output", "overhead", "format"])]
    print_after: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// The steps of the splitter, each with its description.
fn steps() -> clap::builder::PossibleValuesParser {
    let value = |step: &ir_split::Step| clap::builder::PossibleValue::new(step.name).help(step.about);
    ir_split::STEPS.iter().map(value).collect::<Vec<_>>().into()
}

/// A switch that runs the device programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Target {
    /// `simple_switch_CLI` commands
    Bmv2,
}

/// Exit status 1 if the program cannot be split so, or a file cannot be written.
pub fn run(args: &Args) -> ExitCode {
    let mut map = SourceMap::new();
    if !args.print_after.is_empty() {
        return print_after(args, &mut map);
    }
    let racked = match rack::load(&args.rack, &args.define, &mut map) {
        Ok(racked) => racked,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    let converted = match for_tofino(&racked, &args.tna, Options { ticks: args.ticks }, &mut map) {
        Ok(converted) => converted,
        Err(found) => return output::failed(&found, &map, args.format),
    };
    let mut warnings = racked.warnings.clone();
    if let Some(directory) = &args.output {
        let mut written = write(&racked, directory, args.target);
        for (device, program) in &converted {
            let path = directory.join(format!("{device}.tna.p4"));
            written = written.and_then(|()| output::write(&path, program.text.as_bytes(), &racked.sources));
        }
        if let Err(error) = written {
            report!("p4rack: {error}");
            return ExitCode::FAILURE;
        }
        let Target::Bmv2 = args.target;
        warnings.extend(p4rack::for_bmv2::lacks(&racked));
    }
    match args.format {
        Format::Text => {
            output::diagnostics_text(&warnings, &map);
            output::print(&racked.blocks.text());
            output::print(&summary(&racked));
            for (device, program) in &converted {
                program.notes.iter().for_each(|note| report!("note: {device}.tna.p4: {note}"));
            }
            if args.overhead {
                output::print(&format!(
                    "\n{}",
                    overhead::text(&overhead::overhead(
                        racked.parts().map(|placed| (placed.name, placed.part))
                    ))
                ));
            }
        }
        Format::Json => {
            let mut json = json!({
                "ok": true,
                "placement": placement_json(&racked),
                "overhead": overhead::overhead(racked.parts().map(|placed| (placed.name, placed.part))),
            });
            if !racked.blocks.blocks.is_empty() {
                json["blocks"] = racked.blocks.json();
            }
            if !converted.is_empty() {
                let notes = |(device, program): &(String, Converted)| json!({ "device": device, "notes": program.notes });
                json["tna"] = converted.iter().map(notes).collect();
            }
            output::json(&json);
        }
    }
    ExitCode::SUCCESS
}

/// The programs of these devices as TNA source, by their names.
fn for_tofino(
    racked: &Racked,
    devices: &[String],
    options: Options,
    map: &mut SourceMap,
) -> Result<Vec<(String, Converted)>, Vec<Diagnostic>> {
    let mut converted = vec![];
    for name in devices {
        let placed: Vec<_> = racked.parts().filter(|placed| placed.name == name).collect();
        let [placed] = &placed[..] else {
            let title = match placed.len() {
                0 => format!("no device `{name}` has a program"),
                number => format!("`{name}` has {number} programs"),
            };
            let known: BTreeSet<&str> = racked.parts().map(|placed| placed.name).collect();
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(vec![
                Diagnostic::error(codes::tna::CONVERT, title)
                    .note(format!("devices with a program: {known}")),
            ]);
        };
        converted.push((name.clone(), to_tna(&format!("{name}.p4"), placed.text, options, map)?));
    }
    Ok(converted)
}

/// Prints the results of steps, also for an app that a later step refuses.
fn print_after(args: &Args, map: &mut SourceMap) -> ExitCode {
    let shown: Vec<&str> = args.print_after.iter().map(String::as_str).collect();
    let traced = match rack::trace(&args.rack, &args.define, &shown, map) {
        Ok(traced) => traced,
        Err(found) => return output::failed(&found, map, args.format),
    };
    let mut refused = vec![];
    for (app, ir_split::Traced { texts, outcome }) in &traced {
        for ir_split::StepText { step, text } in texts {
            let of = if traced.len() > 1 { format!(", {app}") } else { String::new() };
            output::print(&format!("# after {step}{of}\n{text}"));
        }
        refused.extend(outcome.as_ref().err().into_iter().flatten().cloned());
    }
    if refused.is_empty() { ExitCode::SUCCESS } else { output::failed(&refused, map, args.format) }
}

/// `DIR/APP.pinned.p4` of an app with pinned flows; `DIR/DEVICE.p4`, and `DIR/DEVICE.commands.txt` for `simple_switch_CLI`; of a legacy switch `DIR/DEVICE.flows` for `ovs-ofctl add-flows`.
fn write(racked: &Racked, directory: &Path, target: Target) -> Result<(), String> {
    let to = |path: PathBuf, text: &str| output::write(&path, text.as_bytes(), &racked.sources);
    std::fs::create_dir_all(directory)
        .map_err(|e| format!("`{}` cannot be created: {e}", directory.display()))?;
    for (model, app) in racked.rack.apps.iter().zip(&racked.apps) {
        if !app.pinned.is_empty() {
            let path = directory.join(format!("{}.pinned.p4", model.name.value));
            to(path, &target_p4::print(&app.whole))?;
        }
    }
    for (index, device) in racked.rack.devices.iter().enumerate() {
        let name = &device.name.value;
        if let Some(rules) = racked.flow_rules(index) {
            to(directory.join(format!("{name}.flows")), &rules)?;
        }
        for placed in racked.parts_on(index) {
            to(directory.join(format!("{name}.p4")), placed.text)?;
            let Target::Bmv2 = target;
            let commands = p4rack::for_bmv2::commands(racked, placed.app, index);
            to(directory.join(format!("{name}.commands.txt")), &commands)?;
        }
    }
    Ok(())
}

/// Placement of the regions, and the values that travel.
pub fn summary(racked: &Racked) -> String {
    let mut out = String::new();
    for (model, app) in racked.rack.apps.iter().zip(&racked.apps) {
        if racked.apps.len() > 1 {
            let _ = writeln!(out, "{}:", model.name.value);
        }
        if !app.costs.is_empty() {
            let costs: Vec<String> =
                app.costs.iter().map(|c| format!("{} {}", c.objective, c.shown)).collect();
            let _ = writeln!(out, "     planned: {}", costs.join(", "));
        }
        for of_one in &app.pinned {
            out.push_str(&pinned_summary(of_one));
        }
        out.push_str(&app_summary(app));
    }
    out
}

/// Copies of a pinned program.
fn pinned_summary(PinnedApp { pinned, share, .. }: &PinnedApp) -> String {
    let mut out = String::new();
    let name = |own: &ir::Name| share.as_ref().map_or_else(|| own.clone(), |share| share.name(own));
    for copy in &pinned.tables {
        let how =
            if pinned.whole.contains(&copy.original) { "all entries" } else { "entries of resident flows" };
        let _ = writeln!(out, "    resident: {} has {how}", name(&copy.resident));
    }
    for copy in &pinned.objects {
        let _ = writeln!(out, "    resident: {} counts for resident flows", name(&copy.resident));
    }
    out
}

/// Devices whose hand-overs have a header although those of the runtime have none.
fn with_header(placement: &Placement) -> String {
    let names: Vec<_> =
        placement.with_header.iter().map(|device| format!("`{}`", placement.name(*device))).collect();
    if names.is_empty() { String::new() } else { format!(", with a header for {}", names.join(", ")) }
}

fn app_summary(app: &SplitApp) -> String {
    let mut out = String::new();
    let split = &app.split;
    if app.placement.runtime != RuntimeName::Full {
        let _ =
            writeln!(out, "     runtime: {}{}", app.placement.runtime_name(), with_header(&app.placement));
    }
    for (index, section) in split.sections.iter().enumerate() {
        if section.is_plain_end() {
            continue;
        }
        let devices = names(&devices_of(app, section));
        let _ = write!(out, "{index:>3}  {:<14} on {devices:<10}", section.name);
        match &section.live {
            Some(live) => {
                let bits: u32 = live.iter().map(|v| v.bits).sum();
                let names: Vec<String> = live.iter().map(|v| format!("{}:{}", v.name, v.bits)).collect();
                let by = match section.call {
                    None => "hand-over",
                    Some(CallEnd::Handler) => "call",
                    Some(CallEnd::Return) => "return",
                };
                let _ = writeln!(
                    out,
                    " entered by {by}: {} + {bits} bits ({})",
                    split.common_bits,
                    names.join(", ")
                );
            }
            None => out.push('\n'),
        }
    }
    if !split.counted_behind_a_cut.is_empty() {
        let names = split.counted_behind_a_cut.join(", ");
        let _ = writeln!(
            out,
            "counts bytes after a cut: {names} (by `@counted_length`; simple_switch counts those of hand-overs)"
        );
    }
    out
}

/// The devices of a section; a section of the origin has every origin.
fn devices_of<'a>(app: &'a SplitApp, section: &SectionInfo) -> Vec<&'a str> {
    let name = |device| app.placement.name(device);
    match section.device == app.placement.origin() {
        true => app.placement.origins().map(name).collect(),
        false => vec![name(section.device)],
    }
}

/// `s1, s2 and s3`; of many the first four and how many more.
fn names(all: &[&str]) -> String {
    const SHOWN: usize = 4;
    match all {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] if all.len() <= SHOWN => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", all[..SHOWN].join(", "), all.len() - SHOWN),
    }
}

/// The placement as JSON; a list if there are several apps.
pub fn placement_json(racked: &Racked) -> Value {
    match racked.apps.as_slice() {
        [app] => app_json(app),
        apps => Value::Array(apps.iter().map(app_json).collect()),
    }
}

fn app_json(app: &SplitApp) -> Value {
    let split = &app.split;
    let sections: Vec<Value> = split
        .sections
        .iter()
        .map(|section| {
            json!({
                "name": section.name,
                "region": section.region,
                "half": if section.half == ir_split::Half::Ingress { "ingress" } else { "egress" },
                "end": section.kind == SectionKind::End,
                "device": app.placement.name(section.device),
                "devices": devices_of(app, section),
                "call": section.call.map(|call| match call {
                    CallEnd::Handler => "handler",
                    CallEnd::Return => "return",
                }),
                "tables": section.tables,
                "state": section.state,
                "live": section.live.as_ref().map(|live| live.iter().map(|v| {
                    json!({ "value": v.name, "bits": v.bits })
                }).collect::<Vec<_>>()),
            })
        })
        .collect();
    let edges: Vec<Value> = split.cut_edges().iter().map(|(from, to)| json!([from.0, to.0])).collect();
    let common: Vec<Value> =
        split.common.iter().map(|field| json!({ "field": field.name, "bits": field.width })).collect();
    json!({
        "devices": app.placement.devices,
        "origin": app.placement.name(app.placement.origin()),
        "runtime": app.placement.runtime_name(),
        "with_header": app.placement.with_header.iter().map(|device| app.placement.name(*device)).collect::<Vec<_>>(),
        "sections": sections,
        "cut_edges": edges,
        "counted_behind_a_cut": split.counted_behind_a_cut,
        "header": common,
    })
}
